"""Transfers that reported progress, planned again at a period (ADR 31): room may have come free, or rates be too high.

Since the last report a transfer is taken to have moved what its profile says; only its owner knows better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from slotcar.admission.deadline import KEPT_ABOVE_PERMILLE
from slotcar.admission.placing import PAST_SLOTS, next_second, profile_of, rest_of
from slotcar.admission.rates import MICROBITS_PER_BYTE, clipped, microbits
from slotcar.base.timebase import to_us
from slotcar.book.batch import Needs
from slotcar.book.errors import StaysBecause
from slotcar.book.model import Entry, State, Terms
from slotcar.book.operation import Operation
from slotcar.book.permitting import ask_ahead_of_move
from slotcar.book.recording import by_whom, record
from slotcar.book.reporting import planned, record_behind, require_new_slots
from slotcar.book.transaction import Transaction
from slotcar.book.transfers import move_others, moved_form, with_those_that_may_move
from slotcar_client.wire.events import ReservationReplanned


def remaining_bytes(entry: Entry, moment: datetime) -> int:
    """What of a transfer's volume remains at a moment: as it was reported, less what its profile has moved since."""
    progress = entry.progress
    if progress is None:
        return 0
    moved = microbits(clipped(profile_of(entry.reservation), to_us(progress.at), to_us(moment)))
    return max(0, progress.remaining_bytes + -moved // MICROBITS_PER_BYTE)


def is_off(entry: Entry, now: datetime) -> bool:
    """Whether the rest of a transfer's profile moves less than what remains, or over 1 % more."""
    need, progress, moment = entry.reservation.need, entry.progress, next_second(now)
    if need is None or progress is None or entry.state is not State.COMMITTED or entry.proposed is not None:
        return False
    past = sum(1 for slot in entry.reservation.slots if progress.at < slot.end <= moment)
    if moment >= need.by or past >= PAST_SLOTS:  # what it has moved is not known any more: the next report tells
        return False
    needed = remaining_bytes(entry, moment) * MICROBITS_PER_BYTE
    above = microbits(rest_of(entry.reservation, moment)) - needed
    return needed > 0 and not 0 <= above * 1000 <= needed * KEPT_ABOVE_PERMILLE


@dataclass(frozen=True)
class Replan(Operation[Entry | None]):
    """Plans a transfer that is off again; the entry where something has changed by it. `as_read`: see `Report`."""

    handle: str
    as_read: Entry | None = field(default=None, compare=False)

    def prepared(self, terms: Terms) -> Self:
        if self.as_read is not None:
            ask_ahead_of_move(terms, self.as_read)
        return self

    @property
    def needs(self) -> Needs:
        return Needs(handles=(self.handle,))

    def run(self, transaction: Transaction) -> Entry | None:
        """
        Raises:
            UnknownHandle. SlotcarError: what the condition of one that would move raises.
        """
        entry = transaction.entries.get(self.handle)
        if not is_off(entry, self.now):
            return None
        return with_those_that_may_move(transaction, lambda stay: self._planned(transaction, entry, stay))

    def _planned(self, transaction: Transaction, entry: Entry, stay: Mapping[str, StaysBecause]) -> Entry | None:
        need, progress, moment = entry.reservation.need, entry.progress, next_second(self.now)
        assert need is not None, "it is a volume by a deadline"
        assert progress is not None, "it has reported"
        rest_bytes = remaining_bytes(entry, moment)
        plan = planned(transaction, entry, need, rest_bytes, moment, self.now, stay)
        keeps = plan.profile == rest_of(entry.reservation, moment) or not plan.profile
        if keeps and plan.missing_bytes == progress.missing_bytes:
            return None
        form = {} if keeps else moved_form(entry, plan.profile, moment)
        new_progress = replace(progress, needed_bps=plan.needed_bps, missing_bytes=plan.missing_bytes)
        transaction.give_back(entry)
        changed = transaction.change(entry, entry.state, self.now, progress=new_progress, **form)
        transaction.take(changed)
        require_new_slots(transaction, changed, entry, self.now)
        says = ReservationReplanned(
            **by_whom(changed, "slotcar"), remaining_bytes=rest_bytes, needed_bps=plan.needed_bps,
            missing_bytes=plan.missing_bytes, before=entry.reservation, reservation=changed.reservation,
        )  # fmt: skip
        record(transaction, changed, says, self.now)
        if plan.missing_bytes > progress.missing_bytes:
            record_behind(transaction, changed, rest_bytes, new_progress, self.now, plan.why_missing)
        move_others(transaction, plan.moved, changed, self.now)
        return changed
