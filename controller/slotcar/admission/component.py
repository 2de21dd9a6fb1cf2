"""Who may give way to a request: the deadline transfers that share resource and time with it, or with others that do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slotcar.admission.deadline import Transfer
from slotcar.admission.model import Demand
from slotcar.admission.rates import MICROBITS_PER_BYTE, Profile, clipped, microbits
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.step_rules import first_border_us
from slotcar.base.timebase import Window


@dataclass(frozen=True, slots=True)
class FixedRequest:
    """Amounts over windows that cannot be moved."""

    demands: tuple[Demand, ...]
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class PlacedTransfer:
    """A deadline transfer whose profile the slot tables hold.

    Attributes:
        transfer: with the volume that remains now.
        profile: what of it has passed by now does not matter.
        times_moved: how often it has made room for others.
        resources, span_us: the transfer's, laid ready: a request looks at a thousand.
    """

    handle: str
    transfer: Transfer
    profile: Profile
    times_moved: int = 0
    resources: frozenset[ResourceId] = field(init=False, repr=False, compare=False)
    span_us: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "resources", frozenset(one.resource for one in self.transfer.crossings))
        object.__setattr__(self, "span_us", self.transfer.span_us)


@dataclass(frozen=True, slots=True)
class SplitTransfer:
    """A placed transfer, from now on, in two parts: what stays, and what may be moved within a window.

    Attributes:
        rest: the transfer with what the part that stays leaves of its promise; None where that is nothing.
    """

    placed: PlacedTransfer
    stays: Profile
    moves: Profile
    window: Window
    rest: Transfer | None

    @classmethod
    def of(cls, placed: PlacedTransfer, now_us: int, frozen_until_us: int) -> SplitTransfer | None:
        """None where nothing of it may be moved any more."""
        end_us = placed.transfer.window.end_us
        profile = clipped(placed.profile, now_us, end_us)
        start_us = max(placed.span_us[0], first_border_us(profile, now_us, frozen_until_us))
        if start_us >= end_us:
            return None
        stays, moves = clipped(profile, 0, start_us), clipped(profile, start_us, end_us)
        promised = min(placed.transfer.microbits, microbits(profile))  # less where it was short already
        needed_bytes = -((microbits(stays) - promised) // MICROBITS_PER_BYTE)
        window = Window.of_us(start_us, end_us)
        rest = replace(placed.transfer, volume_bytes=needed_bytes, window=window) if needed_bytes > 0 else None
        return cls(replace(placed, profile=profile), stays, moves, window, rest)


def resources_of(request: Transfer | FixedRequest) -> set[ResourceId]:
    """The resources that a request crosses."""
    if isinstance(request, FixedRequest):
        return {demand.resource for demand in request.demands if demand.peak}
    return {crossing.resource for crossing in request.crossings}


def span_us_of(request: Transfer | FixedRequest) -> tuple[int, int]:
    """The span of a request from the start of its first window to the end of its last."""
    windows = request.windows if isinstance(request, FixedRequest) else (request.window,)
    return windows[0].start_us, windows[-1].end_us


def connected(
    request: Transfer | FixedRequest, placed: Sequence[PlacedTransfer], frozen_until_us: int, most: int
) -> list[PlacedTransfer]:
    """All that a request can touch, directly or through others: they share a resource and their windows overlap.

    Nearest first, among equals whoever has the most time left, and then in their order in `placed`; `most` of them. Handles
    say no order: they are drawn at random, and a plan has none yet for what it creates.
    """
    rest = [one for one in placed if max(one.span_us[0], frozen_until_us) < one.span_us[1]]
    windows = request.windows if isinstance(request, FixedRequest) else (request.window,)
    spans = [(window.start_us, window.end_us) for window in windows]
    border = dict.fromkeys(resources_of(request), spans)
    reached: list[PlacedTransfer] = []
    while border:
        beside: list[PlacedTransfer] = []
        others: list[PlacedTransfer] = []
        for one in rest:
            (beside if _touches(one, border, frozen_until_us) else others).append(one)
        rest = others
        reached += sorted(beside, key=lambda one: -one.span_us[1])
        if len(reached) >= most:
            break
        spans_of: dict[ResourceId, list[tuple[int, int]]] = {}
        for one in beside:
            for resource in one.resources:
                spans_of.setdefault(resource, []).append(_movable_window(one, frozen_until_us))
        border = {resource: _joined(spans) for resource, spans in spans_of.items()}
    return reached[:most]


def _touches(
    one: PlacedTransfer, border: Mapping[ResourceId, Sequence[tuple[int, int]]], frozen_until_us: int
) -> bool:
    """Whether what of it may be moved shares a resource with one of the spans there, and time."""
    if one.resources.isdisjoint(border):
        return False
    start_us, end_us = _movable_window(one, frozen_until_us)
    for resource in one.resources:
        for first_us, last_us in border.get(resource, ()):
            if start_us < last_us and first_us < end_us:
                return True
    return False


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same times, in spans that do not overlap."""
    joined: list[tuple[int, int]] = []
    for start_us, end_us in sorted(spans):
        if joined and start_us < joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end_us)
        else:
            joined.append((start_us, end_us))
    return joined


def _movable_window(one: PlacedTransfer, frozen_until_us: int) -> tuple[int, int]:
    return max(one.span_us[0], frozen_until_us), one.span_us[1]
