"""What the log is told of a step of a connection. Pure."""

from __future__ import annotations

from slotcar.domains.model import Connection, ConnectionPhase
from slotcar.domains.way import NOBODY, PeerRequest
from slotcar_client.wire.events import (
    ConnectionAsked,
    ConnectionCommitted,
    ConnectionEnded,
    ConnectionHeld,
    ConnectionPassed,
    ConnectionRefused,
    OfConnection,
)

_KINDS: dict[ConnectionPhase, type[OfConnection]] = {
    ConnectionPhase.CHECKING: ConnectionAsked,
    ConnectionPhase.HELD: ConnectionHeld,
    ConnectionPhase.ABORTING: ConnectionRefused,
    ConnectionPhase.FAILED: ConnectionRefused,
    ConnectionPhase.TERMINATING: ConnectionEnded,
    ConnectionPhase.ENDED: ConnectionPassed,
}


def event_of(before: Connection | None, after: Connection) -> OfConnection | None:
    """None where nothing that people want to know has happened. What is refused, or ended, is told when that begins."""
    if before is not None and before.phase is after.phase:
        return None
    kind = _KINDS.get(after.phase)
    was_refused = before is not None and before.phase is ConnectionPhase.ABORTING
    if after.phase is ConnectionPhase.START:
        kind = None if was_refused else ConnectionCommitted
        if after.committed != after.version and not was_refused:
            kind = ConnectionRefused
    if kind is None or (was_refused and kind is ConnectionRefused):
        return None
    request = PeerRequest.from_text(after.request)
    who = {ConnectionAsked: request.asker, ConnectionEnded: request.ended_by or NOBODY}.get(kind, NOBODY)
    return kind(
        actor=who.actor,
        connection=after.id,
        owner=f"{request.who}@{request.origin}",
        name=request.reservation.name,
        version=after.version,
        previous=after.previous or "",
        next=after.next or "",
        message=after.why,
    )
