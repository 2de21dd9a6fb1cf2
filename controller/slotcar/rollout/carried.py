"""What was counted since the controller began, by SLS and by link: as many figures as the inventory has of both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Carried:
    """Sums that only grow. Bytes are those of IP packets.

    Attributes:
        promised_bytes, used_bytes, dropped_bytes: of flows, by each SLS that they cross.
        sent_bytes, dropped_packets: of a way out, by device and interface.
    """

    promised_bytes: Counter[str] = field(default_factory=Counter)
    used_bytes: Counter[str] = field(default_factory=Counter)
    dropped_bytes: Counter[str] = field(default_factory=Counter)
    sent_bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    dropped_packets: Counter[tuple[str, str]] = field(default_factory=Counter)
