"""What a vector becomes: the reservation, the transport, and what is set at the socket."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slotcar.admission.arithmetic import burst_bytes, policer_rate_bps
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.reservation import from_mapping
from slotcar.reservation.model import Reservation
from slotcar_client.vectors import InvalidVector, NotPossible, Option, Transport, Vector
from slotcar_client.vectors.mapping import (
    HEADERS_BYTES,
    above,
    choose,
    fixed,
    ip_bytes,
    needs,
    parts_of,
    reservation,
    room_bytes,
    settings,
    transports,
)

TCP, UDP, SCTP = Transport.TCP, Transport.UDP, Transport.SCTP
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
VIDEO = Vector(coptions=Option.MBP, max_alloc=8, max_data_t=1_400, max_data_outrate=500_000, max_data_outburst=14_000)
#: Sizes of messages and rates of both ways; a rate of 0 asks for none.
VECTORS = st.builds(
    lambda size, out, into: Vector(
        max_data_t=size, max_data_r=size, max_data_outrate=out, max_data_inrate=into, max_data_outburst=size * (out >= size)
    ),
    st.integers(1, 65_000), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1),
)  # fmt: skip


def reserved(vector: Vector, transport: Transport) -> Reservation:
    """As the controller reads it."""
    keys = reservation(needs(vector, transport))
    return from_mapping(
        {"name": "a", "owner": "hep", "source": "a", "destination": "b", "start": "now", "duration": "1 h", **keys},
        NOW,
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Option(0), [UDP]),
        (Option.MBP | Option.RJ, [UDP]),
        (Option.RETRAN, [TCP]),
        (Option.RETRAN | Option.MBP, [SCTP, TCP]),
        (Option.RETRAN | Option.RJ, [SCTP, TCP]),
    ],
)
def test_the_transport_follows_from_the_need(options: Option, expected: list[Transport]) -> None:
    assert list(transports(Vector(coptions=options, max_data_t=9))) == expected


def test_what_is_reserved_is_tcp_before_sctp_whose_ports_not_all_routers_know() -> None:
    assert transports(replace(VIDEO, coptions=Option.RETRAN | Option.MBP)) == (TCP, SCTP)


def test_the_best_transport_that_both_ends_have_is_taken() -> None:
    files = Vector(coptions=Option.RETRAN | Option.MBP, max_data_t=9)
    assert choose(files, Transport, Transport) is SCTP
    assert choose(files, Transport, [TCP, UDP]) is TCP
    with pytest.raises(NotPossible, match="it needs sctp or tcp, and both ends have only udp"):
        choose(files, Transport, [UDP])
    with pytest.raises(NotPossible, match="it needs udp, and both ends have only no transport"):
        choose(VIDEO, [UDP], [TCP])


@pytest.mark.parametrize("transport", [TCP, UDP, SCTP])
@given(vector=VECTORS)
def test_what_is_reserved_lets_all_messages_at_the_vector_s_rate_pass(transport: Transport, vector: Vector) -> None:
    """The controller's own arithmetic gives its policer at least the packets of the vector's rate, and hardly more."""
    assume(vector.max_data_outrate or vector.max_data_inrate)
    flow = reserved(vector, transport)
    needed = needs(vector, transport)
    for way, need in ((Direction.FORWARD, needed.out), (Direction.REVERSE, needed.into)):
        rate_bps = policer_rate_bps(flow.slots[0].rate_bps(way), flow.packet_size_bytes, flow.protocol)
        assert need.ip_bps <= rate_bps <= need.ip_bps + 8 * flow.packet_size_bytes
        burst = burst_bytes(rate_bps, flow.rtt_us, Protocol(transport.value), 0, 2**40)
        assert burst >= need.burst_bytes


@pytest.mark.parametrize(("transport", "on_line"), [(TCP, 1_509), (UDP, 1_488), (SCTP, 1_500)])
def test_headers_are_counted_as_they_are_on_the_line(transport: Transport, on_line: int) -> None:
    """1452 bytes: on TCP with its length in segments of 1448, on UDP with 8 bytes of its number, on SCTP in one packet."""
    assert ip_bytes(1_452, transport, framed=True) == on_line


def test_a_long_message_has_the_headers_of_its_parts() -> None:
    assert room_bytes(UDP) == 1_464
    assert (parts_of(1_464, UDP), parts_of(1_465, UDP), parts_of(0, UDP)) == (1, 2, 1)
    assert ip_bytes(9_000, UDP, framed=False) == 9_000 + 7 * (HEADERS_BYTES[UDP] + 8)


def test_a_bound_and_what_is_not_sent_again_are_premium_s_and_other_rates_assured() -> None:
    files = replace(VIDEO, coptions=Option.RETRAN)
    assert reserved(files, TCP).service is Service.ASSURED_RATE
    assert reserved(replace(files, max_jitter=9_000), TCP).service is Service.IP_PREMIUM
    assert reserved(VIDEO, UDP).service is Service.IP_PREMIUM
    bounded = reserved(replace(VIDEO, max_latency=20_000, max_jitter=5_000), UDP)
    assert bounded.service is Service.IP_PREMIUM
    assert bounded.delay is not None
    assert bounded.jitter is not None
    assert (bounded.delay.at_most_us, bounded.jitter.at_most_us) == (20_000, 5_000)


def test_without_a_rate_nothing_is_asked_of_the_network() -> None:
    needed = needs(Vector(max_data_t=1_400), UDP)
    assert not needed.asks
    assert reservation(needed) == {}


def test_a_burst_beyond_what_a_reservation_takes_is_refused() -> None:
    with pytest.raises(InvalidVector, match="a burst is at most 15 s of its rate"):
        reservation(needs(replace(VIDEO, max_data_outrate=900), UDP))
    reservation(needs(replace(VIDEO, max_data_outrate=1_000), TCP))


def test_pending_messages_times_sizes_are_the_buffers() -> None:
    vector = Vector(coptions=Option.RETRAN | Option.MBP, max_alloc=10, max_data_t=2_000, max_data_r=1_000)
    chosen = settings(vector, TCP)
    assert (chosen.send_buffer_bytes, chosen.receive_buffer_bytes) == (20_040, 10_040)
    assert settings(replace(vector, max_data_r=0), TCP).receive_buffer_bytes == 0
    assert settings(replace(vector, max_alloc=1), TCP).receive_buffer_bytes == 4_608


def test_the_sender_keeps_to_the_rate_by_the_kernel_on_tcp_and_by_a_bucket_on_udp() -> None:
    framed = replace(VIDEO, coptions=Option.RETRAN | Option.MBP)
    assert settings(framed, TCP).pace_bytes_ps == 500_000 * 1_404 // 1_400 + 1
    assert settings(framed, TCP).bucket_ip_bps is None
    chosen = settings(VIDEO, UDP)
    assert chosen.pace_bytes_ps is None
    assert chosen.bucket_ip_bps == 4_000_000 * 1_436 // 1_400 + 1
    assert chosen.bucket_bytes == 14_000 * 1_436 // 1_400
    assert settings(replace(VIDEO, max_data_outburst=0), UDP).bucket_bytes == 2_564
    assert settings(replace(VIDEO, max_data_outburst=0, max_data_outrate=9), UDP).bucket_bytes == 1_436
    assert settings(replace(VIDEO, max_data_outburst=0, max_data_outrate=0), UDP).bucket_ip_bps is None


@pytest.mark.parametrize(("sort", "priority"), [(0, 2), (85, 2), (86, 0), (170, 0), (171, 6), (255, 6)])
def test_sort_is_a_band_of_the_host_s_queue(sort: int, priority: int) -> None:
    assert settings(replace(VIDEO, sort=sort), UDP).priority == priority


def test_options_are_settings() -> None:
    plain = settings(replace(VIDEO, coptions=Option(0)), UDP)
    assert (plain.framed, plain.queue_messages, plain.checksum, plain.fast_close) == (False, None, False, False)
    every = settings(replace(VIDEO, coptions=Option.DATA_CHECK | Option.RJ | Option.FASTCLOSE | Option.UNI), UDP)
    assert (every.queue_messages, every.checksum, every.fast_close) == (None, True, True)
    assert settings(Vector(coptions=Option.RJ, max_alloc=8, max_data_r=9), UDP).queue_messages == 8
    assert (every.sends, every.receives) == (True, False)
    assert settings(replace(VIDEO, coptions=Option.RETRAN), TCP).checksum, "TCP always has one"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_data_outrate": 500_001}, ["the rate out, 4102866 of 4102858 bit/s with headers"]),
        ({"max_data_outburst": 14_001}, ["the burst out, 14362 of 14360 bytes with headers"]),
        ({"max_latency": 19_999}, ["the latency, 19999 us where 20000 us are promised"]),
        ({"max_jitter": 4_000}, ["the jitter, 4000 us where no us are promised"]),
        ({"max_data_r": 100, "max_data_inrate": 1}, ["the rate in, 11 of 0 bit/s with headers"]),
        ({"max_data_t": 100, "max_data_outburst": 1_000}, ["the rate out, 5440000 of 4102858 bit/s with headers"]),
        ({"max_data_outrate": 500_000, "max_latency": 20_000}, []),
        ({"max_data_outrate": 10, "max_data_outburst": 1_400, "max_latency": 0, "sort": 255, "max_alloc": 900}, []),
        ({"max_data_outrate": 0, "max_data_outburst": 0, "max_latency": 0}, []),
    ],
)
def test_what_is_above_what_was_agreed_is_said(change: dict[str, int], words: list[str]) -> None:
    """Smaller messages at the same rate have more headers, and so are more than was agreed."""
    agreed = replace(VIDEO, max_latency=20_000)
    assert above(needs(replace(agreed, **change), UDP), needs(agreed, UDP)) == words  # type: ignore[arg-type]


def test_what_a_connection_was_made_with_is_no_change() -> None:
    assert fixed(replace(VIDEO, coptions=Option.MBP | Option.FASTCLOSE | Option.DATA_CHECK), VIDEO) == []
    assert fixed(replace(VIDEO, coptions=Option.RETRAN), VIDEO) == [
        "coptions: RETRAN is chosen when a connection is made", "coptions: MBP is chosen when a connection is made"
    ]  # fmt: skip
    assert fixed(replace(VIDEO, max_data_r=9), VIDEO) == [
        "max_data_r: is 0 on one of them, and a connection keeps its directions"
    ]
