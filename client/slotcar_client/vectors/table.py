"""What each field of a vector became, in words: for people, before anything is asked for or opened. Pure."""

from __future__ import annotations

from slotcar_client.vectors.mapping import (
    MTU_BYTES,
    Needs,
    Settings,
    Transport,
    needs,
    reservation,
    settings,
    transports,
)
from slotcar_client.vectors.vector import Option, Vector


def became(vector: Vector, transport: Transport | None = None, mtu_bytes: int = MTU_BYTES) -> dict[str, str]:
    """For each field, and each option, what is asked of the network or set at this end.

    Args:
        transport: the one that is taken; left out: the best that the vector may have.
    """
    chosen = transport or transports(vector)[0]
    needed, at_socket = needs(vector, chosen, mtu_bytes), settings(vector, chosen, mtu_bytes)
    keys = reservation(needed)
    bounds = {"max_latency": "delay", "max_jitter": "jitter"}
    return {
        "sort": f"SO_PRIORITY {at_socket.priority}",
        **{f"coptions: {one.name}": _option(one, vector, chosen, at_socket) for one in Option},
        "max_alloc": f"{_buffers(at_socket)}{_queue(at_socket)}",
        "max_data_r": _size(vector.max_data_r, at_socket.receive_buffer_bytes, "SO_RCVBUF"),
        "max_data_t": _size(vector.max_data_t, at_socket.send_buffer_bytes, "SO_SNDBUF"),
        "max_data_inrate": _rate(vector.max_data_inrate, needed.into.ip_bps, "reverse", needed, keys),
        "max_data_inburst": _burst(vector.max_data_inburst, needed.into.burst_bytes, keys),
        "max_data_outrate": f"{_rate(vector.max_data_outrate, needed.out.ip_bps, 'forward', needed, keys)}"
        f"{_held(at_socket)}",
        "max_data_outburst": _burst(vector.max_data_outburst, needed.out.burst_bytes, keys),
        **{
            field: f"{key} at most {keys[key]}, service ip-premium" if key in keys else "no bound is asked for"
            for field, key in bounds.items()
        },
    }


def _option(option: Option, vector: Vector, transport: Transport, at_socket: Settings) -> str:
    is_chosen = option in vector.coptions
    if option is Option.DATA_CHECK:
        if transport is not Transport.UDP:
            return f"{transport.value} always has a checksum"
        return f"SO_NO_CHECK {int(not at_socket.checksum)}: UDP {'with a' if is_chosen else 'without'} checksum"
    words = {
        Option.RETRAN: (f"{transport.value}, which sends again", "udp: what is lost stays lost"),
        Option.MBP: (_boundaries(transport), "bytes without boundaries" if transport is Transport.TCP else
                     _boundaries(transport)),
        Option.RJ: (
            f"a receiver in user space takes what comes; its queue of {vector.max_alloc} drops its head",
            "what is not taken waits, and TCP's window stops the sender" if transport is Transport.TCP else
            "what is not taken waits, as far as the buffer holds",
        ),
        Option.FASTCLOSE: ("closed as soon as the other end wants to close", "each end closes by itself"),
        Option.UNI: ("data one way; the other way has neither buffer nor rate", "data each way that has a size"),
    }  # fmt: skip
    return words[option][0 if is_chosen else 1]


def _boundaries(transport: Transport) -> str:
    return {
        Transport.TCP: "each message goes with its length",
        Transport.UDP: "each message is a datagram, or several with numbers",
        Transport.SCTP: "SCTP keeps messages apart",
    }[transport]


def _buffers(at_socket: Settings) -> str:
    sizes = (("SO_SNDBUF", at_socket.send_buffer_bytes), ("SO_RCVBUF", at_socket.receive_buffer_bytes))
    return " and ".join(f"{name} {size} bytes" for name, size in sizes if size)


def _queue(at_socket: Settings) -> str:
    return "" if at_socket.queue_messages is None else f", and a queue of {at_socket.queue_messages}"


def _size(size_bytes: int, buffer_bytes: int, name: str) -> str:
    if not size_bytes:
        return "nothing goes that way"
    return f"{name} {buffer_bytes} bytes; longer messages are refused"


def _rate(rate_ps: int, ip_bps: int, way: str, needed: Needs, keys: dict[str, object]) -> str:
    if not rate_ps:
        return "no rate is asked for"
    rates = keys["rate"]
    assert isinstance(rates, dict)
    packet = f"{keys['packet_size']} packets"
    return (
        f"{keys['service']}, {rates[way]} {way} of {packet}, {ip_bps} bit/s of {needed.transport.value} with headers"
    )


def _held(at_socket: Settings) -> str:
    if at_socket.pace_bytes_ps is not None:
        return f"; SO_MAX_PACING_RATE {at_socket.pace_bytes_ps}"
    if at_socket.bucket_ip_bps is not None:
        return f"; sent through a bucket of {at_socket.bucket_bytes} bytes"
    return ""


def _burst(burst: int, on_line_bytes: int, keys: dict[str, object]) -> str:
    if not burst:
        return "left to the network"
    return f"rtt {keys['rtt']}, of which the policers' burst is at least {on_line_bytes} bytes with headers"
