"""What remains of a volume by a deadline, as its owner reports it: the rate that it needs is found again each time.

Needed rate = remaining volume / remaining time (NICT, deadline transfers over AF). What is done early is given back at
once; what has fallen behind asks for more, and it is said where it cannot have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from controller.admission.deadline import progress
from controller.admission.free import free_in
from controller.admission.placing import next_second, place_transfer, profile_of, rest_of, transfer_of, with_profile
from controller.admission.rates import Profile
from controller.ledger.errors import ProgressRefused
from controller.ledger.model import Entry, Progress, State
from controller.ledger.operations import Operation, move
from controller.ledger.recording import document, record
from controller.ledger.transaction import Needs, Transaction
from controller.ledger.transfers import movable, move_others, moved_form, rules_of, within
from controller.reservation.need import VolumeByDeadline
from controller.timebase import Window, iso
from controller.units import format_bytes, format_bytes_about


@dataclass(frozen=True)
class Report(Operation[Entry]):
    """So many bytes remain to be moved; 0 ends the reservation."""

    handle: str
    remaining_bytes: int
    actor: str
    expected_version: int | None = None

    @property
    def needs(self) -> Needs:
        return Needs(handles=(self.handle,))

    def run(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; ProgressRefused: it is no volume by a deadline, is not committed or over, or more
            remains than before. SlotcarError: what the condition of one that would move raises.
        """
        entry = transaction.entry(self.handle, self.expected_version)
        need = self._checked(entry)
        if not self.remaining_bytes:
            return self._finished(transaction, entry)
        moment = next_second(self.now)
        transaction.give_back(entry)
        before = rest_of(entry.reservation, moment)
        told, profile, moved = self._planned(transaction, entry, need, moment)
        form = {} if profile == before or not profile else moved_form(entry, profile, moment)
        changed = transaction.change(entry, entry.state, self.now, progress=told, **form)
        transaction.take(changed)
        self._record(transaction, entry, changed, told)
        move_others(transaction, moved, changed, self.now)
        return changed

    def _checked(self, entry: Entry) -> VolumeByDeadline:
        name, need = "/".join(entry.reservation.key), entry.reservation.need
        if need is None:
            words = f"{name} has a fixed rate, and no volume of which a part remains: change its rate or its end"
            raise ProgressRefused(words)
        if entry.state is not State.COMMITTED:
            raise ProgressRefused(f"{name} is {entry.state.value}: only of a committed transfer does something remain")
        if next_second(self.now) >= need.by:
            raise ProgressRefused(f"the deadline of {name}, {iso(need.by)}, is past: nothing can be changed any more")
        known, since = need.volume_bytes, "all of its volume"
        if entry.progress is not None:
            known, since = entry.progress.remaining_bytes, f"what remained at {iso(entry.progress.at)}"
        if self.remaining_bytes > known:
            raise ProgressRefused(
                f"{format_bytes(self.remaining_bytes)} of {name} cannot remain: that is more than {since}, "
                f"{format_bytes(known)}; to move more, change its volume in its file and apply that"
            )
        return need

    def _planned(
        self, transaction: Transaction, entry: Entry, need: VolumeByDeadline, moment: datetime
    ) -> tuple[Progress, Profile, Mapping[str, Profile]]:
        """What there is to tell, the profile from `moment` on, and those of others that move for it.

        Where a change waits for approval beside what is in force, nobody moves: both would need the room.
        """
        terms, tables = transaction.terms, transaction.tables
        allowed = within(need, entry.reservation, terms.policy.gate)
        transfer = transfer_of(allowed, entry.demands, need.window_from(moment), self.remaining_bytes)
        free = free_in(tables, transfer.crossings, Window(moment, need.by), terms.sls)
        found = progress(transfer, profile_of(entry.reservation), self.remaining_bytes, moment, free)
        profile, missing_bytes = found.profile, found.missing_bytes
        moved: Mapping[str, Profile] = {}
        if missing_bytes and entry.proposed is None:
            others = movable(transaction.transfers(self.now), terms.policy.gate, {entry.handle})
            room = place_transfer(tables, transfer, rules_of(terms, self.now), lambda: others)
            if room is not None:
                (profile, moved), missing_bytes = room, 0
        return Progress(self.remaining_bytes, self.now, found.needed_bps, missing_bytes), profile, moved

    def _record(self, transaction: Transaction, before: Entry, after: Entry, told: Progress) -> None:
        numbers = {"remaining_bytes": told.remaining_bytes, "needed_bps": told.needed_bps}
        forms = {"before": document(before), "reservation": document(after)} if before.demands != after.demands else {}
        record(transaction, after, "progress", self.actor, self.now, **numbers, **forms)
        if told.missing_bytes:
            assert after.reservation.need is not None
            missing, remaining = format_bytes_about(told.missing_bytes, up=True), format_bytes(told.remaining_bytes)
            by = iso(after.reservation.need.by)
            words = f"{missing} of {remaining} cannot be moved by {by}: all that is free is taken"
            record(
                transaction, after, "behind", "slotcar", self.now,
                **numbers, missing_bytes=told.missing_bytes, message=words,
            )  # fmt: skip

    def _finished(self, transaction: Transaction, entry: Entry) -> Entry:
        """All is moved: what is left of its profile is free at once."""
        reason = "all of its volume is moved"
        if entry.reservation.start >= self.now:
            return move(transaction, entry, State.CANCELLED, self.actor, self.now, reason)
        transaction.give_back(entry)
        reservation, demands = with_profile(entry.reservation, entry.demands, (), self.now, entry.reservation.slots)
        told = Progress(0, self.now, 0)
        ended = transaction.change(
            entry, State.ENDED, self.now, reservation=reservation, demands=demands, progress=told, proposed=None
        )
        record(transaction, ended, "ended", self.actor, self.now, reason=reason, reservation=document(ended))
        return ended
