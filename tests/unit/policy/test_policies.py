"""Policies are read with their places, asked with their schema, and say why they refuse."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.api.app import openapi_document
from slotcar.base.problems import InvalidInput
from slotcar.policy.asking import require, verdict_on
from slotcar.policy.caller import Caller, Memberships, Role
from slotcar.policy.owning import GO_AHEAD, HAVE, USE_ENDPOINT, on_amounts, on_endpoint
from slotcar.policy.policies import Policies, shipped_policies
from slotcar.policy.questions import Question, entity, uid
from slotcar.policy.reading import schema
from slotcar.policy.statements import Source, Statement, statements_of
from slotcar.policy.verdict import NotAllowed

LEADS = """
// Who is on duty may approve, whatever its role.
@id("duty-approves")
permit (principal in Group::"duty", action == Action::"approve", resource);

@id("no-holds-by-programs")
@refusal("{who} is a program: let a person hold a router")
forbid (principal is Program, action == Action::"hold", resource);
"""


def caller(role: Role = Role.REQUESTER, *sources: str, owner: str = "hep", **of: object) -> Caller:
    policies = Policies(Source(f"site{number}.cedar", text) for number, text in enumerate(sources))
    return Caller("cms", role, owner, member_of=Memberships(**of), policies=policies)  # type: ignore[arg-type]


def refused(who: Caller, verb: str, what: str, owner: str | None = None) -> str:
    with pytest.raises(NotAllowed) as error:
        require(who, verb, what, owner)
    return str(error.value)


def test_a_site_permits_a_single_verb_to_a_group() -> None:
    member = caller(Role.REQUESTER, LEADS, groups=frozenset({"duty"}))
    assert verdict_on(member, "approve").allowed
    assert not verdict_on(member, "reject").allowed
    assert not verdict_on(caller(Role.REQUESTER, LEADS), "approve").allowed


def test_a_forbid_says_its_sentence_or_its_name() -> None:
    program = caller(Role.OPERATOR, LEADS, is_program=True)
    named = "cms is a program: let a person hold a router (the policy no-holds-by-programs)"
    assert refused(program, "hold", "hold a router") == named
    ships = refused(caller(Role.AUDITOR, LEADS), "cancel", "cancel it", "hep")
    assert ships == "cms has the role auditor, which only reads; ask an operator"
    silent = caller(Role.OPERATOR, '@id("no-holds") forbid (principal, action == Action::"hold", resource);')
    assert refused(silent, "hold", "hold a router") == "cms may not hold a router: the policy no-holds forbids it"


def test_where_nothing_permits_the_nearest_says_which_condition_failed() -> None:
    text = """@id("premium-group")
    permit (principal in Group::"duty", action == Action::"cancel", resource)
    when { resource.owner == principal.owner && principal.name like "c*" && principal.name != "cms" };"""
    member = caller(Role.AUDITOR, text.replace('"premium-group"', '"x"'), groups=frozenset({"duty"}))
    verdict = verdict_on(replace(member, role=Role.REQUESTER, owner="astro"), "cancel", "hep")
    assert str(verdict.nearest[0]).startswith("requesters-change-their-own (roles.cedar), but not: ")
    alone = Policies([Source("roles.cedar", text)])
    nearest = verdict_on(replace(member, policies=alone), "cancel", "hep").nearest
    assert [str(near) for near in nearest] == ['premium-group (roles.cedar), but not: principal.name != "cms"']
    stranger = Caller("cms", Role.OPERATOR, "astro", policies=alone)
    assert refused(stranger, "cancel", "cancel it", "hep") == (
        "cms may not cancel it: no policy permits it; the nearest is premium-group (roles.cedar), but not:"
        ' principal in Group::"duty" and resource.owner == principal.owner and principal.name != "cms"'
    )


def test_an_error_in_an_evaluation_is_a_refusal() -> None:
    """Cedar skips a policy that it cannot evaluate, so that a `forbid` would not be heard."""
    overflow = '@id("sum") forbid (principal, action, resource) when { 9223372036854775807 + 1 > 0 };'
    operator = caller(Role.OPERATOR, overflow)
    assert "overflow" in refused(operator, "hold", "hold a router")


def test_a_question_that_the_schema_does_not_know_is_a_refusal() -> None:
    who = ("Person", "cms")
    known = [entity(who, [("Role", "operator")], name="cms", owner={"__entity": uid("Owner", "hep")})]
    policies = shipped_policies()
    ok = Question(who, "hold", ("Controller", "this"), known)
    assert policies.decide(ok).allowed
    for wrong in (
        replace(ok, action="juggle"),
        replace(ok, resource=("Planet", "earth")),
        replace(ok, context={"hour": 3}),
        replace(ok, entities=[entity(who, [("Role", "operator")], name="cms")]),
    ):
        verdict = policies.decide(wrong)
        assert not verdict.allowed
        assert verdict.errors


ABOUT_RATE = '@id("a")\nforbid (principal, action == Action::"reserve", resource)\nwhen {{ {} }};'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('\n\n@id("a") frbid (principal, action, resource);', 3, "invalid policy effect: frbid"),
        ('\n@id("a")\nforbid (principal, action, resource)\nwhen { resource.wner == principal.owner };', 4, "wner"),
        ('\n@id("a")\nforbid (principal, action == Action::"approv", resource);', 3, "approv"),
        ("// one\npermit (principal, action, resource);", 2, "a policy needs a name"),
        ('@id("a") permit (principal == ?principal, action, resource);', 1, "names no ?principal"),
        ('@id("a")\n@refusal("{whom} may not")\nforbid (principal, action, resource);', 2, "names {whom}"),
        ('@id("a") permit (principal, action, resource);\n@id("a") permit (principal, action, resource);', 2, "of another"),
        ('@id("a") permit (principal, action, resource);\nand more', 2, "more"),
        ('@id("a")\nforbid (principal, action, resource)\n@id("b")\npermit (principal, action, resource);', 1,
         "a `;` is missing at the end of the policy of line 2"),
        (ABOUT_RATE.format("context.rate > 5"), 3, "perhaps rate_bps"),
        (ABOUT_RATE.format("context.duraton_s > 5"), 3, "perhaps duration_s"),
        (ABOUT_RATE.format("context.attested.rate_bps > 5"), 3, "put `context has attested &&` before it"),
        (ABOUT_RATE.format("principal.domain == resource.asked_by"), 3, "put `principal has domain &&` before it"),
        (ABOUT_RATE.format('context.rate_bps > "5 Mbit/s"'), 1, "numbers of bit/s"),
        ('@id("a")\nforbid (principal, action == Action::"reserv", resource);', 2, "perhaps reserve"),
        ('@id("a")\nforbid (principal in Groups::"duty", action, resource);', 2, "perhaps Group"),
        ('@id("a")\n@refusl("no")\nforbid (principal, action, resource);', 2, "@refusl is not known; perhaps @refusal"),
        ('@id("quota-of-windows")\nforbid (principal, action, resource);', 1, "name the file quotas.cedar"),
    ],
)  # fmt: skip
def test_an_error_names_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Policies([Source("policies/site.cedar", text)])
    assert any(
        str(one).startswith(f"policies/site.cedar:{line}: ") and words in str(one) for one in error.value.problems
    )


def test_every_error_of_every_file_is_named_at_once() -> None:
    wrong = Source("a.cedar", "permit (;\nforbid (;"), Source("b.cedar", "permit;")
    with pytest.raises(InvalidInput) as error:
        Policies(wrong)
    assert [(one.file, one.line) for one in error.value.problems] == [("a.cedar", 1), ("a.cedar", 2), ("b.cedar", 1)]


def test_a_file_of_the_name_of_a_shipped_one_takes_its_place() -> None:
    own = Source("inventories/garnet/policies/roles.cedar", '@id("all") permit (principal, action, resource);')
    assert verdict_on(replace(caller(), policies=Policies([own])), "hold").allowed


def test_policies_are_made_again_in_another_process() -> None:
    member = caller(Role.REQUESTER, LEADS, groups=frozenset({"duty"}))
    assert verdict_on(pickle.loads(pickle.dumps(member)), "approve").allowed  # noqa: S301 - our own


@given(
    st.lists(st.sampled_from(['@id("a;b") permit (x);', "forbid (y) // no; end\n;", "// only; a comment\n z;", "\n"]))
)
def test_a_text_is_divided_where_a_policy_ends(parts: list[str]) -> None:
    text = "\n".join(parts)
    statements = list(statements_of(Source("f", text)))
    assert len(statements) == sum(part != "\n" for part in parts)
    assert all(text.splitlines()[one.line - 1].lstrip().startswith(one.text.splitlines()[0]) for one in statements)


def test_a_word_on_two_lines_is_placed_at_the_first_line() -> None:
    assert Statement("f", 5, "a\nb\nb c").line_of("b") == 5
    assert Statement("f", 5, "a\nb\nb c").line_of("c") == 7


def test_every_verb_of_the_api_is_an_action() -> None:
    paths = openapi_document()["paths"].items()
    verbs = {one["operationId"] for path, operations in paths if path.startswith("/v1") for one in operations.values()}
    actions = set(str(schema()).replace('"', "").replace(",", " ").split())
    assert {"create", "hold", "plan"} <= verbs
    assert verbs - actions == set()


def test_quotas_gate_and_owners_are_policies_that_a_site_may_replace() -> None:
    freely = Source(
        "gate.cedar", '@id("trust-hep") permit (principal == Owner::"hep", action == Action::"go_ahead", resource);'
    )
    amounts: dict[str, Any] = {
        "rate_bps": 100,
        "duration_us": 1,
        "is_more": True,
        "gate": {"rate_bps": 50, "duration_us": None},
    }
    assert not on_amounts(shipped_policies(), GO_AHEAD, "hep", **amounts).allowed
    assert on_amounts(Policies([freely]), GO_AHEAD, "hep", **amounts).allowed
    assert not on_amounts(Policies([freely]), GO_AHEAD, "astro", **amounts).allowed
    none = {"reservations": 0, "windows": 0, "holds": 0, "volume_bits": 0}
    no_limit: dict[str, int | None] = dict.fromkeys(none)
    some, beyond = none | {"reservations": 3}, none | {"volume_bits": 2**70}
    few = Source(
        "few.cedar",
        '@id("few") forbid (principal, action == Action::"have", resource) when { context.after.reservations > 2 };',
    )
    assert [
        one.name for one in on_amounts(Policies([few]), HAVE, "hep", before=none, after=some, quota=no_limit).by
    ] == ["few"]
    assert on_amounts(shipped_policies(), HAVE, "hep", before=none, after=some, quota=no_limit).allowed
    assert not on_amounts(
        shipped_policies(), HAVE, "hep", before=none, after=beyond, quota=no_limit | {"volume_bits": 5}
    ).allowed
    closed = Source(
        "closed.cedar",
        '@id("closed") forbid (principal, action == Action::"use_endpoint", resource == Endpoint::"10.0.0.1");',
    )
    for address, allowed in (("10.0.0.1", False), ("10.0.0.2", True)):
        assert on_endpoint(Policies([closed]), USE_ENDPOINT, "hep", address, None).allowed is allowed
