"""The reflector: answers each packet by the class that it asks for, with numbers of its own (RFC 8762 §4.3, stateful)."""

from __future__ import annotations

import socket
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from slotcar_probe.clock import LocalClock
from slotcar_probe.datagrams import arrived_on, set_dscp
from slotcar_probe.packet import NoStamp, read_sender, reflector_bytes

#: Sessions that are remembered: one more, and the one that was silent longest begins again.
MOST_SESSIONS = 10_000


@dataclass
class Sessions:
    """The next number of each session; pure."""

    _next: OrderedDict[Hashable, int] = field(default_factory=OrderedDict)

    def number(self, session: Hashable) -> int:
        number = self._next.pop(session, 0)
        self._next[session] = number + 1
        if len(self._next) > MOST_SESSIONS:
            self._next.popitem(last=False)
        return number


@dataclass
class Reflector:
    """Answers on one socket."""

    opened: socket.socket
    clock: LocalClock
    sessions: Sessions = field(default_factory=Sessions)
    _dscp: int = -1

    def serve(self) -> None:
        """For as long as the program runs."""
        while True:
            self.answer()

    def answer(self) -> None:
        """The next packet. What is none of STAMP's has no answer."""
        arrived = arrived_on(self.opened)
        try:
            request = read_sender(arrived.data, arrived.received_ns)
        except NoStamp:
            return
        if request.dscp != self._dscp:
            set_dscp(self.opened, request.dscp)
            self._dscp = request.dscp
        number, estimate = self.sessions.number((arrived.sender, request.session)), self.clock.estimate()
        answer = reflector_bytes(
            number, time.time_ns(), estimate, arrived.received_ns, arrived.data, arrived.dscp, arrived.ttl
        )
        # Who asked may be gone, or behind a filter: that is no reason to leave the others without an answer.
        try:
            self.opened.sendto(answer, arrived.sender)
        except OSError:
            return
