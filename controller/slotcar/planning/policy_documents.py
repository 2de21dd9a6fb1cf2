"""What policies said of requests, as documents."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.base.timebase import iso
from slotcar.book.rules.roles import may_overview
from slotcar.planning.policy_answers import PolicyAnswer, PolicyDecision, PolicyDifference
from slotcar.planning.policy_replay import PastRequest
from slotcar.policy.caller import Caller
from slotcar.policy.reading import PolicyRule
from slotcar.policy.reserving import Total
from slotcar_client.wire import documents


def why_document(
    request: PastRequest, then: PolicyDecision, now: PolicyDecision, caller: Caller
) -> documents.PolicyWhy:
    owner, name = request.entry.reservation.key
    recorded = request.policy_event.policies if request.policy_event else ()
    return {
        "handle": request.event.handle or "",
        "owner": owner,
        "name": name,
        "actor": request.actor,
        "delegated_by": str((request.kept or {}).get("as", "")),
        "event": request.event.sequence,
        "is_change": request.is_change,
        "permitted": request.permitted,
        "recorded": list(recorded),
        "then": decision_document(then, caller),
        "now": decision_document(now, caller),
    }


def decision_document(decision: PolicyDecision, caller: Caller) -> documents.PolicyDecision:
    """What others of a community have is told to who sees all owners."""
    whole = may_overview(caller)
    return {
        "at": iso(decision.at),
        "permitted": decision.permitted,
        "answers": [_answer(one) for one in decision.answers],
        "totals": _totals({of: one for of, one in decision.totals.items() if whole or of == "owner"}),
        "largest_bps": decision.largest_bps,
    }


def difference_document(one: PolicyDifference) -> documents.PolicyDifference:
    """One request of the past that would be decided otherwise."""
    owner, name = one.request.entry.reservation.key
    return {
        "event": one.request.event.sequence,
        "at": iso(one.request.event.at),
        "handle": one.request.event.handle or "",
        "owner": owner,
        "name": name,
        "actor": one.request.actor,
        "is_change": one.request.is_change,
        "rate_bps": one.request.entry.amount.rate_bps,
        "was_permitted": one.was.permitted,
        "would_be_permitted": one.would_be.permitted,
        "policies": list(one.would_be.policies),
        "sentence": one.would_be.sentence or one.was.sentence,
        "totals": _totals(one.would_be.totals),
    }


def policy_document(rule: PolicyRule) -> documents.DecidingPolicy:
    """What `@otherwise` says is told of a permit that does not apply alone."""
    unsaid = ("id", "otherwise", "quota", "share")
    annotations = {key: text for key, text in rule.annotations.items() if text and key not in unsaid}
    return {
        "name": rule.name,
        "effect": "permit" if rule.permits else "forbid",
        "file": rule.statement.file.rpartition("/")[2],
        "line": rule.statement.line,
        "says": " ".join(annotations.values()),
    }


def _answer(answer: PolicyAnswer) -> documents.PolicyAnswer:
    verdict = answer.verdict
    return {
        "action": answer.action,
        "permitted": verdict.allowed,
        "policies": [policy_document(rule) for rule in verdict.by],
        "nearest": [{"name": near.rule.name, "failed": list(near.failed)} for near in verdict.nearest],
        "sentence": answer.sentence,
    }


def _totals(totals: Mapping[str, Total]) -> list[documents.PolicyTotal]:
    return [
        {"of": of, "reservations": one.reservations, "peak_bps": one.peak_bps, "volume_bits": one.volume_bits}
        for of, one in totals.items()
    ]
