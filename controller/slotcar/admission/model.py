"""What admission takes and gives: demands on resources over windows, `Admitted` or `Refused` with numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

from slotcar.admission.resource_id import KINDS, ResourceId, describe
from slotcar.base.timebase import Window, iso
from slotcar.base.units import format_bytes, format_bytes_about, format_latency, format_rate

#: `Refused.highest_share_permille` counts thousandths.
PERMILLE = 1000


@dataclass(frozen=True, slots=True)
class Demand:
    """What a reservation asks of one resource in each of its slots.

    Attributes:
        amounts: in the unit of the resource's kind, one for each slot in their order; a single one holds in every slot.
        wire_bytes, payload_bytes: an amount is the payload rate times their ratio, rounded up; what turns a free rate
            back into a payload rate. No part of a demand's identity, and 1 to 1 where the caller does not say.
    """

    resource: ResourceId
    amounts: tuple[int, ...]
    wire_bytes: int = field(default=1, compare=False)
    payload_bytes: int = field(default=1, compare=False)

    @classmethod
    def constant(cls, resource: ResourceId, amount: int) -> Demand:
        """The same amount in every slot."""
        return cls(resource, (amount,))

    def amount(self, slot: int) -> int:
        """What is asked in the slot of this index."""
        return self.amounts[slot] if len(self.amounts) > 1 else self.amounts[0]

    def over(self, slots: int) -> tuple[int, ...]:
        """The amounts of `slots` slots, one each."""
        return self.amounts if len(self.amounts) > 1 else self.amounts * slots

    @property
    def peak(self) -> int:
        return max(self.amounts)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Where and when a request does not fit. Amounts are in the unit of the resource's kind.

    `window` is the part of the asked windows, around the worst moment, throughout which the request does not fit; at
    that moment `free` of `capacity` is left (0 also where more is reserved than the capacity is by now).
    """

    resource: ResourceId
    window: Window
    requested: int
    free: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """The request fits: these demands are to be added to the slot tables over these windows."""

    demands: tuple[Demand, ...]
    windows: tuple[Window, ...]


def highest_bps(demands: Sequence[Demand]) -> dict[ResourceId, int]:
    """The highest rate that is asked of each resource of the network; other kinds have no rates."""
    return {demand.resource: demand.peak for demand in demands if demand.resource.kind in KINDS}


def covering(one: Admitted, other: Admitted) -> Admitted:
    """What takes the greater of the two, of every resource at every instant."""
    instants = sorted({instant for part in (one, other) for window in part.windows for instant in window})
    spans = [Window(start, end) for start, end in pairwise(instants)]
    levels = [(span, _amounts_in(one, span), _amounts_in(other, span)) for span in spans]
    occupied = [(span, first, second) for span, first, second in levels if first is not None or second is not None]
    resources = dict.fromkeys(demand.resource for part in (one, other) for demand in part.demands)
    demands = []
    for resource in resources:
        amounts = tuple(max((level or {}).get(resource, 0) for level in both) for _, *both in occupied)
        demands.append(Demand(resource, amounts[:1] if len(set(amounts)) == 1 else amounts))
    return Admitted(tuple(demands), tuple(span for span, _, _ in occupied))


def _amounts_in(part: Admitted, span: Window) -> dict[ResourceId, int] | None:
    """A part's amounts in a span in which none of its windows begins or ends; None where it is not open then."""
    number = bisect_right(part.windows, span.start, key=lambda window: window.start) - 1
    if number < 0 or part.windows[number].end <= span.start:
        return None
    return {demand.resource: demand.amount(number) for demand in part.demands}


@dataclass(frozen=True, slots=True)
class TransferRefused:
    """A volume cannot be moved by its deadline (docs/design.md rule 5).

    Attributes:
        most_bytes: the most that can be, by the same deadline.
        earliest_deadline: by when the whole volume can be; None: not before the horizon.
        tightest: the resource that alone leaves the least volume; None where `at_most` does, or no resource is short.
        tightest_bytes: what that resource alone, or `at_most`, leaves.
    """

    asked_bytes: int
    deadline: datetime
    most_bytes: int
    earliest_deadline: datetime | None
    tightest: ResourceId | None
    tightest_bytes: int
    horizon: datetime

    def explain(self) -> tuple[str, ...]:
        """What is short, and what would be admitted, in lines for people."""
        volume, by = format_bytes(self.asked_bytes), iso(self.deadline)
        where = describe(self.tightest) if self.tightest else "the time with the highest rate that it may have"
        lines = [f"{where}: {volume} requested, room for {format_bytes_about(self.tightest_bytes)} by {by}"]
        if self.tightest_bytes >= self.asked_bytes:
            lines = ["each resource of the path has room for it, but not at the same times"]
        if self.most_bytes:
            lines.append(f"the most volume that fits by {by} is {format_bytes_about(self.most_bytes)}")
        else:
            lines.append(f"no volume fits by {by}")
        if self.earliest_deadline:
            lines.append(f"the earliest deadline for the whole volume is {iso(self.earliest_deadline)}")
        else:
            lines.append(f"no deadline before {iso(self.horizon)} is late enough for the whole volume")
        return tuple(lines)


