"""Moves that make room: deadline transfers' profiles give way to a request that does not fit beside them.

Never past a deadline, never within the frozen horizon, where what was announced stays. In this order: nobody moves;
others as late as possible, one after another; all of them together by a linear program. Then whoever still fits where
it was goes back, and the others take their own shape. The exact slot tables decide on everything; a solver only
proposes. Earliest deadline first alone is wrong where rates are capped (Horn's conditions, doi 10.1002/net.22202), and
moving what was admitted is what makes deadline systems strong (Amoeba; arXiv 1707.04019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from slotcar.admission.component import (
    FixedRequest,
    PlacedTransfer,
    SplitTransfer,
    connected,
    resources_of,
    span_us_of,
)
from slotcar.admission.crowding import must_exceed
from slotcar.admission.deadline import Transfer, filled, shaped
from slotcar.admission.free import free_in, profile_columns, whole_seconds
from slotcar.admission.model import Demand
from slotcar.admission.packing import jointly_placed
from slotcar.admission.program import LinearSolver, Movable
from slotcar.admission.rates import Crossing, Profile, clipped, merged
from slotcar.admission.step_rules import keeps_rules, lengthened
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window, to_us
from slotcar.base.vocabulary import Shape
from slotcar.network.model import Sls

#: Nothing that begins sooner than this is moved.
FROZEN = timedelta(seconds=60)
#: Of a component, the transfers nearest to the request; more would take longer than a caller waits.
MOST_MOVABLE = 120


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
    component = connected(request, placed, frozen_until_us, most_movable)
    members = [one for each in component if (one := SplitTransfer.of(each, to_us(now), frozen_until_us))]
    spans = [span_us_of(request), *((one.window.start_us, one.window.end_us) for one in members)]
    whole = Window.of_us(min(start_us for start_us, _ in spans), max(end_us for _, end_us in spans))
    if not _MovePlan(tables.excerpt(resources_of(request), whole), request, members, sls).may_fit():
        return None
    crossed = resources_of(request).union(*(one.placed.resources for one in members))
    own = tables.excerpt(crossed, whole)
    room = _MovePlan(own.copy(), request, members, sls).one_after_another()
    if room is not None or solver is None:
        return room
    return _MovePlan(own, request, members, sls).together(solver)


def _placed(tables: SlotTables, request: Transfer | FixedRequest, sls: Mapping[str, Sls] | None) -> Profile | None:
    """The request's profile beside what the tables hold; None where it does not fit."""
    if isinstance(request, FixedRequest):
        return () if tables.fits(request.demands, request.windows) else None
    return shaped(request, free_in(tables, request.crossings, request.window, sls))


