"""A Linux router in a shell of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar.rollout.linux import scripts
from tests.unit.rollout.linux_router import Router


@pytest.fixture
def router(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Router]:
    monkeypatch.setattr(scripts, "REMOTE", str(tmp_path / "slotcar"))
    started = Router(tmp_path)
    yield started
    if (started.place / "device.sh").exists():
        started.run(scripts.command("r1", "disarm"))
