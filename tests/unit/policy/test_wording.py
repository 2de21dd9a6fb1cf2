"""Policies in words: each condition that the schema knows, both ways, and nothing of Cedar where there are words for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotcar.policy.policies import Policies, shipped_policies
from slotcar.policy.reading import PolicyRule
from slotcar.policy.statements import Source
from slotcar.policy.wording import words_of

EXAMPLES = Path(__file__).parents[3] / "examples" / "policies"


def rule_of(scope: str, condition: str = "", *, effect: str = "permit") -> PolicyRule:
    text = f'@id("one") {effect} ({scope}) {condition};'
    return next(rule for rule in Policies([Source("own.cedar", text)]).rules if rule.name == "one")


def reserving(condition: str, who: str = "principal") -> str:
    """The conditions of a policy about `reserve`."""
    rule = rule_of(f'{who}, action == Action::"reserve", resource', condition)
    return " / ".join(words_of(rule).conditions)


@pytest.mark.parametrize(
    ("scope", "effect", "sentence"),
    [
        ("principal, action, resource", "permit", "Everybody may do everything."),
        ("principal, action, resource", "forbid", "Nobody may do anything."),
        ('principal in Role::"operator", action == Action::"approve", resource', "permit", "Operators may approve."),
        (
            'principal in Group::"duty", action in [Action::"approve", Action::"group_approve"], resource',
            "forbid", "Members of the group duty may not approve or approve groups.",
        ),
        ('principal == Person::"ann", action in Action::"see", resource', "permit", "ann may see reservations."),
        (
            'principal in Community::"hep", action in Action::"plan", resource',
            "permit", "Members of the community hep may plan.",
        ),
        (
            'principal is Program in Group::"agents", action == Action::"cancel", resource is Reservation',
            "permit", "A program that is in the group agents may cancel, where it is a reservation.",
        ),
        (
            "principal is Domain, action == Action::\"change\", resource",
            "forbid", "A neighbouring domain may not change reservations.",
        ),
        ('principal, action == Action::"have", resource', "forbid", "No owner may have so much together."),
        ('principal, action == Action::"share_give", resource', "permit", "Everybody may give shares."),
        (
            'principal, action == Action::"reserve", resource in Link::"core:eth1"',
            "forbid", "Nobody may reserve, where it crosses the link core:eth1.",
        ),
        (
            'principal, action == Action::"reserve", resource == Reservation::"cms/run"',
            "permit", "Everybody may reserve, where it is the reservation cms/run.",
        ),
    ],
)  # fmt: skip
def test_who_may_what(scope: str, effect: str, sentence: str) -> None:
    assert str(words_of(rule_of(scope, effect=effect))) == sentence


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("context.rate_bps <= 100000000", "its rate is at most 100 Mbit/s"),
        ("!(context.rate_bps <= 100000000)", "its rate is above 100 Mbit/s"),
        ("context.duration_s < 7200", "its duration is below 2 h"),
        ("context.volume_bits >= 8000000", "its volume is at least 1 MB"),
        ("context.in_advance", "it begins more than a minute from now"),
        ("!context.in_advance && context.is_hold", "it begins at once / it is a hold"),
        ('context.labels.contains("community=hep")', "it has the label community=hep"),
        ("[18, 19, 20, 21].containsAll(context.hours)", "all of its hours are within 18-21"),
        ("!context.hours.containsAny([8, 9, 12])", "none of its hours is among 8-9, 12"),
        ("context.weekdays.containsAny([6, 7])", "one of its weekdays is among Saturday, Sunday"),
        (
            'context has attested && context.attested.community == Community::"hep"',
            "the server of the community hep has approved it",
        ),
        ("context has attested", "its community's server has approved it"),
        (
            "context.totals has community && context.totals.community.peak_bps <= 20000000",
            "what the community of its owner has together at one instant is at most 20 Mbit/s",
        ),
        ("context.totals.owner.reservations <= 5", "the number of reservations that its owner has is at most 5"),
        ("context.is_hold || context.is_change", "either it is a hold or it is a change"),
        ("!(context.is_hold || context.is_change)", "it is no hold and it is new"),
        ("!(context.is_hold && context.is_change)", "either it is no hold or it is new"),
        ('principal in Group::"ops" || resource in Service::"ip-premium"',
         "either who asks is in the group ops or it is of the service ip-premium"),
        ("if context.is_hold then context.duration_s < 60 else context.rate_bps > 5",
         "if it is a hold: its duration is below 1 min; else: its rate is above 5 bit/s"),
        ("context.totals == context.totals", "context.totals == context.totals"),
    ],
)  # fmt: skip
def test_a_condition_has_words(condition: str, words: str) -> None:
    assert reserving(f"when {{ {condition} }}") == words


def test_what_may_not_be_is_said_as_what_has_to_be() -> None:
    assert reserving("unless { context has attested }") == "no community's server has approved it"
    assert reserving("unless { context.rate_bps > 1000000 && !context.is_hold }") == (
        "either its rate is at most 1 Mbit/s or it is a hold"
    )
    assert (
        reserving("when { principal is Person } unless { context.is_hold }") == "who asks is a person / it is no hold"
    )


def test_what_has_no_words_stays_in_cedar() -> None:
    text = reserving('when { principal.name like "a*" && context.rate_bps > 0 }', "principal is Person")
    assert text == 'principal.name like "a*" / its rate is above 0'


def test_what_ships_and_the_examples_have_words_for_all_of_it() -> None:
    own = Policies([Source(path.name, path.read_text()) for path in sorted(EXAMPLES.glob("*.cedar"))]).rules
    listed = {rule.name: str(words_of(rule)) for rule in (*shipped_policies().rules, *own)}
    assert len(listed) > 30
    cedar = re.compile(r"\b(context|principal|resource)\b|::|==|&&|\|\||_")
    assert {name: words for name, words in listed.items() if cedar.search(words)} == {}
