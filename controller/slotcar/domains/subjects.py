"""What connections are about: what a request says of its way, and what a ticket of it covers.

The two phases are the same for all of them (`slotcar.domains.agreement`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from slotcar.domains.keys import DomainCertificate
from slotcar.domains.model import Connection, Deed, DeedResult, PeerMessage
from slotcar_client.wire.events import Kind as EventKind


@dataclass(frozen=True, slots=True)
class RequestedWay:
    """What this domain makes of a request.

    Attributes:
        request: as it is kept. previous, next: the domains before and behind this one, where there are.
        ends: the last instant of what is asked for.
    """

    request: str
    previous: str | None
    next: str | None
    ends: datetime


class Keeper(Protocol):
    """The domain's own ledger, for what a subject's connections are about."""

    def do(self, deed: Deed, connection: Connection, now: datetime) -> DeedResult:
        """Does a deed, which may have been done before; a refusal is a result, in words with the ledger's numbers.

        Raises:
            LedgerUnavailable: it is not known whether it was done.
        """

    def is_in_force(self, connection: Connection) -> bool:
        """Whether what is committed is still there."""

    def changed(self) -> Collection[str]:
        """The connections of which the ledger has changed something since this was asked last."""

    def not_ready(self, connection: Connection) -> bool:
        """Whether the domain's devices cannot be made ready for what is committed, as far as is known."""

    def slot(self, connection: Connection, now: datetime) -> str:
        """What the domain's devices have of the slot that is open, in words for neighbours; empty where none is."""


class Subject(Protocol):
    @property
    def keeper(self) -> Keeper: ...

    def way(self, text: str, sender: str, now: datetime) -> RequestedWay:
        """What a neighbour asks for.

        Raises:
            SlotcarError, ValueError: nothing that this domain can agree on with it.
        """

    def for_next(self, text: str) -> str:
        """The request as the next domain gets it."""

    def ticket(self, connection: Connection, now: datetime) -> str:
        """What this domain signs for the previous one."""

    def checked(
        self, connection: Connection, message: PeerMessage, certificate: DomainCertificate, now: datetime
    ) -> Mapping[str, Any]:
        """What the next domain's ticket says, once it covers the connection.

        Raises:
            TicketRefused.
        """

    def slots(self, connection: Connection, now: datetime) -> tuple[bool, datetime | None]:
        """Whether a slot of what is in force is open, and when the next one begins or ends; None where none does."""

    def event_of(self, before: Connection | None, after: Connection) -> EventKind | None:
        """What the log is told of a step; None where that is nothing, or told by the keeper."""
