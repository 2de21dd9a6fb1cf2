"""What each verb asks of the reservation that it is done to, where it leads, and whether holds that ran out end before it.

Its right is said by the policies that ship (`slotcar.policy.reading.rights`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slotcar_client.wire import verbs
from slotcar_client.wire.states import State
from slotcar_client.wire.verbs import Verb


class PseudoState(StrEnum):
    """As good as a state: of a committed reservation, a change waits for approval."""

    CHANGE_WAITS = "change-waits"


RuleState = State | PseudoState


@dataclass(frozen=True, slots=True)
class VerbRule:
    """
    Attributes:
        moves: by the states of which one is needed, those that it may lead to; None where it is done to no reservation
            that is there, or to any.
        begins: the states that a reservation may have which it makes.
        minds_holds: a hold that ran out is over for it, whether or not somebody swept it away.
    """

    moves: Mapping[RuleState, frozenset[RuleState]] | None = None
    minds_holds: bool = False
    begins: frozenset[RuleState] = frozenset()

    @property
    def states(self) -> frozenset[RuleState] | None:
        """Those of which one is needed."""
        return None if self.moves is None else frozenset(self.moves)


_LIVE: tuple[RuleState, ...] = (State.HELD, State.AWAITING_APPROVAL, State.COMMITTED, PseudoState.CHANGE_WAITS)


def _to(*states: RuleState) -> frozenset[RuleState]:
    return frozenset(states)


_STAYS = {state: _to(state) for state in _LIVE}
_FIRM = {state: _to(state, State.ENDED) for state in (State.COMMITTED, PseudoState.CHANGE_WAITS)}
_OTHERS, _LOOKS_FOR_ROOM = VerbRule(), VerbRule(minds_holds=True)
_CREATES = VerbRule(None, True, _to(State.HELD, State.AWAITING_APPROVAL, State.COMMITTED))
#: Any change takes the place of one that waits.
_CHANGES = VerbRule(
    {
        **_STAYS,
        State.COMMITTED: _to(State.COMMITTED, PseudoState.CHANGE_WAITS),
        PseudoState.CHANGE_WAITS: _to(State.COMMITTED, PseudoState.CHANGE_WAITS),
    },
    True,
)
_CANCELS = VerbRule(dict.fromkeys(_LIVE, _to(State.CANCELLED)), True)
_COMMITS = VerbRule({State.HELD: _to(State.COMMITTED, State.AWAITING_APPROVAL)}, True)
_APPROVES = VerbRule(
    {State.AWAITING_APPROVAL: _to(State.COMMITTED), PseudoState.CHANGE_WAITS: _to(State.COMMITTED)}, True
)
_REJECTS = VerbRule(
    {State.AWAITING_APPROVAL: _to(State.REJECTED), PseudoState.CHANGE_WAITS: _to(State.COMMITTED)}, True
)

#: Of the verbs that are done to a reservation, and of those that look for room.
RULES: Mapping[type[Verb[Any]], VerbRule] = {
    verbs.Modify: _CHANGES,
    verbs.Bind: VerbRule(_STAYS, True),
    **dict.fromkeys((verbs.Cancel, verbs.GroupCancel), _CANCELS),
    **dict.fromkeys((verbs.Commit, verbs.GroupCommit), _COMMITS),
    verbs.Extend: VerbRule({State.HELD: _to(State.HELD)}, True),
    **dict.fromkeys((verbs.Approve, verbs.GroupApprove), _APPROVES),
    **dict.fromkeys((verbs.Reject, verbs.GroupReject), _REJECTS),
    verbs.Progress: VerbRule(_FIRM, True),
    verbs.Addable: VerbRule(_STAYS, True),
    **dict.fromkeys((verbs.Create, verbs.GroupCreate, verbs.GroupCreateAll), _CREATES),
    verbs.Apply: _LOOKS_FOR_ROOM,
    **dict.fromkeys((verbs.Enquire, verbs.Resources, verbs.Costs), _LOOKS_FOR_ROOM),
    **dict.fromkeys(
        (
            verbs.Connect,
            verbs.ConnectTogether,
            verbs.ConnectFurther,
            verbs.ShowTicket,
            verbs.CommitConnection,
            verbs.ModifyConnection,
            verbs.ReportConnection,
            verbs.EndConnection,
            verbs.SettleConnections,
            verbs.OpenSls,
            verbs.ChangeSls,
            verbs.EndSls,
        ),
        _LOOKS_FOR_ROOM,
    ),
    **dict.fromkeys((verbs.Delegate, verbs.Withdraw), VerbRule(_STAYS, True)),
}


def rule_of(verb: type[Verb[Any]]) -> VerbRule:
    return RULES.get(verb, _OTHERS)


def allows(verb: type[Verb[Any]], state: State, *, change_waits: bool = False) -> bool:
    """Whether a verb may be done to a reservation in a state; `change_waits`: a change of it waits for approval."""
    states = rule_of(verb).states
    return states is None or (PseudoState.CHANGE_WAITS if change_waits else state) in states
