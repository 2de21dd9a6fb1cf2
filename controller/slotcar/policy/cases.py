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
from slotcar.policy.delegating import DELEGABLE, Delegation, verdict_by
from slotcar.policy.reading import rights
from slotcar.policy.site import Site
from slotcar.policy.verdict import Verdict

_NEEDED = {"who", "role", "verb", "expect"}
_KEYS = ("who", "role", "owner", "verb", "of", "delegated_by", "may", "expect")
#: Policies are told how long a delegation still runs, and no other time.
_GIVEN_AT = datetime(2000, 1, 1, tzinfo=UTC)
PERMIT, FORBID = "permit", "forbid"
#: Rights whose verbs are about an owner's reservations.
_OF_OWNERS = ("see", "change", "plan")
_UNDER_THE_LOCK = ("reserve", "use_share", "have", "go_ahead", "use_endpoint", "claim_host", "bind_processes")


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
    if not isinstance(case, Mapping):
        return "is no mapping"
    if unknown := sorted(str(key) for key in set(case) - set(_KEYS)):
        return f"has {', '.join(unknown)}, which is not known"
    if missing := [key for key in _KEYS if key in _NEEDED - set(case)]:
        return f"has no {', '.join(missing)}"
    if not all(isinstance(value, str) for value in case.values()):
        return "has what is no text"
    return _wrong_word(case) or _wrong_verb(case) or _wrong_delegation(case)


def _wrong_word(case: Mapping[str, str]) -> str:
    if case["role"] not in set(Role):
        return f"has the role {case['role']}; roles are {', '.join(Role)}"
    wrong = case["expect"] not in (PERMIT, FORBID)
    return f"expects {case['expect']}, which is neither {PERMIT} nor {FORBID}" if wrong else ""


def _wrong_verb(case: Mapping[str, str]) -> str:
    verb = case["verb"]
    if verb in _UNDER_THE_LOCK:
        words = (
            "is decided with the reservation itself: `slotcar policy diff` and `why` say it of requests of the past"
        )
        return f"has the verb {verb}, which {words}"
    if verb not in (known := {*rights(), *rights().values(), "plan"}):
        near = get_close_matches(verb, sorted(known), n=2)
        return f"has the verb {verb}, which is neither a verb nor a right{f'; perhaps {near[0]}' if near else ''}"
    is_owners = rights().get(verb, verb) in _OF_OWNERS
    if is_owners and "of" not in case:
        return f"has no `of`: {verb} is about an owner's reservations"
    return "" if is_owners or "of" not in case else f"has `of`, but {verb} is about the controller: leave `of` out"


def _wrong_delegation(case: Mapping[str, str]) -> str:
    if not {"delegated_by", "may"} & set(case):
        return ""
    if not {"delegated_by", "may", "of"} <= set(case):
        return "is of a delegation, and needs `delegated_by`, `may`, its rights, and `of`, whose reservation it is"
    wrong = [one for one in map(str.strip, case["may"].split(",")) if one not in DELEGABLE]
    return f"may {', '.join(wrong)}, which is no right to hand on; rights are {', '.join(DELEGABLE)}" if wrong else ""
