"""Another wall clock than this machine's, for a controller and all that it starts: a library that is loaded into each."""

from __future__ import annotations

from pathlib import Path

from slotcar_lab.preloaded import compile_library

SOURCE = Path(__file__).with_name("clock.c")
#: Names, in the environment, the file in which a guest in virtual time tells its time.
TIME = "SLOTCAR_LAB_TIME"


def compile_clock(folder: Path) -> Path:
    """The library, compiled into `folder`.

    Raises:
        LabError: it cannot be compiled; says why.
    """
    return compile_library(SOURCE, folder)


def of_a_guest(library: Path, time_file: Path) -> dict[str, str]:
    """What a process is started with that is to have the clock of a guest in virtual time."""
    return {"LD_PRELOAD": str(library), TIME: str(time_file)}
