"""`slotcar init` asks at a terminal: what is typed becomes an inventory, and a mistake is said and asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.network import load_network
from tests.support.command_line import Cli, terminal

TYPED = (
    "\n",  # a router at least: it is asked again
    "edge-a\n",  # without a platform
    "edge-a=linux-tc@192.0.2.1\n",
    "edge-b=linux-tc@192.0.2.2\n",
    "\n",
    "slotcar\n",
    "edge-a:eth1 10.0.0.1/30, edge-b:eth1 10.0.0.2/30, 1 Gb\n",  # no unit of a rate
    "edge-a:eth1 10.0.0.1/30, edge-b:eth1 10.0.0.2/30, 1 Gbit/s\n",
    "\n",
    "alice 10.1.0.2, edge-a:eth2 10.1.0.1/24, 1 Gbit/s\n",
    "\n",
)


def test_what_is_typed_becomes_an_inventory(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "inventory"
    with terminal(monkeypatch, "".join(TYPED)) as shown:
        done = cli("init", folder)
    assert done.code == 0, done.err
    assert "Wrote " in "".join(shown)
    assert done.err.count("Router, as NAME=PLATFORM@ADDRESS") == 3
    assert done.err.count("Link, as ") == 2
    assert "1 Gb" in done.err
    network = load_network(folder)
    assert sorted(network.devices) == ["edge-a", "edge-b"]
    assert sorted(network.hosts) == ["alice"]
    assert "ansible_user: slotcar" in "".join(one.read_text() for one in folder.rglob("*.yml"))


def test_who_ends_the_terminal_has_written_nothing(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "inventory"
    with terminal(monkeypatch, "edge-a=linux-tc@192.0.2.1\n\x04"):
        done = cli("init", folder)
    assert done.code != 0
    assert list(tmp_path.iterdir()) == []
