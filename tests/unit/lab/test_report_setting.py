"""What a report says of where it was made."""

from __future__ import annotations

import platform
from importlib import metadata

import pytest

from slotcar_lab.experiments import setting


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["/somewhere/slotcar_lab/experiments/__main__.py", "emerge-1"], "python -m slotcar_lab.experiments emerge-1"),
        (["/opt/venv/bin/slotcar", "lab", "run", "emerge-1"], "slotcar lab run emerge-1"),
        (["slotcar", "--out", "my report"], "slotcar --out 'my report'"),
    ],
)
def test_the_command_is_as_a_shell_takes_it(argv: list[str], command: str) -> None:
    assert setting.command(argv) == command


def test_versions_are_of_what_took_part() -> None:
    versions = setting.versions()
    assert versions["python"] == platform.python_version()
    assert versions["slotcar"] == metadata.version("slotcar")
    assert all(versions.values())
