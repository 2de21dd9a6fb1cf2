"""Chaos can be played again, and its failing histories made short; its judge sees what is wrong."""

from __future__ import annotations

import signal
from argparse import ArgumentTypeError
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from slotcar.book.model import State
from slotcar_lab.chaos.__main__ import ROOT, Failed, Run, several
from slotcar_lab.chaos.audit import CLOCKS_S, Span, WrongClock, accounted, by_the_right_clock, unaccounted
from slotcar_lab.chaos.controllers import stop_timeout_s
from slotcar_lab.chaos.faces import Answer, answers_of, judge_faces
from slotcar_lab.chaos.gate import TASKS
from slotcar_lab.chaos.judge import (
    CANCEL_S,
    OUTSIDE_S,
    PARTIAL_S,
    Cause,
    End,
    Sample,
    Slot,
    judge,
    judge_end,
    never_happened,
    quiet_since,
    was_active,
)
from slotcar_lab.chaos.round import _slot as entry_slot
from slotcar_lab.chaos.script import FAULTS, HOUR_S, IN_A_PUSH, THAT_LAST, pace_of, script
from slotcar_lab.chaos.shrink import shrunk
from slotcar_lab.chaos.timing import IN_VIRTUAL_TIME
from slotcar_lab.chaos.watch import looks
from slotcar_lab.errors import LabError

ROUTERS = ("left", "right")
SLOT = Slot("r0-0", 6000, 100.0, 200.0)


def samples_at(at_s: float, *carriers: str) -> list[Sample]:
    """Both routers were asked at that second; these carried the slot."""
    return [Sample(at_s, name, frozenset({6000} if name in carriers else ())) for name in ROUTERS]


def test_a_round_is_a_function_of_its_seed_and_its_number() -> None:
    assert script(7, 3) == script(7, 3)
    assert script(7, 3) != script(7, 4)
    assert script(8, 3) != script(7, 3)


def test_a_slow_machine_has_the_same_round_at_another_pace() -> None:
    fast, slow = script(7, 3), script(7, 3, pace_of(20.0))
    assert sorted(action.kind for action in fast) == sorted(action.kind for action in slow)
    assert [4 * action.at_s for action in fast] == pytest.approx([action.at_s for action in slow], abs=0.5)
    assert script(7, 3, pace_of(1.0)) == fast


@pytest.mark.parametrize(("pace", "least_s"), [(1.0, 3), (0.1, 1)])
def test_no_reservation_is_asked_to_begin_at_once(pace: float, least_s: int) -> None:
    actions = [action for number in range(300) for action in script(7, number, pace) if action.kind == "create"]
    seconds = [int(action.words["start"].removeprefix("now + ").removesuffix(" s")) for action in actions]
    assert min(seconds) == least_s
    assert min(int(action.words["duration"].removesuffix(" s")) for action in actions) >= 1


def test_every_kind_of_fault_is_drawn_twice_in_as_many_rounds_as_two_times_the_kinds() -> None:
    for seed in range(20):
        drawn = Counter(action.kind for number in range(2 * len(FAULTS)) for action in script(seed, number))
        assert all(drawn[kind] >= 2 for kind in FAULTS)
    assert {"create", "modify", "cancel", *FAULTS} == set(drawn)


def test_a_fault_that_lasts_says_how_long_and_a_clock_is_an_hour_wrong_either_way() -> None:
    actions = [action for number in range(300) for action in script(7, number, 2.0)]
    lasting = [action for action in actions if "for_s" in action.words]
    assert {action.kind for action in lasting} == set(THAT_LAST)
    assert {10 <= int(action.words["for_s"]) <= 40 for action in lasting} == {True}
    assert {int(action.words["ahead_s"]) for action in actions if "clock" in action.kind} == {-HOUR_S, HOUR_S}


def test_a_fault_that_may_strike_within_a_push_is_before_one_of_its_tasks_or_between_pushes() -> None:
    drawn = [action for number in range(300) for action in script(7, number)]
    assert {action.kind for action in drawn if "task" in action.words} == set(IN_A_PUSH)
    assert {action.words["task"] for action in drawn if "task" in action.words} == {"1", "2", "3", "4"}
    assert {action.kind for action in drawn if "task" not in action.words} >= set(IN_A_PUSH)


def test_a_push_of_routers_has_the_tasks_that_faults_are_placed_before() -> None:
    (play,) = yaml.safe_load((ROOT / "playbooks" / "push-linux.yml").read_text())
    assert len(play["tasks"]) == TASKS


