"""Refusals in words: what, where, when and how much, and what would fit (DESIGN rule 5)."""

from __future__ import annotations

from collections.abc import Iterator

from controller.admission.model import Refused
from controller.reservation.model import Reservation
from controller.units import format_rate


def refusal_sentences(reservation: Reservation, refused: Refused) -> Iterator[str]:
    """One line of summary, then one each shortage and what would fit, indented."""
    rate = format_rate(reservation.rate_bps)
    yield f"{reservation.owner}/{reservation.name}: refused, {rate} of {reservation.service.value} does not fit"
    for line in refused.explain():
        yield f"  {line}"
