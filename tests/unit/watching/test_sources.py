"""What listens to a device's changes: its platform says it."""

from __future__ import annotations

from typing import Any

import pytest

from slotcar.base.registry import FOLDERS, OF_PLACES, Watch, facts_of
from slotcar.network.model import Device
from slotcar.watching.linux import LinuxSource
from slotcar.watching.model import ChangeSource, Unwatched
from slotcar.watching.netconf import NetconfSource
from slotcar.watching.sources import source_of

REACHED: dict[str, Any] = {"ansible_host": "192.0.2.1", "ansible_user": "slotcar"}
KINDS: dict[Watch, type] = {Watch.TC_MONITOR: LinuxSource, Watch.NETCONF: NetconfSource}


def source(platform: str) -> ChangeSource:
    return source_of(Device(name="r1", domain="alpha", platform=platform, interfaces={}), REACHED)


@pytest.mark.parametrize("platform", [*FOLDERS, *OF_PLACES])
def test_a_device_is_watched_as_its_platform_says(platform: str) -> None:
    watch = facts_of(platform).watch
    if watch in KINDS:
        assert type(source(platform)) is KINDS[watch]
        return
    with pytest.raises(Unwatched, match="by syslog only" if watch is Watch.SYSLOG else "nothing on it tells"):
        source(platform)


def test_who_has_no_queues_is_not_asked_for_changes_of_queues() -> None:
    assert {name for name in OF_PLACES if facts_of(name).watch is not None} == set()
    assert {name for name in FOLDERS if facts_of(name).watch is None} == set()
