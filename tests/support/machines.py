"""A machine of a test's own: this one's files, copied on write in a mount namespace. Nothing of it is seen outside."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

#: $1 is an empty folder; what follows is run in the new machine.
_ENTER = """
set -e
mount --make-rprivate /
place=$1; shift
mount -t tmpfs slotcar-test "$place"
mkdir "$place/upper" "$place/work" "$place/root"
mount -t overlay slotcar-test -o "lowerdir=/,upperdir=$place/upper,workdir=$place/work" "$place/root"
for one in proc dev sys; do mount --rbind "/$one" "$place/root/$one"; done
mount -t tmpfs slotcar-test "$place/root/run"
exec chroot "$place/root" "$@"
"""
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/root",
}


def in_machine(script: str, timeout_s: float, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of bash there, as root; what it starts ends with it."""
    with tempfile.TemporaryDirectory() as folder:
        _require(folder)
        enter = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", _ENTER, "bash", folder)
        return subprocess.run(
            [*enter, "bash", "-c", f"mount -t proc proc /proc\n{script}", "bash", *arguments],
            cwd="/", env=ENVIRONMENT | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip


def _require(folder: str) -> None:
    """Skips where no such file system can be mounted."""
    probe = (
        "unshare", "--mount", "bash", "-c",
        f"mount -t tmpfs t {folder} && mkdir {folder}/u {folder}/w {folder}/r"
        f" && mount -t overlay o -o lowerdir=/,upperdir={folder}/u,workdir={folder}/w {folder}/r",
    )  # fmt: skip
    if os.geteuid() or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no overlay of this machine's files can be mounted here")


def wheels_of_pip() -> dict[str, str]:
    """Where this machine's pip finds packages, for one with an environment of its own."""
    return {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "REQUESTS_"))}


def checkout(root: Path) -> str:
    """Lines that make `git clone REPOSITORY FOLDER` give the files of this checkout, also those not yet committed."""
    left_out = " ".join(f"--exclude=./{name}" for name in (".venv", ".git", "var", ".pytest_cache", ".mypy_cache"))
    copy = f'mkdir -p "$3" && tar -C {root} {left_out} -c . | tar -C "$3" -xo'
    return f'git() {{ [ "$1 $2" = "clone REPOSITORY" ] && {copy}; }}\n'
