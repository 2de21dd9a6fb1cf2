"""Queue lengths of a router's interface, asked of its kernel by `tc -s -j` while traffic passes."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass

from slotcar_lab.control import Lab

INTERVAL_S = 0.05


@dataclass(frozen=True, slots=True)
class Depth:
    """One queue at one instant.

    Attributes:
        at_us: microseconds since the epoch, by the lab's clock.
        handle: the qdisc's, such as `51c3:`.
        queued_bytes, queued_packets: what waits.
        dropped_packets, marked_packets: since the queue was made; marks are ECN's.
    """

    at_us: int
    handle: str
    queued_bytes: int
    queued_packets: int
    dropped_packets: int
    marked_packets: int


class Sampler:
    """Asks twenty times a second until `depths` ends it: one tc, which is fed a line for each question."""

    def __init__(self, lab: Lab, router: str, interface: str, interval_s: float = INTERVAL_S) -> None:
        self._process = lab.popen(router, ["stdbuf", "-oL", "tc", "-s", "-j", "-batch", "-"], stdin=True)
        self._question = f"qdisc show dev {interface}\n".encode()
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def depths(self) -> tuple[Depth, ...]:
        """What it has seen, in order of time."""
        self._ended.set()
        self._thread.join()
        self._process.write(b"")
        self._process.wait(20.0)
        depths = [depth for line in self._process.lines() for depth in read(line.t_us, line.text)]
        self._process.close()
        return tuple(depths)

    def _ask(self) -> None:
        while not self._ended.wait(self._interval_s):
            self._process.write(self._question)


def read(at_us: int, text: str) -> list[Depth]:
    """The queues of one answer of `tc -s -j qdisc show`."""
    return [
        Depth(
            at_us,
            one["handle"],
            one.get("backlog", 0),
            one.get("qlen", 0),
            one.get("drops", 0),
            one.get("marked", 0),
        )
        for one in (json.loads(text) if text.startswith("[") else [])
    ]
