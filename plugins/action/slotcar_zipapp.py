# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Copies a package of Python to a host as one file that Python runs: one transfer, none where the host has it already."""

from __future__ import annotations

import tempfile
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from ansible.constants import DEFAULT_LOCAL_TMP
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

MAIN = "import runpy\n\nrunpy.run_module({name!r}, run_name='__main__')\n"
_UNIX = 3


class ActionModule(ActionBase):
    TRANSFERS_FILES = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "src": {"type": "path", "required": True},
                "dest": {"type": "path", "required": True},
                "owner": {"type": "str"},
                "group": {"type": "str"},
                "mode": {"type": "str"},
            }
        )
        package = Path(self._find_needle("files", arguments["src"]))
        if not (package / "__main__.py").is_file():
            raise AnsibleActionFail(f"{package} has no __main__.py: Python cannot run it")
        with tempfile.TemporaryDirectory(dir=DEFAULT_LOCAL_TMP) as folder:
            archive = Path(folder) / Path(arguments["dest"]).name
            write_zipapp(package, archive)
            return result | self._copy(archive, task_vars)

    def _copy(self, archive, task_vars):
        task = self._task.copy()
        task.args = {**self._task.args, "src": str(archive)}
        copy = self._shared_loader_obj.action_loader.get(
            "ansible.legacy.copy", task=task, connection=self._connection, play_context=self._play_context,
            loader=self._loader, templar=self._templar, shared_loader_obj=self._shared_loader_obj,
        )  # fmt: skip
        return copy.run(task_vars=task_vars)


def write_zipapp(package: Path, archive: Path) -> None:
    """The same bytes from the same modules, whenever and wherever: without their times, and not compressed, since that
    differs between releases of zlib."""
    files = {"__main__.py": MAIN.format(name=package.name).encode()}
    files |= {f"{package.name}/{file.name}": file.read_bytes() for file in sorted(package.glob("*.py"))}
    with ZipFile(archive, "w") as opened:
        for name, content in files.items():
            entry = ZipInfo(name)
            entry.create_system = _UNIX
            opened.writestr(entry, content)
