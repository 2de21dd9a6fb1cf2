"""Events beside those that a change of an entry writes, each as one operation on the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from slotcar.book.operation import Operation
from slotcar.book.transaction import Transaction
from slotcar_client.wire.events import Kind


@dataclass(frozen=True)
class AppendEvent(Operation[None]):
    minds_holds: ClassVar[bool] = False
    kind: str
    handle: str | None = None
    device: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def run(self, transaction: Transaction) -> None:
        transaction.event(self.kind, self.now, self.handle, self.device, **self.details)


@dataclass(frozen=True)
class AppendIfLast(Operation[bool]):
    """An event of a device, unless another of `kinds` came to it after the event `last`. Whether it was appended."""

    minds_holds: ClassVar[bool] = False
    says: Kind
    device: str
    last: int
    kinds: frozenset[str]

    def run(self, transaction: Transaction) -> bool:
        if not transaction.is_last_of_device(self.last, self.device, self.kinds):
            return False
        transaction.event(self.says.kind, self.now, None, self.device, **self.says.details)
        return True


@dataclass(frozen=True)
class AppendEvents(Operation[bool]):
    """Events of reservations, each with its handle."""

    events: Sequence[tuple[Kind, str]]

    def run(self, transaction: Transaction) -> bool:
        for says, handle in self.events:
            transaction.event(says.kind, self.now, handle, None, **says.details)
        return True
