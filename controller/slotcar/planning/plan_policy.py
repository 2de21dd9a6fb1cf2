"""The operator's rules about a plan as a whole, as the ledger will ask them when it is applied. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from slotcar.book.model import Entry
from slotcar.book.rules.flows import FlowClaim, check_flows
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Usage, check_quota
from slotcar.planning.matching import live
from slotcar.planning.step import PlanStep


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
    own: list[FlowClaim] = []
    others: list[FlowClaim] = []
    for entry in live(after, now):
        (own if entry.reservation.key in keys else others).extend(entry.claims)
    check_flows(own, others, now, name_other=name_other)
    limited = {owner for owner, _ in keys if policy.quota_of(owner).limits_something}
    used, will_use = _usages(before, limited, now), _usages(after, limited, now)
    for owner in sorted(limited):
        check_quota(owner, policy.quota_of(owner), used[owner], will_use[owner])


def _usages(entries: Iterable[Entry], owners: Collection[str], now: datetime) -> Mapping[str, Usage]:
    """What each of the owners has."""
    usages = dict.fromkeys(owners, Usage())
    for entry in live(entries, now) if owners else ():
        owner = entry.reservation.owner
        if owner in usages:
            usages[owner] += entry.usage
    return usages