def test_a_long_run_in_which_a_kind_of_fault_never_happened_is_told() -> None:
    happened = {kind: 1 for kind in FAULTS if kind != "fill-disk"}
    assert never_happened(happened | {"fill-disk": 0}, FAULTS, 2 * len(FAULTS)) == ["fill-disk"]
    assert never_happened(happened, FAULTS, 2 * len(FAULTS)) == ["fill-disk"]
    assert never_happened(happened, FAULTS, 2 * len(FAULTS) - 1) == []
    assert never_happened(happened | {"fill-disk": 1}, FAULTS, 2 * len(FAULTS)) == []


@pytest.mark.parametrize("state", State)
def test_an_entry_is_expected_on_its_routers_to_its_end_while_it_may_be(state: State) -> None:
    window = {"start": "1970-01-01T00:01:40Z", "end": "1970-01-01T00:03:20Z"}
    reservation = {"name": "r0-0", "windows": [window], "destination": {"port": 6000}}
    slot = entry_slot({"reservation": reservation, "state": state.value, "changed_at": "1970-01-01T00:01:00Z"})
    alive = state in (State.HELD, State.AWAITING_APPROVAL, State.COMMITTED)
    assert (slot.start_s, slot.end_s, slot.cancelled_s) == (100, 200, None if alive else 60)


@pytest.mark.parametrize(
    ("end", "problems"),
    [
        (End("a", Cause.KILLED, -signal.SIGKILL, processes=("ansible-playbook",), folders=("slotcar-run-1",)), []),
        (End("a", Cause.STOPPED, 0, took_s=3.0), []),
        (End("a", Cause.STOPPED, 128 + signal.SIGTERM, took_s=3.0), []),
        (End("a", Cause.STOPPED, 1, took_s=3.0), ["a was told to stop and ended with status 1"]),
        (
            End("a", Cause.STOPPED, -signal.SIGTERM, took_s=3.0),
            ["a was told to stop and ended with status -15"],
        ),
        (End("a", Cause.STOPPED, -signal.SIGKILL, took_s=31.0), ["a was told to stop and still ran after 30 s"]),
        (
            End("a", Cause.STOPPED, 0, processes=("ansible-playbook x",), folders=("slotcar-run-1",)),
            [
                "a has ended, and what it had started runs on: ansible-playbook x",
                "a has ended and left the folder slotcar-run-1 of a play behind",
            ],
        ),
        (End("a", Cause.ITSELF, 1), []),
        (
            End("a", Cause.ITSELF, 0),
            ["a ended by itself with status 0: its supervisor would not start it again"],
        ),
    ],
    ids=[
        "killed",
        "stopped",
        "told-twice",
        "failed-to",
        "by-the-signal",
        "not-in-time",
        "not-drained",
        "failed",
        "vanished",
    ],
)
def test_an_end_of_a_controller_is_told_where_it_is_not_as_it_should_be(end: End, problems: list[str]) -> None:
    assert judge_end(end) == problems


def test_a_supervisor_waits_as_long_as_the_unit_says() -> None:
    assert stop_timeout_s() > 0


@given(st.sets(st.integers(0, 19), min_size=1, max_size=4))
def test_what_is_left_is_what_makes_it_fail(guilty: set[int]) -> None:
    left = shrunk(range(20), lambda history: guilty <= set(history), lambda: True)
    assert left == sorted(guilty)


def test_without_time_the_history_stays_as_it_is() -> None:
    assert shrunk([1, 2, 3], lambda _: True, lambda: False) == [1, 2, 3]


def test_a_slot_in_its_window_on_both_routers_is_in_order() -> None:
    samples = [*samples_at(99), *samples_at(101, *ROUTERS), *samples_at(199, *ROUTERS), *samples_at(201)]
    assert judge(samples, [SLOT], ROUTERS) == []


def test_a_slot_outside_of_its_window_is_told_with_how_far() -> None:
    late = 200.0 + OUTSIDE_S + 1
    (problem, *_) = judge([*samples_at(150, *ROUTERS), *samples_at(late, "left")], [SLOT], ROUTERS)
    assert problem == f"r0-0 is on left {OUTSIDE_S + 1:.1f} s outside of its window"
    assert "outside" in judge(samples_at(100.0 - OUTSIDE_S - 1, *ROUTERS), [SLOT], ROUTERS)[0]


def test_a_slot_on_one_router_only_is_told_when_it_lasts() -> None:
    long = Slot("r0-0", 6000, 100.0, 500.0)
    assert judge([*samples_at(101, "left"), *samples_at(102, *ROUTERS)], [long], ROUTERS) == []
    (problem,) = judge([*samples_at(101, "left"), *samples_at(102 + PARTIAL_S, "left")], [long], ROUTERS)
    assert "on some of its routers only" in problem


