"""What the kernel knows of a TCP connection, as inet_diag tells it: D7.3 §4.2.3's figures. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: linux/tcp.h: bits of `tcpi_options`, and the threshold that no loss has set yet.
SACK, ECN, ECN_SEEN = 2, 8, 16
NO_THRESHOLD = 0x7FFFFFFF
#: linux/sock_diag.h: places of SKMEMINFO's numbers.
RECEIVE_BUFFER, SEND_BUFFER = 1, 3
#: "No limit" of SO_MAX_PACING_RATE.
UNLIMITED = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class TcpState:
    """One connection at an instant. Times in microseconds, windows of the sender in segments, others in bytes.

    Attributes:
        sack, ecn: whether both ends agreed to it. marked_segments: that arrived with ECN's mark.
        sent_again_segments: all that were sent more than once. unanswered_timeouts: in a row, now.
        threshold_segments: ssthresh; None before the first loss.
        send_window_bytes: what the other end takes; receive_window_bytes: what this end offers at most now.
        pacing_bps, delivery_bps: None where the kernel states no pace, or measured none yet.
        waited_for_window_us, waited_for_buffer_us: of `busy_us`, in which there was something to send.
    """

    local: str
    local_port: int
    peer: str
    peer_port: int
    user: int
    inode: int
    congestion_control: str
    sack: bool
    ecn: bool
    marked_segments: int
    sent_segments: int
    sent_again_segments: int
    received_segments: int
    sent_bytes: int
    sent_again_bytes: int
    acknowledged_bytes: int
    received_bytes: int
    unanswered_timeouts: int
    segment_bytes: int
    rto_us: int
    rtt_us: int
    rtt_variation_us: int
    least_rtt_us: int
    window_segments: int
    threshold_segments: int | None
    send_window_bytes: int
    receive_window_bytes: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    pacing_bps: int | None
    delivery_bps: int
    busy_us: int
    waited_for_window_us: int
    waited_for_buffer_us: int

    def document(self) -> dict[str, Any]:
        return asdict(self)


def state_of(message: Mapping[str, Any]) -> TcpState | None:
    """Of a message of inet_diag as pyroute2 gives it; None of one without TCP_INFO."""
    attributes = dict(message["attrs"])
    if "INET_DIAG_INFO" not in attributes:
        return None
    info = attributes["INET_DIAG_INFO"]
    memory = _memory(attributes.get("INET_DIAG_SKMEMINFO", ""))
    threshold, pacing = info["tcpi_snd_ssthresh"], info["tcpi_pacing_rate"]
    return TcpState(
        local=message["idiag_src"], local_port=message["idiag_sport"], peer=message["idiag_dst"],
        peer_port=message["idiag_dport"], user=message["idiag_uid"], inode=message["idiag_inode"],
        congestion_control=attributes.get("INET_DIAG_CONG", ""), sack=bool(info["tcpi_options"] & SACK),
        ecn=bool(info["tcpi_options"] & ECN), marked_segments=info.get("tcpi_delivered_ce", 0),
        sent_segments=info["tcpi_segs_out"], sent_again_segments=info["tcpi_total_retrans"],
        received_segments=info["tcpi_segs_in"], sent_bytes=info.get("tcpi_bytes_sent", 0),
        sent_again_bytes=info.get("tcpi_bytes_retrans", 0), acknowledged_bytes=info["tcpi_bytes_acked"],
        received_bytes=info["tcpi_bytes_received"], unanswered_timeouts=info["tcpi_retransmits"],
        segment_bytes=info["tcpi_snd_mss"], rto_us=info["tcpi_rto"], rtt_us=info["tcpi_rtt"],
        rtt_variation_us=info["tcpi_rttvar"], least_rtt_us=info["tcpi_min_rtt"], window_segments=info["tcpi_snd_cwnd"],
        threshold_segments=None if threshold >= NO_THRESHOLD else threshold,
        send_window_bytes=info.get("tcpi_snd_wnd", 0), receive_window_bytes=info["tcpi_rcv_ssthresh"],
        send_buffer_bytes=memory[SEND_BUFFER], receive_buffer_bytes=memory[RECEIVE_BUFFER],
        pacing_bps=None if pacing == UNLIMITED else pacing * 8, delivery_bps=info.get("tcpi_delivery_rate", 0) * 8,
        busy_us=info.get("tcpi_busy_time", 0), waited_for_window_us=info.get("tcpi_rwnd_limited", 0),
        waited_for_buffer_us=info.get("tcpi_sndbuf_limited", 0),
    )  # fmt: skip


def _memory(text: str) -> tuple[int, ...]:
    """SKMEMINFO's numbers, of bytes in hexadecimal; zeros where the kernel gave none."""
    raw = bytes.fromhex(text.replace(":", "")).ljust(36, b"\0")
    return struct.unpack_from("=9I", raw)


