"""What one device had counted at one moment, and its form in the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slotcar.platforms.counting import Amount, Count, Counts, FlowPlace, Place, QueuePlace


@dataclass(frozen=True, slots=True)
class CounterReading:
    """Attributes:
    asked_at, at: it was asked and had answered; what it says is of a moment between the two.
    configuration: a digest of what of Slotcar's was on the device.
    """

    device: str
    asked_at: datetime
    at: datetime
    configuration: str
    counts: Counts


def counts_json(counts: Counts) -> list[list[Any]]:
    """`[interface, flow or service, age, six numbers …]` each."""
    return [
        [
            place.interface,
            place.number if isinstance(place, FlowPlace) else str(place.service),
            count.age_s,
            *(number for part in _parts(count) for number in (part.packets, part.ip_bytes)),
        ]
        for place, count in sorted(counts.items(), key=lambda item: str(item[0]))
    ]


def counts_from(rows: list[list[Any]]) -> Counts:
    """The inverse of `counts_json`."""
    counts: dict[Place, Count] = {}
    for interface, subject, age_s, *numbers in rows:
        place = FlowPlace(interface, subject) if isinstance(subject, int) else QueuePlace(interface, subject)
        amounts = [Amount(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
        counts[place] = Count(*amounts, age_s=age_s)
    return counts


def _parts(count: Count) -> tuple[Amount, Amount, Amount]:
    return count.in_profile, count.out_of_profile, count.dropped


def difference(after: Count, before: Count) -> Count:
    """Part by part; below zero where a counter went back."""
    return Count(*(new - old for new, old in zip(_parts(after), _parts(before), strict=True)))


def went_back(count: Count) -> bool:
    return any(part.is_negative for part in _parts(count))


def wrapped(count: Count, modulus: int) -> Count:
    """The difference with bytes that went back taken for bytes that began again at zero after `modulus`."""
    return Count(
        *(
            Amount(part.packets, part.ip_bytes + modulus if part.ip_bytes < 0 else part.ip_bytes)
            for part in _parts(count)
        )
    )
