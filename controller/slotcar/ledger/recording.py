"""What every change of an entry does beside the change: asks its condition, and writes itself into the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from slotcar.base.timebase import to_us
from slotcar.ledger.model import Condition, Entry
from slotcar.ledger.transaction import Transaction
from slotcar.policy.flows import ReservedFlow


def ask(transaction: Transaction, entry: Entry, condition: Condition | None) -> None:
    """
    Raises:
        SlotcarError: what the condition raises.
    """
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


def record(transaction: Transaction, entry: Entry, what: str, actor: str, now: datetime, **details: Any) -> None:
    owner, name = entry.reservation.key
    transaction.event(
        f"reservation.{what}", now, entry.handle, None, actor=actor, owner=owner, name=name, version=entry.version,
        **details,
    )  # fmt: skip
