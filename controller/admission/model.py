"""What admission takes and gives: demands on resources over windows, `Admitted` or `Refused` with numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.timebase import Window, common_windows, iso, windows_without
from controller.units import format_rate


@dataclass(frozen=True, slots=True)
class Demand:
    """What a reservation asks of one resource while its window is open.

    Attributes:
        resource: `if:DEVICE:INTERFACE:in|out:SERVICE` (layer-2 rate) or `sls:NAME` (layer-3 rate).
        wire_bytes, payload_bytes: `rate_bps` is the payload rate times their ratio, rounded up; what turns a free rate
            back into a payload rate. No part of a demand's identity, and 1 to 1 where nobody says.
    """

    resource: str
    rate_bps: int
    wire_bytes: int = field(default=1, compare=False)
    payload_bytes: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Where and when a request does not fit.

    `window` is the part of the asked windows, around the worst moment, throughout which the request does not fit; at
    that moment `free_bps` of `capacity_bps` is left (0 also where more is reserved than the capacity is by now).
    """

    resource: str
    window: Window
    requested_bps: int
    free_bps: int
    capacity_bps: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """The request fits: these demands are to be added to the slot tables over these windows."""

    demands: tuple[Demand, ...]
    windows: tuple[Window, ...]


def covering(one: Admitted, other: Admitted) -> tuple[Admitted, ...]:
    """Parts that together take the greater of the two, of every resource at every instant."""
    taken = {demand.resource: demand.rate_bps for demand in one.demands}
    more = tuple(
        replace(demand, rate_bps=demand.rate_bps - taken.get(demand.resource, 0))
        for demand in other.demands
        if demand.rate_bps > taken.get(demand.resource, 0)
    )
    parts = (
        one,
        Admitted(other.demands, tuple(windows_without(other.windows, one.windows))),
        Admitted(more, tuple(common_windows(other.windows, one.windows))),
    )
    return tuple(part for part in parts if part.windows)


@dataclass(frozen=True, slots=True)
class Refused:
    """The request does not fit (DESIGN rule 5).

    Attributes:
        shortfalls: one for every resource that is short, in the order of the demands.
        nearest_window: the earliest window of the same length, not before the asked start, in which the whole request
            fits (None: none before the horizon). Of a recurrence, the first occurrence: all shift together.
        highest_rate_bps: the highest payload rate that fits in the asked windows (0: nothing).
        reason: set where numbers are not the reason (an SLS not valid then, no such path).
        horizon: until when a nearest window was looked for; None without end.
    """

    shortfalls: tuple[Shortfall, ...] = ()
    nearest_window: Window | None = None
    highest_rate_bps: int = 0
    reason: str = ""
    details: dict[str, str] = field(default_factory=dict)
    horizon: datetime | None = None

    def explain(self) -> tuple[str, ...]:
        """The refusal in lines for people: the reason, each shortage, and what would be admitted."""
        lines = [self.reason] if self.reason else []
        lines += [_shortage(shortfall) for shortfall in self.shortfalls]
        if self.nearest_window:
            lines.append(f"the nearest window in which the whole request fits is {self.nearest_window}")
        else:
            until = f" before {iso(self.horizon)}" if self.horizon else ""
            lines.append(f"no later window{until} fits the whole request")
        if self.highest_rate_bps:
            lines.append(
                f"the highest payload rate that fits in the asked time is {format_rate(self.highest_rate_bps)}"
            )
        else:
            lines.append("no payload rate fits in the asked time")
        return tuple(lines)

    def sentence(self) -> str:
        """`explain` in one line, for logs and problem details."""
        return "; ".join(self.explain())


@dataclass(frozen=True, slots=True)
class Enquiry:
    """GARA's enquire: the highest payload rate over the asked windows, and the resource that limits it.

    `limited_by` is empty where nothing asks for capacity (best effort): the rate is 0 then, as nothing is promised.
    """

    rate_bps: int
    limited_by: str = ""


def describe(resource: str) -> str:
    """A resource in words: `ip-premium on lbnl-edge eth1, outbound` or `SLS esnet-lbnl`."""
    kind, _, name = resource.partition(":")
    if kind == "if":
        interface, direction, service = name.rsplit(":", 2)
        device, _, port = interface.partition(":")
        return f"{service} on {device} {port}, {direction}bound"
    return f"SLS {name}" if kind == "sls" else resource


def _shortage(shortfall: Shortfall) -> str:
    requested, free, capacity = (
        format_rate(rate) for rate in (shortfall.requested_bps, shortfall.free_bps, shortfall.capacity_bps)
    )
    return f"{describe(shortfall.resource)}: {requested} requested, {free} free of {capacity} in {shortfall.window}"
