"""A promised delay over a row of domains: each domain promises a part, and the parts are the whole. Pure.

Delays of queues in a row add up, and so do jitters, which are differences of the longest and the shortest delay. So a bound
for the row holds where each domain keeps its own part of it for its own queues. Each says the worst that it has now; what
is left of the bound is shared out among all, so that each has some room for whoever comes later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slotcar.base.units import format_latency
from slotcar.reservation.model import LONGEST_DELAY_US, Reservation, TimeBound

#: Of a part there is no less than a microsecond: zero is no bound.
LEAST_US = 1


@dataclass(frozen=True, slots=True)
class DelayPart:
    """Of one domain: the worst that it has, or that it promises; microseconds. None where nothing is asked of it."""

    delay_us: int | None
    jitter_us: int | None

    def to_document(self) -> list[int | None]:
        return [self.delay_us, self.jitter_us]

    @classmethod
    def from_document(cls, document: Any) -> DelayPart:
        """
        Raises:
            ValueError, TypeError: it is none.
        """
        delay_us, jitter_us = (None if each is None else int(each) for each in document)
        if any(each is not None and not 0 <= each <= LONGEST_DELAY_US for each in (delay_us, jitter_us)):
            raise ValueError
        return cls(delay_us, jitter_us)


Parts = Mapping[str, DelayPart]


def parts_of(document: Any) -> dict[str, DelayPart]:
    """
    Raises:
        ValueError, TypeError, AttributeError: it is none.
    """
    return {str(name): DelayPart.from_document(each) for name, each in document.items()}


def shared_out(reservation: Reservation, worst: Parts) -> Parts | str:
    """What each domain is to promise; or why the bound cannot be kept, in the domains' own numbers.

    Args:
        worst: what each domain of the row has at worst now.
    """
    delays = _shares("delay", reservation.delay, {name: each.delay_us or 0 for name, each in worst.items()})
    if isinstance(delays, str):
        return delays
    jitters = _shares("jitter", reservation.jitter, {name: each.jitter_us or 0 for name, each in worst.items()})
    if isinstance(jitters, str):
        return jitters
    return {name: DelayPart(delays.get(name), jitters.get(name)) for name in worst}


def _shares(what: str, bound: TimeBound | None, worst_us: Mapping[str, int]) -> dict[str, int] | str:
    if bound is None:
        return {}
    least_us = {name: max(LEAST_US, each) for name, each in worst_us.items()}
    left_us = bound.at_most_us - sum(least_us.values())
    if left_us < 0:
        each_one = ", ".join(f"{name} {format_latency(each)}" for name, each in least_us.items())
        total = format_latency(sum(least_us.values()))
        return (
            f"a {what} of {format_latency(bound.at_most_us)} cannot be promised: the domains have {total} ({each_one})"
        )
    share_us, more = divmod(left_us, len(least_us))
    return {name: each + share_us + (number < more) for number, (name, each) in enumerate(least_us.items())}


def with_part(reservation: Reservation, part: DelayPart) -> Reservation:
    """The reservation as the domain of a part promises it."""
    delay, jitter = (None if each is None else TimeBound(at_most_us=each) for each in (part.delay_us, part.jitter_us))
    return reservation.model_copy(update={"delay": delay, "jitter": jitter})
