"""`Policy`: all rules of one operator together, as the ledger keeps them beside the network's capacities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from slotcar.book.rules.endpoints import EndpointOwners
from slotcar.book.rules.errors import BeyondHorizon, HoldTooLong
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.quotas import Quota
from slotcar.book.rules.reserving import ReservingRules
from slotcar.reservation.model import Reservation


@dataclass(frozen=True, slots=True)
class Policy:
    """Attributes:
    horizon: how far from now a reservation may end, and a nearest window is looked for.
    longest_hold: from when a reservation is first held until its hold ends, extensions included; None for no limit.
    frozen: what of deadline transfers' profiles begins sooner than this is not moved to make room.
    least_rate_bps: no step of a deadline transfer is slower, unless its `at_most` is: what the network's platforms police.
    quota: of every owner that `owner_quotas` does not name.
    reserving: the site's policies about who may reserve what.
    """

    gate: Gate = field(default_factory=Gate)
    horizon: timedelta = timedelta(days=366)
    longest_hold: timedelta | None = None
    frozen: timedelta = timedelta(seconds=60)
    least_rate_bps: int = 0
    quota: Quota = field(default_factory=Quota)
    owner_quotas: Mapping[str, Quota] = field(default_factory=dict)
    endpoints: EndpointOwners = field(default_factory=EndpointOwners)
    reserving: ReservingRules = field(default_factory=ReservingRules)

    def quota_of(self, owner: str) -> Quota:
        return self.owner_quotas.get(owner, self.quota)

    def check_reservation(self, reservation: Reservation, now: datetime, old: Reservation | None = None) -> None:
        """What is refused whatever else is there, of a request and of an enquiry.

        Raises:
            BeyondHorizon: it ends later than reservations may, and later than `old`, of which it is a change.
        """
        latest = now + self.horizon
        if reservation.end > latest and (old is None or reservation.end > old.end):
            raise BeyondHorizon("/".join(reservation.key), reservation.end, self.horizon, latest)

    def check_hold(self, reservation: Reservation, held_since: datetime, until: datetime) -> None:
        """
        Raises:
            HoldTooLong: it would be held longer than a hold may last.
        """
        if self.longest_hold is not None and until > held_since + self.longest_hold:
            latest = held_since + self.longest_hold
            raise HoldTooLong("/".join(reservation.key), until, self.longest_hold, latest)
