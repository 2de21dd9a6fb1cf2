"""Policies over three domains: a neighbour is a principal of its own, and a community has one share from end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from joserfc.jwk import OKPKey

from slotcar.desk.desk import Desk
from slotcar.desk.past_policies import PastPolicies
from slotcar.domains.errors import ConnectionRefused
from slotcar.policy.attesting import attestation
from slotcar.policy.caller import Caller, Role
from slotcar.policy.policies import Policies
from slotcar.policy.reserving import ASKED_BY, ATTESTATION
from slotcar.policy.site import Community, Site
from slotcar.policy.statements import Source
from slotcar.store.queries import EntryFilter, EventFilter
from tests.integration.domains.three import NAMES, NOW, World, premium
from tests.unit.domains.networks import lab_of

MBPS = 1_000_000
EXAMPLE = Path(__file__).parents[3] / "examples" / "policies" / "reserving.cedar"
SHARE = """
@id("cms-share")
permit (principal, action == Action::"reserve", resource)
when {
    context.labels.contains("community=cms") &&
    context has attested &&
    context.attested.community == Community::"cms" &&
    context.rate_bps <= context.attested.rate_bps &&
    context.totals has community &&
    context.totals.community.peak_bps <= 15000000
};
"""
WITHIN = """
@id("within-a-neighbours-total")
forbid (principal is Domain, action == Action::"reserve", resource)
when { context.totals has domain && context.totals.domain.peak_bps > 15000000 };
"""


def use(
    world: World, name: str, text: str, communities: Mapping[str, Community] = {}, file: str = "reserving.cedar"
) -> None:
    """Has one domain decide by these policies."""
    ledger = world.ledgers[name]
    policy = ledger.terms.policy
    site = Site(Policies([Source(file, text)]), communities=communities)
    ledger.set_terms(replace(ledger.terms, policy=replace(policy, reserving=replace(policy.reserving, site=site))))


@pytest.fixture
def key() -> OKPKey:
    return OKPKey.generate_key("Ed25519")


def reserve(
    world: World, name: str, rate_mbps: int, labels: Mapping[str, str] = {}, start: datetime | None = None
) -> str:
    """`start`: in an hour where it is left out; it lasts an hour."""
    reservation = premium(rate_mbps * MBPS, name).model_copy(update={"labels": dict(labels)})
    if start is not None:
        (slot,) = reservation.slots
        moved = replace(slot, start=start, end=start + (slot.end - slot.start))
        reservation = reservation.model_copy(update={"slots": (moved,)})
    connection = world.domains["anl"].reserve(reservation, "hep")
    world.run()
    return connection.id


def test_what_a_community_may_have_is_the_same_in_each_domain(world: World, key: OKPKey) -> None:
    keys = json.dumps({"keys": [key.as_dict(private=False)]})
    for name in NAMES:
        use(world, name, SHARE, {"cms": Community(frozenset({"hep", "hep@anl"}), keys)})

    def labels(name: str, rate_mbps: int = 20) -> dict[str, str]:
        text = attestation("cms", "hep", name, rate_mbps * MBPS, NOW + timedelta(hours=1), key)
        return {"community": "cms", ATTESTATION: text, "project": "own"}

    world.domains["anl"].in_force(reserve(world, "first", 10, labels("first")), 1, 1)
    before = world.rates()
    assert before == {name: [10 * MBPS] for name in NAMES}
    for name in NAMES[1:]:
        (entry,) = world.ledgers[name].list(EntryFilter())
        assert entry.reservation.labels[ATTESTATION] == labels("first")[ATTESTATION], "it travels unchanged"
        assert "project" not in entry.reservation.labels
    cases = {
        "second": (labels("second"), r"anl: .*peak_bps"),
        "others": (labels("first"), "anl: .*it is for hep/first"),
        "bare": ({"community": "cms"}, "anl: .*context has attested"),
    }
    for name, (signed, words) in cases.items():
        with pytest.raises(ConnectionRefused, match=words):
            world.domains["anl"].in_force(reserve(world, name, 10, signed), 1, 1)
        assert world.rates() == before
    # One domain of the way has agreed on less: the whole is refused, and nothing of it stays.
    use(world, "lbnl", SHARE.replace("15000000", "12000000"), {"cms": Community(frozenset({"hep@anl"}), keys)})
    with pytest.raises(ConnectionRefused, match=r"lbnl: .*peak_bps <= 12000000.*up to 2 Mbit/s"):
        world.domains["anl"].in_force(reserve(world, "third", 5, labels("third")), 1, 1)
    assert world.rates() == before
    world.domains["anl"].in_force(reserve(world, "fourth", 2, labels("fourth")), 1, 1)


def test_what_a_community_signed_for_one_domains_owner_is_worth_nothing_to_anothers_of_the_same_name(
    world: World, key: OKPKey
) -> None:
    keys = json.dumps({"keys": [key.as_dict(private=False)]})
    members = {"cms": Community(frozenset({"hep@cern"}), keys), "others": Community(frozenset({"hep@anl"}))}
    use(world, "lbnl", SHARE, members)
    signed = attestation("cms", "hep", "tonight", 20 * MBPS, NOW + timedelta(hours=1), key)
    connection = reserve(world, "tonight", 10, {"community": "cms", ATTESTATION: signed})
    with pytest.raises(ConnectionRefused, match=r"lbnl: .*hep@anl is no member of cms here"):
        world.domains["anl"].in_force(connection, 1, 1)


def test_a_neighbour_has_no_more_rights_than_its_agreement_and_its_total_is_exact(world: World) -> None:
    use(world, "lbnl", WITHIN, file="within.cedar")
    world.domains["anl"].in_force(reserve(world, "first", 10), 1, 1)
    with pytest.raises(
        ConnectionRefused, match="lbnl: domain esnet may not reserve hep@anl/second: the policy within-a"
    ):
        world.domains["anl"].in_force(reserve(world, "second", 10), 1, 1)
    world.domains["anl"].in_force(reserve(world, "third", 5), 1, 1)
    ledger = world.ledgers["lbnl"]
    assert {one.reservation.labels[ASKED_BY] for one in ledger.list(EntryFilter())} == {"esnet"}
    (refused,) = ledger.events_of(EventFilter(("policy.refused",)))
    assert refused.details["totals"]["domain"] == {**refused.details["totals"]["domain"], "reservations": 2}
    desk = Desk(ledger, lab_of("lbnl"), world.domains["lbnl"].segments.desk.settings)  # type: ignore[attr-defined]
    use(world, "lbnl", WITHIN, file="within.cedar")
    why = PastPolicies(desk).why(refused.handle or "", Caller("ops", Role.OPERATOR), world.now)
    assert (why.then.permitted, why.then.totals["domain"].peak_bps) == (False, 20 * MBPS)


def test_a_domain_that_shuts_its_door_to_a_neighbour_refuses_it(world: World) -> None:
    shut = '@id("shut") forbid (principal == Domain::"esnet", action in Action::"change", resource);'
    use(world, "lbnl", shut, file="shut.cedar")
    with pytest.raises(ConnectionRefused, match=r"lbnl: domain esnet may not .*: the policy shut forbids it"):
        world.domains["anl"].in_force(reserve(world, "first", 10), 1, 1)
    assert world.rates() == {name: [] for name in NAMES}


def test_garas_transit_domain_takes_immediate_requests_of_a_neighbour_and_labelled_ones_in_advance(
    world: World, key: OKPKey
) -> None:
    """GARA §6, of `examples/policies/`, where the neighbour's own controller asks."""
    keys = json.dumps({"keys": [key.as_dict(private=False)]})
    hep = {"hep": Community(frozenset({"hep@anl"}), keys)}
    use(world, "esnet", EXAMPLE.read_text(encoding="utf-8"), hep)
    ledger = world.ledgers["esnet"]
    sls = ledger.terms.sls["anl-esnet-ip-premium"].model_copy(update={"rate_bps": 8 * MBPS})
    ledger.set_terms(replace(ledger.terms, sls={**ledger.terms.sls, sls.name: sls}))
    tonight = NOW + timedelta(hours=8)

    def in_force(name: str, labels: Mapping[str, str] = {}, start: datetime = NOW, rate_mbps: int = 5) -> None:
        world.domains["anl"].in_force(reserve(world, name, rate_mbps, labels, start), 1, 1)

    def signed(name: str) -> dict[str, str]:
        text = attestation("hep", "hep", name, 10 * MBPS, tonight, key)
        return {"community": "hep", ATTESTATION: text}

    in_force("now")
    refused = {
        "later": ({}, tonight, "immediate-transit-of-neighbours-controllers .*but not: !.*in_advance"),
        "bare": ({"community": "hep"}, tonight, "esnet: "),
        "noon": (signed("noon"), NOW + timedelta(hours=2), "esnet: "),
    }
    for name, (labels, start, words) in refused.items():
        with pytest.raises(ConnectionRefused, match=words):
            in_force(name, labels, start)
    in_force("run", signed("run"), tonight)
    with pytest.raises(ConnectionRefused, match=r"esnet: .*peak_bps <= principal.sla_bps.*up to 3 Mbit/s"):
        in_force("more")
