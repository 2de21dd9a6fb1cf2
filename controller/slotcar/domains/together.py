"""Connections that are reserved together: what their first domain decides of all of them at once. Pure.

Each is held in all of its domains and waits (`Connection.waits`). The decision is one transaction of the first domain's
store, so that no crash and no clock comes between one connection's decision and another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slotcar.domains import protocol
from slotcar.domains.model import Connection, ConnectionPhase

_WAITS = frozenset({ConnectionPhase.CHECKING, ConnectionPhase.HELD})
_GIVEN_UP = frozenset({ConnectionPhase.ABORTING, ConnectionPhase.FAILED})
_ENDED = frozenset({ConnectionPhase.TERMINATING, ConnectionPhase.TERMINATED})


def formed(connections: Sequence[Connection], goes_on: Sequence[bool]) -> tuple[Connection, ...]:
    """New connections as members of one group. `goes_on`: of each, whether the others go on without it."""
    ids = tuple(each.id for each in connections)
    return tuple(
        replace(each, members=ids, goes_on=alone, waits=True) for each, alone in zip(connections, goes_on, strict=True)
    )


def decided(members: Sequence[Connection]) -> tuple[Connection, ...]:
    """The members after the decision; unchanged where there is none yet, or none any more.

    All are committed once all are held. One that is refused, or ended, before that has the others given up; one that is
    ended later has them ended, unless they go on without it.
    """
    if all(_is_held(each) for each in members):
        return tuple(map(protocol.committed_by_agent, members))
    lost = [each for each in members if _is_lost(each)]
    ended = [each for each in members if each.phase in _ENDED and not each.goes_on]
    return tuple(_without(each, lost, ended) for each in members)


def refused_first(members: Sequence[Connection]) -> Connection | None:
    """The member because of which the others were given up; None where none was refused."""
    refused = [each for each in members if _is_lost(each)]
    return next((each for each in refused if not _because_of(each, members)), refused[0] if refused else None)


def _without(each: Connection, lost: Sequence[Connection], ended: Sequence[Connection]) -> Connection:
    if _is_waiting(each) and lost:
        return protocol.given_up(each, _why(each, lost[0], "was refused"))
    if each.committed and ended and each not in ended:
        return protocol.ended(each, _why(each, ended[0], "is ended"))
    return each


def _why(each: Connection, other: Connection, what: str) -> str:
    return f"{each.domain}: connection {other.id}, reserved together with it, {what}: {other.why}"


def _because_of(each: Connection, members: Sequence[Connection]) -> bool:
    return any(f"connection {other.id}, reserved together with it" in each.why for other in members)


def _is_waiting(each: Connection) -> bool:
    return not each.committed and each.version == 1 and each.phase in _WAITS


def _is_held(each: Connection) -> bool:
    return _is_waiting(each) and each.phase is ConnectionPhase.HELD


def _is_lost(each: Connection) -> bool:
    """Whether it never was in force, and will not be."""
    never = each.version == 1 and not each.in_force
    return never and (each.phase in _GIVEN_UP or each.phase in _ENDED or each.phase is ConnectionPhase.ENDED)
