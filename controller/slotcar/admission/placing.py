"""Where a request goes: its slots as they are asked for, or the profile that its need is given; and who moves for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from slotcar.admission.component import FixedRequest, PlacedTransfer
from slotcar.admission.deadline import Transfer, refusal, shaped
from slotcar.admission.decision import absent, decide
from slotcar.admission.free import free_in
from slotcar.admission.model import Admitted, Demand, Refused
from slotcar.admission.moves import FROZEN, make_room
from slotcar.admission.program import LinearSolver
from slotcar.admission.rates import (
    SECOND_US,
    Crossing,
    Profile,
    RateStep,
    clipped,
    profile_demands,
)
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window, from_us, iso, to_us
from slotcar.base.vocabulary import Direction
from slotcar.network.model import Sls
from slotcar.reservation.model import Reservation, Slot, joined_slots
from slotcar.reservation.need import VolumeByDeadline

#: Of the slots that are over, a transfer keeps so many.
PAST_SLOTS = 20


@dataclass(frozen=True, slots=True)
class Rules:
    """What every request of one moment is placed by.

    Attributes:
        horizon: until when a nearest window, or an earliest deadline, is looked for.
        frozen: nothing that begins sooner than this is moved. solver: for joint moves; None leaves them out.
        least_rate_bps: no step of a transfer is slower, unless its `at_most` is.
    """

    now: datetime
    horizon: datetime
    sls: Mapping[str, Sls]
    frozen: timedelta = FROZEN
    solver: LinearSolver | None = None
    least_rate_bps: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """What a transfer has done that is changed: the volume that it has moved, and its slots so far."""

    volume_bytes: int = 0
    slots: tuple[Slot, ...] = ()


NOTHING_DONE = Done()


@dataclass(frozen=True, slots=True)
class Placement:
    """A request in its place.

    Attributes:
        reservation: with the slots that it gets. demands: of these slots.
        moved: new profiles, from now on, of transfers that make room for it, by handle.
        path_number: which of the paths that were offered it takes.
    """

    reservation: Reservation
    demands: tuple[Demand, ...]
    moved: Mapping[str, Profile] = field(default_factory=dict)
    path_number: int = 0


def place(
    tables: SlotTables,
    reservation: Reservation,
    demands: Sequence[Demand],
    rules: Rules,
    *,
    without: Sequence[Admitted] = (),
    movable: Callable[[], Sequence[PlacedTransfer]] = tuple,
    done: Done = NOTHING_DONE,
    changes: bool = False,
) -> Placement | Refused:
    """The decision about a request. Changes nothing: the caller gives back what is `without`, and adds what is placed.

    Args:
        demands: those of the reservation's slots; of a need only their resources and header ratios matter.
        without: as `decide` has it.
        movable: the transfers that may make room; asked only where the request does not fit beside them.
        done: of a need, what it has done before.
        changes: it is another form of what is there: what is past of it is past, whoever else was there then.

    Raises:
        ValueError: see `decide`.
    """
    with absent(tables, demands, without):
        if reservation.need is None:
            return _place_fixed(tables, reservation, tuple(demands), rules, movable, changes=changes)
        return _place_need(tables, reservation, reservation.need, demands, rules, movable, done)


def _place_fixed(
    tables: SlotTables,
    reservation: Reservation,
    demands: tuple[Demand, ...],
    rules: Rules,
    movable: Callable[[], Sequence[PlacedTransfer]],
    *,
    changes: bool,
) -> Placement | Refused:
    coming_demands, windows = (
        _coming(demands, reservation.slots, rules.now) if changes else (demands, reservation.slots)
    )
    answer = decide(
        tables,
        coming_demands,
        windows,
        sls=rules.sls,
        horizon=rules.horizon,
        one_rate=len(coming_demands) == 1 if reservation.claim else reservation.constant_rate_bps is not None,
    )
    if isinstance(answer, Admitted):
        return Placement(reservation, demands)
    others = () if answer.reason else movable()
    request = FixedRequest(tuple(one for one in coming_demands if one.peak), windows)
    room = _room(tables, request, others, rules) if others else None
    return answer if room is None else Placement(reservation, demands, room[1])


def _coming(
    demands: tuple[Demand, ...], slots: tuple[Slot, ...], now: datetime
) -> tuple[tuple[Demand, ...], tuple[Slot, ...]]:
    """The slots that are not over yet, and their demands; all of them where none is over."""
    first = next((number for number, slot in enumerate(slots) if slot.end > now), 0)
    if slots[first].start >= now and not first:
        return demands, slots
    remaining_demands = tuple(
        replace(one, amounts=one.amounts[first:]) if len(one.amounts) > 1 else one for one in demands
    )
    return remaining_demands, (replace(slots[first], start=max(slots[first].start, now)), *slots[first + 1 :])


def _place_need(
    tables: SlotTables,
    reservation: Reservation,
    need: VolumeByDeadline,
    demands: Sequence[Demand],
    rules: Rules,
    movable: Callable[[], Sequence[PlacedTransfer]],
    done: Done,
) -> Placement | Refused:
    moment = next_second(rules.now)
    if moment >= need.by:
        return Refused(reason=f"the deadline, {iso(need.by)}, is past", horizon=rules.horizon)
    volume_bytes = max(1, need.volume_bytes - done.volume_bytes)
    transfer = transfer_of(need, demands, need.window_from(moment), volume_bytes, rules.least_rate_bps)
    placed = place_transfer(tables, transfer, rules, movable)
    if placed is None:
        numbers = refusal(tables, transfer, horizon=rules.horizon, sls=rules.sls)
        if numbers.earliest_deadline is not None:
            numbers = replace(numbers, earliest_deadline=next_second(numbers.earliest_deadline))
        return Refused(highest_rate_bps=None, horizon=rules.horizon, transfer=numbers)
    profile, moved = placed
    return Placement(*with_profile(reservation, demands, profile, moment, done.slots), moved)


def place_transfer(
    tables: SlotTables, transfer: Transfer, rules: Rules, movable: Callable[[], Sequence[PlacedTransfer]]
) -> tuple[Profile, Mapping[str, Profile]] | None:
    """A profile that moves the volume in time, and those of others that move for it; None where none was found."""
    profile = shaped(transfer, free_in(tables, transfer.crossings, transfer.window, rules.sls))
    if profile is not None:
        return profile, {}
    others = movable()
    return _room(tables, transfer, others, rules) if others else None


def _room(
    tables: SlotTables, request: Transfer | FixedRequest, others: Sequence[PlacedTransfer], rules: Rules
) -> tuple[Profile, Mapping[str, Profile]] | None:
    frozen = next_second(rules.now + rules.frozen) - rules.now
    room = make_room(tables, request, others, now=rules.now, frozen=frozen, solver=rules.solver, sls=rules.sls)
    return None if room is None else (room.profile, room.moved)


# -- profiles as slots -----------------------------------------------------------------------------------------------


def transfer_of(
    need: VolumeByDeadline, demands: Sequence[Demand], window: Window, volume_bytes: int, least_rate_bps: int = 0
) -> Transfer:
    """The need, as the arithmetic has it, for so much of its volume; `least_rate_bps` as `Rules` has it."""
    crossings = tuple(map(Crossing.of, demands))
    at_least_bps = max(need.at_least_bps, min(least_rate_bps, need.highest_bps))
    return Transfer(volume_bytes, window, crossings, at_least_bps, need.highest_bps, need.shape)


def profile_of(reservation: Reservation) -> Profile:
    """A need's slots as a profile: each reserved way has the same rate."""
    way = reservation.direction.ways[0]
    return tuple(RateStep(slot.start_us, slot.end_us, slot.rate_bps(way)) for slot in reservation.slots)


