"""Declarative files against the ledger: what to create, change, cancel, or leave alone. Pure.

A reservation is matched by (owner, name). What files once created carries the name of its set in a label, so that
leaving it out of that set's files cancels it, and nothing that came through the API or from other files ever is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.book.model import Entry
from slotcar.planning.step import Action, KeyDifference, PlanStep
from slotcar.reservation.model import Reservation
from slotcar.views.documents import DERIVED_KEYS, reservation_document

#: Label that says which set of files a reservation came from.
SET_LABEL = "slotcar/set"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a set of files speaks for: only entries of these owners that this set created may be cancelled."""

    set_name: str
    owners: frozenset[str]

    def covers(self, entry: Entry) -> bool:
        reservation = entry.reservation
        return reservation.owner in self.owners and reservation.labels.get(SET_LABEL) == self.set_name


def match(
    wanted: Sequence[Reservation],
    current: Iterable[Entry],
    scope: Scope,
    now: datetime,
    relative: Collection[tuple[str, str]] = (),
) -> tuple[PlanStep, ...]:
    """Each wanted reservation in the files' order, then the cancels by (owner, name).

    `relative` names those whose start the file gives relative to now: while one lives, its start stays what it was
    when it was first applied, so that applying the same file twice changes nothing.
    """
    entries = {entry.reservation.key: entry for entry in current if entry.is_live_at(now)}
    steps = [
        _match_one(reservation, entries.get(reservation.key), scope, now, reservation.key in relative)
        for reservation in wanted
    ]
    named = {reservation.key for reservation in wanted}
    removed = sorted(key for key, entry in entries.items() if key not in named and scope.covers(entry))
    return (*steps, *(PlanStep.about(Action.CANCEL, entries[key]) for key in removed))


def _match_one(reservation: Reservation, entry: Entry | None, scope: Scope, now: datetime, relative: bool) -> PlanStep:
    labelled = reservation.model_copy(update={"labels": {**reservation.labels, SET_LABEL: scope.set_name}})
    if entry is None:
        if labelled.end <= now:
            return PlanStep(Action.NO_OP, labelled.key, labelled, note=f"its slot ended at {iso(labelled.end)}")
        return PlanStep(Action.CREATE, labelled.key, labelled)
    if relative:
        labelled = _kept_in_place(labelled, entry.latest)
    # A change that waits for approval is what was asked for last: to ask for the same again changes nothing.
    differences = compare(entry.latest, labelled)
    note = "its change waits for approval" if entry.proposed and not differences else ""
    action = Action.CHANGE if differences else Action.NO_OP
    return PlanStep.about(action, entry, reservation=labelled, differences=differences, note=note)


def _kept_in_place(reservation: Reservation, existing: Reservation) -> Reservation:
    """The reservation with the start (of a need: the deadline) that the present one has."""
    if reservation.need is None or existing.need is None:
        return _started_at(reservation, existing.start)
    need = reservation.need
    start = None if need.start is None else need.start + (existing.need.by - need.by)
    return reservation.model_copy(
        update={"need": need.model_copy(update={"by": existing.need.by, "start": start}), "slots": existing.slots}
    )


def _started_at(reservation: Reservation, start: datetime) -> Reservation:
    shift = start - reservation.start
    slots = tuple(replace(slot, start=slot.start + shift, end=slot.end + shift) for slot in reservation.slots)
    return reservation.model_copy(update={"slots": slots})


def _without_accounts(reservation: Reservation) -> Reservation:
    """The reservation as it was asked for: without the accounts that the controller granted it."""
    claim = reservation.claim
    if claim is None or not claim.accounts:
        return reservation
    return reservation.model_copy(update={"claim": claim.model_copy(update={"accounts": ()})})


def compare(before: Reservation, after: Reservation) -> tuple[KeyDifference, ...]:
    """Keys whose values differ, in the document's order."""
    old, new = reservation_document(_without_accounts(before)), reservation_document(_without_accounts(after))
    constant = before.constant_rate_bps is not None and after.constant_rate_bps is not None
    repeated_keys = {"slots"} if constant else set(DERIVED_KEYS)
    if after.need is not None:  # admission chooses its slots
        repeated_keys = {"slots", *DERIVED_KEYS}
    return tuple(
        KeyDifference(key, old.get(key), new.get(key))
        for key in {**new, **old}
        if old.get(key) != new.get(key) and key not in repeated_keys
    )
