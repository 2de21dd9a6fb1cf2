"""Questions about a reservation's owner, whoever asks for it: ends, hosts and processes, quotas, the gate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from slotcar.policy.asking import CONTROLLER
from slotcar.policy.policies import Policies
from slotcar.policy.questions import MOST, Question, entity, integer, named
from slotcar.policy.verdict import Verdict

USE_ENDPOINT, CLAIM_HOST, BIND_PROCESSES = "use_endpoint", "claim_host", "bind_processes"
HAVE, GO_AHEAD = "have", "go_ahead"


def on_endpoint(
    policies: Policies,
    action: str,
    owner: str,
    place: str,
    owners: Collection[str] | None,
    accounts: Sequence[str] = (),
    **context: Any,
) -> Verdict:
    """Whether the owner may use an address, claim a host or bind processes there.

    Args:
        owners: those that the inventory names; None where it names nobody. accounts: of this owner there.
        context: see the schema.
    """
    known = frozenset(owners) if owners is not None else None
    key = (
        action,
        owner,
        place,
        known,
        tuple(accounts),
        tuple(sorted((name, repr(one)) for name, one in context.items())),
    )

    def question() -> Question:
        about = entity(
            ("Endpoint", place),
            is_owned=known is not None,
            owners=[named("Owner", one) for one in sorted(known or ())],
            accounts=list(accounts),
        )
        return Question(("Owner", owner), action, ("Endpoint", place), [about], context)

    return policies.decide_once(key, question)


def on_amounts(policies: Policies, action: str, owner: str, **context: Mapping[str, Any] | int | bool) -> Verdict:
    """Whether the owner may have so much together, or go ahead with it without approval; a limit that is None is beyond
    every amount."""
    question = Question(("Owner", owner), action, CONTROLLER, (), _integers(context))
    if action != GO_AHEAD:
        return policies.decide(question)
    # A plan asks it of thousands, of which many are as much as another.
    return policies.decide_once((action, owner, repr(question.context)), lambda: question)


def _integers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _integers(MOST if one is None else one) for name, one in value.items()}
    return value if isinstance(value, bool) else integer(value)