def test_a_cancelled_slot_has_a_while_to_go() -> None:
    cancelled = Slot("r0-0", 6000, 100.0, 500.0, cancelled_s=150.0)
    assert judge(samples_at(151, *ROUTERS), [cancelled], ROUTERS) == []
    assert judge(samples_at(150 + CANCEL_S + OUTSIDE_S + 1, *ROUTERS), [cancelled], ROUTERS)


@pytest.mark.parametrize(("pace", "while_s"), [(0.5, CANCEL_S), (1.0, CANCEL_S), (2.5, 2.5 * CANCEL_S)])
def test_that_while_is_stretched_as_the_faults_in_it_are(pace: float, while_s: float) -> None:
    cancelled = Slot("r0-0", 6000, 100.0, 500.0, cancelled_s=150.0, pace=pace)
    assert judge(samples_at(150 + while_s, *ROUTERS), [cancelled], ROUTERS) == []
    assert judge(samples_at(150 + while_s + OUTSIDE_S + 1, *ROUTERS), [cancelled], ROUTERS)


def test_what_the_ledger_does_not_know_is_told() -> None:
    assert judge(samples_at(150, "left"), [], ROUTERS) == ["left carries port 6000, of which the ledger knows nothing"]


def test_a_slot_was_active_when_all_of_its_routers_were_seen_with_it() -> None:
    assert was_active(SLOT, [*samples_at(101, "left"), *samples_at(102, "right")], ROUTERS)
    assert not was_active(SLOT, samples_at(101, "left"), ROUTERS)
    assert not was_active(SLOT, [], ROUTERS)


def event(kind: str, second: int, **details: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "at": datetime.fromtimestamp(second, UTC).isoformat(),
        "device": "left",
        "details": details,
    }


STARTED = event("push.started", 100, revision="one")
ARMED = event("push.armed", 104, revision="one", at="1970-01-01T00:05:00Z", until="1970-01-01T00:06:00Z")


def test_a_push_accounts_for_what_changes_until_its_outcome() -> None:
    assert accounted([STARTED, event("push.verified", 104, revision="one")]) == [Span("left", 100, 104, "push one")]
    assert accounted([STARTED, event("push.verified", 104, revision="two")]) == accounted([STARTED])


def test_a_push_that_nobody_ended_accounts_for_a_while() -> None:
    (span,) = accounted([STARTED])
    assert span.until_s == 100 + PARTIAL_S


def test_what_was_armed_accounts_for_its_own_time() -> None:
    assert accounted([ARMED]) == [Span("left", 300, 360 + OUTSIDE_S, "armed by push one")]


def test_a_boundary_that_routers_are_armed_for_accounts_for_it_if_it_was_announced_before() -> None:
    """The database was read-only when the push ended: the next controller read the routers and announced the boundary."""
    at = datetime.fromtimestamp(300, UTC).isoformat()
    ahead, late = (
        {**event("boundary.staged", at_s, revision="", at=at, devices=["left", "right"]), "device": None}
        for at_s in (280, 301)
    )
    why = f"armed for the boundary at {at}"
    assert accounted([ahead]) == [Span(name, 300, 300 + OUTSIDE_S, why) for name in ("left", "right")]
    assert accounted([late]) == []


@pytest.mark.parametrize("ahead_s", [-HOUR_S, HOUR_S])
def test_what_a_controller_with_a_wrong_clock_wrote_is_taken_for_when_it_happened(ahead_s: int) -> None:
    began = 2 * HOUR_S
    events = [event("push.started", began + second, revision="one") for second in (10, 20 + ahead_s, 31 + ahead_s)]
    wrong = [WrongClock(began + 15.0, began + 30.0, ahead_s)]
    begun = [span.since_s for one in by_the_right_clock(events, wrong) for span in accounted([one])]
    assert begun == [began + 10, began + 20, began + 31 + ahead_s]


@pytest.mark.parametrize(
    ("changed_s", "router", "count"),
    [
        (101.0, "left", 0),
        (104.0 + CLOCKS_S, "left", 0),
        (105.0 + CLOCKS_S, "left", 1),
        (101.0, "right", 1),
    ],
    ids=["in-a-push", "by-another-clock", "after-it", "another-router"],
)
def test_a_change_of_which_the_audit_log_knows_nothing_is_told(changed_s: float, router: str, count: int) -> None:
    samples = [*samples_at(changed_s - 1), *samples_at(changed_s, router)]
    spans = accounted([STARTED, event("push.verified", 104, revision="one")])
    problems = unaccounted(samples, spans)
    assert len(problems) == count
    assert all(f"says why {router} changed (+6000)" in one for one in problems)


