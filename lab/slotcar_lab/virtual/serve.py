"""`slotcar serve` by the clock of a guest in virtual time.

    python -m slotcar_lab.virtual.serve TIME-FILE IDLE-FOLDER PORT

The wall clock of this process and of all that it starts is the guest's already (`slotcar_lab.wall_clock`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from slotcar.api.serving import serve
from slotcar.base.settings import load_settings
from slotcar.base.stopping import PROCESS
from slotcar.base.timebase import Clocks
from slotcar.web.app import create_app
from slotcar_lab.clocks import read_time
from slotcar_lab.virtual import idle


def clocks(time_file: Path, idle_folder: Path) -> Clocks:
    """Nobody sets the guest's clock, so that its time is also the seconds that nobody sets."""
    now = partial(read_time, time_file)
    return Clocks(monotonic=now, idle=partial(idle.idle_noted, idle_folder, now), read_by_plays=True)


def main(arguments: Sequence[str]) -> None:
    PROCESS.heed_signals()  # as `slotcar` does: by default a first signal would end it in the middle of a push
    time_file, idle_folder, port = arguments
    serve(load_settings(listen_port=int(port)), create_app, clocks(Path(time_file), Path(idle_folder)))


if __name__ == "__main__":
    main(sys.argv[1:])
