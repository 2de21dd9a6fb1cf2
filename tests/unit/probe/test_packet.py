"""STAMP's packets, byte for byte as RFC 8762 and RFC 8972 draw them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_probe.packet import (
    BASE_BYTES,
    ErrorEstimate,
    NoStamp,
    SenderPacket,
    estimate_of,
    estimate_word,
    near,
    ntp_of,
    read_reflector,
    read_sender,
    reflector_bytes,
    sender_bytes,
)

#: 2026-11-29 16:00:00.5 UTC.
AT_NS = 1_795_968_000_500_000_000
KEPT_RIGHT = ErrorEstimate(1_000_000, True)
instants = st.integers(0, 4_000_000_000_000_000_000)


def sent(**more: int) -> SenderPacket:
    return SenderPacket(
        **{"sequence": 7, "sent_ns": AT_NS, "clock": KEPT_RIGHT, "session": 0xBEEF, "dscp": 46, **more}
    )  # type: ignore[arg-type]


def test_the_senders_packet_is_laid_out_as_in_rfc_8762() -> None:
    data = sender_bytes(sent())
    seconds = 1_795_968_000 + 2_208_988_800
    assert data[:4] == bytes((0, 0, 0, 7))
    assert data[4:12] == seconds.to_bytes(4, "big") + b"\x80\0\0\0"
    assert data[14:16] == b"\xbe\xef"
    assert data[16:BASE_BYTES] == bytes(28)
    # Class of Service: not recognized until a reflector says otherwise, type 4, 4 bytes, the code point first.
    assert data[BASE_BYTES:] == b"\x80\x04\x00\x04" + (46 << 10).to_bytes(2, "big") + b"\0\0"


def test_an_answer_says_what_arrived_and_is_no_longer_than_it() -> None:
    arrived = sender_bytes(sent(), 172)
    answer = reflector_bytes(3, AT_NS + 900, ErrorEstimate(50_000, False), AT_NS + 400, arrived, 0, 61)
    assert len(answer) == len(arrived) == 172
    packet = read_reflector(answer, AT_NS)
    assert (packet.sequence, packet.ttl, packet.arrived_dscp) == (3, 61, 0)
    assert (packet.sender.sequence, packet.sender.session, packet.sender.dscp) == (7, 0xBEEF, 46)
    assert (packet.sent_ns, packet.received_ns, packet.sender.sent_ns) == (AT_NS + 900, AT_NS + 400, AT_NS)
    assert not packet.clock.is_synchronized


def test_a_reflector_without_extensions_says_no_class() -> None:
    arrived = sender_bytes(sent())
    answer = bytearray(reflector_bytes(0, AT_NS, KEPT_RIGHT, AT_NS, arrived, 46, 64))
    assert read_reflector(bytes(answer), AT_NS).arrived_dscp == 46
    answer[BASE_BYTES] |= 0x80
    assert read_reflector(bytes(answer), AT_NS).arrived_dscp is None
    assert read_reflector(bytes(answer[:BASE_BYTES]), AT_NS).arrived_dscp is None


def test_an_extension_that_nobody_knows_comes_back_as_not_recognized() -> None:
    foreign = sender_bytes(sent())[:BASE_BYTES] + b"\x00\x63\x00\x02hi"
    answer = reflector_bytes(0, AT_NS, KEPT_RIGHT, AT_NS, foreign, 0, 64)
    assert answer[BASE_BYTES:] == b"\x80\x63\x00\x02hi"


@pytest.mark.parametrize("data", [b"", b"x" * 43])
def test_what_is_too_short_is_no_packet(data: bytes) -> None:
    for read in (read_sender, read_reflector):
        with pytest.raises(NoStamp):
            read(data, AT_NS)


@given(st.binary(min_size=44, max_size=120))
def test_whatever_arrives_is_read_and_answered_in_its_length(data: bytes) -> None:
    read_sender(data, AT_NS)
    answer = reflector_bytes(1, AT_NS, KEPT_RIGHT, AT_NS, data, 10, 64)
    assert len(answer) == len(data)
    read_reflector(answer, AT_NS)


@given(instants)
def test_an_instant_is_the_same_to_the_nanosecond_behind_2036_too(at_ns: int) -> None:
    assert near(ntp_of(at_ns), at_ns + 1_000_000_000) == at_ns


@given(st.integers(1, 10**15), st.booleans())
def test_an_error_is_never_told_smaller_than_it_is(error_ns: int, is_synchronized: bool) -> None:
    estimate = estimate_of(estimate_word(ErrorEstimate(error_ns, is_synchronized)))
    assert estimate.is_synchronized == is_synchronized
    assert error_ns <= estimate.error_ns <= error_ns + error_ns // 64 + 2


def test_a_multiplier_of_zero_is_no_clock_that_is_kept_right() -> None:
    assert not estimate_of(0x8000).is_synchronized