def test_between_changes_a_router_has_what_it_had() -> None:
    came, went = Sample(10.0, "left", frozenset({6000})), Sample(11.2, "left", frozenset())
    states = [(look.at_s, bool(look.ports)) for look in looks([came, went], until_s=11.5)]
    assert states == [(10.0, True), (10.5, True), (11.0, True), (11.2, True), (11.2, False), (11.5, False)]
    assert looks([], until_s=5.0) == []


def test_what_never_goes_is_outside_of_its_window_to_the_end() -> None:
    stays = [looks([Sample(150.0, router, frozenset({6000}))], 200 + OUTSIDE_S + 1) for router in ROUTERS]
    assert judge([look for looked in stays for look in looked], [SLOT], ROUTERS)


def in_place(verified_s: float, at_s: float = 130.0, router: str = "r1", port: int = 6001) -> Answer:
    return Answer(at_s, "cms", port, router, verified_s)


def test_what_was_said_to_be_in_place_must_have_been_there_when_it_was_read_back() -> None:
    changes = [
        Sample(0.0, "r1", frozenset()),
        Sample(100.0, "r1", frozenset({6001})),
        Sample(120.0, "r1", frozenset()),
    ]
    samples = looks(changes, 200.0)
    assert judge_faces([in_place(110.0)], samples, ["r1"]) == [], "what it lost since nobody has read"
    assert judge_faces([in_place(100.0 - CLOCKS_S / 2)], samples, ["r1"]) == [], "two clocks do not agree better"
    never = "cms was said to be in place on r1, read back 40.0 s before, and was not"
    assert judge_faces([in_place(90.0)] * 3, samples, ["r1"]) == [never], "each once"
    assert len(judge_faces([in_place(125.0)], samples, ["r1"])) == 1
    assert len(judge_faces([in_place(110.0, port=6002)], samples, ["r1"])) == 1
    assert judge_faces([in_place(90.0, router="r9")], samples, ["r1"]) == [], "nobody watched it"
    ahead = WrongClock(0.0, 200.0, 3600.0)
    assert judge_faces([in_place(3710.0)], samples, ["r1"], [ahead]) == [], "by the clock of who said it"


def test_a_faces_answer_is_of_each_router_that_it_says_to_have_the_slot() -> None:
    devices = [
        {"device": "r1", "state": "in-place", "since": "1970-01-01T00:01:40Z", "why": ""},
        {"device": "r2", "state": "unknown", "since": None, "why": ""},
    ]
    reservation = {"name": "cms", "destination": {"port": 6001}}
    entries = [{"reservation": reservation, "slot": {"devices": devices}}, {"reservation": reservation, "slot": None}]
    assert answers_of(entries, 130.0) == [in_place(100.0)]


def test_several_seeds_are_the_first_to_the_last() -> None:
    assert list(several("1..3")) == [1, 2, 3]
    assert list(several("7..7")) == [7]
    for wrong in ("3..1", "7", "a..b"):
        with pytest.raises((ValueError, ArgumentTypeError)):
            several(wrong)


def test_of_several_seeds_those_that_failed_and_those_that_were_not_played_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rounds(_: Run, seed: int) -> Failed | None:
        if seed == 3:
            raise LabError("the guest hangs")
        return Failed("round 0 failed") if seed == 2 else None

    monkeypatch.setattr(Run, "rounds", rounds)
    run = Run(5.0, None, None, IN_VIRTUAL_TIME)
    assert run.several([1]) == 0
    assert run.several([1, 2, 3]) == 1
    last = capsys.readouterr().out.splitlines()[-3:]
    assert last == ["1 of 3 seeds are in order", "not in order: 2", "not played: 3"]
    assert run.several([1, 3]) == 1


def test_a_reading_before_the_last_slot_s_end_does_not_tell_that_it_is_gone() -> None:
    """Routers that act by themselves have what is wanted by a reading from before, and the slot (seed 4545, round 1)."""
    cancelled = Slot("r0-1", 6001, 100.0, 500.0, cancelled_s=150.0)
    assert quiet_since([SLOT], 199.0, 90.0) is None
    assert quiet_since([SLOT, cancelled], 201.0, 90.0) == 200.0
    assert quiet_since([cancelled], 201.0, 160.0) == 160.0
