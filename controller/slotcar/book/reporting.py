"""What remains of a volume by a deadline, as its owner reports it: the rate that it needs is found again each time.

Needed rate = remaining volume / remaining time (NICT, deadline transfers over AF). What is done early is given back at
once; what has fallen behind asks for more, and it is said where it cannot have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from slotcar.admission.deadline import Transfer, progress
from slotcar.admission.decision import absent
from slotcar.admission.free import free_in
from slotcar.admission.placing import next_second, place_transfer, profile_of, rest_of, transfer_of, with_profile
from slotcar.admission.rates import MICROBITS_PER_BYTE, Profile, microbits
from slotcar.base.timebase import Window, iso
from slotcar.base.units import format_bytes, format_bytes_about
from slotcar.book.errors import ProgressRefused, StaysBecause
from slotcar.book.model import Entry, ProgressReport, State, Terms
from slotcar.book.operation import OnEntry, move
from slotcar.book.permitting import ask_ahead_of_move
from slotcar.book.recording import by_whom, record
from slotcar.book.rules.verb_rules import allows
from slotcar.book.transaction import Transaction
from slotcar.book.transfers import (
    movable_in,
    move_others,
    moved_form,
    require_may_move,
    rules_of,
    with_those_that_may_move,
    within,
)
from slotcar.reservation.need import VolumeByDeadline
from slotcar_client.wire import verbs
from slotcar_client.wire.events import ReservationBehind, ReservationEnded, ReservationProgress


@dataclass(frozen=True, kw_only=True)
class Report(OnEntry):
    """So many bytes remain to be moved; 0 ends the reservation.

    Attributes:
        as_read: the entry as it was before the lock was taken, of which policies are asked then what they say without its
            slots.
    """

    remaining_bytes: int
    as_read: Entry | None = field(default=None, compare=False)

    def prepared(self, terms: Terms) -> Self:
        if self.as_read is not None and self.as_read.reservation.need is not None:
            ask_ahead_of_move(terms, self.as_read)
        return self

    def run(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; ProgressRefused: it is no volume by a deadline, is not committed or over, or more
            remains than before. SlotcarError: what the condition of one that would move raises.
        """
        entry = self.entry(transaction)
        need = self._checked(entry)
        if not self.remaining_bytes:
            return self._finished(transaction, entry)
        return with_those_that_may_move(transaction, lambda stay: self._planned(transaction, entry, need, stay))

    def _planned(
        self, transaction: Transaction, entry: Entry, need: VolumeByDeadline, stay: Mapping[str, StaysBecause]
    ) -> Entry:
        moment = next_second(self.now)
        before = rest_of(entry.reservation, moment)
        plan = planned(transaction, entry, need, self.remaining_bytes, moment, self.now, stay)
        progress = ProgressReport(self.remaining_bytes, self.now, plan.needed_bps, plan.missing_bytes)
        form = {} if plan.profile == before or not plan.profile else moved_form(entry, plan.profile, moment)
        transaction.give_back(entry)
        changed = transaction.change(entry, entry.state, self.now, progress=progress, **form)
        transaction.take(changed)
        require_new_slots(transaction, changed, entry, self.now)
        self._record(transaction, entry, changed, progress, plan.why_missing)
        move_others(transaction, plan.moved, changed, self.now)
        return changed

    def _checked(self, entry: Entry) -> VolumeByDeadline:
        name, need = "/".join(entry.reservation.key), entry.reservation.need
        if need is None:
            words = f"{name} has a fixed rate, and no volume of which a part remains: change its rate or its end"
            raise ProgressRefused(words)
        if not allows(verbs.Progress, entry.state, change_waits=entry.proposed is not None):
            raise ProgressRefused(f"{name} is {entry.state.value}: only of a committed transfer does something remain")
        if next_second(self.now) >= need.by:
            raise ProgressRefused(f"the deadline of {name}, {iso(need.by)}, is past: nothing can be changed any more")
        limit_bytes, since = need.volume_bytes, "all of its volume"
        if entry.progress is not None:
            limit_bytes, since = entry.progress.remaining_bytes, f"what remained at {iso(entry.progress.at)}"
        if self.remaining_bytes > limit_bytes:
            raise ProgressRefused(
                f"{format_bytes(self.remaining_bytes)} of {name} cannot remain: that is more than {since}, "
                f"{format_bytes(limit_bytes)}; to move more, change its volume in its file and apply that"
            )
        return need

    def _record(
        self, transaction: Transaction, before: Entry, after: Entry, progress: ProgressReport, why_missing: str
    ) -> None:
        forms = (before.reservation, after.reservation) if before.demands != after.demands else (None, None)
        says = ReservationProgress(
            **by_whom(after, self.actor), remaining_bytes=progress.remaining_bytes, needed_bps=progress.needed_bps,
            before=forms[0], reservation=forms[1],
        )  # fmt: skip
        record(transaction, after, says, self.now)
        if progress.missing_bytes:
            record_behind(transaction, after, self.remaining_bytes, progress, self.now, why_missing)

    def _finished(self, transaction: Transaction, entry: Entry) -> Entry:
        """All is moved: what is left of its profile is free at once."""
        reason = "all of its volume is moved"
        if entry.reservation.start >= self.now:
            return move(transaction, entry, State.CANCELLED, self.actor, self.now, reason)
        transaction.give_back(entry)
        reservation, demands = with_profile(entry.reservation, entry.demands, (), self.now, entry.reservation.slots)
        progress = ProgressReport(0, self.now, 0)
        ended = transaction.change(
            entry, State.ENDED, self.now, reservation=reservation, demands=demands, progress=progress, proposed=None
        )
        says = ReservationEnded(**by_whom(ended, self.actor), reason=reason, reservation=ended.reservation)
        record(transaction, ended, says, self.now)
        return ended


