"""Ends of transfers on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.transfers import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
