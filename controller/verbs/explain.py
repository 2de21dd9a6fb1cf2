"""Refusals in words: what, where, when and how much, and what would fit (DESIGN rule 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from controller.admission.model import Refused
from controller.reservation.model import Reservation
from controller.units import format_bytes, format_latency, format_rate

#: A key of a reservation's document, as a reservation file calls it, and how its value is written there.
_WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "rate_bps": ("rate", format_rate),
    "packet_size_bytes": ("packet_size", format_bytes),
    "rtt_us": ("rtt", format_latency),
    "windows": ("windows", lambda windows: _windows(windows)),
    "source": ("source", lambda end: _endpoint(end)),
    "destination": ("destination", lambda end: _endpoint(end)),
    "via": ("via", lambda via: ", ".join(via) or "any way"),
    "labels": ("labels", lambda labels: ", ".join(f"{key}={value}" for key, value in labels.items()) or "none"),
}


def refusal_sentences(reservation: Reservation, refused: Refused) -> Iterator[str]:
    """One line of summary, then one each shortage and what would fit, indented."""
    rate = format_rate(reservation.rate_bps)
    yield f"{reservation.owner}/{reservation.name}: refused, {rate} of {reservation.service.value} does not fit"
    for line in refused.explain():
        yield f"  {line}"


def difference_sentence(key: str, before: Any, after: Any) -> str:
    """`rate: 20 Mbit/s -> 21 Mbit/s`, in the words of a reservation file."""
    name, words = _WORDS.get(key, (key, str))
    old, new = ("none" if value is None else words(value) for value in (before, after))
    return f"{name}: {old} -> {new}"


def _endpoint(end: dict[str, Any]) -> str:
    return f"{end['host']}:{end['port']}" if end["port"] else str(end["host"])


def _windows(windows: list[dict[str, str]]) -> str:
    first, last = windows[0], windows[-1]
    more = f", {len(windows)} times until {last['end']}" if len(windows) > 1 else ""
    return f"{first['start']} to {first['end']}{more}"