@dataclass(frozen=True, slots=True)
class Planned:
    """A transfer's profile from a moment on, and those of others that move for it; see `slotcar.admission.deadline`.

    Attributes:
        why_missing: of `missing_bytes`, in words.
    """

    needed_bps: int
    profile: Profile
    missing_bytes: int
    moved: Mapping[str, Profile]
    why_missing: str = "all that is free is taken"


def planned(
    transaction: Transaction,
    entry: Entry,
    need: VolumeByDeadline,
    remaining_bytes: int,
    moment: datetime,
    now: datetime,
    stay: Mapping[str, StaysBecause],
) -> Planned:
    """What the rest of a transfer can have from `moment` on. Changes nothing. `stay`: those that do not move, and why; a
    transfer that is one of them keeps what it has.

    Where a change waits for approval beside what is in force, nobody moves: both would need the room.
    """
    terms, tables = transaction.terms, transaction.tables
    allowed = within(need, entry.reservation, terms.policy.gate)
    transfer = transfer_of(
        allowed, entry.demands, need.window_from(moment), remaining_bytes, terms.policy.least_rate_bps
    )
    if entry.handle in stay:
        return _kept(entry, transfer, remaining_bytes, moment, stay[entry.handle].words)
    with absent(tables, entry.demands, (entry.occupied,)):
        free = free_in(tables, transfer.crossings, Window(moment, need.by), terms.sls)
        own = progress(transfer, profile_of(entry.reservation), remaining_bytes, moment, free)
        if own.missing_bytes and entry.proposed is None:
            others = movable_in(transaction, now, {entry.handle, *stay})
            room = place_transfer(tables, transfer, rules_of(terms, now), lambda: others)
            if room is not None:
                return Planned(own.needed_bps, room[0], 0, room[1])
    return Planned(own.needed_bps, own.profile, own.missing_bytes, {})


def _kept(entry: Entry, transfer: Transfer, remaining_bytes: int, moment: datetime, why: str) -> Planned:
    """What it has already, and what of the rest that does not move."""
    rest = rest_of(entry.reservation, moment)
    missing_bytes = max(0, -(microbits(rest) // MICROBITS_PER_BYTE - remaining_bytes))
    return Planned(transfer.needed_bps, rest, missing_bytes, {}, why)


def require_new_slots(transaction: Transaction, changed: Entry, before: Entry, now: datetime) -> None:
    """
    Raises:
        MayNotMove: a share of its community, or a policy, does not let a transfer become so; it keeps what it has.
    """
    if changed.reservation.slots != before.reservation.slots or changed.demands != before.demands:
        require_may_move(transaction, [(before, changed)], now)


def record_behind(
    transaction: Transaction, entry: Entry, remaining_bytes: int, progress: ProgressReport, now: datetime, why: str
) -> None:
    """Says what of a transfer cannot be moved by its deadline."""
    assert entry.reservation.need is not None
    missing, remaining = format_bytes_about(progress.missing_bytes, up=True), format_bytes(remaining_bytes)
    words = f"{missing} of {remaining} cannot be moved by {iso(entry.reservation.need.by)}: {why}"
    says = ReservationBehind(
        **by_whom(entry, "slotcar"), remaining_bytes=remaining_bytes, needed_bps=progress.needed_bps,
        missing_bytes=progress.missing_bytes, message=words,
    )  # fmt: skip
    record(transaction, entry, says, now)
