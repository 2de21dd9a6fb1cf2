"""Does the audit log account for every change that was seen on a router? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slotcar_client.wire.events import (
    BoundaryStaged,
    PushArmed,
    PushNotRolledBack,
    PushRolledBack,
    PushStarted,
    PushSuperseded,
    PushVerified,
    read,
)
from slotcar_lab.chaos.judge import OUTSIDE_S, PARTIAL_S, Sample

#: So far the instants of a router's kernel and those of the audit log may be apart.
CLOCKS_S = 0.5
OVER = PushVerified | PushRolledBack | PushSuperseded | PushNotRolledBack


@dataclass(frozen=True, slots=True)
class Span:
    """From when until when (s since the epoch) a router may change, and why."""

    router: str
    since_s: float
    until_s: float
    why: str


def accounted(events: Iterable[Mapping[str, Any]]) -> list[Span]:
    """What the audit log announces, per router: pushes from their start to their outcome, what was armed, and boundaries
    that a controller found routers armed for, which is all that there is of a push whose outcome no database took.

    A push whose controller died has no outcome: it may go on for as long as a slot may be on some routers only.
    """
    spans: list[Span] = []
    begun: dict[tuple[str, str], float] = {}
    for event in events:
        router, says, at_s = str(event.get("device")), read(event["kind"], event["details"]), seconds(event["at"])
        if isinstance(says, PushStarted):
            begun[router, says.revision] = at_s
        elif isinstance(says, OVER) and (router, says.revision) in begun:
            spans.append(Span(router, begun.pop((router, says.revision)), at_s, f"push {says.revision}"))
        elif isinstance(says, PushArmed) and says.at and says.until:
            last_s = says.until.timestamp() + OUTSIDE_S
            spans.append(Span(router, says.at.timestamp(), last_s, f"armed by push {says.revision}"))
        elif isinstance(says, BoundaryStaged) and says.at and at_s <= (first_s := says.at.timestamp()):
            why = f"armed for the boundary at {says.at.isoformat()}"
            spans += [Span(name, first_s, first_s + OUTSIDE_S, why) for name in says.devices]
    spans += [Span(router, at_s, at_s + PARTIAL_S, f"push {name}") for (router, name), at_s in begun.items()]
    return spans


@dataclass(frozen=True, slots=True)
class WrongClock:
    """From when until when (s since the epoch) a controller's clock was ahead, and by how much."""

    since_s: float
    until_s: float
    ahead_s: float


def by_the_right_clock(events: Iterable[Mapping[str, Any]], wrong: Sequence[WrongClock]) -> list[Mapping[str, Any]]:
    """The events, with the instants of those that a controller with a wrong clock wrote put right.

    An event does not name its controller: it is one of those whose instant no right clock can have shown, since a clock is
    wrong by more than a round lasts.
    """
    return [_put_right(event, wrong) for event in events]


def _put_right(event: Mapping[str, Any], wrong: Sequence[WrongClock]) -> Mapping[str, Any]:
    at_s = seconds(event["at"])
    for clock in wrong:
        if clock.since_s - CLOCKS_S <= at_s - clock.ahead_s <= clock.until_s + CLOCKS_S:
            right = datetime.fromtimestamp(at_s - clock.ahead_s, UTC)
            return {**event, "at": right.isoformat()}
    return event


def unaccounted(samples: Sequence[Sample], spans: Sequence[Span]) -> list[str]:
    """The changes of routers at whose time nothing was under way there; in words."""
    findings = []
    latest: dict[str, Sample] = {}
    for sample in samples:
        before = latest.get(sample.router)
        latest[sample.router] = sample
        if before is None or before.ports == sample.ports:
            continue
        if not any(
            span.router == sample.router and span.since_s - CLOCKS_S <= sample.at_s <= span.until_s + CLOCKS_S
            for span in spans
        ):
            findings.append(f"nothing in the audit log says why {sample.router} changed{_difference(before, sample)}")
    return findings


def _difference(before: Sample, after: Sample) -> str:
    """Such as ` (+6001 -6002) at 1790000000.5`."""
    signs = [f"+{port}" for port in sorted(after.ports - before.ports)]
    signs += [f"-{port}" for port in sorted(before.ports - after.ports)]
    return f" ({' '.join(signs)}) at {after.at_s:.1f}"


def seconds(instant: str) -> float:
    """Of an instant in ISO 8601, since the epoch."""
    return datetime.fromisoformat(instant).timestamp()
