"""What every change of an entry does beside the change: asks its condition, and writes itself into the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from slotcar.admission.resource_id import DELAY_BOUNDS
from slotcar.base.timebase import Window, to_us
from slotcar.base.vocabulary import Service
from slotcar.book.model import Condition, Entry, State
from slotcar.book.rules.flows import ReservedFlow
from slotcar.book.transaction import Transaction
from slotcar_client.wire.events import (
    InState,
    OfReservation,
    ReservationAwaitsApproval,
    ReservationCancelled,
    ReservationCommitted,
    ReservationEnded,
    ReservationHeld,
    ReservationModified,
    ReservationRejected,
    ReservationTimedOut,
)

#: Of an entry that came into a state, by the state.
IN_STATE: Mapping[State, type[InState]] = {
    State.HELD: ReservationHeld,
    State.AWAITING_APPROVAL: ReservationAwaitsApproval,
    State.COMMITTED: ReservationCommitted,
    State.TIMED_OUT: ReservationTimedOut,
    State.REJECTED: ReservationRejected,
    State.CANCELLED: ReservationCancelled,
    State.ENDED: ReservationEnded,
}


def ask(transaction: Transaction, entry: Entry, condition: Condition | None) -> None:
    """What no slot table says: the condition, and that each delay that is promised holds with the entry.

    Raises:
        SlotcarError: what the condition raises, or the check of delays.
    """
    if _concerns_delays(transaction, entry):
        transaction.terms.check_delays(entry, transaction.entries.open_with(entry))
    if condition is None:
        return
    entries = transaction.entries
    beside = entries.flows_beside(entry, condition.devices)
    own = entries.flows_of(entry)
    at_once = len(own) + most_at_once(entry, [flow for _, flow in beside])
    packets = {flow.packets for flow in own}
    if at_once <= condition.few and not any(flow.packets in packets for _, flow in beside):
        return
    start, end = entry.reservation.start, entry.reservation.end
    others = entries.numbered({number for number, _ in beside})
    condition.check(entry, [one for one in others if one.reservation.start < end and start < one.reservation.end])


def _concerns_delays(transaction: Transaction, entry: Entry) -> bool:
    """Whether it is promised a delay, or others are in its time, whose packets may wait for its own."""
    if entry.latest.is_bounded or entry.reservation.is_bounded:
        return True
    if entry.reservation.service is not Service.IP_PREMIUM:
        return False
    tables = transaction.tables
    return DELAY_BOUNDS in tables and tables.peak(DELAY_BOUNDS, Window(entry.reservation.start, entry.latest.end)) > 0


def most_at_once(entry: Entry, flows: Sequence[ReservedFlow]) -> int:
    """How many of the flows may be open together while the entry is."""
    start_us, end_us = to_us(entry.reservation.start), to_us(entry.reservation.end)
    starts = [(max(flow.start_us, start_us), 1) for flow in flows]
    ends = [(min(flow.end_us, end_us), -1) for flow in flows]
    most = open_now = 0
    for _, step in sorted(starts + ends):  # an end comes before a start of the same time: slots are half-open
        open_now += step
        most = max(most, open_now)
    return most


class ByWhom(TypedDict):
    """What every event of a change of an entry says."""

    actor: str
    owner: str
    name: str
    version: int


def by_whom(entry: Entry, actor: str) -> ByWhom:
    owner, name = entry.reservation.key
    return {"actor": actor, "owner": owner, "name": name, "version": entry.version}


def modified(
    before: Entry, after: Entry, actor: str, requester: Mapping[str, Any] | None = None
) -> ReservationModified:
    return ReservationModified(
        **by_whom(after, actor), before=before.reservation, reservation=after.reservation, requester=requester
    )


def record(transaction: Transaction, entry: Entry, says: OfReservation, now: datetime) -> None:
    transaction.event(says.kind, now, entry.handle, None, **says.details)
