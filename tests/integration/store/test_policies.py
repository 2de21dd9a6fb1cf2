"""GARA §6's policies (`examples/policies/`) on GARNET: each admits and refuses what it should, also at once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OKPKey

from slotcar.base.settings import Settings
from slotcar.book.model import Entry
from slotcar.book.rules.errors import NotPermitted
from slotcar.broker import Broker
from slotcar.broker.requests import Options
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.modification import Modification
from slotcar.policy.attesting import attestation
from slotcar.policy.caller import Caller, Role
from slotcar.policy.site import Site, site_of
from slotcar.reservation import from_mapping
from slotcar.store import Ledger
from tests.integration.api.conftest import GARNET, ROOT

#: A Monday, 23 h in Chicago.
NIGHT = datetime(2027, 3, 2, 5, 0, tzinfo=UTC)
NOON = datetime(2027, 3, 2, 18, 0, tzinfo=UTC)
MBPS = 1_000_000
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def network() -> Network:
    return load_network(GARNET, None)


@pytest.fixture(scope="module")
def key() -> OKPKey:
    """Of the server of the community hep."""
    return OKPKey.generate_key("Ed25519")


@pytest.fixture
def inventory(tmp_path: Path, key: OKPKey) -> Path:
    folder = tmp_path / "garnet"
    shutil.copytree(GARNET, folder)
    shutil.copytree(ROOT / "examples" / "policies", folder / "policies")
    (folder / "policies" / "hep.jwks").write_text(json.dumps({"keys": [key.as_dict(private=False)]}))
    return folder


@pytest.fixture
def broker(ledger: Ledger, network: Network, inventory: Path, tmp_path: Path) -> Broker:
    return Broker(ledger, network, Settings(state_dir=tmp_path, inventory=inventory))


@pytest.fixture
def site(inventory: Path) -> Site:
    return site_of(inventory)


@pytest.fixture
def sign(key: OKPKey) -> Callable[..., dict[str, str]]:
    def signed(owner: str, name: str, rate_mbps: int = 20, by: OKPKey = key, until: datetime = NIGHT + HOUR) -> Any:
        text = attestation("hep", owner, name, rate_mbps * MBPS, until, by)
        return {"community": "hep", "attestation": text}

    return signed


def ask(
    broker: Broker, caller: Caller, name: str, rate_mbps: int, start: datetime, now: datetime, port: int = 5001,
    **more: Any,
) -> Entry:  # fmt: skip
    document = {
        "name": name, "owner": caller.owner, "source": "anl-premium", "destination": f"lbnl-premium:{port}",
        "rate": f"{rate_mbps} Mbit/s", "service": "ip-premium", "protocol": "udp",
        "start": start.isoformat(), "duration": "1 h", **more,
    }  # fmt: skip
    return broker.create(from_mapping(document, now), caller, now, Options())


def test_a_unique_resource_is_for_people_by_name(broker: Broker, site: Site) -> None:
    alice, bob = site.caller("alice", Role.REQUESTER, "vis"), site.caller("bob", Role.REQUESTER, "vis")
    assert ask(broker, alice, "frames", 10, NOON + HOUR, NOON, destination="lbnl-competing")
    with pytest.raises(NotPermitted, match=r'no policy permits it; the nearest is .*Group::"visualization"'):
        ask(broker, bob, "more", 10, NOON + HOUR, NOON, destination="lbnl-competing", port=7)
    with pytest.raises(NotPermitted, match="rate_bps <= 10000000; they allow up to 10 Mbit/s in its place"):
        ask(broker, alice, "many", 12, NOON + HOUR, NOON, destination="lbnl-competing:9")


def test_a_neighbour_gets_immediate_transit_and_none_in_advance(broker: Broker, site: Site) -> None:
    anl, nobody = site.caller("anl-broker", Role.REQUESTER, "anl"), site.caller("stranger", Role.REQUESTER, "x")
    assert ask(broker, anl, "now", 10, NOON, NOON)
    with pytest.raises(NotPermitted, match=r"immediate-transit-of-neighbours .*but not: !\(?context.in_advance"):
        ask(broker, anl, "later", 10, NOON + HOUR, NOON, port=5002)
    with pytest.raises(NotPermitted):
        ask(broker, anl, "labelled", 10, NIGHT + HOUR, NIGHT, port=5003, labels={"community": "hep"})
    with pytest.raises(NotPermitted):
        ask(broker, nobody, "now", 10, NOON, NOON, port=5004)


def test_what_a_community_approved_is_admitted_at_its_hours(
    broker: Broker, site: Site, sign: Callable[..., Any]
) -> None:
    cms = site.caller("cms-transfer", Role.REQUESTER, "cms")
    assert ask(broker, cms, "run-1", 10, NIGHT + HOUR, NIGHT, labels=sign("cms", "run-1"))
    assert ask(broker, cms, "run-2", 5, NIGHT, NIGHT, port=5002, labels=sign("cms", "run-2"))
    cases: list[tuple[str, datetime, dict[str, str], str]] = [
        ("noon", NOON + HOUR, sign("cms", "noon", until=NOON + HOUR), "containsAll"),
        ("bare", NIGHT + HOUR, {"community": "hep"}, "has attested"),
        ("other", NIGHT + HOUR, sign("cms", "run-1"), "it is for cms/run-1"),
        ("slow", NIGHT + HOUR, sign("cms", "slow", rate_mbps=4), "up to 4 Mbit/s in its place"),
        ("over", NIGHT + HOUR, sign("cms", "over", until=NIGHT), "it is over"),
        ("forged", NIGHT + HOUR, sign("cms", "forged", by=OKPKey.generate_key("Ed25519")), "is not hep's"),
        ("torn", NIGHT + HOUR, {"community": "hep", "attestation": "a.b.c"}, "is no signature"),
        ("unlabelled", NIGHT + HOUR, {"attestation": sign("cms", "unlabelled")["attestation"]}, "community=hep"),
    ]
    for port, (name, start, labels, words) in enumerate(cases, 6000):
        with pytest.raises(NotPermitted, match=words):
            ask(broker, cms, name, 5, start, start - HOUR, port=port, labels=labels)


def test_what_a_community_has_together_is_exact_when_many_ask_at_once(
    broker: Broker, site: Site, sign: Callable[..., Any]
) -> None:
    def answer(number: int) -> str:
        owner = ("atlas", "cms")[number % 2]
        who = site.caller(f"{owner}-transfer", Role.REQUESTER, owner)
        name = f"run-{number}"
        try:
            ask(broker, who, name, 5, NIGHT + HOUR, NIGHT, port=6000 + number, labels=sign(owner, name))
        except NotPermitted as error:
            return str(error)
        return "admitted"

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(answer, range(12)))
    assert answers.count("admitted") == 4, answers
    refused = [one for one in answers if one != "admitted"]
    assert all("context.totals.community.peak_bps <= 20000000" in one for one in refused), refused


def test_a_change_is_asked_about_too_and_gives_back_what_it_had(
    broker: Broker, site: Site, sign: Callable[..., Any]
) -> None:
    cms = site.caller("cms-transfer", Role.REQUESTER, "cms")
    entry = ask(broker, cms, "run", 15, NIGHT + HOUR, NIGHT, labels=sign("cms", "run"))
    assert broker.modify(entry.handle, Modification(rate_bps=20 * MBPS), cms, NIGHT).reservation.slots
    with pytest.raises(NotPermitted, match="peak_bps"):
        broker.modify(entry.handle, Modification(rate_bps=21 * MBPS), cms, NIGHT)
    ops = site.caller("ops", Role.OPERATOR, "noc")
    assert broker.modify(entry.handle, Modification(rate_bps=21 * MBPS), ops, NIGHT), "an operator may all"
