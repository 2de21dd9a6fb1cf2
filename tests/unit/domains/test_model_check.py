"""Every state that domains in a row can come to, with messages lost, repeated, late and out of order, and with crashes."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import replace

import pytest

from slotcar.domains import protocol
from slotcar.domains.model import Connection, ConnectionPhase
from tests.unit.domains.worlds import ENDS, NAMES, NOW, Row, Rules, World

CameFrom = dict[World, tuple[World, str] | None]
MOST = 400_000


def change(connection: Connection) -> Connection:
    return protocol.changed(connection, "v2", ENDS, NOW)


def end(connection: Connection) -> Connection:
    if connection.phase in (ConnectionPhase.FAILED, ConnectionPhase.TERMINATED):
        raise protocol.NotNow
    return protocol.ended(connection, "not needed any more")


def give_up(connection: Connection) -> Connection:
    return protocol.given_up(connection, "not wanted any more")


def explored(row: Row, *, by_agent: bool = False, waits: bool = False) -> list[World]:
    """Each state that can be reached; one that must not be, or from which no way leads on, fails with the way there."""
    first = row.first_world(by_agent=by_agent, waits=waits)
    came_from: CameFrom = {first: None}
    before: dict[World, list[World]] = defaultdict(list)
    waiting = deque([first])
    while waiting:
        world = waiting.popleft()
        for words, after in row.steps(world):
            before[after].append(world)
            if after in came_from:
                continue
            came_from[after] = (world, words)
            assert len(came_from) <= MOST, "the world does not end"
            if not row.rules.forgets and (wrong := list(row.problems(after))):
                raise AssertionError(f"{wrong}, after:\n" + "\n".join(_way(after, came_from)))
            waiting.append(after)
    stuck = came_from.keys() - _leads_to(before, filter(row.is_settled, came_from))
    if stuck:
        ways = [_way(one, came_from) for one in stuck]
        raise AssertionError("no way on after:\n" + "\n".join(min(ways, key=len)))
    return list(came_from)


def _way(world: World, came_from: CameFrom) -> list[str]:
    words = []
    while (step := came_from[world]) is not None:
        world = step[0]
        words.append(step[1])
    return words[::-1]


def _leads_to(before: dict[World, list[World]], goals: Iterable[World]) -> set[World]:
    """The states from which one of the goals can be reached."""
    leading = set(goals)
    waiting = list(leading)
    while waiting:
        for earlier in before[waiting.pop()]:
            if earlier not in leading:
                leading.add(earlier)
                waiting.append(earlier)
    return leading


def in_force(row: Row, worlds: list[World]) -> set[int]:
    """What may be in force in the end."""
    return {world.ledgers[0].in_force for world in worlds if row.is_settled(world)}


AGENT = (protocol.committed_by_agent,)
CASES = {
    "chain": (NAMES, Rules(), False, {0, 1}),
    "given up by the client": (NAMES, Rules(times_out=False, client=(end,)), False, {0, 1}),
    "agent": (NAMES, Rules(client=AGENT), True, {0, 1}),
    "a commit that breaks": (NAMES[:2], Rules(breaks=True), False, {0, 1}),
    "changed": (NAMES[:2], Rules(client=(change,)), False, {0, 1, 2}),
    "changed and ended": (NAMES[:2], Rules(crashes=False, times_out=False, client=(change, end)), False, {0, 1, 2}),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_held_for_ever_and_none_has_in_force_what_others_gave_up(name: str) -> None:
    names, rules, by_agent, outcomes = CASES[name]
    row = Row(names, rules)
    assert in_force(row, explored(row, by_agent=by_agent)) == outcomes


#: What an NSI requester does to a chain that waits for its word.
WAITING = {
    "committed": (NAMES, Rules(client=AGENT), {0, 1}),
    "given up": (NAMES, Rules(client=(give_up,)), {0}),
    "given up by one of two": (NAMES[:2], Rules(client=(give_up,)), {0}),
    "changed and given up": (
        NAMES[:2], Rules(crashes=False, client=(*AGENT, change, give_up)), {0, 1},
    ),
    "changed and committed": (NAMES[:2], Rules(crashes=False, client=(*AGENT, change, *AGENT)), {0, 1, 2}),
}  # fmt: skip


#: Three domains that all crash at each point take a third of a minute.
@pytest.mark.in_short("committed", "given up by one of two", "changed and given up", "changed and committed")
@pytest.mark.parametrize("name", WAITING)
def test_a_chain_that_waits_for_its_client_is_committed_or_given_up_everywhere(name: str) -> None:
    names, rules, outcomes = WAITING[name]
    row = Row(names, rules)
    assert in_force(row, explored(row, waits=True)) == outcomes


def test_what_a_domain_has_lost_is_ended_in_the_others_for_they_ask() -> None:
    row = Row(NAMES[:2], Rules(refuses=False, times_out=False, crashes=False, forgets=True))
    assert in_force(row, explored(row)) >= {0, 1}


def test_the_check_sees_domains_that_do_not_ask_about_what_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "questions", lambda _connection: ())
    with pytest.raises(AssertionError, match="no way on"):
        explored(Row(NAMES[:2], Rules(refuses=False, times_out=False, crashes=False, forgets=True)))


def test_what_can_be_held_everywhere_comes_into_force_everywhere() -> None:
    """A check that only ever saw refusals would hold of a protocol that refuses."""
    row = Row(NAMES, Rules(refuses=False, times_out=False))
    assert in_force(row, explored(row)) == {1}


def test_the_check_sees_a_domain_that_gives_up_by_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual mistake: a hold that others may have committed ends by itself."""
    elapsed = protocol.elapsed

    def by_the_clock(connection: Connection, now: object) -> Connection:
        if connection.phase is ConnectionPhase.HELD:
            return replace(connection, phase=ConnectionPhase.ABORTING, why="time is over")
        return elapsed(connection, now)  # type: ignore[arg-type]

    monkeypatch.setattr(protocol, "elapsed", by_the_clock)
    with pytest.raises(AssertionError, match=r"gave up|is to be committed"):
        explored(Row(NAMES, Rules()))


def test_the_check_sees_a_domain_that_does_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held by a client that is gone, it would be held for ever."""
    todo = protocol.todo

    def silent(connection: Connection, now: object) -> tuple[object, ...]:
        return () if connection.phase is ConnectionPhase.HELD else todo(connection, now)  # type: ignore[arg-type]

    def abort_unsaid(connection: Connection, now: object) -> tuple[object, ...]:
        items = silent(connection, now)
        return tuple(item for item in items if "ABORT" not in str(item))

    monkeypatch.setattr(protocol, "todo", abort_unsaid)
    with pytest.raises(AssertionError, match="no way on"):
        explored(Row(NAMES, Rules(client=AGENT)), by_agent=True)