def with_profile(
    reservation: Reservation,
    demands: Sequence[Demand],
    profile: Profile,
    now: datetime,
    before: Sequence[Slot],
) -> tuple[Reservation, tuple[Demand, ...]]:
    """The reservation with what is over by `now` of the slots `before`, and then the profile; and its demands.

    Raises:
        ValueError: that is no slot at all.
    """
    placed = reservation.model_copy(update={"slots": slots_of(reservation, profile, now, before)})
    return placed, profile_demands(tuple(map(Crossing.of, demands)), profile_of(placed))[0]


def slots_of(reservation: Reservation, profile: Profile, now: datetime, before: Sequence[Slot]) -> tuple[Slot, ...]:
    """What is over by `now` of the slots `before`, and then the profile, each way that is reserved.

    Raises:
        ValueError: that is no slot at all.
    """
    ways = reservation.direction.ways
    over = [replace(slot, end=min(slot.end, now)) for slot in before if slot.start < now][-PAST_SLOTS:]
    new = [
        Slot(from_us(start_us), from_us(end_us), *(rate_bps if way in ways else 0 for way in Direction.BOTH.ways))
        for start_us, end_us, rate_bps in profile
    ]
    slots = joined_slots([*over, *new])
    if not slots:
        raise ValueError("a profile has a slot at least")
    return slots


def rest_of(reservation: Reservation, now: datetime) -> Profile:
    """The part of a need's profile from a moment on."""
    return clipped(profile_of(reservation), to_us(now), max(to_us(now), to_us(reservation.end)))


def next_second(moment: datetime) -> datetime:
    """The next whole second: where a profile that begins at once begins."""
    return from_us(to_us(moment) + -to_us(moment) % SECOND_US)
