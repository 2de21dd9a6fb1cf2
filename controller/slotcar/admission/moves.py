"""Moves that make room: deadline transfers' profiles give way to a request that does not fit beside them.

Never past a deadline, never within the frozen horizon, where what was announced stays. In this order: nobody moves;
others as late as possible, one after another; all of them together by a linear program. The exact slot tables decide on
everything; a solver only proposes. Earliest deadline first alone is wrong where rates are capped (Horn's conditions,
doi 10.1002/net.22202), and moving what was admitted is what makes deadline systems strong (Amoeba; arXiv
1707.04019).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from slotcar.admission.deadline import Transfer, earliest, filled, shaped
from slotcar.admission.free import free_in, profile_columns, whole_seconds
from slotcar.admission.model import Demand
from slotcar.admission.program import LinearSolver, Movable, joint_profiles
from slotcar.admission.rates import (
    MICROBITS_PER_BYTE,
    Crossing,
    Profile,
    RateStep,
    aligned,
    clipped,
    merged,
    microbits,
)
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.tables import SlotTables
from slotcar.network.model import Sls
from slotcar.timebase import Window, to_us
from slotcar.vocabulary import Shape

#: Nothing that begins sooner than this is moved.
FROZEN = timedelta(seconds=60)
#: Of a component, the transfers nearest to the request; more would take longer than a caller waits.
MOST_MOVABLE = 30


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
        resources, span_us: the transfer's, laid ready: a request looks at a thousand.
    """

    handle: str
    transfer: Transfer
    profile: Profile
    resources: frozenset[ResourceId] = field(init=False, repr=False, compare=False)
    span_us: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "resources", frozenset(one.resource for one in self.transfer.crossings))
        object.__setattr__(self, "span_us", self.transfer.span_us)


@dataclass(frozen=True, slots=True)
class Room:
    """How a request fits.

    Attributes:
        profile: the request's own, of a deadline transfer; empty for a fixed request.
        moved: the new profiles, from now on, of those whose profile changes; by handle.
    """

    profile: Profile = ()
    moved: Mapping[str, Profile] = field(default_factory=dict)


def make_room(
    tables: SlotTables,
    request: Transfer | FixedRequest,
    placed: Sequence[PlacedTransfer],
    *,
    now: datetime,
    frozen: timedelta = FROZEN,
    solver: LinearSolver | None = None,
    sls: Mapping[str, Sls] | None = None,
    most_movable: int = MOST_MOVABLE,
) -> Room | None:
    """How the request fits, or None: no moves that were found make room. Changes nothing.

    Args:
        tables: what is reserved, the profiles of `placed` included.
        solver: for the joint plan; without one that step is left out.
        sls: the network's SLSs, by name; that those of a fixed request are valid is for `decide` to see to.
    """
    profile = _placed(tables, request, sls)
    if profile is not None:
        return Room(profile)
    frozen_until_us = to_us(now + frozen)
    component = [
        replace(one, profile=clipped(one.profile, to_us(now), one.transfer.window.end_us))
        for one in connected(request, placed, frozen_until_us, most_movable)
    ]
    crossed = _resources(request).union(*(one.resources for one in component))
    spans = [_span_us(request), *(_movable_window(one, frozen_until_us) for one in component)]
    whole = Window.of_us(min(start_us for start_us, _ in spans), max(end_us for _, end_us in spans))
    if not _MovePlan(tables.excerpt(_resources(request), whole), frozen_until_us, sls).can_fit(request, component):
        return None
    own = tables.excerpt(crossed, whole)
    room = _MovePlan(own.copy(), frozen_until_us, sls).one_after_another(request, component)
    if room is not None or solver is None:
        return room
    return _MovePlan(own, frozen_until_us, sls).together(request, component, solver)


def _placed(tables: SlotTables, request: Transfer | FixedRequest, sls: Mapping[str, Sls] | None) -> Profile | None:
    """The request's profile beside what the tables hold; None where it does not fit."""
    if isinstance(request, FixedRequest):
        return () if tables.fits(request.demands, request.windows) else None
    return shaped(request, free_in(tables, request.crossings, request.window, sls))


def _resources(request: Transfer | FixedRequest) -> set[ResourceId]:
    if isinstance(request, FixedRequest):
        return {demand.resource for demand in request.demands if demand.peak}
    return {crossing.resource for crossing in request.crossings}


def _span_us(request: Transfer | FixedRequest) -> tuple[int, int]:
    """The span of a request from the start of its first window to the end of its last."""
    windows = request.windows if isinstance(request, FixedRequest) else (request.window,)
    return windows[0].start_us, windows[-1].end_us


