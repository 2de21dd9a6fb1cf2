"""Each verb has a rule and a right, and the rules agree with the table of states."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slotcar.book.model import TRANSITIONS, State
from slotcar.book.rules.verb_rules import PseudoState, RuleState, allows, rule_of
from slotcar.policy.reading import rights
from slotcar_client.wire import verbs
from slotcar_client.wire.verbs import VERBS, Verb


def changes_an_entry(verb: type[Verb[Any]]) -> bool:
    return verb.method != "GET" and re.match(r"/v1/(reservations|groups)/\{handle\}", verb.address) is not None


def test_every_verb_has_a_right_and_one_that_changes_an_entry_a_rule() -> None:
    assert rights().keys() >= VERBS.keys()
    changing = {verb for verb in VERBS.values() if changes_an_entry(verb)}
    assert len(changing) > 10
    assert {verb for verb in changing if rule_of(verb).moves is None or not rule_of(verb).minds_holds} == set()


@pytest.mark.parametrize("state", State)
def test_what_a_rule_allows_is_what_the_states_allow(state: State) -> None:
    following = TRANSITIONS[state]
    assert allows(verbs.Cancel, state) == allows(verbs.GroupCancel, state) == (State.CANCELLED in following)
    assert allows(verbs.Modify, state) == allows(verbs.Bind, state) == (state in following)
    assert allows(verbs.Reject, state) == allows(verbs.GroupReject, state) == (State.REJECTED in following)
    assert allows(verbs.Approve, state) == allows(verbs.GroupApprove, state)
    assert not allows(verbs.Approve, state) or State.COMMITTED in following
    assert allows(verbs.Commit, state) == allows(verbs.Extend, state) == (state is State.HELD)


def test_a_change_that_waits_is_approved_or_rejected_and_not_committed() -> None:
    committed = State.COMMITTED
    assert not allows(verbs.Approve, committed)
    assert allows(verbs.Approve, committed, change_waits=True)
    assert allows(verbs.Reject, committed, change_waits=True)
    assert not allows(verbs.Commit, committed, change_waits=True)
    assert allows(verbs.Progress, committed, change_waits=True)


def test_what_is_done_to_no_reservation_minds_no_state() -> None:
    assert all(allows(verbs.Enquire, state) for state in State)


@pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.operation)
def test_where_a_verb_leads_is_where_the_states_lead(verb: type[Verb[Any]]) -> None:
    def plain(state: RuleState) -> State:
        return State.COMMITTED if state is PseudoState.CHANGE_WAITS else State(state)

    for before, following in (rule_of(verb).moves or {}).items():
        assert {plain(after) for after in following} <= TRANSITIONS[plain(before)]


def test_the_rules_and_time_lead_wherever_the_states_lead() -> None:
    by_time = {
        (State.HELD, State.TIMED_OUT),
        (State.AWAITING_APPROVAL, State.TIMED_OUT),
        (State.COMMITTED, State.ENDED),
    }
    led = {
        (before, after)
        for rule in map(rule_of, VERBS.values())
        for before, following in (rule.moves or {}).items()
        for after in following
    }
    assert {(before, after) for before, following in TRANSITIONS.items() for after in following} <= led | by_time


@pytest.mark.parametrize("verb", [one for one in VERBS.values() if one.settles], ids=lambda verb: verb.operation)
def test_what_settles_a_lost_attempt_is_where_the_verb_leads(verb: type[Verb[Any]]) -> None:
    led = {after for following in (rule_of(verb).moves or {}).values() for after in following}
    assert set(verb.settles) == led
