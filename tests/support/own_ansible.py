"""An operator's own Ansible: this machine's ansible-core with pydantic, without Slotcar, and the built collection."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from tests.support.patience import PATIENCE_S
from tests.support.wheels import bare_environment

ROOT = Path(__file__).resolve().parents[2]
#: ansible-core and what it imports; then pydantic.
NEEDED = (
    "ansible", "jinja2", "markupsafe", "yaml", "_yaml", "packaging", "resolvelib", "cryptography", "cffi", "_cffi_backend",
    "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
)  # fmt: skip
#: Distributions that Ansible asks for by name.
ASKED_FOR = ("ansible-core", "jinja2", "packaging", "resolvelib", "pyyaml", "cryptography")


def build(folder: Path) -> Path:
    """The collection's archive, out of this checkout."""
    galaxy = [str(Path(sys.executable).with_name("ansible-galaxy")), "collection", "build"]
    subprocess.run([*galaxy, "--output-path", str(folder), str(ROOT)], check=True, capture_output=True, cwd=folder)
    (archive,) = folder.glob("slotcar-broker-*.tar.gz")
    return archive


class OwnAnsible:
    """The collection installed in a folder, beside an Ansible that has no Slotcar."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._packages, self._collections = folder / "packages", folder / "collections"
        self._packages.mkdir()
        for name in NEEDED:
            spec = find_spec(name)
            if spec is not None and spec.origin is not None:
                origin = Path(spec.origin)
                place = origin.parent if origin.name.startswith("__init__.") else origin
                (self._packages / place.name).symlink_to(place)
        for name in ASKED_FOR:
            metadata = Path(str(distribution(name)._path))  # type: ignore[attr-defined]
            (self._packages / metadata.name).symlink_to(metadata)
        self.archive = build(folder)
        self.run("galaxy", "collection", "install", "--offline", "-p", str(self._collections), str(self.archive))

    def run(self, program: str, *arguments: str, **settings: str) -> str:
        """What `ansible-PROGRAM` shows; it must end well."""
        environment = bare_environment(self.folder) | {
            "PYTHONPATH": str(self._packages), "ANSIBLE_HOME": str(self.folder / "home"), "LC_ALL": "C.UTF-8",
            "ANSIBLE_COLLECTIONS_PATH": str(self._collections), **settings,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-S", "-m", "ansible", program, *arguments],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def has(self, module: str) -> bool:
        """Whether its Python can import a module."""
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"import {module}"], env=os.environ | {"PYTHONPATH": str(self._packages)},
            cwd=self.folder, capture_output=True, check=False,
        )  # fmt: skip
        return done.returncode == 0
