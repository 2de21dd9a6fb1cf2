"""From a payload rate to what policers and links must carry, and back, exactly: integers only, rounded up.

Sources: GARA §5.1 ("a bandwidth computed from the user-specified required bandwidth, taking into account packet
headers", and the burst rule); D7.3 §8 (60 bytes of overhead per Ethernet frame of UDP: gap 8, preamble 6, frame 18,
IP and UDP 28; the layer-2 part is counted here by each interface's own `overhead_bytes`).
"""

from __future__ import annotations

from slotcar.base.vocabulary import Protocol

IP_HEADER_BYTES = 20
#: RFC 768; RFC 9293 without options; RFC 9260 with the header of the one DATA chunk of a full packet.
TRANSPORT_HEADER_BYTES: dict[Protocol, int] = {Protocol.UDP: 8, Protocol.TCP: 20, Protocol.SCTP: 28}

#: GARA §5.1: "a minimum of 8 Kbytes and a maximum of 2 Mbytes".
BURST_FLOOR_BYTES = 8_000
BURST_CEILING_BYTES = 2_000_000


def payload_bytes(packet_size_bytes: int, protocol: Protocol) -> int:
    """Bytes of payload in an IP packet of `packet_size_bytes`, which counts the IP and transport headers.

    Raises:
        ValueError: the headers leave no room for payload.
    """
    headers = IP_HEADER_BYTES + TRANSPORT_HEADER_BYTES[protocol]
    if packet_size_bytes <= headers:
        raise ValueError(
            f"an IP packet of {packet_size_bytes} bytes has no room for payload: IP and {protocol.value.upper()} "
            f"headers take {headers} bytes; packet_size counts the whole IP packet, headers included"
        )
    return packet_size_bytes - headers


def policer_rate_bps(rate_bps: int, packet_size_bytes: int, protocol: Protocol) -> int:
    """Layer-3 rate, bits per second, that carries `rate_bps` of payload: what a policer must pass (GARA §5.1).

    Rounded up, so that never less than the promised payload rate passes.

    Raises:
        ValueError: a negative rate, or a packet too small for its headers.
    """
    return link_rate_bps(rate_bps, packet_size_bytes, protocol, overhead_bytes=0)


def link_rate_bps(rate_bps: int, packet_size_bytes: int, protocol: Protocol, overhead_bytes: int) -> int:
    """Layer-2 rate, bits per second, that `rate_bps` of payload takes on a link (D7.3 §8.1).

    `overhead_bytes` is what each IP packet costs beside itself (Ethernet: 14 + 4 + preamble 8 + gap 12 = 38).

    Raises:
        ValueError: a negative rate or overhead, or a packet too small for its headers.
    """
    if rate_bps < 0 or overhead_bytes < 0:
        raise ValueError(f"a rate and an overhead are at least 0 (got {rate_bps} bit/s and {overhead_bytes} bytes)")
    payload = payload_bytes(packet_size_bytes, protocol)
    return scaled_up(rate_bps, packet_size_bytes + overhead_bytes, payload)


def scaled_up(rate_bps: int, wire_bytes: int, payload: int) -> int:
    """`rate_bps` x `wire_bytes` / `payload`, rounded up."""
    return -(-rate_bps * wire_bytes // payload)


def payload_rate_bps(wire_rate_bps: int, wire_bytes: int, payload: int) -> int:
    """The highest payload rate whose `scaled_up` rate is at most `wire_rate_bps`: the exact inverse; 0 at least.

    `ceil(p * wire / payload) <= free` holds for an integer `free` exactly when `p <= free * payload / wire`.
    """
    return max(0, wire_rate_bps) * payload // wire_bytes


def burst_bytes(
    policer_rate_bps: int,
    rtt_us: int,
    protocol: Protocol,
    floor_bytes: int = BURST_FLOOR_BYTES,
    ceiling_bytes: int = BURST_CEILING_BYTES,
) -> int:
    """Token bucket of a flow's policer, bytes (GARA §5.1), rounded up.

    TCP, and SCTP, which has a window like it: the policer's rate in bytes per second times the longest round-trip time,
    between `floor_bytes` and `ceiling_bytes`. UDP: a quarter of that value, `floor_bytes` at least. The ceiling is each
    device's own, as D7.3 §8.1.1 measured one TCP flow at a CIR of 50 Mb/s to need 2.5 MB.

    Raises:
        ValueError: a negative rate or time, or a ceiling under the floor.
    """
    if policer_rate_bps < 0 or rtt_us < 0:
        raise ValueError(f"a rate and a round-trip time are at least 0 (got {policer_rate_bps} bit/s, {rtt_us} us)")
    if ceiling_bytes < floor_bytes:
        raise ValueError(f"the burst ceiling of {ceiling_bytes} bytes is under the floor of {floor_bytes} bytes")
    window = min(max(-(-policer_rate_bps * rtt_us // 8_000_000), floor_bytes), ceiling_bytes)
    return window if protocol.has_window else max(-(-window // 4), floor_bytes)
