"""Each verb has a rule and a right, and the rules agree with the table of states."""

from __future__ import annotations

import pytest

from slotcar.book.model import TRANSITIONS, State
from slotcar.book.rules.verb_rules import RULES, allows
from slotcar.policy.reading import rights
from slotcar_client.wire import verbs
from slotcar_client.wire.verbs import VERBS


def test_every_verb_has_a_rule_and_a_right() -> None:
    assert RULES.keys() == set(VERBS.values())
    assert rights().keys() >= VERBS.keys()


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
