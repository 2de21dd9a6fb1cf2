"""Cases that policies are tried with: who asks which verb, and what should come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any

from slotcar.base.located_yaml import Document
from slotcar.base.problems import InvalidInput, Problem
from slotcar.policy.asking import owner_of, verdict_on
from slotcar.policy.caller import Caller, Role
from slotcar.policy.delegating import Delegation, verdict_by
from slotcar.policy.reading import rights
from slotcar.policy.site import Site
from slotcar.policy.verdict import Verdict

_NEEDED = {"who", "role", "verb", "expect"}
_KEYS = ("who", "role", "owner", "verb", "of", "delegated_by", "may", "expect")
#: Policies are told how long a delegation still runs, and no other time.
_GIVEN_AT = datetime(2000, 1, 1, tzinfo=UTC)
PERMIT, FORBID = "permit", "forbid"


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """One case, with its line.

    Attributes:
        of: whose reservation the verb is about; None for the controller.
        delegated_by: who handed it on, where somebody did. may: the rights of that delegation, with commas between them.
    """

    line: int
    who: str
    role: Role
    verb: str
    expect: str
    owner: str | None = None
    of: str | None = None
    delegated_by: str | None = None
    may: str = ""

    @property
    def delegation(self) -> Delegation | None:
        """Of which an hour is left."""
        if self.delegated_by is None:
            return None
        rights = tuple(one.strip() for one in self.may.split(","))
        return Delegation(self.who, rights, _GIVEN_AT + timedelta(hours=1), self.delegated_by, _GIVEN_AT)


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What came of a case: whether it was permitted, and by which policy, or why not."""

    case: PolicyCase
    permitted: bool
    reason: str

    @property
    def is_as_expected(self) -> bool:
        return self.permitted == (self.case.expect == PERMIT)


def outcome_of(case: PolicyCase, site: Site) -> CaseOutcome:
    """Asks the policies of the site."""
    caller = site.caller(case.who, case.role, case.owner)
    verdict = _verdict(case, caller, site)
    if verdict.allowed:
        return CaseOutcome(case, True, ", ".join(rule.name for rule in verdict.by))
    words = {
        "who": case.who,
        "what": case.verb,
        "role": case.role.value,
        "owner": owner_of(caller),
        "of": case.of or "",
    }
    return CaseOutcome(case, False, verdict.sentence(words))


def _verdict(case: PolicyCase, caller: Caller, site: Site) -> Verdict:
    verdict = verdict_on(caller, case.verb, case.of)
    if verdict.allowed or case.delegation is None or case.of is None:
        return verdict
    return verdict_by(case.delegation, caller, case.verb, case.of, site, _GIVEN_AT)[0]


def cases_of(document: Document) -> tuple[PolicyCase, ...]:
    """
    Raises:
        InvalidInput: with everything that is wrong, by line.
    """
    problems = list(document.problems)
    if not isinstance(document.data, list):
        raise InvalidInput([*problems, Problem(document.file, 1, "", "is no list of cases")])
    cases = []
    for number, one in enumerate(document.data):
        line = document.line(f"[{number}]")
        wrong = _wrong_with(one)
        if wrong:
            problems.append(Problem(document.file, line, f"[{number}]", wrong, "", f"keys are {', '.join(_KEYS)}"))
        else:
            cases.append(PolicyCase(line, **{**one, "role": Role(one["role"])}))
    if problems:
        raise InvalidInput(problems)
    return tuple(cases)


def _wrong_with(case: Any) -> str:
    if not isinstance(case, Mapping) or not set(case) >= _NEEDED or set(case) - set(_KEYS):
        return f"is no case with {', '.join(sorted(_NEEDED))}"
    if not all(isinstance(value, str) for value in case.values()):
        return "has what is no text"
    if "delegated_by" in case and not {"may", "of"} <= set(case):
        return "is of a delegation, and needs `may`, its rights, and `of`, whose reservation it is"
    if case["role"] not in set(Role):
        return f"has no role of {', '.join(Role)}"
    if case["verb"] not in (known := {*rights(), *rights().values(), "plan"}):
        near = get_close_matches(case["verb"], sorted(known), n=2)
        return f"has no verb or right{f'; perhaps {near[0]}' if near else ''}"
    return "" if case["expect"] in (PERMIT, FORBID) else f"expects neither {PERMIT} nor {FORBID}"
