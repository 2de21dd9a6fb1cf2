"""Small libraries in C that are loaded into programs of this machine (LD_PRELOAD)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from slotcar_lab import requirements
from slotcar_lab.errors import LabError


def compile_library(source: Path, folder: Path, **constants: int) -> Path:
    """The library, compiled into `folder` under its source's name; every account can load it, as a PostgreSQL server that
    root starts has one of its own. `constants`: what the source leaves to be defined.

    Raises:
        LabError: it cannot be compiled; says why.
    """
    library = folder / source.with_suffix(".so").name
    compiler = requirements.which("tcc")
    if compiler is None:
        raise LabError(
            "virtual time and clocks that can be set need the package tcc; install it:"
            " python -m slotcar_lab requirements --install"
        )
    defined = [f"-D{name}={number}" for name, number in constants.items()]
    argv = [compiler, "-shared", "-nostdlib", *defined, "-o", str(library), str(source)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise LabError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    library.chmod(0o755)
    return library
