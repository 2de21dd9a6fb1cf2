"""Where a report's figures were measured, and with what."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import metadata
from pathlib import Path

from slotcar_lab import control, kernel, requirements
from slotcar_lab.errors import LabError
from slotcar_lab.experiments import scale
from slotcar_lab.guest import machine
from slotcar_lab.places import HOME
from slotcar_lab.requirements import Backend

DISTRIBUTIONS = ("slotcar", "ansible-core", "matplotlib")
_NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a reader needs to run the same again.

    Attributes:
        command: as a shell takes it.
        kernel: the release that the routers ran.
        accelerator: where the routers ran, and what helped: KVM, emulation, or this machine's own kernel.
        machine: processor architecture and cores.
        commit: of the code; empty where it is not from a repository.
        versions: of the programs that took part, by their packages' names.
        scale: the part of the papers' rates that was asked for, such as 1/8.
    """

    command: str
    kernel: str
    accelerator: str
    machine: str
    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    scale: str = ""


def here(part: Fraction = scale.REPORT, *, real_time: bool = False) -> Setting:
    """This machine, and the kernel that a lab brought up now would run: the one that it ran if it has just gone."""
    release, accelerator = _routers() if real_time else _in_virtual_time()
    cores = len(os.sched_getaffinity(0))
    return Setting(
        command=command(sys.argv),
        kernel=release,
        accelerator=accelerator,
        machine=f"{platform.machine()}, {cores} cores",
        commit=commit(),
        versions=versions(),
        scale=str(part),
    )


def _in_virtual_time() -> tuple[str, str]:
    image = _image()
    release = image.release if image else _NOT_KNOWN
    return release, "a QEMU guest in virtual time, a nanosecond for each of its instructions"


def _image() -> kernel.GuestKernel | None:
    """The guest's kernel; None where it was taken out of the cache since: no reason to lose what was measured."""
    try:
        return kernel.prepare(control.quiet)
    except LabError:
        return None


def _routers() -> tuple[str, str]:
    if control.choose_backend() is Backend.NAMESPACES:
        return platform.release(), "none: namespaces of this machine's kernel"
    image = _image()
    if image is None:
        return _NOT_KNOWN, "a QEMU guest"
    if machine.choose_accel(image) == "kvm":
        return image.release, "a QEMU guest with KVM"
    return image.release, "a QEMU guest without KVM, every instruction emulated"


def command(argv: Sequence[str]) -> str:
    """The command of a process, without the paths that are of this machine only.

    Args:
        argv: as `sys.argv` has it.
    """
    program = Path(argv[0]).name
    words = ["python", "-m", "slotcar_lab.experiments"] if program == "__main__.py" else [program]
    return shlex.join([*words, *argv[1:]])


def commit() -> str:
    """Of this code, with a word where files differ from it; empty where it is not from a repository."""
    if not (HOME / ".git").exists():
        return ""
    return _output(["git", "-C", str(HOME), "describe", "--always", "--dirty=, with changes", "--exclude=*"]).strip()


def versions() -> dict[str, str]:
    """Of Python, of the distributions that took part, and of the lab's Debian packages that are there."""
    by_name = {"python": platform.python_version()}
    by_name |= {name: metadata.version(name) for name in DISTRIBUTIONS}
    packages = sorted({*requirements.EVERYWHERE.values(), *requirements.FOR_THE_GUEST.values()})
    listed = _output(["dpkg-query", "-W", "-f", "${Package}\t${Version}\n", *packages])
    for line in listed.splitlines():
        package, _, version = line.partition("\t")
        if version:
            by_name[package] = version
    return by_name


def _output(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
