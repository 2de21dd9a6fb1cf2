"""The sender: packets at a steady pace in the class that is measured, and what their answers say, a stretch at a time."""

from __future__ import annotations

import random
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from slotcar_probe.clock import LocalClock
from slotcar_probe.datagrams import arrived_on, set_dscp, stamping_socket
from slotcar_probe.packet import NoStamp, SenderPacket, read_reflector, sender_bytes
from slotcar_probe.pairing import Answer, Paired, SentPacket, Stretch, paired
from slotcar_probe.streams import Stream

#: What takes longer is lost: the waiting time of RFC 7679 §3.2.
WAITING_S = 3.0
_SECOND_NS = 1_000_000_000


@dataclass
class Sender:
    """
    Attributes:
        stretch_s: so often is told what was measured.
    """

    stream: Stream
    clock: LocalClock
    stretch_s: float = 60.0
    _opened: socket.socket = field(default_factory=stamping_socket)
    _session: int = field(default_factory=lambda: random.SystemRandom().randrange(1, 1 << 16))
    _open: Stretch = field(default_factory=Stretch)
    _previous: Answer | None = None
    _error_ns: int | None = 0

    def measure(self, lasts_s: float | None = None) -> Iterator[Paired]:
        """For so long, or for as long as the program runs: what each stretch measured."""
        with self._opened:
            yield from self._measure(lasts_s)

    def _measure(self, lasts_s: float | None) -> Iterator[Paired]:
        set_dscp(self._opened, self.stream.dscp)
        self._opened.setblocking(False)
        interval_s, sequence = self.stream.interval_ms / 1000, 0
        began = time.monotonic()
        ends = None if lasts_s is None else began + lasts_s
        cut_at, cut_ns = began + self.stretch_s, time.time_ns() + int(self.stretch_s * _SECOND_NS)
        while True:
            due = began + sequence * interval_s
            if ends is not None and due >= ends:
                break
            self._take_until(due)
            if time.monotonic() - due > WAITING_S:
                # The machine slept: what is overdue is not sent in one burst.
                sequence += int((time.monotonic() - due) / interval_s)
            self._send(sequence)
            sequence += 1
            if time.monotonic() >= cut_at + WAITING_S:
                yield self._close(cut_ns)
                cut_at, cut_ns = cut_at + self.stretch_s, cut_ns + int(self.stretch_s * _SECOND_NS)
        last = time.monotonic() + WAITING_S
        while time.monotonic() < last and len(self._open.answers) < len(self._open.sent):
            self._take_until(min(last, time.monotonic() + interval_s))
        yield self._close(time.time_ns())

    def _send(self, sequence: int) -> None:
        estimate = self.clock.estimate()
        if not estimate.is_synchronized:
            self._error_ns = None
        elif self._error_ns is not None:
            self._error_ns = max(self._error_ns, estimate.error_ns)
        at_ns = time.time_ns()
        packet = SenderPacket(sequence, at_ns, estimate, self._session, self.stream.dscp)
        # What this machine cannot send, a queue that is full or no route, is lost on the way as much as any other.
        self._open.sent.append(SentPacket(sequence, at_ns))
        try:
            self._opened.sendto(
                sender_bytes(packet, self.stream.payload_bytes), (self.stream.address, self.stream.port)
            )
        except OSError:
            return

    def _take_until(self, due: float) -> None:
        """Takes answers until an instant of `time.monotonic`."""
        while (left_s := due - time.monotonic()) > 0:
            if not select.select([self._opened], [], [], left_s)[0]:
                return
            try:
                arrived = arrived_on(self._opened)
                packet = read_reflector(arrived.data, arrived.received_ns)
            except (OSError, NoStamp):
                # An ICMP message that says "unreachable" comes up here; it is no answer.
                continue
            awaited = self._open.sent and self._open.sent[0].sequence <= packet.sender.sequence
            if awaited and packet.sender.session == self._session:
                self._open.answers.setdefault(
                    packet.sender.sequence, Answer(packet, arrived.received_ns, arrived.dscp)
                )

    def _close(self, cut_ns: int) -> Paired:
        stretch = self._open.cut(cut_ns)
        measured = paired(stretch, self._error_ns, self.stream.dscp, self._previous)
        answered = stretch.answered
        self._previous = answered[-1][1] if answered else self._previous
        self._error_ns = 0
        return measured
