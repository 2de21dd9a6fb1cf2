"""Captures are read as tcpdump writes them, and departures meet their arrivals."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from slotcar.measuring.metrics.model import Stamp
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.capture import PCAP_MAGIC, Packet, numbered, parse, stamps

HEADER = struct.pack("<IHHiIII", PCAP_MAGIC, 2, 4, 0, 0, 50, 1)


def record(ip: bytes, at: tuple[int, int] = (7, 11)) -> bytes:
    frame = bytes(12) + b"\x08\x00" + ip
    return struct.pack("<IIII", *at, len(frame), 1_442) + frame


def ip(protocol: int, rest: bytes, *, length: int = 1_428, identification: int = 9, options: int = 0) -> bytes:
    head = struct.pack("!BBHHHBBH4s4s", 0x45 + options // 4, 0, length, identification, 0, 64, protocol, 0, b"a", b"b")
    return head + bytes(options) + rest


def ports(source: int, destination: int) -> bytes:
    return struct.pack("!HH", source, destination)


def test_a_datagram_is_known_by_the_number_in_its_payload() -> None:
    data = HEADER + record(ip(17, ports(4000, 5001) + bytes(4) + struct.pack("!Q", 1 << 40), options=4))
    assert list(parse(data)) == [Packet(7_000_011, 4000, 5001, 1 << 40, 1_428)]


def test_a_segment_is_known_by_its_identification() -> None:
    data = HEADER + record(ip(6, ports(4000, 80) + bytes(16), length=1_500, identification=65_535), (0, 1))
    assert list(parse(data)) == [Packet(1, 4000, 80, 65_535, 1_500)]


def test_other_protocols_are_left_out_and_a_cut_record_ends_it() -> None:
    whole = record(ip(17, ports(1, 2) + bytes(12)))
    assert len(list(parse(HEADER + record(ip(1, bytes(20))) + whole + whole[:10]))) == 1


@pytest.mark.parametrize("data", [b"", b"\x00" * 24, b"\x0a\x0d\x0d\x0a" + bytes(40)])
def test_what_is_no_capture_is_refused(data: bytes) -> None:
    with pytest.raises(LabError, match="not a capture file"):
        list(parse(data))


def packets(numbers: Sequence[int], since_us: int = 0) -> list[Packet]:
    return [Packet(since_us + at, 1, 2, number, 100) for at, number in enumerate(numbers)]


def test_departures_meet_their_arrivals_by_number() -> None:
    stamped = stamps(packets([1, 2, 3], 100), packets([3, 1, 1, 9], 1_000), offset_us=50)
    assert stamped == (Stamp(1, 50, 951), Stamp(1, 50, 952), Stamp(2, 51, None), Stamp(3, 52, 950))


def test_identifications_are_counted_on_beyond_sixteen_bits() -> None:
    assert [p.number for p in numbered(packets([65_533, 65_535, 1, 0, 3]))] == [65_533, 65_535, 65_537, 65_536, 65_539]


def test_identifications_that_begin_high_keep_their_own_beginning() -> None:
    sent, received = packets([60_000, 60_001, 60_002]), packets([60_000, 60_002], 10)
    assert [s.received_us for s in stamps(numbered(sent), numbered(received))] == [10, None, 11]


def test_the_receivers_count_goes_on_from_the_senders_first() -> None:
    sent, received = packets([65_534, 65_535, 0, 1]), packets([1, 0, 2], 10)
    assert [s.received_us for s in stamps(numbered(sent), numbered(received, 65_534))] == [None, None, 11, 10]
    # One that left before the first that was captured.
    assert [p.number for p in numbered(packets([65_533, 65_535, 0]), 65_534)] == [65_533, 65_535, 65_536]
