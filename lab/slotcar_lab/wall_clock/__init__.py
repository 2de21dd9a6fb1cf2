"""Another wall clock than this machine's, for a controller and all that it starts: a library that is loaded into each."""

from __future__ import annotations

import subprocess
from pathlib import Path

from slotcar_lab import requirements
from slotcar_lab.errors import LabError

SOURCE = Path(__file__).with_name("clock.c")
#: Names, in the environment, the file in which a guest in virtual time tells its time.
TIME = "SLOTCAR_LAB_TIME"


def compile_clock(folder: Path) -> Path:
    """The library, compiled into `folder`.

    Raises:
        LabError: it cannot be compiled; says why.
    """
    library = folder / "clock.so"
    compiler = requirements.which("tcc")
    if compiler is None:
        raise LabError(
            "a clock that can be set needs the package tcc; install it: python -m slotcar_lab requirements --install"
        )
    argv = [compiler, "-shared", "-nostdlib", "-o", str(library), str(SOURCE)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise LabError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return library


def of_a_guest(library: Path, time_file: Path) -> dict[str, str]:
    """What a process is started with that is to have the clock of a guest in virtual time."""
    return {"LD_PRELOAD": str(library), TIME: str(time_file)}
