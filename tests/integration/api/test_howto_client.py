"""docs/howto/client.md: all that it tells to do, from an empty folder, by a Python that has the client package alone."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from slotcar.book.rules.roles import Role
from slotcar.cli.place import choose_context
from tests.integration.api.conftest import ROOT, As
from tests.support.command_line import Cli, in_this_process
from tests.support.documents import File, steps
from tests.support.patience import PATIENCE_S

DOCUMENT = ROOT / "docs" / "howto" / "client.md"
#: httpx and what it imports.
NEEDED = ("httpx", "httpcore", "h11", "anyio", "idna", "certifi", "sniffio", "typing_extensions")


@pytest.fixture
def requesters_folder(tmp_path: Path) -> Path:
    """A folder with a `python` that finds httpx and the client package, and nothing of the controller."""
    packages, programs = tmp_path / "packages", tmp_path / "bin"
    packages.mkdir()
    programs.mkdir()
    for name in NEEDED:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            place = origin.parent if origin.name == "__init__.py" else origin
            (packages / place.name).symlink_to(place)
    shutil.copytree(ROOT / "client" / "slotcar_client", packages / "slotcar_client")
    python = programs / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} -S "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_all_of_it_from_an_empty_folder(
    as_: As, requesters_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    client = as_("cms", Role.REQUESTER)
    token = client.headers["Authorization"].removeprefix("Bearer ")
    environment = {
        "PATH": f"{requesters_folder.parent / 'bin'}:{os.environ['PATH']}", "HOME": str(requesters_folder),
        "SLOTCAR_API": str(client.base_url), "SLOTCAR_TOKEN": token,
    }  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(requesters_folder)
    (requesters_folder / "token").write_text(token)
    slotcar, output = in_this_process(monkeypatch, capfd), ""
    for step in steps(DOCUMENT):
        if isinstance(step, File):
            (requesters_folder / step.path).write_text(step.text)
            continue
        code, printed, wrong = (
            command_line(slotcar, step.line) if step.line.startswith("slotcar ") else shell(step.line, environment)
        )
        assert code == step.code, (step.line, printed, wrong)
        output += printed
    choose_context(None)
    for words in (
        '"role": "requester"',
        " bit/s free",
        "reservation.cancelled",
        "['committed', 'committed']",
        "hep/run-8",
    ):
        assert words in output, output
    assert client.get("/v1/reservations", params={"state": "committed"}).json()["items"] == []
    assert "No module named 'slotcar'" in shell("python -c 'import slotcar'", environment)[2]


def command_line(slotcar: Cli, line: str) -> tuple[int, str, str]:
    done = slotcar(*shlex.split(os.path.expandvars(line))[1:])
    return done.code, done.out, done.err


def shell(line: str, environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", "-c", line], env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    return done.returncode, done.stdout, done.stderr
