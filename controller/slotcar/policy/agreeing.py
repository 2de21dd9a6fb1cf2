"""The question whether an SLS may be agreed on with a neighbour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slotcar.base.timebase import Window
from slotcar.policy.asking import owner_of, principal_of
from slotcar.policy.caller import Caller
from slotcar.policy.questions import Question, entity, integer, named
from slotcar.policy.reserving import UNLIMITED
from slotcar.policy.verdict import NotAllowed

ACTION = "agree_sls"


@dataclass(frozen=True, slots=True)
class WantedSls:
    """An SLS as policies see it.

    Attributes:
        in_force_bps: the rate in force; 0 of an opening. domain: what was agreed with the caller's; see the schema.
    """

    name: str
    upstream: str
    downstream: str
    service: str
    rate_bps: int
    window: Window
    is_opening: bool
    is_end: bool
    in_force_bps: int
    domain: Mapping[str, Any]


def require_agreeable(caller: Caller, wanted: WantedSls, now: datetime) -> None:
    """
    Raises:
        NotAllowed: the site's policies do not let the caller agree on it.
    """
    who, entities = principal_of(caller)
    entities.append(entity(("Sls", wanted.name)))
    if caller.member_of.domain is not None:
        entities.append(entity(("Domain", caller.member_of.domain), **{**UNLIMITED, **wanted.domain}))
    context = {
        "rate_bps": integer(wanted.rate_bps),
        "service": named("Service", wanted.service),
        "upstream": named("Domain", wanted.upstream),
        "downstream": named("Domain", wanted.downstream),
        "duration_s": int(wanted.window.duration.total_seconds()),
        "notice_s": max(int((wanted.window.start - now).total_seconds()), 0),
        "is_opening": wanted.is_opening,
        "is_end": wanted.is_end,
        "in_force_bps": integer(wanted.in_force_bps),
    }
    verdict = caller.policies.decide(Question(who, ACTION, ("Sls", wanted.name), entities, context))
    if not verdict.allowed:
        verb = "open" if wanted.is_opening else "end" if wanted.is_end else "change"
        words = {"who": caller.name, "what": f"{verb} the SLS {wanted.name}", "role": caller.role.value}
        raise NotAllowed(verdict.sentence({**words, "owner": owner_of(caller), "of": ""}))
