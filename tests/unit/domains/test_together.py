"""Connections that are reserved together: every state that two of them can come to in their first domain."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from slotcar.domains import protocol, together
from slotcar.domains.model import OVER, Connection, ConnectionPhase, Deed, DeedResult, Kind, Own, PeerMessage
from tests.unit.domains.worlds import ENDS, LATE, NOW

Pair = tuple[Connection, ...]
Decide = Callable[[Sequence[Connection]], Sequence[Sequence[Connection]]]
_GAVE_UP = (ConnectionPhase.ABORTING, ConnectionPhase.FAILED)


def at_once(members: Sequence[Connection]) -> Sequence[Sequence[Connection]]:
    return [together.decided(members)]


def one_by_one(members: Sequence[Connection]) -> Sequence[Sequence[Connection]]:
    """What would be wrong: a transaction for each."""
    after = together.decided(members)
    return [[*members[:index], after[index], *members[index + 1 :]] for index in range(len(members))]


def begun(goes_on: bool = False) -> Pair:
    new = [protocol.begun(name, "a", (None, "b"), "v1", ENDS, NOW) for name in ("one", "other")]
    return together.formed(new, [goes_on, goes_on])


def steps(connection: Connection) -> Iterator[Connection]:
    """What may happen to one of them: its ledger does or refuses, the next domain says anything it may, time goes by."""
    for item in protocol.todo(connection, NOW):
        if isinstance(item, Deed):
            for why in ("", "no room") if item is Deed.HOLD else ("",):
                yield protocol.done(connection, DeedResult(item, connection.version, why))
    messages = {
        ConnectionPhase.CHECKING: (Kind.CONFIRMED, Kind.REFUSED, Kind.PENDING),
        ConnectionPhase.COMMITTING: (Kind.COMMITTED,),
        ConnectionPhase.ABORTING: (Kind.ABORTED,),
        ConnectionPhase.TERMINATING: (Kind.TERMINATED,),
        ConnectionPhase.START: (Kind.TERMINATE,),
    }
    for kind in messages.get(connection.phase, ()) if connection.own is not Own.MISSING else ():
        message = PeerMessage(kind, connection.id, connection.version, "b", "a", "said so")
        yield protocol.receive(connection, message, NOW)[0] or connection
    yield protocol.elapsed(connection, LATE)
    if connection.phase not in OVER:
        yield protocol.ended(connection, "not needed any more")


def reached(first: Pair, decide: Decide = at_once) -> set[Pair]:
    """Each pair of states; one that must not be fails."""
    known, waiting = {first}, deque([first])
    while waiting:
        pair = waiting.popleft()
        after = [(*pair[:index], one, *pair[index + 1 :]) for index, each in enumerate(pair) for one in steps(each)]
        for new in (*after, *map(tuple, decide(pair))):
            is_torn = any(one.in_force or one.phase is ConnectionPhase.COMMITTING for one in new) and any(
                one.version == 1 and one.phase in _GAVE_UP for one in new
            )
            assert not is_torn, f"one is given up, and the other is not: {[one.phase for one in new]}"
            if new not in known:
                known.add(new)
                waiting.append(new)
    return known


def test_all_are_decided_or_given_up_whatever_happens_to_one() -> None:
    pairs = reached(begun())
    ends = {
        tuple(one.phase for one in pair)
        for pair in pairs
        if all(one.is_settled for one in pair) and tuple(together.decided(pair)) == pair
    }
    both = ConnectionPhase.START, ConnectionPhase.START
    assert both in ends
    assert (ConnectionPhase.FAILED, ConnectionPhase.FAILED) in ends
    assert not any(ConnectionPhase.START in phases and ConnectionPhase.TERMINATED in phases for phases in ends), (
        "one that is ended has the other ended"
    )


def test_the_others_go_on_without_one_that_they_do_not_need() -> None:
    pairs = reached(begun(goes_on=True))
    assert any(
        {one.phase for one in pair} == {ConnectionPhase.START, ConnectionPhase.TERMINATED}
        and tuple(together.decided(pair)) == pair
        for pair in pairs
    )


def test_the_check_sees_decisions_that_are_kept_one_by_one() -> None:
    with pytest.raises(AssertionError, match="one is given up, and the other is not"):
        reached(begun(), one_by_one)


def test_the_refusal_is_that_of_the_member_that_was_refused() -> None:
    one, other = (replace(each, own=Own.HELD) for each in begun())
    refused = protocol.receive(other, PeerMessage(Kind.REFUSED, "other", 1, "b", "a", "b: 5 Mbit/s free"), NOW)[0]
    assert refused is not None
    given_up, _ = together.decided((one, refused))
    assert given_up.phase is ConnectionPhase.ABORTING
    assert given_up.why == "a: connection other, reserved together with it, was refused: b: 5 Mbit/s free"
    assert together.refused_first((given_up, refused)) == refused