class _MovePlan:
    """Tables of its own, in which profiles are moved until the request fits.

    Attributes:
        parts: what the tables hold of each member's part that may be moved, by handle.
        own: the request's profile, once it has one.
    """

    def __init__(
        self,
        tables: SlotTables,
        request: Transfer | FixedRequest,
        members: Sequence[SplitTransfer],
        sls: Mapping[str, Sls] | None,
    ) -> None:
        self.tables, self.request, self.sls = tables, request, sls
        self.members = {one.placed.handle: one for one in members}
        self.parts = {handle: one.moves for handle, one in self.members.items()}
        self.own: Profile = ()

    def may_fit(self) -> bool:
        """Whether it does if nobody stands in its way, and no more must lie within some time than there is room for.
        Takes all that may be moved, and is in the tables, out.
        """
        for one in self.members.values():
            crossings = [each for each in one.placed.transfer.crossings if each.resource in self.tables]
            self._occupy(crossings, one.moves, -1)
        return _placed(self.tables, self.request, self.sls) is not None and not self._is_crowded()

    def _is_crowded(self) -> bool:
        """Whether some resource of the request has not room enough for all that must lie there, wherever they are moved."""
        transfers = [one.rest for one in self.members.values() if one.rest]
        if isinstance(self.request, FixedRequest):
            self.tables.add(self.request.demands, self.request.windows)
        else:
            transfers.append(self.request)
        return any(must_exceed(self.tables, one, transfers, self.sls) for one in resources_of(self.request))

    # One after another

    def one_after_another(self) -> Room | None:
        """Moves others as late as possible, whoever was moved least first, until the request fits.

        A fixed request takes its place first; those that stand in it fill what is left beside it.
        """
        if isinstance(self.request, FixedRequest):
            self.tables.add(self.request.demands, self.request.windows)
        resources, span_us = resources_of(self.request), span_us_of(self.request)
        for one in sorted(self.members.values(), key=lambda one: one.placed.times_moved):
            if resources.isdisjoint(one.placed.resources) or not clipped(one.moves, *span_us):
                continue  # it is in the way of others only
            if one.rest is None or not self._put_late(one, one.rest):
                continue
            own = self._own()
            if own is not None:
                self.own = own
                if isinstance(self.request, Transfer):
                    self._occupy(self.request.crossings, own)
                return self._settled()
        return None

    def _own(self) -> Profile | None:
        """The request's profile as things stand; of a fixed request, which the tables hold, whether it fits."""
        if isinstance(self.request, Transfer):
            return _placed(self.tables, self.request, self.sls)
        resources = resources_of(self.request)
        nothing_more = FixedRequest(tuple(Demand.constant(one, 0) for one in resources), self.request.windows)
        return _placed(self.tables, nothing_more, self.sls)

    def _put_late(self, one: SplitTransfer, rest: Transfer) -> bool:
        """Puts what may be moved of a transfer as late as possible; nothing changes where it fits nowhere."""
        self._put(one, ())
        usable = rest.promisable(free_in(self.tables, rest.crossings, rest.window, self.sls))
        fits = usable.microbits >= rest.microbits
        late = filled(usable, rest.microbits, Shape.LATEST) if fits else None
        self._put(one, whole_seconds(late, usable) if late else one.moves)
        return late is not None

    # Together

    def together(self, solver: LinearSolver) -> Room | None:
        """Moves all at once, as a linear program proposes."""
        request = self.request
        for one in self.members.values():
            self._put(one, ())
        if isinstance(request, FixedRequest):
            self.tables.add(request.demands, request.windows)
        movables = {
            handle: Movable(one.rest, one.window, one.moves, one.placed.times_moved)
            for handle, one in self.members.items()
            if one.rest
        }
        everything = [
            *movables.values(),
            *([Movable(request, request.window)] if isinstance(request, Transfer) else []),
        ]
        exact = jointly_placed(self.tables, everything, solver, self.sls) if everything else []
        if exact is None:
            return None
        for handle, profile in zip(movables, exact, strict=False):
            self._put(self.members[handle], profile)
        if isinstance(request, Transfer):
            self.own = exact[-1]
            self._occupy(request.crossings, self.own)
        return self._settled()

    # The end of both

    def _settled(self) -> Room | None:
        """Gives back who still fits where it was, and their shape to the others; None where steps would be too short."""
        self._give_back()
        if isinstance(self.request, Transfer):
            self._occupy(self.request.crossings, self.own, -1)
            self.own = self._shaped(self.request, self.own)
            self._occupy(self.request.crossings, self.own)
        for one in self._moved():
            if one.rest is not None:
                before = self.parts[one.placed.handle]
                self._put(one, ())
                self._put(one, self._shaped(one.rest, before, one.stays))
        while self._give_back() or self._steady_again():
            pass
        profiles = {one.placed.handle: merged((*one.stays, *self.parts[one.placed.handle])) for one in self._moved()}
        for handle, profile in profiles.items():
            if not keeps_rules(profile, self.members[handle].window):
                return None
        return Room(self.own, profiles)

    def _moved(self) -> list[SplitTransfer]:
        return [one for handle, one in self.members.items() if self.parts[handle] != one.moves]

    def _give_back(self) -> bool:
        """Puts back whoever still fits where it was, whoever was moved most first; whether somebody was."""
        moved = self._moved()
        for one in sorted(moved, key=lambda one: -one.placed.times_moved):
            new = self.parts[one.placed.handle]
            self._put(one, ())
            columns = profile_columns(one.placed.transfer.crossings, one.moves) if one.moves else None
            fits = columns is None or self.tables.fits_columns(columns)
            self._put(one, one.moves if fits else new)
        return len(self._moved()) < len(moved)

    def _steady_again(self) -> bool:
        """Gives one rate to each steady transfer for which there is room now that others have moved; whether to any."""
        changed = False
        for one in self._moved():
            before, rest = self.parts[one.placed.handle], one.rest
            if rest is None or rest.shape is not Shape.STEADY or len(before) < 2:
                continue
            self._put(one, ())
            free = rest.usable(free_in(self.tables, rest.crossings, rest.window, self.sls))
            fits = int(free.rates_bps.min()) >= rest.needed_bps
            after = self._shaped(rest, before, one.stays) if fits else before
            self._put(one, after)
            changed |= len(after) == 1
        return changed

    def _shaped(self, transfer: Transfer, fallback: Profile, stays: Profile = ()) -> Profile:
        """A profile of the shape that was asked for, where it has steps that last, and not more of them; else the
        fallback. The tables hold neither.
        """
        free = free_in(self.tables, transfer.crossings, transfer.window, self.sls)
        profile = shaped(transfer, free)
        if profile is None:
            return fallback
        profile = lengthened(profile, transfer.usable(free), transfer.at_least_bps)
        more_steps = transfer.shape is Shape.STEADY and len(profile) > len(fallback)
        return fallback if more_steps or not keeps_rules((*stays, *profile), transfer.window) else profile

    # Tables

    def _put(self, one: SplitTransfer, profile: Profile) -> None:
        """Gives a member another part that may be moved."""
        handle, crossings = one.placed.handle, one.placed.transfer.crossings
        self._occupy(crossings, self.parts[handle], -1)
        self._occupy(crossings, profile)
        self.parts[handle] = profile

    def _occupy(self, crossings: Sequence[Crossing], profile: Profile, sign: int = 1) -> None:
        if profile and crossings:
            self.tables.add_columns(profile_columns(crossings, profile), sign=sign)
