"""Routers in software, and how to reach them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab.ios import Router, Routers
from tests.integration.ios.eem_router import Managed

STARTUP = """\
ip scp server enable
archive
 path flash:archive
interface ATM1/0/0
interface FastEthernet4/0/0
 ip address 10.0.0.1 255.255.255.0
ip route 0.0.0.0 0.0.0.0 10.0.0.2
snmp-server location machine room
"""
NAME = "a-router-with-a-name-of-36-characters"


@pytest.fixture
def routers() -> Iterator[Routers]:
    with Routers() as running:
        yield running


@pytest.fixture
def router(routers: Routers) -> Router:
    """Its minutes last long enough for a confirmation, and its name is cut in configuration prompts."""
    return routers.add(NAME, "cisco-car", STARTUP, minute_s=30.0)


@pytest.fixture
def managed(routers: Routers, tmp_path: Path) -> Managed:
    device = Managed(routers, tmp_path)
    assert device.push(device.revision(device.base.after)[0]).error == ""
    return device
