"""Which devices are checked for what they told, and when."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.rollout.schedule import SETTLE
from slotcar.rollout.status import LoopStatus, Work
from slotcar.watching.pending import (
    ECHO_S,
    FIRST_INTERVAL_S,
    LONGEST_INTERVAL_S,
    LONGEST_WAIT_S,
    QUIET_S,
    REST_S,
    Pending,
)

TICK_S = 0.25


@dataclass
class Simulated:
    """A leader that does what the script says, and is asked every `TICK_S`. `checked_at_s`: when a check was."""

    pending: Pending = field(default_factory=Pending)
    status: LoopStatus = field(default_factory=LoopStatus)
    checked_at_s: list[float] = field(default_factory=list)
    now_s: float = 0.0

    def until(self, end_s: float) -> None:
        while self.now_s < end_s:
            self.now_s += TICK_S
            self.checked_at_s += [self.now_s for _ in self.pending.due(self.status.work, self.now_s)]

    def tell(self, echo_s: float = 0.0) -> None:
        self.pending.note("r", "filter deleted on eth2", self.status.work.get("r", Work()), self.now_s, echo_s)

    def push(self, ends_s: float, compared_s: float, tells_s: float | None = None, echo_s: float = 0.0) -> None:
        """A push from now to `ends_s`, which tells of itself a second after its beginning, and of more at `tells_s`."""
        before = self.status.begin_push(["r"], self.now_s)
        self.until(self.now_s + 1)
        self.tell(echo_s)
        if tells_s is not None and tells_s < ends_s:
            self.until(tells_s)
            self.tell(echo_s)
        self.until(ends_s)
        self.status.end_push(before, ["r"], self.now_s, {"r": compared_s})
        if tells_s is not None and tells_s >= ends_s:
            self.until(tells_s)
            self.tell(echo_s)


def test_a_change_is_checked_once_it_is_quiet() -> None:
    world = Simulated()
    world.until(10)
    world.tell()
    world.until(11)
    world.tell()
    world.until(100)
    assert world.checked_at_s == [11 + QUIET_S]


def test_who_goes_on_typing_does_not_delay_the_check_for_ever() -> None:
    world = Simulated(now_s=10)
    while world.now_s < 18:
        world.tell()
        world.until(world.now_s + 0.5)
    assert world.checked_at_s == [10 + LONGEST_WAIT_S]


def test_what_the_leader_has_read_since_is_not_asked_for() -> None:
    """So a step that a router took by itself at a boundary costs no check: the leader reads it `SETTLE` after it."""
    assert SETTLE.total_seconds() < QUIET_S
    world = Simulated(now_s=10)
    world.tell()
    world.until(10 + SETTLE.total_seconds())
    world.status.begin_reading(["r"], world.now_s)
    world.until(60)
    assert world.checked_at_s == []


@pytest.mark.parametrize(
    ("changed", "check"), [(("r",), False), ((), True), (None, False)], ids=["changed", "left alone", "failed"]
)
def test_what_a_push_did_is_its_own(changed: tuple[str, ...] | None, check: bool) -> None:
    world = Simulated(now_s=10)
    before = world.status.begin_push(["r"], 10)
    world.until(13)
    world.tell()
    world.until(30)
    assert world.checked_at_s == [], "nobody is asked while it goes on"
    world.status.end_push(before, changed, 30)
    world.until(31)
    if changed == ("r",):
        world.tell()
    world.until(60)
    assert bool(world.checked_at_s) is check


def test_a_change_after_a_push_is_not_its_own() -> None:
    world = Simulated(now_s=10)
    world.status.end_push(world.status.begin_push(["r"], 10), ["r"], 12)
    world.until(12 + ECHO_S + TICK_S)
    world.tell()
    world.until(60)
    assert len(world.checked_at_s) == 1


@pytest.mark.parametrize(
    "tells_s", [12.25, 14.75, 15.5], ids=["while compared", "before its end", "right after its end"]
)
def test_what_is_told_after_the_comparison_began_is_checked_once(tells_s: float) -> None:
    world = Simulated(now_s=10)
    world.push(15, compared_s=12, tells_s=tells_s)
    world.until(200)
    assert world.checked_at_s == [max(tells_s + QUIET_S, 15 + TICK_S)]


def test_a_push_that_was_compared_costs_no_check_where_nobody_else_changes_the_device() -> None:
    world = Simulated(now_s=10)
    world.push(15, compared_s=12)
    world.until(200)
    assert world.checked_at_s == []


@pytest.mark.parametrize(("tells_s", "checks"), [(12.75, 0), (13.25, 1)], ids=["an echo", "later than an echo"])
def test_a_device_that_tells_late_has_a_second_for_what_the_push_did(tells_s: float, checks: int) -> None:
    world = Simulated(now_s=10)
    world.push(15, compared_s=12, tells_s=tells_s, echo_s=ECHO_S)
    world.until(200)
    assert len(world.checked_at_s) == checks


def test_a_confirming_check_that_finds_nothing_is_the_last() -> None:
    """The own echo came late: the reading after it finds what is wanted, and nothing is pushed."""
    world = Simulated(now_s=10)
    world.push(15, compared_s=12, tells_s=12.25)
    while not world.checked_at_s:
        world.until(world.now_s + TICK_S)
    world.status.begin_reading(["r"], world.now_s)
    world.until(world.now_s + 500)
    assert len(world.checked_at_s) == 1


def test_a_comparison_of_another_push_is_not_this_ones() -> None:
    world = Simulated(now_s=10)
    world.push(15, compared_s=9, tells_s=14.75)
    world.until(200)
    assert world.checked_at_s == [], "nobody knows when it was compared"


def test_a_device_that_does_not_come_to_rest_is_checked_less_and_less() -> None:
    world = Simulated()
    while world.now_s < 600:
        world.tell()
        world.until(world.now_s + 1)
    apart = [after - before for before, after in zip(world.checked_at_s, world.checked_at_s[1:], strict=False)]
    assert apart[0] >= FIRST_INTERVAL_S
    assert apart == sorted(apart)
    assert apart[-1] >= LONGEST_INTERVAL_S
    world.until(world.now_s + REST_S + LONGEST_INTERVAL_S)
    last = len(world.checked_at_s)
    world.tell()
    changed_s = world.now_s
    world.until(changed_s + 20)
    assert world.checked_at_s[last:] == [changed_s + QUIET_S], "after a rest it is checked as at first"


class Actions:
    """What may happen between two moments."""

    TELL, READ, PUSH, END_CHANGED, END_LEFT_ALONE, COMPARE = range(6)


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(0, 5)), max_size=40))
def test_every_change_outside_of_a_push_is_read_after_and_checks_are_few(script: list[tuple[float, int]]) -> None:
    world = Simulated()
    before: dict[str, Work] | None = None
    unseen: float | None = None
    compared: float | None = None
    since: float | None = None  # told after this push was compared
    reads: list[float] = []
    for wait_s, action in script:
        world.until(world.now_s + wait_s)
        if action == Actions.TELL:
            work = world.status.work.get("r", Work())
            until = work.push_ended_s + ECHO_S if work.compared_s is None else work.compared_s
            own = before is not None or work.push_began_s <= world.now_s <= until
            world.tell()
            unseen = unseen if own else world.now_s
            since = world.now_s if before is not None and compared is not None and world.now_s > compared else since
        elif action == Actions.READ and before is None:
            world.status.begin_reading(["r"], world.now_s)
            reads.append(world.now_s)
        elif action == Actions.PUSH and before is None:
            before, compared, since = world.status.begin_push(["r"], world.now_s), None, None
        elif action == Actions.COMPARE and before is not None:
            compared, since = world.now_s, None
        elif action in (Actions.END_CHANGED, Actions.END_LEFT_ALONE) and before is not None:
            instants = {} if compared is None else {"r": compared}
            world.status.end_push(before, ["r"] if action == Actions.END_CHANGED else [], world.now_s, instants)
            before, unseen = None, unseen if since is None else since
    if before is not None:
        world.status.end_push(before, ["r"], world.now_s)
    world.until(world.now_s + 2 * LONGEST_INTERVAL_S)
    if unseen is not None:
        assert any(instant >= unseen for instant in [*reads, *world.checked_at_s]), "a change was lost"
    apart = [after - earlier for earlier, after in zip(world.checked_at_s, world.checked_at_s[1:], strict=False)]
    assert all(gap >= FIRST_INTERVAL_S for gap in apart)
    checks = len(world.checked_at_s)
    world.until(world.now_s + 200)
    assert len(world.checked_at_s) == checks, "a device that is quiet is not asked for again"


@given(st.lists(st.tuples(st.floats(0, 10), st.booleans()), min_size=1, max_size=30))
def test_own_pushes_alone_are_never_checked(script: list[tuple[float, bool]]) -> None:
    world = Simulated()
    for took_s, fails in script:
        before = world.status.begin_push(["r"], world.now_s)
        world.tell()
        world.until(world.now_s + took_s)
        world.tell()
        compared = {} if fails else {"r": world.now_s}
        world.until(world.now_s + took_s)
        world.status.end_push(before, None if fails else ["r"], world.now_s, compared)
        world.until(world.now_s + took_s)
    world.until(world.now_s + 100)
    assert world.checked_at_s == []


def test_the_work_of_a_device_is_kept_apart_from_the_others() -> None:
    status = LoopStatus()
    status.begin_reading(["a", "b"], 1)
    before = status.begin_push(["a", "b"], 2)
    assert status.work["a"].push_ended_s == math.inf
    status.end_push(before, ["a"], 3)
    assert status.work == {"a": Work(1, 2, 3), "b": replace(Work(), read_s=1)}
