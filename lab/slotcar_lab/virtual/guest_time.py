"""What a controller and its commands are started with to go by a guest's clock."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab import wall_clock
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.guest import machine


@dataclass(frozen=True, slots=True)
class GuestTime:
    """Attributes:
    library: what `wall_clock.compile_clock` made.
    file: in which the guest tells its time.
    idle: the folder in which controllers say until when they have nothing to do (`slotcar_lab.virtual.idle`).
    """

    library: Path
    file: Path
    idle: Path

    def environment(self) -> dict[str, str]:
        """For a controller and all that it starts, its database too, and for operators' commands.

        No device is listened to: what one told would come while time runs, at another instant each time.
        """
        return {**wall_clock.of_a_guest(self.library, self.file), "SLOTCAR_WATCH": "false"}

    def serve(self, port: int) -> list[str]:
        """The command that is `slotcar serve` by this clock."""
        return [sys.executable, "-m", "slotcar_lab.virtual.serve", str(self.file), str(self.idle), str(port)]


def guest_time(lab: Lab, folder: Path) -> GuestTime | None:
    """Of a lab in virtual time, its files made in `folder`; None of any other.

    Raises:
        LabError: the library cannot be compiled here.
    """
    if not lab.virtual_time:
        return None
    idle = folder / "idle"
    try:
        idle.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{idle} cannot be made: {error.strerror}") from error
    return GuestTime(wall_clock.compile_clock(folder), machine.time_file(lab.state_dir), idle)
