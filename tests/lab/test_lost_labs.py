"""A guest that no longer answers says what its processors were doing."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar_lab import control
from slotcar_lab.guest import post_mortem
from slotcar_lab.patience import HANG_S
from slotcar_lab.requirements import Backend
from tests.lab.conftest import two_hosts

pytestmark = pytest.mark.lab


# A guest of its own, which is needed when another one has failed: not in each run.
@pytest.mark.slow
def test_a_guest_is_ended_with_where_its_processors_are_and_the_stacks_of_its_kernel(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    try:
        control.up(two_hosts(), folder, Backend.GUEST)
        shown = post_mortem.examine(folder, HANG_S)
        assert shown.count("RIP=") == shown.count("CPU#") >= 2
        assert "Kernel panic - not syncing: NMI" in shown
        assert "Call Trace:" in shown
        assert control.attach(folder) is None
    finally:
        control.down(folder)
