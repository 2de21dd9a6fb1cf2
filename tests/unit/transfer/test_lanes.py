"""The base connection keeps its rate, and gets it back at once after a pause."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slotcar_transfer import tcp
from slotcar_transfer.lanes import BaseControl, Steering, wanted_lanes
from slotcar_transfer.profile import Profile, Step
from slotcar_transfer.wire import Channel
from tests.support.patience import wait_for

T0 = datetime(2027, 3, 1, tzinfo=UTC)
RATE_BPS = 40_000_000


class Sink:
    """Counts what a sender's socket has got through to it."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.sender = socket.create_connection(self._listening.getsockname())
        self._receiver, _ = self._listening.accept()
        self.count = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while body := self._receiver.recv(1 << 16):
            self.count += len(body)

    def close(self) -> None:
        self.sender.close()
        self._thread.join()
        self._receiver.close()
        self._listening.close()


@pytest.fixture
def sink() -> Iterator[Sink]:
    started = Sink()
    yield started
    started.close()


def control_of(sink: Sink, steering: Steering) -> BaseControl:
    return BaseControl(cast("Channel", SimpleNamespace(socket=sink.sender)), steering)


def test_it_pauses_and_goes_on_at_its_rate_and_not_at_that_of_the_pause(sink: Sink) -> None:
    """The kernel would go on waiting for what was sent at a lower pace."""
    now = [T0]
    steering = Steering(Profile((Step(T0 + timedelta(seconds=10), RATE_BPS),)), clock=lambda: now[0])
    control = control_of(sink, steering)
    assert not control.look()
    sink.sender.sendall(bytes(200_000))  # what had been given to the kernel already
    # The kernel chooses larger segments while it sends, and the rate below goes by their size.
    wait_for(lambda: sink.count == 200_000 and not tcp.info(sink.sender).unacknowledged_segments, "it to get through")
    now[0] += timedelta(seconds=10)
    assert control.look()
    wanted = tcp.payload_of_committed(RATE_BPS, 1500, tcp.info(sink.sender).segment_bytes) // 8
    assert tcp.pacing_rate(sink.sender) == wanted
    sink.sender.sendall(bytes(1_000_000))
    wait_for(lambda: sink.count >= 1_200_000, "the rest: at 1 kB a second it would take twenty minutes")


def test_its_buffer_follows_the_rate(sink: Sink) -> None:
    now = [T0]
    steering = Steering(
        Profile((Step(T0, 8_000_000), Step(T0 + timedelta(seconds=10), 800_000_000))), clock=lambda: now[0]
    )
    control = control_of(sink, steering)
    assert control.look()
    small = sink.sender.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    now[0] += timedelta(seconds=10)
    assert control.look()
    assert sink.sender.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > 10 * small


@pytest.mark.parametrize(
    ("steering", "lanes"),
    [
        (Steering(), ("base",)), (Steering(Profile()), ("base", "additional")),
        (Steering(Profile(), additional=False), ("base",)),
    ],
)  # fmt: skip
def test_without_a_reservation_one_connection_does(steering: Steering, lanes: tuple[str, ...]) -> None:
    assert wanted_lanes(steering) == lanes


def test_what_it_goes_by_crosses_the_wire() -> None:
    steering = Steering(Profile((Step(T0, 7),)), 1000, {"base": 46, "additional": 0}, additional=False)
    heard = Steering()
    document: dict[str, Any] = steering.document()
    heard.take(document)
    assert heard.document() == document
