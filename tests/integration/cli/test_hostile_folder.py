"""Every command, said in a folder that somebody else filled: nothing of that folder runs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer

from slotcar.cli.app import app
from tests.support.command_line import Cli
from tests.support.controllers import Controller
from tests.support.patience import PATIENCE_S, wait_for

PLUGINS = (
    "action", "become", "cache", "callback", "cliconf", "connection", "filter", "httpapi", "inventory", "lookup", "netconf",
    "shell", "strategy", "terminal", "test", "vars",
)  # fmt: skip
#: What a command is given where it needs something; a command that is new needs a line only where "x" stops it too early.
VALUES = {
    "files": "FILE", "file": "FILE", "which": "hep/none", "device": "edge-a", "folder": "NEW", "revision": "baseline",
    "--api": "http://127.0.0.1:1", "url": "http://127.0.0.1:1/", "shell": "bash", "disk": "/nowhere",
    "--source": "desk", "--destination": "store:5001",
}  # fmt: skip
MORE = {
    ("create",): ("--owner", "hep", "--rate", "1 Mbit/s", "--start", "now", "--duration", "PT1H", "--protocol", "udp"),
    ("enquire",): ("--source", "desk", "--destination", "store:5001", "--rate", "1 Mbit/s", "--duration", "PT1H"),
    ("check",): ("--devices",), ("schema",): ("reservation",), ("push",): ("--yes",), ("apply",): ("--yes",),
    ("rollback",): ("--device", "edge-a", "--yes"), ("drift",): ("--repair", "--yes"),
}  # fmt: skip
#: It goes on until it is told to stop: below.
ENDLESS = {("serve",)}


def leaves(command: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that has none below it. Those of other distributions are theirs to test."""
    for name, one in getattr(command, "commands", {}).items():
        if hasattr(one, "commands"):
            yield from leaves(one, (*above, name))
        else:
            yield (*above, name), one


COMMANDS = dict(leaves(typer.main.get_command(app)))


def arguments_of(path: tuple[str, ...], files: dict[str, Path]) -> list[str]:
    arguments: list[str] = []
    for one in COMMANDS[path].params:
        is_option = type(one).__name__ == "TyperOption"
        key = one.opts[0] if is_option else one.name
        if one.required and (path, key) != (("schema",), "which"):
            value = VALUES.get(key, "x")
            arguments += [*([key] if is_option else []), str(files.get(value, value))]
    if path == ("init",):
        arguments = [str(files["NEW"]), "--device", "edge-a=linux-tc@127.0.0.1:1"]
    return [*path, *arguments, *MORE.get(path, ())]


