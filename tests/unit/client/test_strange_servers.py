"""Whatever answers, each verb of the client ends in an answer or in an error of the library."""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import Any

import pytest

from slotcar_client import Retries, Slotcar, SlotcarError
from slotcar_client.__main__ import VERBS
from slotcar_client.watching import Watching
from tests.support.strange import ANSWERS, server

ARGUMENTS: dict[str, Any] = {
    "reservation": {"name": "a"},
    "file": {"version": 1},
    "plan": {"steps": []},
    "files": {},
    "fragments": {},
}


def call(slotcar: Slotcar, name: str) -> Any:
    """With what it needs; a text stands for all of it."""
    needed = [
        one.name
        for one in inspect.signature(VERBS[name]).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    return getattr(slotcar, name)(**{key: ARGUMENTS.get(key, "r-1") for key in needed})


@pytest.mark.parametrize("strange", ANSWERS)
def test_every_verb_ends_in_words(strange: str) -> None:
    with server(ANSWERS[strange]) as address, Slotcar(address, "token", retries=Retries(attempts=1)) as slotcar:
        for name in VERBS:
            with suppress(SlotcarError):
                call(slotcar, name)


@pytest.mark.parametrize(
    "raw",
    [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", b"", b"HTTP/1.1 \xff\r\n\r\n"],
)
def test_what_is_no_http_ends_in_words(raw: bytes) -> None:
    with (
        server(raw) as address,
        Slotcar(address, retries=Retries(attempts=1)) as slotcar,
        pytest.raises(SlotcarError, match="does not answer"),
    ):
        slotcar.whoami()


@pytest.mark.parametrize(
    "line",
    [
        "data: <html>",
        "data: []",
        "data: {}",
        'data: {"sequence": "x"}',
        ": events after ²",
        f"data: {'[' * 100_000}",
        "x",
    ],
)
def test_a_stream_of_something_else_has_no_events(line: str) -> None:
    sentences: list[str] = []
    assert Watching(tell=sentences.append).heard(line) is None


def test_a_problem_that_is_none_ends_no_stream_in_a_fault() -> None:
    with pytest.raises(SlotcarError):
        Watching().answered(401, "application/problem+json", b"<html>")
