"""What each verb asks of the reservation that it is done to, and whether holds that ran out are ended before it.

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
        states: those of which one is needed; None where it is done to no reservation that is there, or to any.
        minds_holds: a hold that ran out is over for it, whether or not somebody swept it away.
    """

    states: frozenset[RuleState] | None = None
    minds_holds: bool = False


_FIRM: frozenset[RuleState] = frozenset({State.COMMITTED, PseudoState.CHANGE_WAITS})
_LIVE: frozenset[RuleState] = frozenset({State.HELD, State.AWAITING_APPROVAL, *_FIRM})
_WAITING: frozenset[RuleState] = frozenset({State.AWAITING_APPROVAL, PseudoState.CHANGE_WAITS})
_HELD: frozenset[RuleState] = frozenset({State.HELD})
_READS, _LOOKS_FOR_ROOM = VerbRule(), VerbRule(minds_holds=True)

RULES: Mapping[type[Verb[Any]], VerbRule] = {
    **dict.fromkeys((verbs.Modify, verbs.Bind, verbs.Cancel, verbs.GroupCancel), VerbRule(_LIVE, True)),
    **dict.fromkeys((verbs.Commit, verbs.Extend, verbs.GroupCommit), VerbRule(_HELD, True)),
    **dict.fromkeys((verbs.Approve, verbs.Reject, verbs.GroupApprove, verbs.GroupReject), VerbRule(_WAITING, True)),
    verbs.Progress: VerbRule(_FIRM, True),
    verbs.Addable: VerbRule(_LIVE, True),
    **dict.fromkeys((verbs.Create, verbs.GroupCreate, verbs.GroupCreateAll, verbs.Apply), _LOOKS_FOR_ROOM),
    **dict.fromkeys((verbs.Enquire, verbs.Resources, verbs.Costs), _LOOKS_FOR_ROOM),
    **dict.fromkeys(
        (
            verbs.Connect,
            verbs.ConnectFurther,
            verbs.ShowTicket,
            verbs.CommitConnection,
            verbs.ModifyConnection,
            verbs.EndConnection,
        ),
        _LOOKS_FOR_ROOM,
    ),
    **dict.fromkeys((verbs.ConnectionStatus, verbs.Connections, verbs.Domains), _READS),
    **dict.fromkeys((verbs.Status, verbs.List, verbs.Group, verbs.GroupList, verbs.PolicyWhy), _READS),
    **dict.fromkeys((verbs.Whoami, verbs.Endpoints, verbs.Services, verbs.Limits), _READS),
    **dict.fromkeys((verbs.Timeline, verbs.Events, verbs.Boundaries, verbs.Boundary, verbs.Usage), _READS),
    **dict.fromkeys(
        (verbs.Controller, verbs.Configurations, verbs.Network, verbs.DeviceStates, verbs.Revisions), _READS
    ),
    **dict.fromkeys((verbs.ReservationUsage, verbs.CountedUsage, verbs.UnusedReservations, verbs.LinkUsage), _READS),
    **dict.fromkeys((verbs.Closest, verbs.Gather, verbs.EstimateAccuracy), _READS),
    **dict.fromkeys((verbs.RecordTransfer, verbs.RecordProbe), _READS),
    **dict.fromkeys((verbs.Difference, verbs.Holds, verbs.Hold, verbs.Release), _READS),
    **dict.fromkeys((verbs.WebhookAdd, verbs.WebhookList, verbs.WebhookRemove, verbs.WebhookTest), _READS),
    **dict.fromkeys((verbs.WebhookDeadLetters, verbs.WebhookRedeliver), _READS),
}


def allows(verb: type[Verb[Any]], state: State, *, change_waits: bool = False) -> bool:
    """Whether a verb may be done to a reservation in a state; `change_waits`: a change of it waits for approval."""
    states = RULES[verb].states
    return states is None or (PseudoState.CHANGE_WAITS if change_waits else state) in states
