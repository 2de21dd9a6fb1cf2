"""What a vector becomes: a reservation of the network, and what is set on the socket. Pure.

Rates and bursts of a vector are of messages. What routers police is IP packets: here each message is counted with the
headers that it has on its transport, so that a sender who keeps to the result is not policed, whatever its messages' sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from slotcar_client.vectors.vector import InvalidVector, Option, Vector
from slotcar_client.wire.errors import SlotcarError


class Transport(StrEnum):
    TCP = "tcp"
    UDP = "udp"
    SCTP = "sctp"


class NotPossible(SlotcarError):
    """A connection cannot have what its vector says; the message is the reason."""


#: Of a message on a stream: its length. Of each datagram on UDP: the message's number, the part, and of how many.
FRAME_BYTES, PART_BYTES = 4, 8
#: IPv4 and the transport's own, as admission counts them (GARA §5.1); of SCTP with the header of a DATA chunk.
HEADERS_BYTES = {Transport.TCP: 40, Transport.UDP: 28, Transport.SCTP: 48}
#: TCP's timestamps, which Linux sends with every segment and admission does not count.
TIMESTAMPS_BYTES = 12
MTU_BYTES = 1_500
SMALLEST_PACKET_BYTES = 64
#: The longest `rtt` that a reservation takes.
LONGEST_RTT_US = 60_000_000
#: A policer of UDP gets a quarter of what its rate is in `rtt` (GARA §5.1).
UDP_QUARTER = 4
#: What a sender may be behind and make up for where no burst is stated: sleeps are not exact. A fifth of what the policer
#: then has, which is a quarter of 100 ms of the rate.
UNSTATED_BURST_US = 5_000
#: SO_PRIORITY, by thirds of `sort`: the bands of Linux' `pfifo_fast` and `prio`, which any program may ask for.
PRIORITIES = ((85, 2), (170, 0), (255, 6))
#: The kernel's smallest buffers (`net.ipv4.tcp_wmem`); a smaller one is not taken.
SMALLEST_BUFFER_BYTES = 4_608
#: What the kernel counts of a datagram in a buffer beside its payload, at most, once it has doubled what was asked for: it
#: rounds each up to a size of its allocator's.
DATAGRAM_BYTES = 640
#: Of the kernel's buffer where the queue is in user space: it drops what comes last, and so may never be full.
RECEIVING_BYTES = 160_000


@dataclass(frozen=True, slots=True)
class Way:
    """What one direction needs of the network: IP packets, bits per second and bytes; 0 where no rate is asked for."""

    ip_bps: int
    burst_bytes: int
    packet_bytes: int


@dataclass(frozen=True, slots=True)
class Needs:
    """All that a vector asks of the network. `latency_us`, `jitter_us`: 0 asks for no bound."""

    transport: Transport
    out: Way
    into: Way
    latency_us: int
    jitter_us: int

    @property
    def asks(self) -> bool:
        """Whether the network has anything to promise."""
        return bool(self.out.ip_bps or self.into.ip_bps)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is set at this end.

    Attributes:
        framed: each message is sent on a stream with its length. room_bytes: of a message in a packet; a longer one goes in
            parts.
        send_buffer_bytes, receive_buffer_bytes: 0 where nothing goes that way; the latter is also TCP's largest window.
        queue_messages: of the receiver in user space that drops the head of a full queue; None without RJ, or where none is
            received.
        pace_bytes_ps: of TCP's payload, by the kernel. bucket_ip_bps, bucket_bytes: of IP packets, by this library where
            the kernel does not pace; each None where no rate is asked for.
        priority: SO_PRIORITY. checksum: of UDP. fast_close: this end closes when the other one wants to.
        sends, receives: what this end may do.
    """

    framed: bool
    room_bytes: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    queue_messages: int | None
    pace_bytes_ps: int | None
    bucket_ip_bps: int | None
    bucket_bytes: int | None
    priority: int
    checksum: bool
    fast_close: bool
    sends: bool
    receives: bool


def transports(vector: Vector) -> tuple[Transport, ...]:
    """Those that can do what it asks for, the best first: by need (A1 §2). Where something is reserved that is TCP, whose
    ports all routers' lists know; SCTP's are known on some."""
    if Option.RETRAN not in vector.coptions:
        return (Transport.UDP,)
    keeps = Option.MBP in vector.coptions or Option.RJ in vector.coptions
    reserves = vector.max_data_inrate or vector.max_data_outrate
    if not keeps:
        return (Transport.TCP,)
    return (Transport.TCP, Transport.SCTP) if reserves else (Transport.SCTP, Transport.TCP)


