"""Whatever is missing in a question, nothing is permitted by it that was refused: Cedar alone would skip a `forbid`."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import Window
from slotcar.policy.asking import CONTROLLER, principal_of
from slotcar.policy.caller import Caller, Memberships, Role, neighbour
from slotcar.policy.owning import BIND_PROCESSES, CLAIM_HOST, GO_AHEAD, HAVE, USE_ENDPOINT
from slotcar.policy.policies import Policies, shipped_policies
from slotcar.policy.questions import MOST, Question, entity, named
from slotcar.policy.reading import rights
from slotcar.policy.reserving import Attested, Total, WantedReservation, question_of
from slotcar.policy.site import Community, Site
from slotcar.policy.statements import Source

NOW = datetime(2027, 3, 2, 3, tzinfo=UTC)
GARA = Path(__file__).parents[2] / "examples" / "policies" / "reserving.cedar"
MBPS = 1_000_000
few = st.integers(0, 3)
owners = st.sampled_from(["cms", "atlas", "anl", "x"])
amounts = st.fixed_dictionaries(dict.fromkeys(("reservations", "windows", "holds", "volume_bits"), few))
limits = st.one_of(few, st.just(MOST))


def shipped_with(text: str) -> Site:
    communities = {"hep": Community(frozenset({"cms", "atlas"}))}
    return Site(
        Policies([Source("reserving.cedar", text)]), communities=communities, domains={"anl": frozenset({"anl"})}
    )


SITES = (
    Site(shipped_policies()),
    shipped_with(GARA.read_text(encoding="utf-8")),
    shipped_with(
        '@id("all") permit (principal, action == Action::"reserve", resource);'
        '@id("hep") forbid (principal, action == Action::"reserve", resource)'
        " when { context.totals.owner.peak_bps > 2000000 || context.rate_bps > 3000000 };"
    ),
)


@st.composite
def callers(draw: st.DrawFn, site: Site) -> Caller:
    if draw(st.booleans()):
        return neighbour(draw(st.sampled_from(["anl", "esnet"])), site.policies)
    name, role = draw(st.sampled_from(["alice", "cms-transfer"])), draw(st.sampled_from(list(Role)))
    member_of = Memberships(frozenset({"visualization"}) if draw(st.booleans()) else frozenset(), "hep", "anl")
    return Caller(name, role, draw(owners), member_of=member_of, policies=site.policies)


@st.composite
def about_reserving(draw: st.DrawFn) -> tuple[Site, Question]:
    site = draw(st.sampled_from(SITES))
    caller, owner, rate_bps = draw(callers(site)), draw(owners), draw(few) * MBPS
    start = NOW + timedelta(hours=draw(few))
    total = Total(1, draw(few) * 10 * MBPS, 10)
    wanted = WantedReservation(
        owner, "run", [("Host", "lbnl-competing"), ("Domain", "esnet"), ("Service", "ip-premium")], rate_bps, 5,
        (Window(start, start + timedelta(hours=1)),), {"community": "hep"}, is_change=False, is_hold=draw(st.booleans()),
        domain={"sla_bps": draw(st.one_of(st.none(), limits)), "at_most_bps": draw(few) * MBPS},
        attested=Attested("hep", draw(few) * MBPS) if draw(st.booleans()) else None,
        totals={"owner": total, "community": total, "domain": total},
    )  # fmt: skip
    return site, question_of(caller, wanted, site, NOW)


@st.composite
def about_verbs(draw: st.DrawFn) -> tuple[Site, Question]:
    site = draw(st.sampled_from(SITES))
    who, entities = principal_of(draw(callers(site)))
    verb = draw(st.sampled_from(sorted({*rights(), *rights().values()})))
    resource = draw(st.sampled_from([CONTROLLER, ("Reservation", "of cms")]))
    if resource != CONTROLLER:
        asked_by = named("Domain", "anl") if draw(st.booleans()) else None
        entities.append(entity(resource, owner=named("Owner", draw(owners)), asked_by=asked_by))
    return site, Question(who, verb, resource, entities)


@st.composite
def about_owners(draw: st.DrawFn) -> tuple[Site, Question]:
    site, who = draw(st.sampled_from(SITES)), ("Owner", draw(owners))
    action = draw(st.sampled_from([USE_ENDPOINT, CLAIM_HOST, BIND_PROCESSES, HAVE, GO_AHEAD]))
    if action in (HAVE, GO_AHEAD):
        gate = {"rate_bps": draw(limits), "duration_us": draw(limits)}
        context: Mapping[str, Any] = {
            "rate_bps": draw(few),
            "duration_us": draw(few),
            "is_more": draw(st.booleans()),
            "gate": gate,
        }
        if action == HAVE:
            context = {"before": draw(amounts), "after": draw(amounts), "quota": draw(amounts)}
        return site, Question(who, action, CONTROLLER, (), context)
    known = draw(st.lists(owners, max_size=2))
    place = entity(
        ("Endpoint", "10.0.0.1"), is_owned=bool(known) or draw(st.booleans()),
        owners=[named("Owner", one) for one in known], accounts=draw(st.lists(st.sampled_from("ab"), max_size=2)),
    )  # fmt: skip
    context = {} if action == USE_ENDPOINT else {"by_operator": draw(st.booleans())}
    if action == BIND_PROCESSES:
        context = {
            **context,
            "granted": draw(st.lists(st.sampled_from("ab"))),
            "account": draw(st.sampled_from(["", "a", "c"])),
        }
    return site, Question(who, action, ("Endpoint", "10.0.0.1"), [place], context)


def without_one(question: Question) -> Iterator[tuple[str, Question]]:
    """The question without each of its attributes in turn, those inside others too."""
    for path in _paths(question.context):
        yield f"context {path}", replace(question, context=_without(question.context, path))
    for number, one in enumerate(question.entities):
        for path in _paths(one["attrs"]):
            changed = {**one, "attrs": _without(one["attrs"], path)}
            entities = [changed if index == number else other for index, other in enumerate(question.entities)]
            yield f"{one['uid']} {path}", replace(question, entities=entities)


def _paths(record: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, value in record.items():
        yield (key,)
        if isinstance(value, Mapping) and "__entity" not in value:
            yield from ((key, *path) for path in _paths(value))


def _without(record: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    changed = copy.deepcopy(dict(record))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return changed


@pytest.mark.parametrize(
    "questions", [about_reserving(), about_verbs(), about_owners()], ids=["reserve", "verbs", "owners"]
)
def test_what_was_refused_is_not_permitted_where_something_is_missing(questions: Any) -> None:
    refusals = 0

    @given(questions)
    def check(given_question: tuple[Site, Question]) -> None:
        nonlocal refusals
        site, question = given_question
        if site.policies.decide(question).allowed:
            return
        refusals += 1
        for what, less in without_one(question):
            assert not site.policies.decide(less).allowed, what

    check()
    assert refusals > 10
