"""Which controller serves a state folder: one that lives, whoever listens at its port after it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotcar.api.serving_record import FOLDER, addresses, recorded
from slotcar.cli.place import Declined, choose_context
from slotcar.cli.remote import remote

HERE = "http://127.0.0.1:8471"


@contextmanager
def another_controller(state_dir: Path, address: str) -> Iterator[int]:
    """The number of another process that serves the folder at an address, until it is killed in the end."""
    reading_end, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with recorded(state_dir, address):
                os.write(writing_end, b"x")
                signal.pause()
        finally:
            os._exit(1)
    os.close(writing_end)
    try:
        with os.fdopen(reading_end, "rb") as ready:
            assert ready.read(1), "it ended before it served the folder"
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_folder_is_served_as_long_as_its_controller_lives(tmp_path: Path) -> None:
    assert addresses(tmp_path) == ()
    with recorded(tmp_path, HERE):
        assert addresses(tmp_path) == (HERE,)
        (file,) = (tmp_path / FOLDER).iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
    assert addresses(tmp_path) == ()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_one_that_was_killed_serves_no_more_and_is_forgotten_by_the_next(tmp_path: Path) -> None:
    with another_controller(tmp_path, "http://127.0.0.1:1") as killed:
        assert addresses(tmp_path) == ("http://127.0.0.1:1",)
    assert [file.name for file in (tmp_path / FOLDER).iterdir()] == [f"{socket.gethostname()}:{killed}"]
    assert addresses(tmp_path) == ()
    with recorded(tmp_path, HERE):
        assert [file.name for file in (tmp_path / FOLDER).iterdir()] == [f"{socket.gethostname()}:{os.getpid()}"]


@pytest.fixture
def nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("SLOTCAR_API", "SLOTCAR_TOKEN", "SLOTCAR_CONTEXT", "SLOTCAR_LISTEN_PORT", "SLOTCAR_LISTEN_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    state = tmp_path / "state"
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(state))
    choose_context(None)
    return state


def address_asked() -> str:
    with remote(None, None) as client:
        return client.api


def test_a_command_that_names_no_controller_asks_that_of_its_state_folder_and_no_other(
    nothing_named: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever listens at the usual port is not asked, with a token perhaps."""
    with pytest.raises(Declined, match=f"serves the state folder {nothing_named}: start one with `slotcar serve`"):
        address_asked()
    with recorded(tmp_path / "another", "http://127.0.0.1:8470"), pytest.raises(Declined, match="no controller"):
        address_asked()
    with recorded(nothing_named, HERE):
        assert address_asked() == HERE
        assert capsys.readouterr().err == f"asking the controller at {HERE}\n"
        monkeypatch.setenv("SLOTCAR_LISTEN_PORT", "8999")
        assert address_asked() == "http://127.0.0.1:8999", "a port that is said is the one that is meant"


def test_of_several_controllers_none_is_chosen(nothing_named: Path) -> None:
    with (
        another_controller(nothing_named, "http://127.0.0.1:8472"),
        recorded(nothing_named, HERE),
        pytest.raises(Declined, match=f"several .*{HERE}, http://127.0.0.1:8472: name one"),
    ):
        address_asked()
