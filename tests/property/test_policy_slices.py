"""A policy that is left out of a question, because its scope cannot be about it, would have changed nothing; nor does it
change anything that those which read totals, or what slots say, are asked after the others."""

from __future__ import annotations

import json
from dataclasses import replace

from cedarpy import Entities, PolicySet, is_authorized
from hypothesis import given
from hypothesis import strategies as st

from slotcar.policy.probes import policy_set_text
from slotcar.policy.questions import Question
from slotcar.policy.reading import schema
from slotcar.policy.reserving import OF_SLOTS
from slotcar.policy.site import Site
from tests.property.test_missing_attributes import about_owners, about_reserving, about_verbs, without_one

NOTHING = {"reservations": 0, "peak_bps": 0, "volume_bits": 0}
#: Stands in a question for what its slots will say.
OTHERWISE = {
    "rate_bps": 1, "duration_s": 1, "volume_bits": 1, "in_advance": False, "notice_s": 0, "hours": [3], "weekdays": [7]
}  # fmt: skip


def of_another_sla(question: Question) -> Question:
    """Whichever SLSs bind a domain, others do before its slots are known."""
    entities = [
        {**one, "attrs": {**one["attrs"], "sla_bps": 1}} if one["uid"]["type"] == "Domain" else one
        for one in question.entities
    ]
    return replace(question, entities=entities)


@given(st.one_of(about_reserving(), about_verbs(), about_owners()))
def test_a_question_is_answered_as_by_all_policies(asked_for: tuple[Site, Question]) -> None:
    site, question = asked_for
    whole = PolicySet.from_json_str(policy_set_text({one.name: one.form for one in site.policies.rules}))
    known = Entities.from_json_str(json.dumps(question.entities), schema())
    answer = is_authorized(question.request, whole, known, schema())
    verdict = site.policies.decide(question)
    assert verdict.allowed == (answer.allowed and not answer.diagnostics.errors)
    if not answer.diagnostics.errors:
        assert {rule.name for rule in verdict.by} == set(answer.diagnostics.reasons)


@given(about_reserving())
def test_a_question_is_answered_by_halves_as_whole(asked_for: tuple[Site, Question]) -> None:
    site, question = asked_for
    for what, one in [("nothing", question), *without_one(question)]:
        totals = one.context.get("totals", {})
        half = site.policies.first_half(one.with_context(totals={"owner": NOTHING}), frozenset({"totals"}))
        verdict = site.policies.second_half(half, {"totals": totals})
        whole = site.policies.decide(one.with_context(totals=totals))
        if whole.errors and half.is_certain:
            assert "totals" in what, "no policy reads what is missing"
        else:
            assert verdict == whole, f"without {what}"


@given(about_reserving())
def test_a_volume_is_answered_by_halves_as_whole(asked_for: tuple[Site, Question]) -> None:
    """Its slots are known under the lock alone."""
    site, question = asked_for
    assert OTHERWISE.keys() | {"sla_bps"} == OF_SLOTS
    for what, one in [("nothing", question), *without_one(question)]:
        rest = {name: one.context[name] for name in (*OTHERWISE, "totals") if name in one.context}
        if len(rest) > len(OTHERWISE):  # else what is missing is what would be told in the end
            before = of_another_sla(one).with_context(**OTHERWISE, totals={"owner": NOTHING})
            half = site.policies.of_entities(site.policies.first_half(before, OF_SLOTS | {"totals"}), one)
            verdict, whole = site.policies.second_half(half, rest), site.policies.decide(one)
            if not (whole.errors and half.is_certain):
                assert verdict == whole, f"without {what}"
