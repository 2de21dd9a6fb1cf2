"""The operator's rules about a plan as a whole, as the ledger will ask them when it is applied. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from slotcar.ledger.model import Entry
from slotcar.planning.matching import live
from slotcar.planning.step import PlanStep
from slotcar.policy.flows import check_flows
from slotcar.policy.policy import Policy
from slotcar.policy.quotas import Usage, check_quota


def check_plan(
    steps: Sequence[PlanStep],
    before: Sequence[Entry],
    after: Sequence[Entry],
    policy: Policy,
    now: datetime,
    *,
    name_other: bool,
) -> None:
    """
    Raises:
        RefusedByPolicy: a step of the plan that has room is against a rule.
    """
    keys = set()
    for step in steps:
        if step.routed is None or step.refusal:
            continue
        old = step.entry
        policy.endpoints.check(step.routed.reservation, step.routed.paths)
        policy.check_horizon(step.routed.reservation, now, old.reservation if old else None)
        keys.add(step.key)
    by_pair: dict[str, list[Entry]] = {}
    for entry in live(after, now):
        for pair in entry.pairs:
            by_pair.setdefault(pair, []).append(entry)
    for entry in live(after, now):
        if entry.reservation.key in keys:
            others = {other.handle: other for pair in entry.pairs for other in by_pair[pair]}
            claims = [claim for other in others.values() for claim in other.claims]
            for own in entry.claims:
                check_flows(own, claims, now, name_other=name_other)
    for owner in {key[0] for key in keys}:
        check_quota(owner, policy.quota_of(owner), _usage(before, owner, now), _usage(after, owner, now))


def _usage(entries: Iterable[Entry], owner: str, now: datetime) -> Usage:
    own = (one for one in live(entries, now) if one.reservation.owner == owner)
    return sum((one.usage for one in own), Usage())
