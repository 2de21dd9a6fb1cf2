"""What the log is told of a step of a connection. Pure."""

from __future__ import annotations

from typing import Any

from slotcar.domains.model import Connection, ConnectionPhase
from slotcar.domains.way import NOBODY, PeerRequest
from slotcar_client.wire.events import (
    ConnectionAsked,
    ConnectionCommitted,
    ConnectionEnded,
    ConnectionHeld,
    ConnectionPassed,
    ConnectionProgress,
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
        return _progress(before, after)
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
    return kind(actor=who.actor, **_details_of(after))


def _progress(before: Connection, after: Connection) -> ConnectionProgress | None:
    """What remains of its volume, where that is said anew."""
    if after.in_force == before.in_force:
        return None
    earlier, volume = (PeerRequest.from_text(each.in_force).volume for each in (before, after))
    if volume is None or volume == earlier:
        return None
    return ConnectionProgress(
        **_details_of(after), remaining_bytes=volume.remaining_bytes, missing_bytes=volume.missing_bytes
    )


def _details_of(connection: Connection) -> dict[str, Any]:
    request = PeerRequest.from_text(connection.request)
    return {
        "connection": connection.id, "owner": f"{request.who}@{request.origin}", "name": request.reservation.name,
        "version": connection.version, "previous": connection.previous or "", "next": connection.next or "",
        "message": connection.why,
    }  # fmt: skip
