"""Connections by vectors, over loopback: what each option does to real sockets."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from slotcar_client.client import Slotcar
from slotcar_client.vectors import Closed, Connection, Listener, NotPossible, Option, Transport, Vector
from slotcar_client.vectors.framing import HELLO, Garbled
from slotcar_client.vectors.reserving import connect
from slotcar_client.vectors.sockets import SO_MAX_PACING_RATE, SO_NO_CHECK, available
from tests.support.patience import PATIENCE_S, wait_for

HERE = ("127.0.0.1", 0)
FRAMED = Option.RETRAN | Option.MBP
#: Both ways, without a rate: nothing is asked of a network.
BOTH = Vector(coptions=FRAMED, max_alloc=8, max_data_r=1_400, max_data_t=1_400)
#: Any transport but UDP must be one that this host has.
STREAMS = [one for one in (Transport.TCP, Transport.SCTP) if one in available()]


def no_controller() -> Slotcar:
    raise AssertionError("the network is not asked")


@contextmanager
def pair(
    near: Vector, far: Vector | None = None, transport: Transport | None = None
) -> Iterator[tuple[Connection, Connection]]:
    """Both ends, with the same vector where one is not said."""
    theirs = None if transport is None else [transport]
    accepted: list[Connection] = []
    with Listener(far or near, HERE) as listener:
        waiting = threading.Thread(target=lambda: accepted.append(listener.accept(PATIENCE_S)))
        waiting.start()
        connected = connect(near, listener.address, no_controller, theirs=theirs)
        waiting.join()
    with connected, accepted[0]:
        yield connected, accepted[0]


@pytest.mark.parametrize("options", [FRAMED, Option(0), Option.DATA_CHECK], ids=["tcp", "udp", "udp, checked"])
def test_messages_go_both_ways_and_keep_their_boundaries(options: Option) -> None:
    messages = [b"first", b"", bytes(1_400), b"last"]
    with pair(replace(BOTH, coptions=options)) as (near, far):
        for one in messages:
            near.send(one)
        assert [far.recv(PATIENCE_S) for _ in messages] == messages
        far.send(b"back")
        assert near.recv(PATIENCE_S) == b"back"
        assert (near.counts.sent, near.counts.received, far.counts.received) == (4, 1, 4)


@pytest.mark.parametrize("transport", STREAMS)
def test_each_stream_that_this_host_has_carries_messages(transport: Transport) -> None:
    with pair(BOTH, transport=transport) as (near, far):
        assert near.transport is far.transport is transport
        near.send(b"one")
        near.send(b"two")
        assert [far.recv(PATIENCE_S), far.recv(PATIENCE_S)] == [b"one", b"two"]


def test_without_message_boundaries_a_stream_is_plain_bytes() -> None:
    """Any program may be the other end."""
    with socket.create_server(HERE) as plain:
        vector = replace(BOTH, coptions=Option.RETRAN)
        with connect(vector, plain.getsockname(), no_controller) as near:
            peer, _ = plain.accept()
            with peer:
                near.send(b"GET /")
                assert peer.recv(100) == b"GET /"
                peer.sendall(b"200")
                assert near.recv(PATIENCE_S) == b"200"


def test_a_message_longer_than_a_packet_goes_in_parts() -> None:
    long = replace(BOTH, coptions=Option(0), max_data_r=9_000, max_data_t=9_000)
    with pair(long) as (near, far):
        near.send(bytes(range(250)) * 36)
        assert far.recv(PATIENCE_S) == bytes(range(250)) * 36


def test_all_that_a_vector_says_is_set_on_the_socket() -> None:
    vector = replace(BOTH, sort=200, max_alloc=50)
    with pair(vector) as (near, far):
        for end in (near.socket, far.socket):
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2 == 50 * 1_404
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2 == 50 * 1_404
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 6
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(("options", "unchecked"), [(Option(0), 1), (Option.DATA_CHECK, 0)])
def test_data_check_is_udp_s_checksum(options: Option, unchecked: int) -> None:
    with pair(replace(BOTH, coptions=options)) as (near, _far):
        assert near.socket.getsockopt(socket.SOL_SOCKET, SO_NO_CHECK) == unchecked


def test_a_buffer_beyond_the_host_s_limit_is_refused_in_words() -> None:
    with pytest.raises(
        NotPossible, match=r"max_alloc times max_data_t is a buffer of 4259775000 bytes, and this host gives"
    ):
        Listener(Vector(coptions=Option.RETRAN, max_alloc=65_535, max_data_t=65_000), HERE)


def test_nobody_there_is_said_for_each_transport() -> None:
    with pytest.raises(NotPossible, match=r"127.0.0.1:9 is not reached: .*tcp: Connection refused"):
        connect(BOTH, ("127.0.0.1", 9), no_controller)
    with pytest.raises(NotPossible, match="udp: Connection refused"):
        connect(Vector(max_data_t=9), ("127.0.0.1", 9), no_controller)


def test_what_is_not_the_vector_s_is_not_sent() -> None:
    with (
        pair(BOTH) as (near, _far),
        pytest.raises(NotPossible, match="a message of 1401 bytes, and max_data_t is 1400"),
    ):
        near.send(bytes(1_401))


def test_one_way_is_one_way() -> None:
    out = replace(BOTH, coptions=FRAMED | Option.UNI, max_data_r=0)
    into = replace(BOTH, coptions=FRAMED | Option.UNI, max_data_t=0)
    with pair(out, into) as (near, far):
        near.send(b"there")
        assert far.recv(PATIENCE_S) == b"there"
        with pytest.raises(NotPossible, match="nothing is sent from here"):
            far.send(b"back")
        with pytest.raises(NotPossible, match="nothing comes here"):
            near.recv()


@pytest.mark.parametrize("options", [FRAMED, Option(0)], ids=["tcp", "udp"])
def test_an_end_is_heard(options: Option) -> None:
    with pair(replace(BOTH, coptions=options)) as (near, far):
        near.send(b"last")
        near.finish()
        assert far.recv(PATIENCE_S) == b"last"
        assert far.recv(PATIENCE_S) is None
        far.send(b"I go on")
        assert near.recv(PATIENCE_S) == b"I go on", "without FASTCLOSE the other way goes on"


@pytest.mark.parametrize("options", [FRAMED, Option(0)], ids=["tcp", "udp"])
def test_fast_close_closes_when_the_other_end_wants_to(options: Option) -> None:
    with pair(replace(BOTH, coptions=options | Option.FASTCLOSE)) as (near, far):
        near.finish()
        assert far.recv(PATIENCE_S) is None
        assert far.fileno() == -1
        with pytest.raises(Closed):
            far.send(b"too late")


@pytest.mark.parametrize("options", [FRAMED, Option(0)], ids=["tcp", "udp"])
def test_fast_close_is_seen_by_an_end_that_only_sends(options: Option) -> None:
    out = replace(BOTH, coptions=options | Option.FASTCLOSE, max_data_r=0)
    into = replace(BOTH, coptions=options | Option.FASTCLOSE, max_data_t=0)
    with pair(out, into) as (near, far):
        far.finish()

        def closes() -> bool:
            try:
                near.send(b"more")
            except Closed:
                return True
            return False

        wait_for(closes, "the sender to close")
        assert near.fileno() == -1


@pytest.mark.parametrize("options", [FRAMED, Option(0)], ids=["tcp", "udp"])
def test_in_restricted_jitter_the_head_gives_way_to_the_newest(options: Option) -> None:
    """A receiver that does not look for a while has the latest messages, and the sender was never stopped."""
    vector = replace(BOTH, coptions=options | Option.RJ, max_alloc=4)
    with pair(vector) as (near, far):
        for number in range(60):
            near.send(struct.pack(">I", number) + bytes(1_000))
        wait_for(lambda: far.counts.dropped == 56, "the receiver to take what comes")
        near.finish()
        messages = list(iter(lambda: far.recv(PATIENCE_S), None))
    assert [struct.unpack(">I", one[:4])[0] for one in messages if one] == [56, 57, 58, 59]


def test_without_restricted_jitter_the_window_stops_the_sender() -> None:
    with pair(replace(BOTH, max_alloc=4)) as (near, _far):
        near.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            send_many(near, 500)
        assert near.counts.sent < 100


@pytest.mark.parametrize("size", [1, 100, 200, 700, 1_400, 5_000])
def test_as_many_datagrams_wait_unread_as_may_be_pending(size: int) -> None:
    vector = Vector(max_alloc=60, max_data_t=size, max_data_r=size)
    with pair(vector) as (near, far):
        for _ in range(60):
            near.send(bytes(size))
        assert [far.recv(PATIENCE_S) for _ in range(60)] == [bytes(size)] * 60


def test_udp_is_sent_at_the_rate_of_its_ip_packets() -> None:
    """10 bursts' worth beyond the bucket: not faster than the rate; how late is the machine's."""
    vector = Vector(max_data_t=464, max_data_outrate=46_400, max_data_outburst=464)
    with pair(replace(vector, max_data_outrate=0, max_data_outburst=0), Vector(max_data_r=464)) as (near, _far):
        near.network = Agreeing()
        near.change(vector)
        began = time.monotonic()
        for _ in range(11):
            near.send(bytes(464))
        assert time.monotonic() - began >= 0.1


class Agreeing:
    """A network that gives all that it is asked for, and counts how often."""

    def __init__(self) -> None:
        self.asked_times = 0
        self.refuses = False

    def change(self, _needed: object) -> None:
        self.asked_times += 1
        if self.refuses:
            raise NotPossible("the network does not give it: no room")

    def give_back(self) -> None:
        self.asked_times += 1


def send_many(connection: Connection, count: int) -> None:
    for _ in range(count):
        connection.send(bytes(1_400))


def pace_of(connection: Connection) -> int:
    return int.from_bytes(connection.socket.getsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 8), "little")


def test_a_change_below_the_maximum_does_not_ask_the_network_and_above_it_does() -> None:
    with pair(BOTH) as (near, _far):
        network = Agreeing()
        near.network = network
        most = replace(BOTH, max_data_outrate=140_000)
        assert near.change(most)
        assert network.asked_times == 1
        for rate in (14_000, 100_000, 140_000):
            lower = replace(most, max_data_outrate=rate, sort=200, max_alloc=4)
            assert not near.change(lower)
            assert pace_of(near) == -(-rate * 1_404 // 1_400)
        assert network.asked_times == 1
        assert near.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 6
        assert near.change(replace(most, max_data_outrate=140_001))
        assert network.asked_times == 2
        assert (near.counts.changes, near.counts.asked_network) == (5, 2)


def test_a_change_that_the_network_refuses_leaves_all_as_it_was() -> None:
    with pair(BOTH) as (near, _far):
        near.network = network = Agreeing()
        network.refuses = True
        with pytest.raises(NotPossible, match="no room"):
            near.change(replace(BOTH, max_data_outrate=9_000, max_alloc=20, sort=255))
        assert near.vector == BOTH
        assert near.socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2 == 8 * 1_404
        assert near.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 2


def test_a_change_of_what_was_chosen_at_the_beginning_is_refused() -> None:
    with pair(BOTH) as (near, _far):
        with pytest.raises(NotPossible, match="coptions: RETRAN is chosen when a connection is made"):
            near.change(replace(BOTH, coptions=Option.MBP))
        with pytest.raises(NotPossible, match="nothing was agreed with a network: the rate out"):
            near.change(replace(BOTH, max_data_outrate=9_000))


def test_strangers_datagrams_are_counted_and_left_out() -> None:
    with Listener(Vector(max_data_r=9), HERE) as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.connect(listener.address)
        peer.send(b"before")
        peer.send(HELLO)
        with listener.accept(PATIENCE_S) as far:
            peer.send(b"?")
            peer.send(HELLO)
            peer.send(b"\0\0\0\0\0\0\0\1fine")
            assert far.recv(PATIENCE_S) == b"fine"
            assert far.counts.garbled == 1


def test_a_stranger_on_a_stream_is_said_to_be_one() -> None:
    with (
        Listener(replace(BOTH, coptions=FRAMED), HERE) as listener,
        socket.create_connection(listener.address) as peer,
    ):
        peer.sendall(b"GET / HTTP/1.1")
        with listener.accept(PATIENCE_S) as far, pytest.raises(Garbled, match="max_data_r is 1400"):
            far.recv(PATIENCE_S)


def test_nobody_comes_and_nothing_comes() -> None:
    with Listener(BOTH, HERE) as listener, pytest.raises(TimeoutError, match="nobody came"):
        listener.accept(0.01)
    with pair(BOTH) as (near, _far), pytest.raises(TimeoutError, match="nothing came"):
        near.recv(0.01)
