"""The sender's window after the reference's rule, and what TCP may send of a committed rate."""

from __future__ import annotations

import socket
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from slotcar_transfer import tcp, window
from tests.support.examples import examples

RATES = st.integers(100_000, 10_000_000_000)
RTTS = st.integers(100, 2_000_000)
SEGMENT = 1448


@given(RATES, st.lists(RTTS, min_size=2, max_size=50))
@examples(100, 2000)
def test_it_falls_at_once_and_rises_in_steps_between_a_least_and_a_greatest_one(
    rate_bps: int, rtts: list[int]
) -> None:
    windows = [window.first(rate_bps, rtts[0])]
    for rtt_us in rtts[1:]:
        windows.append(window.after(windows[-1], rate_bps, rtt_us, SEGMENT))
    for before, after in pairwise(windows):
        most = window.wanted_bytes(rate_bps, after.rtt_us)
        assert after.window_bytes <= most
        if most <= before.window_bytes:
            assert after.window_bytes == most  # the lower value, immediately
        else:
            step = after.window_bytes - before.window_bytes
            assert 0 < step <= window.GREATEST_STEP_SEGMENTS * SEGMENT
            assert step >= min(SEGMENT, most - before.window_bytes)


@given(RATES, RTTS, RTTS)
@examples(50, 500)
def test_with_a_steady_round_trip_it_comes_to_bandwidth_times_delay(
    rate_bps: int, first_us: int, then_us: int
) -> None:
    one, most = window.first(rate_bps, first_us), window.wanted_bytes(rate_bps, then_us)
    for _ in range(2 + most // SEGMENT):
        one = window.after(one, rate_bps, then_us, SEGMENT)
        if one.window_bytes == most:
            break
    assert one.window_bytes == most
    assert most * 8_000_000 >= rate_bps * then_us


@given(RATES, st.integers(536, 1460))
@examples(100, 2000)
def test_its_packets_are_within_the_reserved_rate(rate_bps: int, segment_bytes: int) -> None:
    payload_bps = tcp.payload_of_committed(rate_bps, 1500, segment_bytes)
    options = 1460 - segment_bytes if 1460 - segment_bytes <= 40 else 12
    # Packets of what is sent, headers and options counted, against the policer's rate of the reservation.
    assert payload_bps * (segment_bytes + 40 + options) * 1460 <= rate_bps * 1500 * segment_bytes
    assert payload_bps > rate_bps * 9 // 10


def test_with_timestamps_a_segment_has_twelve_bytes_less() -> None:
    assert tcp.payload_of_committed(100_000_000, 1500, 1448) == 99_178_082


def test_the_kernel_takes_mark_pace_and_buffer_from_anybody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as sender:
        tcp.mark(sender, 46)
        tcp.pace(sender, 80_000_000)
        sender.connect(listening.getsockname())
        assert sender.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == 46 << 2
        assert tcp.pacing_rate(sender) == 10_000_000
        tcp.pace(sender, None)
        assert tcp.pacing_rate(sender) >= tcp.UNLIMITED
        tcp.buffer(sender, 1)
        assert sender.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= tcp.SMALLEST_BUFFER_BYTES
        info = tcp.info(sender)
        assert info.segment_bytes > 500
        assert info.rtt_us > 0
        assert info.window_segments > 0
        assert info.retransmitted_segments == 0
        assert not tcp.congestion_control(sender, "none-such")
