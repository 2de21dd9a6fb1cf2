"""What is free over time along a row of domains: the least of what each one tells. Pure; nothing is held by it.

A domain need not tell. Behind one that does not, nothing is known: it may have less.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from slotcar.base.problems import printable
from slotcar.base.timebase import Window, iso
from slotcar.domains.delays import DelayPart, Parts, parts_of
from slotcar.domains.errors import NotAuthentic
from slotcar.domains.model import MOST_DOMAINS
from slotcar.reservation.need import MICROBITS_PER_BYTE

#: The rates that both directions may have at once; beside the directions' own.
TOGETHER = "together"
#: Steps of one answer; what has more is told in longer parts by the domain itself.
MOST_STEPS = 400
MOST_WORDS = 500


@dataclass(frozen=True, slots=True)
class RateThroughout:
    """A payload rate that is free throughout a window."""

    window: Window
    rate_bps: int


Steps = tuple[RateThroughout, ...]


@dataclass(frozen=True, slots=True)
class FreeBehind:
    """What a domain, and those behind it, tell.

    Attributes:
        steps: by `together`, `forward` and `reverse`, as far as these were asked for. None where nothing is told.
        rounded: somewhere more is free than the steps say.
        unknown_beyond: the last domains that told something; behind them it is not known.
        alone: the payload bytes that each domain leaves by itself, both ways at once, over all that was asked for.
        worst: where a bound of delay was asked for, what each domain has at worst.
        unbounded: there, why a domain promises none, in words that name it.
    """

    steps: Mapping[str, Steps] = field(default_factory=dict)
    rounded: bool = False
    unknown_beyond: tuple[str, ...] = ()
    alone: Mapping[str, int] = field(default_factory=dict)
    worst: Parts = field(default_factory=dict)
    unbounded: str = ""

    def to_text(self) -> str:
        document = {
            "steps": {
                name: [[iso(one.window.start), iso(one.window.end), one.rate_bps] for one in steps]
                for name, steps in self.steps.items()
            },
            "rounded": self.rounded,
            "unknown_beyond": list(self.unknown_beyond),
            "alone": dict(self.alone),
            "worst": {name: part.to_document() for name, part in self.worst.items()},
            "unbounded": self.unbounded,
        }
        return json.dumps(document, sort_keys=True)

    @classmethod
    def from_text(cls, text: str, sender: str) -> FreeBehind:
        """
        Raises:
            NotAuthentic: it is none.
        """
        try:
            document: dict[str, Any] = json.loads(text)
            steps = {str(name): _steps(listed) for name, listed in document["steps"].items()}
            beyond = tuple(document["unknown_beyond"])
            if len(beyond) > MOST_DOMAINS or not all(isinstance(one, str) and one.isprintable() for one in beyond):
                raise ValueError
            alone = {str(name): int(count) for name, count in document.get("alone", {}).items()}
            worst, unbounded = (
                parts_of(document.get("worst", {})),
                printable(str(document.get("unbounded", "")))[:MOST_WORDS],
            )
            if max(len(alone), len(worst)) > MOST_DOMAINS or not all(name.isprintable() for name in (*alone, *worst)):
                raise ValueError
        except (ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NotAuthentic(f"what {sender} tells of what is free cannot be read") from error
        return cls(steps, bool(document.get("rounded")), beyond, alone, worst, unbounded)


def _steps(listed: Sequence[Sequence[Any]]) -> Steps:
    if len(listed) > MOST_STEPS:
        raise ValueError
    steps = tuple(RateThroughout(Window(_at(start), _at(end)), int(rate)) for start, end, rate in listed)
    if any(step.rate_bps < 0 for step in steps):
        raise ValueError
    return steps


def _at(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError
    return at


def at_most(steps: Steps, rate_bps: int | None) -> Steps:
    """The steps, with no more than a rate in any."""
    if rate_bps is None:
        return steps
    return tuple(RateThroughout(step.window, min(step.rate_bps, rate_bps)) for step in steps)


def joined_with(name: str, own: Mapping[str, Steps], behind: FreeBehind) -> FreeBehind:
    """What a domain has, and those behind it."""
    steps = {way: least(each, behind.steps[way]) if way in behind.steps else each for way, each in own.items()}
    alone = {name: free_bytes(own[TOGETHER])} if TOGETHER in own else {}
    return replace(behind, steps=steps, alone={**alone, **behind.alone})


def with_worst(name: str, own: DelayPart | str, behind: FreeBehind) -> FreeBehind:
    """What those behind a domain tell, and what it has at worst itself, or why it promises no bound."""
    if isinstance(own, str):
        return replace(behind, unbounded=own)
    return replace(behind, worst={name: own, **behind.worst})


def free_bytes(steps: Steps) -> int:
    """The payload that all that is free moves."""
    return sum(one.rate_bps * (one.window.end_us - one.window.start_us) for one in steps) // MICROBITS_PER_BYTE


def least(one: Steps, other: Steps) -> Steps:
    """At each instant of `one` the lower of the two rates; where `other` says nothing, nothing is free."""
    joined: list[RateThroughout] = []
    for step in one:
        inside = [each for each in other if each.window.overlaps(step.window)]
        cuts = {step.window.start, step.window.end}
        for each in inside:
            cuts |= {max(each.window.start, step.window.start), min(each.window.end, step.window.end)}
        instants = sorted(cuts)
        for start, end in pairwise(instants):
            rates = [each.rate_bps for each in inside if each.window.start <= start and end <= each.window.end]
            _add(joined, RateThroughout(Window(start, end), min([step.rate_bps, *rates]) if rates else 0), step)
    return tuple(joined)


def _add(joined: list[RateThroughout], part: RateThroughout, step: RateThroughout) -> None:
    """A part of a step; with the one before where that is of the same step and rate."""
    last = joined[-1] if joined else None
    follows = last is not None and last.window.end == part.window.start and last.window.start >= step.window.start
    if last is not None and follows and last.rate_bps == part.rate_bps:
        joined[-1] = RateThroughout(Window(last.window.start, part.window.end), part.rate_bps)
    else:
        joined.append(part)
