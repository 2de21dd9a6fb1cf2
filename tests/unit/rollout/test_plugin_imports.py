"""What Ansible's action plugins load of Slotcar: each push and each reading waits for it."""

from __future__ import annotations

import subprocess
import sys

PLUGIN = "import slotcar.rollout.device_folder, slotcar.rollout.fanout"
#: These find paths, admit and store: no device is pushed or read by them.
ROOMS = ("reservation", "network.path", "admission", "book", "store", "planning")


def test_the_fan_out_loads_no_room_that_decides() -> None:
    program = f"{PLUGIN}, sys; print(*(name for name in sys.modules if name.startswith('slotcar.')))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "slotcar.rollout.fanout" in loaded
    deciding = tuple(f"slotcar.{room}" for room in ROOMS)
    assert not [name for name in loaded if name.startswith(deciding)]
