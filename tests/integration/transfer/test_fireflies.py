"""Whose connections these are is announced to the other end and to a collector, when they begin and when they end."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from slotcar_transfer import fireflies, serving
from slotcar_transfer.fireflies import Fireflies, SciTag
from slotcar_transfer.moving import Job, pull, push, relay
from slotcar_transfer.staging import Tree
from tests.integration.transfer.test_moving import BOTH, Ends, ends
from tests.support.patience import PATIENCE_S
from tests.support.transfers import fill

__all__ = ["ends"]
TAG = SciTag(2, 11)
SIZE = 3_000_000
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00$"}
#: What version 1 of the format asks for, in our words.
FORMAT: dict[str, Any] = {
    "type": "object",
    "required": ["version", "flow-lifecycle", "flow-id", "context"],
    "properties": {
        "version": {"const": 1},
        "flow-lifecycle": {
            "required": ["state", "start-time", "current-time"],
            "properties": {
                "state": {"enum": ["start", "end"]}, "start-time": TIME, "end-time": TIME, "current-time": TIME,
            },
            "if": {"properties": {"state": {"const": "end"}}},
            "then": {"required": ["end-time"]},
            "additionalProperties": False,
        },
        "flow-id": {
            "required": ["afi", "src-ip", "dst-ip", "protocol", "src-port", "dst-port"],
            "properties": {
                "afi": {"const": "ipv4"}, "protocol": {"const": "tcp"}, "src-ip": {"const": "127.0.0.1"},
                "dst-ip": {"const": "127.0.0.1"}, "src-port": {"type": "integer"}, "dst-port": {"type": "integer"},
            },
            "additionalProperties": False,
        },
        "usage": {
            "properties": {"sent": {"type": "integer"}, "received": {"type": "integer"}}, "additionalProperties": False,
        },
        "context": {
            "const": {"experiment-id": 2, "activity-id": 11, "application": "slotcar-transfer 1"},
        },
    },
    "additionalProperties": False,
}  # fmt: skip
HEADER = re.compile(r"<134>1 \S+\+00:00 \S+ slotcar-transfer - firefly-json - (\{.*\})")


class Collector:
    """Hears on a port of loopback."""

    def __init__(self) -> None:
        self._heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._heard.bind(("127.0.0.1", 0))
        self._heard.settimeout(PATIENCE_S)
        self.port: int = self._heard.getsockname()[1]

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *_: object) -> None:
        self._heard.close()

    def take(self, count: int) -> list[dict[str, Any]]:
        """So many, each as the format asks."""
        return [self._one() for _ in range(count)]

    def _one(self) -> dict[str, Any]:
        match = HEADER.fullmatch(self._heard.recv(65_536).decode())
        assert match is not None
        firefly: dict[str, Any] = json.loads(match[1])
        jsonschema.validate(firefly, FORMAT)
        return firefly


@pytest.fixture
def other_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """What hears at the other end's port."""
    with Collector() as listening:
        monkeypatch.setattr(fireflies, "PORT", listening.port)
        yield listening


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as listening:
        yield listening


def announced(ends: Ends, collector: Collector | None = None) -> Job:
    job = ends.job(BOTH)
    addresses = [] if collector is None else [("127.0.0.1", collector.port)]
    job.fireflies = Fireflies(TAG, "slotcar-transfer 1", addresses)
    return job


def begun_and_ended(heard: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Of each connection, what was said when it began and when it ended."""
    by_state: dict[str, dict[str, dict[str, Any]]] = {"start": {}, "end": {}}
    for one in heard:
        by_state[one["flow-lifecycle"]["state"]][json.dumps(one["flow-id"], sort_keys=True)] = one
    assert by_state["start"].keys() == by_state["end"].keys()
    return [(one, by_state["end"][flow]) for flow, one in by_state["start"].items()]


def test_both_connections_of_who_sends(ends: Ends, tmp_path: Path, other_end: Collector, collector: Collector) -> None:
    fill(tmp_path, {"x": SIZE})
    server = ends.serve("there")
    push(announced(ends, collector), tmp_path / "x", ends.caller("there"), "x")
    heard = other_end.take(4)
    # The connections end in threads of their own, so the two may hear of the ends in another order.
    assert sorted(heard, key=json.dumps) == sorted(collector.take(4), key=json.dumps)
    pairs = begun_and_ended(heard)
    assert len(pairs) == 2
    assert {began["flow-id"]["dst-port"] for began, _ in pairs} == {server.port}
    assert sum(ended["usage"]["sent"] for _, ended in pairs) > SIZE
    for began, ended in pairs:
        assert "usage" not in began
        assert began["flow-lifecycle"]["start-time"] == ended["flow-lifecycle"]["start-time"]
        assert ended["flow-lifecycle"]["start-time"] <= ended["flow-lifecycle"]["end-time"]


def test_the_flow_of_who_receives_is_from_the_other_end(ends: Ends, tmp_path: Path, other_end: Collector) -> None:
    fill(ends.world.root("there"), {"x": SIZE})
    server = ends.serve("there")
    tree = Tree(tmp_path)
    pull(announced(ends), ends.caller("there"), "x", tree, "")
    tree.close()
    pairs = begun_and_ended(other_end.take(4))
    assert {began["flow-id"]["src-port"] for began, _ in pairs} == {server.port}
    assert sum(ended["usage"]["received"] for _, ended in pairs) > SIZE


def test_a_third_end_announces_what_it_sends(
    ends: Ends, other_end: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ends.world.root("there"), {"x": SIZE})
    ends.serve("there")
    receiver = ends.serve("third")
    monkeypatch.setattr(serving, "program", lambda: "slotcar-transfer 1")
    relay(announced(ends), ends.caller("there"), "x", "third", "x")
    pairs = begun_and_ended(other_end.take(4))
    assert {began["flow-id"]["dst-port"] for began, _ in pairs} == {receiver.port}


@pytest.mark.usefixtures("other_end")
def test_nothing_depends_on_it(ends: Ends, tmp_path: Path) -> None:
    """A collector that is nowhere, and an end of a connection that is closed already."""
    fill(tmp_path, {"x": 5})
    ends.serve("there")
    job = ends.job(BOTH)
    job.fireflies = Fireflies(TAG, "slotcar-transfer 1", [("collector.invalid", 10514)])
    assert push(job, tmp_path / "x", ends.caller("there"), "x") == {"files": 1, "bytes": 5}
    with socket.socket() as never:
        job.fireflies.begin(never, sends=True)()
