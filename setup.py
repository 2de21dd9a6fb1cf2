"""Puts what Ansible and the renderers read into the wheel, as `slotcar/share/` (docs/adr/0039-what-a-wheel-holds.md).

In the checkout these folders stand at the top, as Ansible and AWX expect them. `slotcar.base.shipped` finds both. An
editable install copies nothing: it reads the checkout.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

TOP = Path(__file__).resolve().parent
SHIPPED = ("ansible.cfg", "playbooks", "roles", "plugins", "templates", "schemas", "inventories", "deploy/systemd")
#: Tests of the roles, and what editors and Python leave behind.
LEFT_OUT = {"molecule", "__pycache__"}


class BuildWithShipped(build_py):
    """`build_py`, and the shipped files after the modules."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for source, target in self._shipped():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        shipped = [] if self.editable_mode else [target for _, target in self._shipped()]
        return super().get_outputs(include_bytecode) + shipped

    def get_source_files(self) -> list[str]:
        return super().get_source_files() + [str(Path(source).relative_to(TOP)) for source, _ in self._shipped()]

    def _shipped(self) -> list[tuple[str, str]]:
        """Each file in the checkout, and its place in the build folder."""
        share = Path(self.build_lib) / "slotcar" / "share"
        files = [
            file
            for name in SHIPPED
            for file in ([TOP / name] if (TOP / name).is_file() else sorted((TOP / name).rglob("*")))
            if file.is_file() and not LEFT_OUT & set(file.relative_to(TOP).parts)
        ]
        return [(str(file), str(share / file.relative_to(TOP))) for file in files]


setup(cmdclass={"build_py": BuildWithShipped})
