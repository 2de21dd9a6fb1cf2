"""`slotcar timeline` and `slotcar status --watch`, as a user starts them, against an API that runs."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.book.rules.roles import Role
from slotcar.cli.place import Declined
from slotcar.cli.remote import remote
from slotcar.cli.watching import line, look
from slotcar.store import Ledger
from slotcar_client import NoContext, NotAllowed
from tests.integration.api.conftest import Serve, created
from tests.support.controllers import SLOTCAR, heeds_interrupts
from tests.support.patience import PATIENCE_S


@contextmanager
def watching(address: object, output: int, **environment: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(SLOTCAR), "status", "--watch", "--interval", "0.2"]
    surroundings = os.environ | {"SLOTCAR_API": str(address), "COLUMNS": "150", "TERM": "xterm", **environment}
    process = subprocess.Popen(
        command, env=surroundings, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True,
        preexec_fn=heeds_interrupts,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The next line that has these words; a process that says nothing more fails the test."""
    assert process.stdout is not None
    for text in process.stdout:
        if words in text:
            return text
    raise AssertionError(f"never said {words}: {process.stderr.read() if process.stderr else ''}")


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    code = process.wait(PATIENCE_S)
    return code, process.stderr.read() if process.stderr else ""


@pytest.fixture
def boundary(serve: Serve, ledger: Ledger) -> tuple[httpx.Client, str]:
    """An API, and the instant of a boundary that one device is armed for."""
    api = serve()
    at = created(api)["reservation"]["windows"][0]["start"]
    armed: dict[str, Any] = {"at": at, "devices": ["anl-7507-1"], "revision": "rev"}
    ledger.append_event("boundary.staged", datetime.now(UTC), details=armed)
    ledger.append_event("boundary.staged", datetime.now(UTC), details={"at": at, "devices": ["esnet-7507"]})
    return api, at


def test_a_pipe_gets_a_line_each_time_and_ctrl_c_ends_it(boundary: tuple[httpx.Client, str]) -> None:
    api, at = boundary
    with watching(api.base_url, subprocess.PIPE) as process:
        line = line_with(process, "next boundary")
        assert f"next boundary {at} (in " in line
        assert "+hep/cms planned; devices: 1 armed, 2 planned, 1 staged" in line
        assert line_with(process, "next boundary")
        assert interrupted(process) == (0, f"asking the controller at {api.base_url}\n")


@pytest.mark.slow
def test_a_terminal_gets_a_picture_that_is_drawn_again(boundary: tuple[httpx.Client, str]) -> None:
    api, at = boundary
    ours, theirs = pty.openpty()
    with watching(api.base_url, theirs) as process:
        os.close(theirs)
        screen = read_until(ours, lambda text: text.count(at) >= 2)
        assert "1 armed, 2 planned, 1 staged" in screen
        assert "only answers" in screen
        assert interrupted(process) == (0, f"asking the controller at {api.base_url}\n")
    os.close(ours)


def read_until(terminal: int, enough: Callable[[str], bool]) -> str:
    deadline, screen = time.monotonic() + PATIENCE_S, ""
    while not enough(screen):
        assert time.monotonic() < deadline, screen
        screen += os.read(terminal, 4096).decode(errors="replace")
    return screen


@pytest.mark.slow
def test_a_controller_that_does_not_answer_is_told_and_asked_again() -> None:
    with remote("http://127.0.0.1:1", None) as client:
        for _ in range(2):
            picture = look(client)
            assert "http://127.0.0.1:1 does not answer" in line(picture)
            assert picture.controller is None


def test_who_may_not_look_is_told_so_and_by_what_it_can(serve: Serve, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(create_token(tmp_path / "tokens.json", "cms", Role.REQUESTER, "cms", datetime.now(UTC)) + "\n")
    address = str(serve(open=False).base_url)
    for file, words in ((None, "Authorization: Bearer TOKEN"), (token, "only an operator or an auditor may")):
        with pytest.raises(NotAllowed, match=words), remote(address, file) as client:
            look(client)
    with (
        pytest.raises(Declined, match="no token can be read from it: No such file"),
        remote(address, tmp_path / "none"),
    ):
        raise AssertionError("it was opened without its token")


def test_the_environments_token_goes_to_the_controller_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLOTCAR_API", "https://slotcar.example.net")
    monkeypatch.setenv("SLOTCAR_TOKEN", "slotcar_secret")
    for address, sent in (
        ("https://slotcar.example.net/", True), (None, True), ("https://other.example.net", False),
        ("http://slotcar.example.net", False), ("https://slotcar.example.net:8470", False),
    ):  # fmt: skip
        with remote(address, None) as client:
            assert ("authorization" in client._http.headers) == sent, address
        assert ("is not sent to" in capsys.readouterr().err) != sent
    monkeypatch.delenv("SLOTCAR_API")
    with remote("https://other.example.net", None) as client:
        assert client._http.headers["authorization"] == "Bearer slotcar_secret", "it is for no other"


def test_what_is_no_address_is_named() -> None:
    for address, words in (
        ("ftp://x", "say one such as http://"),
        ("http://here:port", "is not the address of an API"),
    ):
        with pytest.raises(NoContext, match=words), remote(address, None) as client:
            client.controller()