@dataclass(frozen=True, slots=True)
class Ends:
    """Of a flow between two addresses, each with its port where that is known; seen from either end."""

    source: str | None
    source_port: int | None
    destination: str | None
    destination_port: int | None

    def has(self, state: TcpState) -> bool:
        own = (state.local, state.local_port, state.peer, state.peer_port)
        wanted = (self.source, self.source_port, self.destination, self.destination_port)
        return _fits(wanted, own) or _fits(wanted, own[2:] + own[:2])


def _fits(wanted: tuple[object, ...], own: tuple[object, ...]) -> bool:
    return all(one is None or one == other for one, other in zip(wanted, own, strict=True))


def ends_of(reservation: Mapping[str, Any], addresses: Mapping[str, str]) -> Ends:
    """Of a reservation's document; `addresses` by the names of end systems, an address stands for itself."""
    source, destination = reservation["source"], reservation["destination"]
    return Ends(
        addresses.get(source["host"], source["host"]), source["port"],
        addresses.get(destination["host"], destination["host"]), destination["port"],
    )  # fmt: skip


def of_user(states: Iterable[TcpState], user: int) -> list[TcpState]:
    """One's own, by the ends' addresses and ports; all of them for root."""
    mine = [one for one in states if user in (0, one.user)]
    return sorted(mine, key=lambda one: (one.local, one.local_port, one.peer, one.peer_port))


def lines_of(now: TcpState, before: TcpState | None = None, seconds: float = 0.0) -> list[str]:
    """For people; with an earlier state also what was sent since, so many seconds ago."""
    options = [name for name, is_on in (("SACK", now.sack), ("ECN", now.ecn)) if is_on]
    rate = ""
    if before is not None and seconds > 0:
        rate = f", {_mbit((now.sent_bytes - before.sent_bytes) * 8 / seconds)} now"
    again = 100 * now.sent_again_segments / now.sent_segments if now.sent_segments else 0.0
    threshold = "none yet" if now.threshold_segments is None else f"{now.threshold_segments}"
    pace = "no pace" if now.pacing_bps is None else f"pace {_mbit(now.pacing_bps)}"
    waits = []
    for words, waited_us in (
        ("the other end's window", now.waited_for_window_us), ("the send buffer", now.waited_for_buffer_us)
    ):  # fmt: skip
        if waited_us and now.busy_us:
            waits.append(f"{100 * waited_us / now.busy_us:.0f} % of its time it waited for {words}")
    return [
        f"{now.local}:{now.local_port} - {now.peer}:{now.peer_port}  {', '.join([now.congestion_control, *options])}",
        f"  sent {now.sent_segments} segments, {now.sent_again_segments} of them again ({again:.2f} %),"
        f" {now.marked_segments} marked by ECN{rate}",
        f"  round trip {now.rtt_us / 1_000:.1f} ms (least {now.least_rtt_us / 1_000:.1f}), RTO {now.rto_us / 1_000:.0f} ms,"
        f" {now.unanswered_timeouts} time-outs unanswered",
        f"  cwnd {now.window_segments} and ssthresh {threshold}, segments of {now.segment_bytes} B; {pace},"
        f" delivered {_mbit(now.delivery_bps)}",
        f"  windows: {now.send_window_bytes} B to send, {now.receive_window_bytes} B to receive; buffers:"
        f" {now.send_buffer_bytes} B, {now.receive_buffer_bytes} B",
        *(f"  {one}" for one in waits),
    ]


def _mbit(rate_bps: float) -> str:
    return f"{rate_bps / 1e6:.2f} Mbit/s"
