"""What domains say of their segments of a connection, to each other along the row and to people. It decides nothing.

Every message between neighbours brings it, of the sender's segment and of those on the sender's side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slotcar.base.problems import printable
from slotcar.domains.model import MOST_DOMAINS, OVER, Connection, ConnectionPhase
from slotcar.store.connections import SegmentRow

LONGEST_WORDS = 500


@dataclass(frozen=True, slots=True)
class SegmentState:
    """Attributes:
    phase: of the connection in that domain. committed: the version in force there; 0 for none.
    slot: what its devices have of the slot that is open, in words; empty where none is, or it is not told.
    not_ready: it cannot make its devices ready for its slot.
    heard_from: the neighbour that brought it; the domain itself for its own.
    """

    domain: str
    phase: ConnectionPhase
    committed: int
    why: str
    slot: str
    stated_at: datetime
    heard_from: str
    not_ready: bool = False

    @property
    def is_over(self) -> bool:
        return self.phase in OVER

    def to_document(self) -> dict[str, Any]:
        return {
            "domain": self.domain, "phase": self.phase.value, "committed": self.committed,
            "why": self.why[:LONGEST_WORDS], "slot": self.slot[:LONGEST_WORDS], "stated_at": self.stated_at.isoformat(),
            "not_ready": self.not_ready,
        }  # fmt: skip


def own_state(connection: Connection, slot: str, now: datetime, *, not_ready: bool = False) -> SegmentState:
    return SegmentState(
        connection.domain,
        connection.phase,
        connection.committed,
        connection.why,
        slot,
        now,
        connection.domain,
        not_ready,
    )


def heard_states(listed: object, sender: str, own: str) -> Iterable[SegmentState]:
    """What a neighbour says; what cannot be read, or is of this domain itself, is passed over."""
    for each in listed[:MOST_DOMAINS] if isinstance(listed, list) else ():
        try:
            state = _read(each, sender)
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        if state.domain != own:
            yield state


def _read(document: Mapping[str, Any], sender: str) -> SegmentState:
    domain, committed = document["domain"], document["committed"]
    if not isinstance(domain, str) or not domain.isprintable() or not 1 <= len(domain) <= 128:
        raise ValueError
    if not isinstance(committed, int) or not 0 <= committed <= 10**6:
        raise ValueError
    stated_at = datetime.fromisoformat(document["stated_at"])
    if stated_at.tzinfo is None:
        raise ValueError
    stated_at = stated_at.astimezone(UTC)  # what no calendar has in UTC, the ledger could not read again
    why, slot = (printable(str(document[name]))[:LONGEST_WORDS] for name in ("why", "slot"))
    return SegmentState(
        domain,
        ConnectionPhase(document["phase"]),
        committed,
        why,
        slot,
        stated_at,
        sender,
        document.get("not_ready") is True,
    )


def row_of_state(connection_id: str, state: SegmentState) -> SegmentRow:
    document = {key: value for key, value in state.to_document().items() if key not in ("domain", "stated_at")}
    return SegmentRow(connection_id, state.domain, state.heard_from, state.stated_at, document)


def state_of_row(row: SegmentRow) -> SegmentState:
    stated_at = {"domain": row.domain, "stated_at": row.stated_at.isoformat()}
    return _read({**row.document, **stated_at}, row.heard_from)


def for_receiver(states: Sequence[SegmentState], receiver: str) -> list[dict[str, Any]]:
    """What a neighbour is told: of this side of the row, and not what it has said itself."""
    return [state.to_document() for state in states if receiver not in (state.heard_from, state.domain)]


def in_order(states: Iterable[SegmentState], connection: Connection) -> list[SegmentState]:
    """As the row has them, as far as that is known: what the previous domain told, this domain, what the next told."""
    place = {connection.previous: 0, connection.domain: 1, connection.next: 2}
    neighbours = (connection.previous, connection.next)

    def key(state: SegmentState) -> tuple[int, int, str]:
        # Of a side's domains the neighbour itself is nearest.
        side = place.get(state.heard_from, 2)
        is_near = state.domain in neighbours
        return side, (1 if is_near else 0) if side == 0 else (0 if is_near else 1), state.domain

    return sorted(states, key=key)


def tells(before: Connection, after: Connection) -> tuple[str, ...]:
    """The neighbours that are told at once of a step, which no message of the protocol brings them."""
    if before.phase is after.phase or after.phase is not ConnectionPhase.TERMINATED:
        return ()
    return tuple(name for name in (after.previous, after.next) if name is not None)
