"""Volumes that could not meet their deadline even on an empty path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from slotcar.admission.model import Demand
from slotcar.admission.rates import Crossing
from slotcar.admission.resource_id import ResourceId, describe
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import iso
from slotcar.base.units import format_bytes, format_bytes_about
from slotcar.planning.routing import RoutedReservation
from slotcar.reservation.need import most_bytes


class NeverFits(NamedTuple):
    """Why, and what would do."""

    message: str
    hint: str


def never_fits(routed: RoutedReservation, capacities: Mapping[ResourceId, int], now: datetime) -> NeverFits | None:
    """The refusal of a volume that can never be moved by its deadline; None where the path's narrowest link could do it."""
    need = routed.reservation.need
    if need is None or need.by <= now or not routed.demands:
        return None

    def rate_bps(demand: Demand) -> int:
        return Crossing.of(demand).rate_bps(capacities.get(demand.resource, 0))

    narrowest = min(routed.demands, key=rate_bps)
    most = most_bytes(rate_bps(narrowest), need.window_from(now))
    if need.volume_bytes <= most:
        return None
    return NeverFits(
        f"is more than {describe(narrowest.resource)} can ever carry by {iso(need.by)}",
        f"say at most {format_bytes_about(most)}, or a later deadline"
        if most
        else "take another path or another service",
    )


def never_fits_on_any(
    choices: Sequence[RoutedReservation], capacities: Mapping[ResourceId, int], now: datetime
) -> NeverFits | None:
    """As `never_fits`, of the first of several ways; None where one of them could carry it."""
    answers = [never_fits(one, capacities, now) for one in choices]
    return answers[0] if all(answers) else None


def require_it_may_fit(
    choices: Sequence[RoutedReservation], capacities: Mapping[ResourceId, int], now: datetime
) -> None:
    """
    Raises:
        InvalidInput: none of its paths could ever carry the volume by its deadline.
    """
    wrong, need = never_fits_on_any(choices, capacities, now), choices[0].reservation.need
    if wrong is not None and need is not None:
        volume = format_bytes(need.volume_bytes)
        raise InvalidInput([Problem("request", 0, "volume", wrong.message, volume, wrong.hint)])