def choose(vector: Vector, ours: Iterable[Transport], theirs: Iterable[Transport]) -> Transport:
    """The best transport that both ends have.

    Raises:
        NotPossible: there is none.
    """
    both = set(ours) & set(theirs)
    for transport in transports(vector):
        if transport in both:
            return transport
    named = " or ".join(one.value for one in transports(vector))
    raise NotPossible(f"it needs {named}, and both ends have only {', '.join(sorted(both)) or 'no transport'}")


def ip_bytes(message_bytes: int, transport: Transport, *, framed: bool, mtu_bytes: int = MTU_BYTES) -> int:
    """Bytes of the IP packets of one message, rounded up: on a stream its part of full ones."""
    if transport is Transport.TCP:
        full = mtu_bytes - HEADERS_BYTES[transport] - TIMESTAMPS_BYTES
        return -(-(message_bytes + (FRAME_BYTES if framed else 0)) * mtu_bytes // full)
    if transport is Transport.SCTP:  # a DATA chunk is padded to a multiple of 4 (RFC 9260 §3.2)
        message_bytes += -message_bytes % 4
    return message_bytes + parts_of(message_bytes, transport, mtu_bytes) * (
        mtu_bytes - room_bytes(transport, mtu_bytes)
    )


def room_bytes(transport: Transport, mtu_bytes: int = MTU_BYTES) -> int:
    """What a packet holds of a message that is no stream's."""
    return mtu_bytes - HEADERS_BYTES[transport] - (PART_BYTES if transport is Transport.UDP else 0)


def parts_of(message_bytes: int, transport: Transport, mtu_bytes: int = MTU_BYTES) -> int:
    """Packets of a message that is no stream's."""
    return max(1, -(-message_bytes // room_bytes(transport, mtu_bytes)))


def is_framed(vector: Vector, transport: Transport) -> bool:
    return transport is Transport.TCP and bool(vector.coptions & (Option.MBP | Option.RJ))


def needs(vector: Vector, transport: Transport, mtu_bytes: int = MTU_BYTES) -> Needs:
    """What the network is asked for, for messages of the largest size."""
    framed = is_framed(vector, transport)

    def way(rate_ps: int, burst: int, message_bytes: int) -> Way:
        if not rate_ps:
            return Way(0, 0, 0)
        on_line = ip_bytes(message_bytes, transport, framed=framed, mtu_bytes=mtu_bytes)
        packet = mtu_bytes
        if transport is not Transport.TCP:
            packet = max(SMALLEST_PACKET_BYTES, on_line // parts_of(message_bytes, transport, mtu_bytes))
        return Way(-(-rate_ps * 8 * on_line // message_bytes), -(-burst * on_line // message_bytes), packet)

    return Needs(
        transport=transport,
        out=way(vector.max_data_outrate, vector.max_data_outburst, vector.max_data_t),
        into=way(vector.max_data_inrate, vector.max_data_inburst, vector.max_data_r),
        latency_us=vector.max_latency,
        jitter_us=vector.max_jitter,
    )


def reservation(needed: Needs) -> dict[str, Any]:
    """The keys of a reservation that follow from the needs; empty where the network has nothing to promise.

    A latency or jitter bound is kept by ip-premium, and who sends nothing again cannot have what is above a rate dropped
    later than at the edge; without either, an assured rate does.

    Raises:
        InvalidVector: a burst is so long beside its rate that no reservation may have it.
    """
    used = [one for one in (needed.out, needed.into) if one.ip_bps]
    if not used:
        return {}
    packet_bytes = min(one.packet_bytes for one in used)
    counted = packet_bytes - (40 if needed.transport is Transport.TCP else HEADERS_BYTES[needed.transport])
    forward, reverse = (-(-one.ip_bps * counted // packet_bytes) for one in (needed.out, needed.into))
    premium = needed.latency_us or needed.jitter_us or needed.transport is Transport.UDP
    keys: dict[str, Any] = {
        "protocol": needed.transport.value,
        "service": "ip-premium" if premium else "assured-rate",
        "rate": {"forward": f"{forward} bit/s", "reverse": f"{reverse} bit/s"},
        "packet_size": f"{packet_bytes} B",
    }
    if rtt_us := _rtt_us(used, needed.transport):
        keys["rtt"] = f"{rtt_us} us"
    if needed.latency_us:
        keys["delay"] = f"{needed.latency_us} us"
    if needed.jitter_us:
        keys["jitter"] = f"{needed.jitter_us} us"
    return keys


def _rtt_us(ways: list[Way], transport: Transport) -> int:
    """The round-trip time of which a policer's burst is at least these; 0 where none says a burst."""
    quarter = UDP_QUARTER if transport is Transport.UDP else 1
    rtt_us = max(-(-one.burst_bytes * 8_000_000 * quarter // one.ip_bps) for one in ways)
    if rtt_us > LONGEST_RTT_US:
        longest_s = LONGEST_RTT_US // quarter // 1_000_000
        raise InvalidVector([f"max_data_outburst: a burst is at most {longest_s} s of its rate"])
    return rtt_us


def settings(vector: Vector, transport: Transport, mtu_bytes: int = MTU_BYTES) -> Settings:
    """What is set at this end."""
    needed = needs(vector, transport, mtu_bytes)
    framed = is_framed(vector, transport)
    paced = transport is Transport.TCP and vector.max_data_outrate
    of_bucket = transport is not Transport.TCP and vector.max_data_outrate
    frame = FRAME_BYTES if framed else 0
    room = room_bytes(transport, mtu_bytes)
    send_buffer, receive_buffer = (
        _buffer_bytes(
            vector.max_alloc,
            size,
            frame + (parts_of(size, transport, mtu_bytes) * DATAGRAM_BYTES if transport is Transport.UDP else 0),
        )
        for size in (vector.max_data_t, vector.max_data_r)
    )
    if receive_buffer and Option.RJ in vector.coptions:
        receive_buffer = max(receive_buffer, RECEIVING_BYTES)
    return Settings(
        framed=framed,
        room_bytes=room,
        send_buffer_bytes=send_buffer,
        receive_buffer_bytes=receive_buffer,
        queue_messages=vector.max_alloc if receive_buffer and Option.RJ in vector.coptions else None,
        pace_bytes_ps=-(-vector.max_data_outrate * (vector.max_data_t + frame) // vector.max_data_t)
        if paced
        else None,
        bucket_ip_bps=needed.out.ip_bps if of_bucket else None,
        bucket_bytes=max(
            needed.out.burst_bytes or needed.out.ip_bps * UNSTATED_BURST_US // 8_000_000,
            ip_bytes(vector.max_data_t, transport, framed=framed, mtu_bytes=mtu_bytes),
        )
        if of_bucket
        else None,
        priority=next(priority for most, priority in PRIORITIES if vector.sort <= most),
        checksum=transport is not Transport.UDP or Option.DATA_CHECK in vector.coptions,
        fast_close=Option.FASTCLOSE in vector.coptions,
        sends=bool(vector.max_data_t),
        receives=bool(vector.max_data_r),
    )


def _buffer_bytes(messages: int, size_bytes: int, own_bytes: int) -> int:
    return max(messages * (size_bytes + own_bytes), SMALLEST_BUFFER_BYTES) if size_bytes else 0


def above(needed: Needs, agreed: Needs) -> list[str]:
    """In which respects the needs are more than what was agreed with the network, in words; empty where they are not.

    A burst that is not stated asks for nothing. A bound is more the shorter it is.
    """
    words = []
    for name, ours, theirs in (("out", needed.out, agreed.out), ("in", needed.into, agreed.into)):
        if ours.ip_bps > theirs.ip_bps:
            words.append(f"the rate {name}, {ours.ip_bps} of {theirs.ip_bps} bit/s with headers")
        if ours.burst_bytes > theirs.burst_bytes:
            words.append(f"the burst {name}, {ours.burst_bytes} of {theirs.burst_bytes} bytes with headers")
    for name, ours_us, theirs_us in (
        ("latency", needed.latency_us, agreed.latency_us), ("jitter", needed.jitter_us, agreed.jitter_us)
    ):  # fmt: skip
        if ours_us and (not theirs_us or ours_us < theirs_us):
            words.append(f"the {name}, {ours_us} us where {theirs_us or 'no'} us are promised")
    return words


def fixed(vector: Vector, running: Vector) -> list[str]:
    """What a connection that runs cannot come to have: the other end, or the transport, would have to change with it."""
    changeable = Option.FASTCLOSE | Option.DATA_CHECK
    changed = (vector.coptions ^ running.coptions) & ~changeable
    words = [f"coptions: {one.name} is chosen when a connection is made" for one in changed]
    words += [
        f"{one.name}: is 0 on one of them, and a connection keeps its directions"
        for one in fields(vector)
        if one.name in ("max_data_r", "max_data_t")
        and bool(getattr(vector, one.name)) != bool(getattr(running, one.name))
    ]
    return words