@dataclass(frozen=True, slots=True)
class DelayRefused:
    """A worst delay that is promised would not hold (docs/design.md rule 5).

    Attributes:
        words: whose bound it is, what would become of it, where, and by which burst.
        place: where most of the delay is. worst_us: what it would be; None where nothing bounds it.
        burst_bytes: the largest burst of the request that fits. rtt_us: the `rtt` that gives it.
        rate_bps: the highest payload rate that fits with the request's own rtt. None: none does.
    """

    words: str
    place: str = ""
    worst_us: int | None = None
    burst_bytes: int | None = None
    rtt_us: int | None = None
    rate_bps: int | None = None

    def explain(self) -> tuple[str, ...]:
        """What does not hold, and what would fit, in lines for people."""
        lines = [self.words]
        if self.burst_bytes is not None:
            words = f"the largest burst that fits is {format_bytes_about(self.burst_bytes)}"
            lines.append(f"{words}, that of an rtt of {format_latency(self.rtt_us)}" if self.rtt_us else words)
        elif self.worst_us is not None:
            lines.append("no burst of it fits, however small")
        if self.rate_bps is not None:
            lines.append(f"the highest payload rate that fits is {format_rate(self.rate_bps)}")
        return tuple(lines)


@dataclass(frozen=True, slots=True)
class Refused:
    """The request does not fit (docs/design.md rule 5).

    Attributes:
        shortfalls: one for every resource that is short, in the order of the demands.
        nearest_window: the earliest window of the same length, not before the asked start, in which the whole request
            fits (None: none before the horizon). Of a recurrence, the first occurrence: all shift together.
        highest_rate_bps: the highest payload rate that fits in the asked windows (0: nothing); None where the request
            has more than one rate.
        highest_share_permille: of a request with more than one rate, the share of all its rates that fits, thousandths.
        reason: set where numbers are not the reason (an SLS not valid then, no such path).
        horizon: until when a nearest window was looked for; None without end.
        transfer: of a volume by a deadline, the numbers in the place of all others.
        delay: where a worst delay would not hold, what and by how much, in the place of all others.
        paths_tried: on so many paths; the numbers are those of the best of them.
        path: its routers in order, where several were tried.
    """

    shortfalls: tuple[Shortfall, ...] = ()
    nearest_window: Window | None = None
    highest_rate_bps: int | None = 0
    highest_share_permille: int | None = None
    reason: str = ""
    details: dict[str, str] = field(default_factory=dict)
    horizon: datetime | None = None
    transfer: TransferRefused | None = None
    delay: DelayRefused | None = None
    paths_tried: int = 1
    path: tuple[str, ...] = ()

    @property
    def merit(self) -> int:
        """How much of the request would fit, against the same request on another path."""
        numbers = self.transfer.most_bytes if self.transfer else self.highest_rate_bps
        return (self.highest_share_permille or 0) if numbers is None else numbers

    def explain(self, others: str | None = None) -> tuple[str, ...]:
        """The refusal in lines for people: the reason, each shortage, and what would be admitted.

        Args:
            others: instead of the shortages but the tightest, these words, with their number in the place of `{}`.
        """
        lines = [self.reason] if self.reason else []
        if self.paths_tried > 1:
            lines.append(f"{self.paths_tried} paths were tried; the best of them is {' > '.join(self.path)}")
        if (instead := self.transfer or self.delay) is not None:
            return (*lines, *instead.explain())
        tightest = self._tightest()
        listed = self.shortfalls if others is None else (tightest or self.shortfalls)[:1]
        lines += [
            f"{_shortage(shortfall)}{' (the tightest)' if shortfall in tightest else ''}" for shortfall in listed
        ]
        if others is not None and len(self.shortfalls) > len(listed):
            lines.append(others.format(len(self.shortfalls) - len(listed)))
        if self.nearest_window:
            lines.append(f"the nearest window in which the whole request fits is {self.nearest_window}")
        else:
            until = f" before {iso(self.horizon)}" if self.horizon else ""
            lines.append(f"no later window{until} fits the whole request")
        lines.append(self._what_fits())
        return tuple(lines)

    def _tightest(self) -> tuple[Shortfall, ...]:
        """The shortfalls that leave the smallest part of the amount that was asked; none where all leave the same part."""
        parts = {one: Fraction(one.free, one.requested) for one in self.shortfalls if one.requested}
        least = min(parts.values(), default=Fraction(0))
        tightest = tuple(one for one, part in parts.items() if part == least)
        return tightest if len(tightest) < len(self.shortfalls) else ()

    def _what_fits(self) -> str:
        kind = next((one.resource.kind_of for one in self.shortfalls if one.resource.kind not in KINDS), None)
        if kind is not None and self.highest_rate_bps is not None:
            return f"the most that fits in the asked time is {kind.format_amount(self.highest_rate_bps)}"
        if kind is not None and self.highest_share_permille is not None:
            return f"the same slots fit with {self.highest_share_permille / 10:g} % of what is asked"
        if self.highest_rate_bps:
            return f"the highest payload rate that fits in the asked time is {format_rate(self.highest_rate_bps)}"
        if self.highest_share_permille:
            return f"the same slots fit with {self.highest_share_permille / 10:g} % of the asked rates"
        return "no payload rate fits in the asked time"

    def sentence(self) -> str:
        """`explain` in one line, for logs and problem details."""
        return "; ".join(self.explain())


@dataclass(frozen=True, slots=True)
class Enquiry:
    """GARA's enquire: the highest payload rate over the asked windows, and the resource that limits it.

    `limited_by` is None where nothing asks for capacity (best effort): the rate is 0 then, as nothing is promised.
    """

    rate_bps: int
    limited_by: ResourceId | None = None


def _shortage(shortfall: Shortfall) -> str:
    words = shortfall.resource.kind_of.format_amount
    requested, free, capacity = map(words, (shortfall.requested, shortfall.free, shortfall.capacity))
    return f"{describe(shortfall.resource)}: {requested} requested, {free} free of {capacity} in {shortfall.window}"