class Hostile:
    """A folder in which everything that Ansible or Python might load leaves a trace."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.traces = folder / "theirs", folder / "traces"
        self.traces.mkdir()
        self._fill()

    def _code(self, name: str) -> str:
        return f"open({str(self.traces / name)!r}, 'w').close()\n"

    def _fill(self) -> None:
        paths = "".join(f"{kind}_plugins = {kind}_plugins\n" for kind in PLUGINS)
        self._write(
            "ansible.cfg",
            f"[defaults]\n{paths}library = library\nmodule_utils = module_utils\nroles_path = roles\n"
            "collections_path = collections\nvault_password_file = ./vault.sh\ncallbacks_enabled = evil\n"
            "[inventory]\nenable_plugins = evil, yaml, host_list, script, auto, ini\n",
        )
        for kind in PLUGINS:
            self._write(f"{kind}_plugins/evil.py", self._code(f"{kind} plugin"))
        for module in ("sitecustomize", "yaml", "ansible", "jinja2", "slotcar", "json"):
            self._write(f"{module}.py", self._code(f"module {module}"))
        for module in ("library/setup.py", "module_utils/basic.py"):
            self._write(module, self._code(module.replace("/", " ")))
        pipe = "{{ lookup('pipe', 'touch " + str(self.traces / "variables") + "') }}"
        for variables in ("group_vars/all.yml", "host_vars/edge-a.yml"):
            self._write(variables, json.dumps({"slotcar_description": pipe, "ansible_user": pipe}))
        for program in ("vault.sh", "ssh", "ansible-playbook", "ansible", "sh"):
            self._write(program, f"#!/bin/sh\n: > '{self.traces}/program {program}'\n")
            (self.folder / program).chmod(0o755)

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def run(self) -> list[str]:
        """What has run since it was asked last."""
        names = sorted(one.name for one in self.traces.iterdir())
        for name in names:
            (self.traces / name).unlink()
        return names

    @property
    def variables(self) -> dict[str, str]:
        """What an operator may have set for a folder of their own, and what is surprising in this one."""
        return {
            **{f"ANSIBLE_{kind.upper()}_PLUGINS": f"{kind}_plugins" for kind in PLUGINS if kind != "vars"},
            "ANSIBLE_VARS_PLUGINS": "{{CWD}}/vars_plugins", "ANSIBLE_CONFIG": "ansible.cfg", "ANSIBLE_LIBRARY": "library",
            "ANSIBLE_COLLECTIONS_PATH": "collections", "ANSIBLE_CALLBACKS_ENABLED": "evil", "PYTHONPATH": ".:",
            "ANSIBLE_PLAYBOOK_DIR": ".", "PATH": f".:{os.environ['PATH']}", "ANSIBLE_HOME": ".",
        }  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


@pytest.fixture
def inventory(tmp_path: Path, offline: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The operator's own: two routers at which nobody answers."""
    folder = tmp_path / "ours"
    options = [
        "--device", "edge-a=linux-tc@127.0.0.1:1", "--device", "edge-b=linux-tc@127.0.0.1:1",
        "--link", "edge-a:eth1 192.0.2.1/30, edge-b:eth1 192.0.2.2/30, 1 Gbit/s",
        "--host", "desk 198.51.100.2, edge-a:eth2 198.51.100.1/24, 1 Gbit/s",
        "--host", "store 203.0.113.2, edge-b:eth2 203.0.113.1/24, 1 Gbit/s",
    ]  # fmt: skip
    assert offline("init", folder, *options).code == 0
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(folder))
    monkeypatch.setenv("SLOTCAR_ADOPT_ALL", "true")
    return folder


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param({(one,) for one in ("plan", "status", "events", "explain", "drift", "check")}, id="some"),
        pytest.param(COMMANDS.keys() - ENDLESS, id="all", marks=pytest.mark.slow),
    ],
)
def test_no_command_runs_what_the_current_folder_says(
    commands: Collection[tuple[str, ...]],
    cli: Cli,
    hostile: Hostile,
    inventory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "reservations.yml"
    entry = {
        "name": "n", "owner": "hep", "source": "desk", "destination": "store:5001", "protocol": "udp",
        "service": "ip-premium", "rate": "1 Mbit/s", "start": "now", "duration": "PT1H",
    }  # fmt: skip
    file.write_text(json.dumps({"version": 1, "reservations": [entry]}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(hostile.folder)
    monkeypatch.setattr(sys, "stdin", io.StringIO("x\n"))
    for name, value in hostile.variables.items():
        monkeypatch.setenv(name, value)
    # Contexts last: what comes after them asks the controller that they name.
    for path in sorted(commands, key=lambda path: (path[0] == "context", path)):
        arguments = arguments_of(path, {"FILE": file, "NEW": tmp_path / "new"})
        done = cli(*arguments)
        assert hostile.run() == [], (arguments, done.out, done.err)
        assert "fault in Slotcar" not in done.err, (arguments, done.err)
        if path == ("check",):
            assert "edge-a" in done.out, "Ansible read the inventory, and was to log in"


def test_a_controller_runs_nothing_of_its_folder(hostile: Hostile, inventory: Path, tmp_path: Path) -> None:
    state = tmp_path / "served"
    state.mkdir()
    with contextlib.chdir(hostile.folder), Controller(state, inventory, **hostile.variables) as controller:
        wait_for(lambda: "edge-a" in controller.get("/v1/controller")["troubles"], "a push to be tried")
        plan = httpx.post(
            f"http://127.0.0.1:{controller.port}/v1/plans", json={"version": 1, "reservations": []}, timeout=PATIENCE_S
        )
        assert plan.status_code == 200, "the process that makes plans has begun"
    assert hostile.run() == []


def test_every_command_is_known() -> None:
    assert len(COMMANDS) > 45
    assert set(MORE) | ENDLESS <= set(COMMANDS)
