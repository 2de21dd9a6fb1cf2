"""Quotas of owners: how many reservations, slots and holds, and how much rate times time, one owner may have at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from slotcar.base.units import format_bytes
from slotcar.book.rules.amounts import counted_slots, volume_bits
from slotcar.book.rules.errors import NotPermitted, QuotaExceeded
from slotcar.policy.owning import HAVE, on_amounts
from slotcar.policy.policies import Policies, shipped_policies
from slotcar.reservation.model import Reservation


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that an owner's live reservations may have together; None for no limit.

    Attributes:
        reservations: held, waiting or committed, and not over.
        windows: their slots; a recurrence has one for each occurrence.
        holds: those of them that are held.
        volume_bits: rate times time of all their slots, each reserved direction counted; of a background reservation its
            `at_most` times time.
    """

    reservations: int | None = None
    windows: int | None = None
    holds: int | None = None
    volume_bits: int | None = None

    @property
    def limits_something(self) -> bool:
        limits = (self.reservations, self.windows, self.holds, self.volume_bits)
        return any(limit is not None for limit in limits)


@dataclass(frozen=True, slots=True)
class Usage:
    """An owner's use of its quotas, in the units of `Quota`."""

    reservations: int = 0
    windows: int = 0
    holds: int = 0
    volume_bits: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def usage_of(reservation: Reservation, *, is_held: bool) -> Usage:
    return Usage(1, len(reservation.slots), int(is_held), volume_bits(counted_slots(reservation)))


def greater(one: Usage, other: Usage) -> Usage:
    """The greater of each number: of a reservation and a change of it that waits, both are kept free."""
    return Usage(*(max(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)))


def check_quota(owner: str, quota: Quota, before: Usage, after: Usage, policies: Policies | None = None) -> None:
    """`policies`: those in force; those that ship where none are named.

    Raises:
        QuotaExceeded: a request would raise something above its limit. What was above already may stay or shrink.
        NotPermitted: another policy of the site forbids it.
    """
    amounts = {"before": asdict(before), "after": asdict(after), "quota": asdict(quota)}
    verdict = on_amounts(policies or shipped_policies(), HAVE, owner, **amounts)
    if verdict.allowed:
        return
    name = next((rule.annotations["quota"] for rule in verdict.by if "quota" in rule.annotations), None)
    if name is None or verdict.errors:
        words = {"who": owner, "owner": owner, "of": owner, "role": "owner", "what": "have so much together"}
        raise NotPermitted(verdict.sentence(words), tuple(rule.name for rule in verdict.by))
    limit, in_use = amounts["quota"][name], amounts["before"][name]
    what, more = name.removesuffix("_bits"), amounts["after"][name] - in_use
    raise QuotaExceeded(owner, what, limit, in_use, more, _sentence(owner, what, limit, in_use, more))


def _sentence(owner: str, what: str, limit: int, in_use: int, requested: int) -> str:
    if what == "volume":
        texts = [format_bytes(-(-bits // 8)) for bits in (limit, in_use, requested)]
        words = "of rate times time"
    else:
        texts, words = [str(number) for number in (limit, in_use, requested)], f"live {what}"
    most, used, more = texts
    hint = "; a background reservation counts with its at_most" if what == "volume" else ""
    return f"owner {owner} may have {most} {words}, has {used}, and asks for {more} more: give some back first{hint}"
