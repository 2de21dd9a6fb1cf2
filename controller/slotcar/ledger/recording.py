"""What every change of an entry does beside the change: asks its condition, and writes itself into the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from slotcar.ledger.model import Condition, Entry
from slotcar.ledger.transaction import Transaction


def ask(transaction: Transaction, entry: Entry, condition: Condition | None) -> None:
    if condition is not None:
        condition.check(entry, transaction.entries.beside(entry, condition.devices))


def record(transaction: Transaction, entry: Entry, what: str, actor: str, now: datetime, **details: Any) -> None:
    owner, name = entry.reservation.key
    transaction.event(
        f"reservation.{what}", now, entry.handle, None, actor=actor, owner=owner, name=name, version=entry.version,
        **details,
    )  # fmt: skip
