"""A channel that is closed while other threads read and write: they learn that it is over, and see no bytes without TLS."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slotcar_transfer.errors import Broken, TransferError
from slotcar_transfer.wire import Channel, Header, Kind
from tests.support.patience import PATIENCE_S
from tests.support.transfers import LOOPBACK, World

#: So long a thread gets to do what it must not; it is enough where nothing holds it back.
A_MOMENT_S = 0.5


@pytest.fixture
def channels(tmp_path: Path) -> Iterator[tuple[Channel, Channel]]:
    """Both ends of one connection."""
    world = World(tmp_path)
    calling, accepting = world.identity("here"), world.identity("there")
    with socket.create_server((LOOPBACK, 0)) as listening, ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(lambda: accepting.accept(listening.accept()[0]))
        caller = calling.connect(calling.peer("there"), socket.create_connection(listening.getsockname()))
        channel = accepted.result(PATIENCE_S)
    yield caller, channel
    caller.close()
    channel.close()


def while_it_is_shut(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]
) -> list[TransferError]:
    """What another thread's work raises that begins when TLS is off the socket, and the socket is not closed yet."""
    errors: list[TransferError] = []
    ended = threading.Event()

    def other() -> None:
        try:
            work()
        except TransferError as error:
            errors.append(error)
        ended.set()

    shutdown = channel.socket.shutdown

    def slow(how: int) -> None:
        shutdown(how)
        threading.Thread(target=other).start()
        ended.wait(A_MOMENT_S)

    monkeypatch.setattr(channel.socket, "shutdown", slow)
    channel.close()
    assert ended.wait(PATIENCE_S)
    return errors


def test_who_reads_what_is_closed_meanwhile_learns_that_it_broke(
    channels: tuple[Channel, Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What had arrived stays readable at a socket that is shut, as TLS sent it."""
    channel, sender = channels
    for number in range(20):
        sender.send_header(Header(Kind.ACK, number))
    assert channel.receive_header() == Header(Kind.ACK, 0)
    (error,) = while_it_is_shut(channel, monkeypatch, channel.receive_header)
    assert isinstance(error, Broken), error


def test_what_is_closed_meanwhile_sends_nothing_without_tls(
    channels: tuple[Channel, Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, receiver = channels
    shutdown = channel.socket.shutdown
    # The instant between the two steps of Python's `shutdown`: TLS is off the socket, which still sends.
    monkeypatch.setattr(channel.socket, "shutdown", lambda _how: shutdown(socket.SHUT_RD))
    (error,) = while_it_is_shut(channel, monkeypatch, lambda: channel.send_header(Header(Kind.ACK, 1)))
    assert isinstance(error, Broken), error
    with pytest.raises(Broken, match="it was closed"):
        receiver.receive_header()
