"""Volumes by a deadline in the ledger: what may be moved, what is done, and how a profile takes another's place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from slotcar.admission.component import PlacedTransfer
from slotcar.admission.placing import Done, Rules, profile_of, transfer_of, with_profile
from slotcar.admission.rates import MICROBITS_PER_BYTE, Profile, clipped, microbits
from slotcar.base.timebase import MICROSECOND, Window, to_us
from slotcar.book.errors import MayNotMove, StaysBecause
from slotcar.book.model import Entry, EntryChange, ProgressReport, State, Terms
from slotcar.book.permitting import policies_against_move
from slotcar.book.recording import ask, by_whom, record
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.book.share_bounds import exceeds_shares
from slotcar.book.transaction import Transaction
from slotcar.reservation.model import Reservation
from slotcar.reservation.need import VolumeByDeadline
from slotcar_client.wire.events import ReservationMoved

T = TypeVar("T")
#: Transfers that are over are forgotten when there are so many more than live ones.
FORGOTTEN_ABOVE = 100


def rules_of(terms: Terms, now: datetime) -> Rules:
    """What requests of a moment are placed by."""
    policy = terms.policy
    return Rules(now, now + policy.horizon, terms.sls, policy.frozen, terms.solver, policy.least_rate_bps)


def placed_transfer(entry: Entry, policy: Policy) -> PlacedTransfer | None:
    """The entry as something that may be moved; None where it may not be.

    One that is held, or waits for approval, is as it was shown; and no move brings a rate above the gate that was not
    there before.
    """
    need = entry.reservation.need
    if need is None or entry.state is not State.COMMITTED or entry.proposed is not None:
        return None
    start = need.start or min(entry.created_at, need.by - MICROSECOND)
    volume_bytes = need.volume_bytes if entry.progress is None else entry.progress.remaining_bytes
    if not volume_bytes:
        return None
    transfer = transfer_of(
        within(need, entry.reservation, policy.gate),
        entry.demands,
        Window(start, need.by),
        volume_bytes,
        policy.least_rate_bps,
    )
    times_moved = entry.change.moves if entry.change else 0
    return PlacedTransfer(entry.handle, transfer, profile_of(entry.reservation), times_moved)


def within(need: VolumeByDeadline, reservation: Reservation, gate: Gate) -> VolumeByDeadline:
    """The need with no rate above the gate, or above what the reservation has already."""
    if gate.rate_bps is None:
        return need
    most = max(gate.rate_bps, reservation.peak_rate_bps)
    return need.model_copy(update={"at_most_bps": min(need.highest_bps, most)})


def movable(
    entries: Iterable[Entry],
    policy: Policy,
    stay: Collection[str] = frozenset(),
    cache: MutableMapping[str, tuple[Entry, Policy, PlacedTransfer | None]] | None = None,
) -> Sequence[PlacedTransfer]:
    """The transfers among the entries that may be moved; `stay` has the handles of those that may not.

    Args:
        cache: what was found for each entry before, by its handle. It is used, and added to.
    """
    transfers = (_cached_transfer(entry, policy, cache) for entry in entries if entry.handle not in stay)
    return [one for one in transfers if one is not None]


def movable_in(transaction: Transaction, now: datetime, stay: Collection[str]) -> Sequence[PlacedTransfer]:
    """The ledger's transfers that may be moved, as the transaction has them."""
    entries = transaction.transfers(now)
    cache = transaction.known_transfers
    if len(cache) > 2 * len(entries) + FORGOTTEN_ABOVE:
        cache.clear()
    return movable(entries, transaction.terms.policy, stay, cache)


def _cached_transfer(
    entry: Entry, policy: Policy, cache: MutableMapping[str, tuple[Entry, Policy, PlacedTransfer | None]] | None
) -> PlacedTransfer | None:
    if cache is None:
        return placed_transfer(entry, policy)
    before = cache.get(entry.handle)
    if before is None or before[0] is not entry or before[1] is not policy:
        before = cache[entry.handle] = entry, policy, placed_transfer(entry, policy)
    return before[2]


