"""The wheels of this checkout, built out of a copy of it, and environments of other Pythons to install them in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = ("./client", "./mover", ".", "./lab")
#: What the wheels are built from.
SOURCES = (
    "client", "controller", "mover", "lab", "ansible.cfg", "playbooks", "roles", "plugins", "templates", "schemas",
    "inventories", "deploy/systemd", "requirements", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE",
)  # fmt: skip
SUPPORTED = ("3.11", "3.12", "3.13")


def build(folder: Path) -> list[Path]:
    """Builds the wheels in a copy, so that the checkout stays as it is."""
    copy, wheels = folder / "copy", folder / "wheels"
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, symlinks=True, ignore=left_out)
        else:
            copy.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    for name in DISTRIBUTIONS:
        subprocess.run(
            [*pip, "--no-build-isolation", "--wheel-dir", str(wheels), name],
            cwd=copy, check=True, capture_output=True, text=True,
        )  # fmt: skip
    return sorted(wheels.glob("*.whl"))


def pythons() -> Iterator[tuple[str, str]]:
    """Supported versions that this machine has, each with its interpreter."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in SUPPORTED:
        candidates = [sys.executable] if version == own else []
        candidates += [shutil.which(f"python{version}") or ""]
        candidates += [str(path) for path in Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")]
        for candidate in candidates:
            if candidate and _is(candidate, version):
                yield version, candidate
                break


def _is(python: str, version: str) -> bool:
    argv = [python, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def bare_environment(home: Path) -> dict[str, str]:
    """Of somebody who has no checkout: nothing of this process's Python, Ansible or Slotcar."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SLOTCAR_", "ANSIBLE_", "PYTHON", "VIRTUAL_ENV"))
    }
    return kept | {"HOME": str(home), "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def install(python: str, folder: Path, wheels: list[Path]) -> Path:
    """A new environment with these wheels and all that they need; its `bin`."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True, env=bare_environment(folder.parent))
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    # pip's own settings say where packages come from.
    subprocess.run([*pip, *map(str, wheels)], check=True, capture_output=True, text=True)
    return folder / "bin"
