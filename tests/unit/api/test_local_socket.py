"""The socket of a controller for its own machine: who has it, what is replaced, and whom a command believes."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from slotcar.api.listening import CannotListen, PortInUse
from slotcar.api.local_socket import MODE, bound_here
from slotcar.base.accounts import peer_uid
from slotcar.base.settings import Settings
from slotcar.cli.local_socket import answering_socket
from slotcar.cli.place import Declined

IS_ROOT = os.geteuid() == 0
#: Of an account that no machine has.
OTHER_UID = 54_321


def test_a_socket_is_there_as_long_as_its_controller_and_for_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "slotcar.sock"
    with bound_here(path):
        assert path.stat().st_mode & 0o777 == MODE
        with pytest.raises(PortInUse, match=r"another controller listens on .* already"), bound_here(path):
            pass
        assert path.is_socket(), "the first one still has it"
    assert not path.exists()


def test_what_a_killed_controller_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "slotcar.sock"
    ready, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with bound_here(path):
                os.write(writing_end, b"x")
                signal.pause()
        finally:
            os._exit(1)
    assert os.read(ready, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert path.is_socket()
    with bound_here(path):
        assert path.is_socket()


def test_what_is_no_socket_of_this_account_stays(tmp_path: Path) -> None:
    target, link, file, others = (tmp_path / name for name in ("target", "link", "file", "others"))
    link.symlink_to(target)
    file.write_text("kept")
    for path in (link, file):
        with pytest.raises(CannotListen, match="something is there that is no socket"), bound_here(path):
            pass
    assert (link.is_symlink(), target.exists(), file.read_text()) == (True, False, "kept")
    if IS_ROOT:  # only root can make another account's
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(others))
        os.chown(others, OTHER_UID, OTHER_UID)
        with pytest.raises(CannotListen, match=f"a socket of the account {OTHER_UID} is there"), bound_here(others):
            pass
        assert others.is_socket()


def test_a_path_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, why in (
        (tmp_path / "file" / "sock", "Not a directory"),
        (tmp_path / ("x" * 108) / "sock", "File name too long"),
    ):
        with pytest.raises(CannotListen, match=f"cannot listen on .*: {why}"), bound_here(path):
            pass


@contextmanager
def listening(path: Path, answer: bytes, uid: int | None = None) -> Iterator[None]:
    """Somebody who accepts a connection at the path, and answers so. `uid`: as that account."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        before = os.geteuid()
        if uid is not None:
            os.seteuid(uid)  # what connections are told of whoever listens is of that moment
        try:
            listener.listen()
        finally:
            os.seteuid(before)

        def answer_one() -> None:
            with listener.accept()[0] as connection, suppress(OSError):  # who does not believe it has left
                connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=answer_one, daemon=True)
        thread.start()
        yield
        with socket.socket(socket.AF_UNIX) as last:  # where nobody asked, it waits still
            last.connect(str(path))
            last.sendall(b"x")
            thread.join()
    path.unlink()


def test_a_command_asks_who_answers_and_may_be_believed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(state_dir=tmp_path)
    path = settings.socket_path
    assert answering_socket(settings) is None
    good = b"HTTP/1.1 200 OK\r\n\r\n"
    with listening(path, good):
        assert answering_socket(settings) == path
    with listening(path, good):
        assert answering_socket(Settings(state_dir=tmp_path, local="ledger")) is None
    assert capsys.readouterr().err == ""
    with listening(path, b"SSH-2.0\r\n"):
        assert answering_socket(settings) is None
    assert "does not answer as a controller does" in " ".join(capsys.readouterr().err.split())
    if IS_ROOT:
        with listening(path, good, OTHER_UID):
            assert answering_socket(settings) is None
        assert f"the account with the number {OTHER_UID} listens there" in " ".join(capsys.readouterr().err.split())


def test_where_the_socket_is_wanted_nothing_else_is_taken(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, local="socket")
    with pytest.raises(Declined, match="no such file or directory"):
        answering_socket(settings)
    with socket.socket(socket.AF_UNIX) as listener:  # as one that was killed left it
        listener.bind(str(settings.socket_path))
    with pytest.raises(Declined, match="nobody listens there"):
        answering_socket(settings)
    assert answering_socket(Settings(state_dir=tmp_path)) is None


def test_the_kernel_tells_the_account_of_the_other_side() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert peer_uid(ours) == os.geteuid()