def done_by(entry: Entry | None, now: datetime) -> Done:
    """What a changed transfer has moved: the volume that it reported, then that of its profile; and its slots so far."""
    if entry is None or entry.reservation.need is None:
        return Done()
    report, profile = entry.progress, profile_of(entry.reservation)
    since = to_us(report.at) if report else 0
    moved = microbits(clipped(profile, since, to_us(now))) // MICROBITS_PER_BYTE
    reported = entry.reservation.need.volume_bytes - report.remaining_bytes if report else 0
    return Done(reported + moved, entry.reservation.slots)


def progress_after(old: Entry, reservation: Reservation, now: datetime) -> ProgressReport | None:
    """The progress of a changed transfer, as far as is known; None where nothing has been moved yet."""
    need, done_bytes = reservation.need, done_by(old, now).volume_bytes
    if need is None or not done_bytes:
        return None
    remaining = need.model_copy(update={"volume_bytes": max(1, need.volume_bytes - done_bytes)})
    return ProgressReport(remaining.volume_bytes, now, remaining.needed_bps(need.window_from(now)))


def moved_form(entry: Entry, profile: Profile, now: datetime) -> dict[str, Any]:
    """The parts of an entry that another profile from `now` on changes."""
    before = entry.reservation
    reservation, demands = with_profile(before, entry.demands, profile, now, before.slots)
    return {"reservation": reservation, "demands": demands}


def made_room(entry: Entry, profile: Profile, now: datetime) -> dict[str, Any]:
    """As `moved_form`, of an entry that makes room for another: it counts that."""
    change = entry.change or EntryChange(entry.created_at)
    return {**moved_form(entry, profile, now), "change": replace(change, moves=change.moves + 1)}


def move_others(transaction: Transaction, moved: Mapping[str, Profile], entry: Entry, now: datetime) -> None:
    """Gives those that make room for the entry their new profiles, each with an event.

    Raises:
        MayNotMove: see `require_may_move`. SlotcarError: what the condition of one that moves raises.
    """
    changed = []
    for handle, profile in moved.items():
        before = transaction.entries.get(handle)
        transaction.give_back(before)
        after = transaction.change(before, before.state, now, **made_room(before, profile, now))
        transaction.take(after)
        says = ReservationMoved(
            **by_whom(after, "slotcar"), before=before.reservation, reservation=after.reservation,
            makes_room_for=entry.handle, makes_room_for_owner=entry.reservation.owner,
        )  # fmt: skip
        record(transaction, after, says, now)
        changed.append((before, after))
    require_may_move(transaction, changed, now)
    for _, after in changed:
        ask(transaction, after, transaction.terms.condition_of(after))


def require_may_move(transaction: Transaction, changed: Iterable[tuple[Entry, Entry]], now: datetime) -> None:
    """`changed`: transfers as they were, and with the slots that they would get.

    Raises:
        MayNotMove: shares of communities, or the site's policies, do not let some.
    """
    why: dict[str, StaysBecause] = {}
    for before, after in changed:
        if exceeds_shares(transaction, after, before, now):
            why[after.handle] = StaysBecause()
        elif policy := policies_against_move(transaction, after, before, now):
            why[after.handle] = StaysBecause(policy)
    if why:
        raise MayNotMove(why)


def with_those_that_may_move(transaction: Transaction, place: Callable[[Mapping[str, StaysBecause]], T]) -> T:
    """Places something for which others move, again without those that may not.

    Args:
        place: takes the handles of those that stay where they are, with why, and raises `MayNotMove` of others alone.
    """
    stay: dict[str, StaysBecause] = {}
    while True:
        mark = transaction.mark()
        try:
            return place(stay)
        except MayNotMove as refused:
            transaction.take_back(mark)
            stay |= refused.why