def connected(
    request: Transfer | FixedRequest, placed: Sequence[PlacedTransfer], frozen_until_us: int, most: int
) -> list[PlacedTransfer]:
    """All that a request can touch, directly or through others: they share a resource and their windows overlap.

    Nearest first, and among equals whoever has the most time left; `most` of them.
    """
    rest = [one for one in placed if max(one.span_us[0], frozen_until_us) < one.span_us[1]]
    windows = request.windows if isinstance(request, FixedRequest) else (request.window,)
    spans = [(window.start_us, window.end_us) for window in windows]
    border = dict.fromkeys(_resources(request), spans)
    reached: list[PlacedTransfer] = []
    while border:
        beside: list[PlacedTransfer] = []
        others: list[PlacedTransfer] = []
        for one in rest:
            (beside if _touches(one, border, frozen_until_us) else others).append(one)
        rest = others
        reached += sorted(beside, key=lambda one: (-one.span_us[1], one.handle))
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


def _promised(one: PlacedTransfer) -> int:
    """The volume that it must keep, microbits: what remains, or less where its profile was short already."""
    return min(one.transfer.microbits, microbits(one.profile))


class _MovePlan:
    """Tables of its own, in which profiles are moved until the request fits."""

    def __init__(self, tables: SlotTables, frozen_until_us: int, sls: Mapping[str, Sls] | None) -> None:
        self.tables, self.frozen_until_us, self.sls = tables, frozen_until_us, sls

    def can_fit(self, request: Transfer | FixedRequest, component: Sequence[PlacedTransfer]) -> bool:
        """Whether the request fits if nobody stands in its way. Takes all that may be moved, and is in the tables, out."""
        first_us, last_us = _span_us(request)
        for one in component:
            crossings = [each for each in one.transfer.crossings if each.resource in self.tables]
            in_its_way = clipped(self._parts(one)[1], first_us, last_us) if crossings else ()
            self._remove(crossings, in_its_way)
        return _placed(self.tables, request, self.sls) is not None

    # One after another

    def one_after_another(self, request: Transfer | FixedRequest, component: Sequence[PlacedTransfer]) -> Room | None:
        """Moves others as late as possible, until the request fits.

        A fixed request takes its place first; those that stand in it fill what is left beside it.
        """
        if isinstance(request, FixedRequest):
            self.tables.add(request.demands, request.windows)
        moved: dict[str, Profile] = {}
        resources, span_us = _resources(request), _span_us(request)
        for one in component:
            crossed = any(crossing.resource in resources for crossing in one.transfer.crossings)
            if not crossed or not clipped(self._parts(one)[1], *span_us):
                continue  # it is in the way of others only
            profile = self._as_late_as_possible(one)
            if profile is None or profile == one.profile:
                continue
            moved[one.handle] = profile
            own = self._own(request)
            if own is not None:
                if isinstance(request, Transfer):
                    self._add(request.crossings, own)
                return Room(own, self._without_needless(component, moved))
        return None

    def _own(self, request: Transfer | FixedRequest) -> Profile | None:
        """The request's profile as things stand; of a fixed request, which the tables hold, whether it fits."""
        if isinstance(request, Transfer):
            return _placed(self.tables, request, self.sls)
        nothing_more = FixedRequest(tuple(Demand.constant(one, 0) for one in _resources(request)), request.windows)
        return _placed(self.tables, nothing_more, self.sls)

    def _without_needless(
        self, component: Sequence[PlacedTransfer], moved: Mapping[str, Profile]
    ) -> dict[str, Profile]:
        """Puts back whoever still fits where it was."""
        needed_moves = dict(moved)
        for one in component:
            if one.handle not in needed_moves:
                continue
            crossings, old = one.transfer.crossings, self._parts(one)[1]
            new = clipped(needed_moves[one.handle], self.frozen_until_us, one.transfer.window.end_us)
            self._remove(crossings, new)
            if self.tables.fits_columns(profile_columns(crossings, old)):
                del needed_moves[one.handle]
            self._add(crossings, new if one.handle in needed_moves else old)
        return needed_moves

    def _as_late_as_possible(self, one: PlacedTransfer) -> Profile | None:
        """Puts a transfer's movable part there; None, and nothing changes, where it fits nowhere."""
        stays, moves = self._parts(one)
        needed = _promised(one) - microbits(stays)
        if needed <= 0 or not moves:
            return None
        self._remove(one.transfer.crossings, moves)
        window = Window.of_us(*_movable_window(one, self.frozen_until_us))
        usable = one.transfer.usable(free_in(self.tables, one.transfer.crossings, window, self.sls))
        if usable.microbits < needed:
            self._add(one.transfer.crossings, moves)
            return None
        late = whole_seconds(filled(usable, needed, Shape.LATEST), usable)
        self._add(one.transfer.crossings, late)
        return merged((*stays, *late))

    # Together

    def together(
        self, request: Transfer | FixedRequest, component: Sequence[PlacedTransfer], solver: LinearSolver
    ) -> Room | None:
        """Moves all at once, as a linear program proposes."""
        for one in component:
            self._remove(one.transfer.crossings, self._parts(one)[1])
        if isinstance(request, FixedRequest):
            self.tables.add(request.demands, request.windows)
        movables = self._movables(component)
        new_movables = [Movable(request, request.window)] if isinstance(request, Transfer) else []
        plan = [*movables.values(), *new_movables]
        proposed = joint_profiles(self.tables, plan, solver, self.sls) if plan else []
        exact = None if proposed is None else self._exact(plan, proposed)
        if exact is None:
            return None
        after = dict(zip(movables, exact, strict=False))
        new = {one.handle: merged((*self._parts(one)[0], *after.get(one.handle, ()))) for one in component}
        moved = {one.handle: new[one.handle] for one in component if new[one.handle] != one.profile}
        return Room(exact[-1] if new_movables else (), moved)

    def _movables(self, component: Sequence[PlacedTransfer]) -> dict[str, Movable]:
        """What the frozen part of each profile leaves to be moved, by handle."""
        movables = {}
        for one in component:
            volume_bytes = -((microbits(self._parts(one)[0]) - _promised(one)) // MICROBITS_PER_BYTE)
            if volume_bytes > 0:
                window = Window.of_us(*_movable_window(one, self.frozen_until_us))
                movables[one.handle] = Movable(replace(one.transfer, volume_bytes=volume_bytes), window)
        return movables

    def _exact(self, movables: Sequence[Movable], proposed: Sequence[Profile]) -> list[Profile] | None:
        """The proposed profiles as the tables carry them, each then filled up to its volume; None where one is short.

        Whoever must be done first is placed first.
        """
        order = sorted(range(len(movables)), key=lambda number: movables[number].window.end_us)
        exact: list[Profile] = [()] * len(movables)
        for number in order:
            transfer, window = movables[number]
            exact[number] = self._carried(transfer, window, proposed[number])
            self._add(transfer.crossings, exact[number])
        for number in order:
            transfer, window = movables[number]
            self._remove(transfer.crossings, exact[number])
            usable = transfer.usable(free_in(self.tables, transfer.crossings, window, self.sls))
            exact[number] = filled_up(exact[number], usable.profile(), transfer.microbits)
            if microbits(exact[number]) < transfer.microbits:
                return None
            exact[number] = whole_seconds(exact[number], usable)
            self._add(transfer.crossings, exact[number])
        return exact

    def _carried(self, transfer: Transfer, window: Window, proposed: Profile) -> Profile:
        usable = transfer.usable(free_in(self.tables, transfer.crossings, window, self.sls)).profile()
        rates = (
            RateStep(start_us, end_us, min(asked_bps, usable_bps))
            for start_us, end_us, asked_bps, usable_bps in aligned(proposed, usable)
        )
        return merged(step for step in rates if step.rate_bps >= transfer.at_least_bps)

    # Tables

    def _parts(self, one: PlacedTransfer) -> tuple[Profile, Profile]:
        """The part of the transfer's profile that stays, and the part that may be moved."""
        border_us = self.frozen_until_us
        return clipped(one.profile, 0, border_us), clipped(one.profile, border_us, one.transfer.window.end_us)

    def _add(self, crossings: Sequence[Crossing], profile: Profile) -> None:
        if profile:
            self.tables.add_columns(profile_columns(crossings, profile))

    def _remove(self, crossings: Sequence[Crossing], profile: Profile) -> None:
        if profile and crossings:
            self.tables.add_columns(profile_columns(crossings, profile), sign=-1)


def filled_up(profile: Sequence[RateStep], usable: Sequence[RateStep], needed_microbits: int) -> Profile:
    """The profile raised, earliest first, until it moves the volume; cut at its end where it moves more.

    `usable`: without the profile itself, without a gap, and nowhere below it.
    """
    missing = needed_microbits - microbits(profile)
    if missing <= 0:
        return earliest(profile, needed_microbits)
    steps: list[RateStep] = []
    for start_us, end_us, now_bps, most_bps in aligned(profile, usable):
        more = min(end_us - start_us, -(-max(0, missing) // (most_bps - now_bps))) if most_bps > now_bps else 0
        missing -= more * (most_bps - now_bps)
        steps += [RateStep(start_us, start_us + more, most_bps), RateStep(start_us + more, end_us, now_bps)]
    return merged(steps)
