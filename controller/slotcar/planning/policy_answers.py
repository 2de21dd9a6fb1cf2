"""What policies answer to a request of now or of the past, and what a change of them would have answered otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.book.model import Entry, Terms
from slotcar.book.permitting import AskedFor, LiveBeside, asked_for, refusal_of
from slotcar.planning.policy_replay import PastRequest, PolicyReplay
from slotcar.policy.asking import owner_of, verdict_on
from slotcar.policy.caller import Caller
from slotcar.policy.recalling import recalled
from slotcar.policy.reserving import ACTION, Total, question_of
from slotcar.policy.site import Site
from slotcar.policy.verdict import Verdict
from slotcar.store.policy_history import PolicyHistory


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """`sentence`: why it is refused; empty where it is permitted."""

    action: str
    verdict: Verdict
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """What policies say of one request: the right to ask for it, and whether it may take its place.

    Attributes:
        totals: by whose they are. largest_bps: the largest rate that is permitted; None where it is permitted, or none is.
    """

    at: datetime
    totals: Mapping[str, Total]
    answers: tuple[PolicyAnswer, ...]
    largest_bps: int | None = None

    @property
    def permitted(self) -> bool:
        return all(one.verdict.allowed for one in self.answers)

    @property
    def sentence(self) -> str:
        """Why it is refused."""
        return next((one.sentence for one in self.answers if one.sentence), "")

    @property
    def policies(self) -> tuple[str, ...]:
        """Those that decided, by name."""
        deciding = [one for one in self.answers if not one.verdict.allowed] or self.answers
        return tuple(dict.fromkeys(rule.name for one in deciding for rule in one.verdict.by))


def decision_on(
    terms: Terms,
    entry: Entry,
    caller: Caller,
    beside: LiveBeside,
    now: datetime,
    *,
    is_change: bool,
    is_hold: bool,
    attestation: str = "",
) -> PolicyDecision:
    """`entry`: in the form that is asked for. The policies are those of `terms` and of the caller."""
    site = terms.policy.reserving.site
    question = asked_for(
        terms, beside, entry, caller, now, is_change=is_change, is_hold=is_hold, attestation=attestation
    )
    right = _right(caller, "modify" if is_change else "create", question)
    verdict = site.policies.decide(question_of(caller, question.wanted, site, now))
    refusal = None if verdict.allowed else refusal_of(question, verdict, caller, site, now)
    reserve = PolicyAnswer(ACTION, verdict, str(refusal or ""))
    largest = refusal.largest_bps if refusal else None
    return PolicyDecision(now, question.wanted.totals or {}, (right, reserve), largest)


def _right(caller: Caller, verb: str, question: AskedFor) -> PolicyAnswer:
    owner = question.wanted.owner
    verdict = verdict_on(caller, verb, owner)
    words = {"who": caller.name, "what": f"{verb} a reservation of owner {owner}", "role": caller.role.value}
    sentence = "" if verdict.allowed else verdict.sentence({**words, "owner": owner_of(caller), "of": owner})
    return PolicyAnswer(verb, verdict, sentence)


def decision_then(terms: Terms, request: PastRequest, beside: LiveBeside) -> PolicyDecision:
    """Of a request of the past by the policies of `terms`, with what was live then."""
    return decision_on(
        terms, request.entry, caller_of(request, terms.policy.reserving.site), beside, request.event.at,
        is_change=request.is_change, is_hold=request.is_hold, attestation=request.attestation,
    )  # fmt: skip


def caller_of(request: PastRequest, site: Site) -> Caller:
    return recalled(request.actor, request.entry.reservation.owner, request.kept, site)


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    """A request that other policies would have decided otherwise. `was`: by those in force now, with what was live then."""

    request: PastRequest
    was: PolicyDecision
    would_be: PolicyDecision


def differences(
    terms: Terms, site: Site, history: PolicyHistory, replay: PolicyReplay, since: datetime
) -> Iterator[tuple[PastRequest, PolicyDifference | None]]:
    """Each request since then, with what would have become of it by another site's policies where that is otherwise.

    Each is asked with what was live as it was, also after one that would have been refused.
    """
    policy = terms.policy
    others = replace(terms, policy=replace(policy, reserving=replace(policy.reserving, site=site)))
    for request in replay.run(history.events):
        if request.event.at < since:
            continue
        was, would_be = (decision_then(one, request, replay.live) for one in (terms, others))
        differs = was.permitted != would_be.permitted
        yield request, PolicyDifference(request, was, would_be) if differs else None
