"""Headers and bursts, against the figures printed in the references."""

from __future__ import annotations

import pytest

from slotcar.admission.arithmetic import burst_bytes, link_rate_bps, payload_rate_bps, policer_rate_bps, scaled_up
from slotcar.base.vocabulary import Protocol

#: D7.3, note 10: 60 bytes in all = gap 8 + preamble 6 + frame 18 + IP and UDP 28.
D73_LINK_OVERHEAD_BYTES = 8 + 6 + 18


def test_headers_are_counted_at_the_policer() -> None:
    """GARA §5.1: "a bandwidth computed from the user-specified required bandwidth, taking into account headers"."""
    assert policer_rate_bps(1_472_000, 1500, Protocol.UDP) == 1_500_000
    assert policer_rate_bps(1_460_000, 1500, Protocol.TCP) == 1_500_000


def test_a_back_to_back_gigabit_stream_takes_what_d73_measured() -> None:
    """D7.3: frames of 1472 bytes of UDP user data follow each other every 12.26 us on Gigabit Ethernet."""
    rate = link_rate_bps(1472 * 8, 1500, Protocol.UDP, D73_LINK_OVERHEAD_BYTES)
    assert rate == (1472 + 60) * 8
    assert round(rate / 1_000, 2) == 12.26  # bits at 1000 bits a microsecond


def test_small_packets_cost_far_more_than_their_payload() -> None:
    assert link_rate_bps(1_000_000, 64, Protocol.UDP, 38) == 2_833_334
    assert link_rate_bps(1_000_000, 1500, Protocol.UDP, 38) == 1_044_837


def test_a_rate_is_rounded_up_never_down() -> None:
    assert policer_rate_bps(1, 1500, Protocol.UDP) == 2
    assert policer_rate_bps(0, 1500, Protocol.UDP) == 0


@pytest.mark.parametrize(("size", "protocol", "headers"), [(28, Protocol.UDP, 28), (40, Protocol.TCP, 40)])
def test_a_packet_without_room_for_payload_is_refused(size: int, protocol: Protocol, headers: int) -> None:
    with pytest.raises(ValueError, match=f"no room for payload.*headers take {headers} bytes"):
        policer_rate_bps(1_000, size, protocol)


def test_a_negative_rate_or_overhead_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        policer_rate_bps(-1, 1500, Protocol.UDP)
    with pytest.raises(ValueError, match="at least 0"):
        link_rate_bps(1, 1500, Protocol.UDP, -1)


def test_no_room_is_a_payload_rate_of_0() -> None:
    assert payload_rate_bps(-5, 1500, 1472) == 0
    assert payload_rate_bps(1_500_000, 1500, 1472) == 1_472_000
    assert scaled_up(1_472_000, 1500, 1472) == 1_500_000


def test_a_tcp_burst_is_the_rate_times_the_round_trip() -> None:
    # 40 Mb/s for 60 ms, the wide-area path of GARA §5: 300 KB.
    assert burst_bytes(40_000_000, 60_000, Protocol.TCP) == 300_000


def test_a_tcp_burst_stays_between_8_kb_and_2_mb() -> None:
    assert burst_bytes(1_000_000, 1_000, Protocol.TCP) == 8_000
    assert burst_bytes(1_000_000_000, 100_000, Protocol.TCP) == 2_000_000


def test_a_udp_burst_is_a_quarter_of_that_and_at_least_8_kb() -> None:
    assert burst_bytes(40_000_000, 60_000, Protocol.UDP) == 75_000
    assert burst_bytes(4_000_000, 20_000, Protocol.UDP) == 8_000
    assert burst_bytes(1_000_000_000, 100_000, Protocol.UDP) == 500_000


def test_the_ceiling_is_each_devices_own() -> None:
    """D7.3 §8.1.1: one TCP flow at a CIR of 50 Mb/s needed 2.5 MB."""
    assert burst_bytes(50_000_000, 400_000, Protocol.TCP) == 2_000_000
    assert burst_bytes(50_000_000, 400_000, Protocol.TCP, ceiling_bytes=2_500_000) == 2_500_000


def test_a_burst_is_rounded_up() -> None:
    assert burst_bytes(8_000_001, 10_000, Protocol.TCP) == 10_001
    assert burst_bytes(32_000_004, 10_001, Protocol.UDP) == 10_002


def test_bounds_that_contradict_are_refused() -> None:
    with pytest.raises(ValueError, match="is under the floor"):
        burst_bytes(1, 1, Protocol.TCP, floor_bytes=9, ceiling_bytes=8)
    with pytest.raises(ValueError, match="at least 0"):
        burst_bytes(1, -1, Protocol.TCP)
