"""Queue lengths of a router's interface, asked on the router by `tc -s -j` while traffic passes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab.agent import sampling
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError

INTERVAL_S = 0.05
#: Of this machine: to write what it has seen.
END_S = 60.0


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
    """Asks twenty times a second until `depths` ends it."""

    def __init__(self, lab: Lab, router: str, interface: str, interval_s: float = INTERVAL_S) -> None:
        self._process = lab.start_python(router, Path(sampling.__file__), interface, str(interval_s))

    def depths(self) -> tuple[Depth, ...]:
        """What it has seen, in order of time.

        Raises:
            LabError: it could not ask.
        """
        self._process.terminate()
        if self._process.wait(END_S):
            raise LabError(f"queues could not be asked how long they are: {self._process.stderr.strip()}")
        answers = [line.split(" ", 1) for line in self._process.stdout.splitlines()]
        self._process.close()
        return tuple(depth for at_ns, text in answers for depth in read(int(at_ns) // 1_000, text))


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
