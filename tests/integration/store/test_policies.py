"""GARA §6's policies (`examples/policies/`) on GARNET: each admits and refuses what it should, also at once."""

from __future__ import annotations

import json
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OKPKey

from slotcar.base.settings import Settings
from slotcar.book import operations, permitting
from slotcar.book.model import AdmissionRequest, Entry, Terms
from slotcar.book.permitting import DecidedAhead, decide_ahead
from slotcar.book.rules.errors import NotPermitted
from slotcar.desk import community_servers
from slotcar.desk.community_servers import CommunityAnswer, ask_community
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.files import ReservationFiles
from slotcar.desk.grouping import Groups
from slotcar.desk.past_policies import PastPolicies
from slotcar.desk.requests import Options, Requests
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.errors import RefusedByAdmission
from slotcar.planning.modification import Modification
from slotcar.planning.plan import Plan
from slotcar.planning.plan_file import plan_document, plan_of_document
from slotcar.planning.source import members_of_groups, read_source
from slotcar.policy.attesting import attestation
from slotcar.policy.caller import Caller, Role
from slotcar.policy.policies import Policies
from slotcar.policy.reserving import largest_bps
from slotcar.policy.site import Site, site_of
from slotcar.policy.statements import Source
from slotcar.reservation import from_mapping
from slotcar.reservation.model import Reservation
from slotcar.store import EntryFilter, Ledger
from slotcar.store.queries import EventFilter
from tests.integration.api.conftest import GARNET, ROOT
from tests.support.halves import decisions
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port

#: A Monday, 23 h in Chicago.
NIGHT = datetime(2027, 3, 2, 5, 0, tzinfo=UTC)
NOON = datetime(2027, 3, 2, 18, 0, tzinfo=UTC)
MBPS = 1_000_000
HOUR = timedelta(hours=1)
#: Requests at once.
MANY = 20


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
def desk(ledger: Ledger, network: Network, inventory: Path, tmp_path: Path) -> Desk:
    return Desk(ledger, network, Settings(state_dir=tmp_path, inventory=inventory))


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
    desk: Desk, caller: Caller, name: str, rate_mbps: int, start: datetime, now: datetime, port: int = 5001,
    **more: Any,
) -> Entry:  # fmt: skip
    document = {
        "name": name, "owner": caller.owner, "source": "anl-premium", "destination": f"lbnl-premium:{port}",
        "rate": f"{rate_mbps} Mbit/s", "service": "ip-premium", "protocol": "udp",
        "start": start.isoformat(), "duration": "1 h", **more,
    }  # fmt: skip
    return Requests(desk).create(from_mapping(document, now), caller, now, Options())


def test_a_unique_resource_is_for_people_by_name(desk: Desk, site: Site) -> None:
    alice, bob = site.caller("alice", Role.REQUESTER, "vis"), site.caller("bob", Role.REQUESTER, "vis")
    assert ask(desk, alice, "frames", 10, NOON + HOUR, NOON, destination="lbnl-competing")
    with pytest.raises(NotPermitted, match=r'no policy permits it; the nearest is .*Group::"visualization"'):
        ask(desk, bob, "more", 10, NOON + HOUR, NOON, destination="lbnl-competing", port=7)
    with pytest.raises(NotPermitted, match="rate_bps <= 10000000; they allow up to 10 Mbit/s in its place"):
        ask(desk, alice, "many", 12, NOON + HOUR, NOON, destination="lbnl-competing:9")


def test_a_neighbour_gets_immediate_transit_and_none_in_advance(desk: Desk, site: Site) -> None:
    anl, nobody = site.caller("anl-broker", Role.REQUESTER, "anl"), site.caller("stranger", Role.REQUESTER, "x")
    assert ask(desk, anl, "now", 10, NOON, NOON)
    with pytest.raises(NotPermitted, match=r"immediate-transit-of-neighbours .*but not: !\(?context.in_advance"):
        ask(desk, anl, "later", 10, NOON + HOUR, NOON, port=5002)
    with pytest.raises(NotPermitted):
        ask(desk, anl, "labelled", 10, NIGHT + HOUR, NIGHT, port=5003, labels={"community": "hep"})
    with pytest.raises(NotPermitted):
        ask(desk, nobody, "now", 10, NOON, NOON, port=5004)


def test_what_a_community_approved_is_admitted_at_its_hours(desk: Desk, site: Site, sign: Callable[..., Any]) -> None:
    cms = site.caller("cms-transfer", Role.REQUESTER, "cms")
    assert ask(desk, cms, "run-1", 10, NIGHT + HOUR, NIGHT, labels=sign("cms", "run-1"))
    assert ask(desk, cms, "run-2", 5, NIGHT, NIGHT, port=5002, labels=sign("cms", "run-2"))
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
            ask(desk, cms, name, 5, start, start - HOUR, port=port, labels=labels)


def test_what_a_community_has_together_is_exact_when_many_ask_at_once(
    desk: Desk, site: Site, sign: Callable[..., Any]
) -> None:
    def answer(number: int) -> str:
        owner = ("atlas", "cms")[number % 2]
        who = site.caller(f"{owner}-transfer", Role.REQUESTER, owner)
        name = f"run-{number}"
        try:
            ask(desk, who, name, 5, NIGHT + HOUR, NIGHT, port=6000 + number, labels=sign(owner, name))
        except NotPermitted as error:
            return str(error)
        return "admitted"

    with ThreadPoolExecutor(MANY) as pool:
        answers = list(pool.map(answer, range(MANY)))
    assert answers.count("admitted") == 4, answers
    refused = [one for one in answers if one != "admitted"]
    assert all("context.totals.community.peak_bps <= 20000000" in one for one in refused), refused


def test_a_neighbours_transit_is_within_its_sla_when_many_ask_at_once(desk: Desk, site: Site) -> None:
    anl = site.caller("anl-broker", Role.REQUESTER, "anl")
    sla_bps = min(
        one.rate_bps
        for one in desk.network.sls.values()
        if one.upstream == "anl" and one.service.value == "ip-premium"
    )

    def answer(number: int) -> str:
        try:
            ask(desk, anl, f"now-{number}", 4, NOON, NOON, port=6000 + number)
        except (NotPermitted, RefusedByAdmission) as error:
            return type(error).__name__
        return "admitted"

    with ThreadPoolExecutor(MANY) as pool:
        answers = list(pool.map(answer, range(MANY)))
    admitted = Entries(desk).list(EntryFilter(owner="anl", limit=100), anl)
    total_bps = sum(one.reservation.peak_rate_bps for one in admitted)
    assert answers.count("admitted") == len(admitted) > 1
    assert total_bps <= sla_bps
    with pytest.raises((NotPermitted, RefusedByAdmission)):
        ask(desk, anl, "one-more", 4, NOON, NOON, port=7000)


def test_people_at_a_unique_resource_are_told_apart_when_many_ask_at_once(desk: Desk, site: Site) -> None:
    def answer(number: int) -> bool:
        who = site.caller(("alice", "bob")[number % 2], Role.REQUESTER, "vis")
        try:
            ask(desk, who, f"v-{number}", 1, NOON + HOUR, NOON, destination=f"lbnl-competing:{7000 + number}")
        except NotPermitted:
            return False
        return True

    with ThreadPoolExecutor(MANY) as pool:
        assert list(pool.map(answer, range(MANY))) == [True, False] * (MANY // 2)


@dataclass
class CommunityServer:
    """What the server of hep answers: signs, refuses, says nonsense, or says nothing until `over` is set."""

    address: str
    answers: dict[str, str]
    over: threading.Event
    questions: list[dict[str, Any]]


@pytest.fixture
def server(key: OKPKey, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommunityServer]:
    """It may take its time, but where a case is about that."""
    monkeypatch.setattr(community_servers, "ANSWER_S", PATIENCE_S)
    here = CommunityServer("", {}, threading.Event(), [])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            here.questions.append(question)
            match here.answers.get(question["name"], "signs"):
                case "refuses":
                    status, document = 403, {"detail": "no beam time"}
                case "nonsense":
                    status, document = 200, {"yes": "please"}
                case "waits":
                    here.over.wait()
                    return
                case _:
                    until = NIGHT + HOUR
                    text = attestation("hep", question["owner"], question["name"], question["rate_bps"], until, key)
                    status, document = 200, {"attestation": text}
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.address = f"http://127.0.0.1:{listening.server_address[1]}/approve"
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield here
    here.over.set()
    listening.shutdown()
    thread.join()
    listening.server_close()


@pytest.fixture
def asking_desk(ledger: Ledger, network: Network, inventory: Path, server: CommunityServer, tmp_path: Path) -> Desk:
    """Of a site that asks the community's server at admission."""
    members = inventory / "policies" / "site.yml"
    text = members.read_text().replace("    keys: hep.jwks", f"    server: {server.address}\n    keys: hep.jwks")
    members.write_text(text)
    return Desk(ledger, network, Settings(state_dir=tmp_path, inventory=inventory))


def test_a_communitys_server_is_asked_at_admission(
    asking_desk: Desk, server: CommunityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = asking_desk.ledger.terms.policy.reserving.site
    cms = site.caller("cms-transfer", Role.REQUESTER, "cms")
    hep = {"community": "hep"}
    entry = ask(asking_desk, cms, "run", 5, NIGHT + HOUR, NIGHT, labels=hep)
    assert server.questions[0] == {**server.questions[0], "owner": "cms", "name": "run", "rate_bps": 5 * MBPS}
    changed = Requests(asking_desk).modify(entry.handle, Modification(rate_bps=8 * MBPS), cms, NIGHT)
    assert changed.reservation.peak_rate_bps == server.questions[1]["rate_bps"] == 8 * MBPS
    why = PastPolicies(asking_desk).why(entry.handle, site.caller("ops", Role.OPERATOR), NIGHT)
    assert why.then.permitted, "what the server signed is kept"
    cases = {"refuses": "the server of hep refuses: no beam time", "nonsense": "nothing that it signed"}
    cases["waits"] = "the server of hep did not answer within 0.1 s"
    for port, (name, words) in enumerate(cases.items(), 6000):
        server.answers[name] = name
        if name == "waits":
            monkeypatch.setattr(community_servers, "ANSWER_S", 0.1)
        with pytest.raises(NotPermitted, match=f"but not: context has attested.*{words}"):
            ask(asking_desk, cms, name, 5, NIGHT + HOUR, NIGHT, port=port, labels=hep)


def of_hep(name: str, port: int) -> dict[str, Any]:
    """A flow, and with `times` a reservation, at night."""
    return {
        "name": name, "source": "anl-premium", "destination": f"lbnl-premium:{port}", "rate": "5 Mbit/s",
        "service": "ip-premium", "protocol": "udp",
    }  # fmt: skip


TIMES = {"owner": "cms", "start": (NIGHT + HOUR).isoformat(), "duration": "1 h", "labels": {"community": "hep"}}


def test_a_communitys_server_is_asked_about_each_member_of_a_group_and_each_of_a_file(
    asking_desk: Desk, server: CommunityServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cms = asking_desk.site.caller("cms-transfer", Role.REQUESTER, "cms")
    flows = [of_hep(name, port) for name, port in (("a", 6001), ("b", 6002))]
    members = [{"name": one.pop("name"), "network": one} for one in map(dict, flows)]
    group = members_of_groups([{"name": "g", **TIMES, "members": members}], NIGHT, 100, asking_desk.network)
    ((first, second),) = Groups(asking_desk).create(group, cms, NIGHT)
    assert (
        [one["name"] for one in server.questions]
        == [first.reservation.name, second.reservation.name]
        == ["g.a", "g.b"]
    )
    server.questions.clear()
    names = ["c", "d"]
    file = tmp_path / "more.json"
    more = [{**of_hep(name, port), **TIMES} for name, port in zip(names, (6003, 6004), strict=True)]
    file.write_text(json.dumps({"version": 1, "reservations": more}))

    def planned() -> Plan:
        return ReservationFiles(asking_desk).plan(read_source([file], NIGHT, asking_desk.network), cms, NIGHT)

    plan = planned()
    assert [one["name"] for one in server.questions] == names
    ReservationFiles(asking_desk).apply(plan_of_document(plan_document(plan), "plan", ""), cms, NIGHT)
    assert [one["name"] for one in server.questions] == names * 2
    file.write_text(file.read_text().replace("5 Mbit/s", "4 Mbit/s"))
    server.answers |= dict.fromkeys(names, "waits")
    monkeypatch.setattr(community_servers, "ANSWER_S", 0.1)
    about: list[str] = []

    def noted(name: str, address: str, reservation: Reservation) -> CommunityAnswer:
        about.append(reservation.name)
        return ask_community(name, address, reservation)

    monkeypatch.setattr(community_servers, "ask_community", noted)
    with pytest.raises(NotPermitted, match="the server of hep did not answer within"):
        planned()
    assert about == ["c"], "for one that is silent nobody waits twice"


def test_a_communitys_server_that_nobody_reaches_has_not_approved(asking_desk: Desk, server: CommunityServer) -> None:
    site = asking_desk.ledger.terms.policy.reserving.site
    nowhere = replace(site.communities["hep"], server=f"http://127.0.0.1:{free_port()}/approve")
    policy = asking_desk.ledger.terms.policy
    elsewhere = replace(site, communities={"hep": nowhere})
    reserving = replace(policy.reserving, site=elsewhere)
    asking_desk.ledger.set_terms(replace(asking_desk.ledger.terms, policy=replace(policy, reserving=reserving)))
    cms = elsewhere.caller("cms-transfer", Role.REQUESTER, "cms")
    with pytest.raises(NotPermitted, match="the server of hep was not reached"):
        ask(asking_desk, cms, "run", 5, NIGHT + HOUR, NIGHT, labels={"community": "hep"})
    assert not server.questions


def test_a_change_is_asked_about_too_and_gives_back_what_it_had(
    desk: Desk, site: Site, sign: Callable[..., Any]
) -> None:
    cms = site.caller("cms-transfer", Role.REQUESTER, "cms")
    entry = ask(desk, cms, "run", 15, NIGHT + HOUR, NIGHT, labels=sign("cms", "run"))
    assert Requests(desk).modify(entry.handle, Modification(rate_bps=20 * MBPS), cms, NIGHT).reservation.slots
    with pytest.raises(NotPermitted, match="peak_bps"):
        Requests(desk).modify(entry.handle, Modification(rate_bps=21 * MBPS), cms, NIGHT)
    ops = site.caller("ops", Role.OPERATOR, "noc")
    assert Requests(desk).modify(entry.handle, Modification(rate_bps=21 * MBPS), ops, NIGHT), "an operator may all"


def test_policies_that_are_read_anew_between_the_two_halves_let_nothing_through(
    desk: Desk, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was permitted before the lock is asked again under it, by the policies that are in force there."""
    policy = desk.ledger.terms.policy
    none = Policies(
        [Source("reserving.cedar", '@id("none") forbid (principal, action == Action::"reserve", resource);')]
    )
    closed = replace(policy.reserving, site=replace(site, policies=none))
    terms = replace(desk.ledger.terms, policy=replace(policy, reserving=closed))
    halves: list[DecidedAhead] = []

    def then_read_anew(before: Terms, request: AdmissionRequest, now: datetime) -> tuple[DecidedAhead, ...]:
        halves.extend(ahead := decide_ahead(before, request, now))
        desk.ledger.set_terms(terms)
        return ahead

    monkeypatch.setattr(operations, "decide_ahead", then_read_anew)
    alice = site.caller("alice", Role.REQUESTER, "vis")
    with pytest.raises(NotPermitted, match="the policy none forbids it"):
        ask(desk, alice, "frames", 10, NOON + HOUR, NOON, destination="lbnl-competing")
    assert halves[0].half.permitted_by, "it was permitted before the lock"


def test_the_half_that_was_decided_before_the_lock_counts_for_what_it_was_decided_of_alone(
    desk: Desk, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that comes out of admission in another form than it went in is asked about as it came out."""
    alice, bob = site.caller("alice", Role.REQUESTER, "vis"), site.caller("bob", Role.REQUESTER, "vis")

    def of_alice(terms: Terms, request: AdmissionRequest, now: datetime) -> tuple[DecidedAhead, ...]:
        return decide_ahead(terms, replace(request, caller=alice), now)

    monkeypatch.setattr(operations, "decide_ahead", of_alice)
    with pytest.raises(NotPermitted):
        ask(desk, bob, "frames", 10, NOON + HOUR, NOON, destination="lbnl-competing")


#: Neither forbids what is asked below: one reads nothing that is found under the lock, the other what a volume's slots say.
HALVES = """
@id("not-for-eve") forbid (principal, action == Action::"reserve", resource) when { context.labels.contains("eve=1") };
@id("not-too-fast") forbid (principal, action == Action::"reserve", resource) when { context.rate_bps > 20000000 };
"""


@pytest.mark.parametrize("is_volume", [False, True])
def test_a_volume_is_decided_by_halves_too(
    ledger: Ledger, network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_volume: bool
) -> None:
    """What is asked whole would be asked of all policies at once."""
    folder = tmp_path / "policed"
    shutil.copytree(GARNET, folder)
    (folder / "policies").mkdir()
    (folder / "policies" / "halves.cedar").write_text(HALVES)
    desk = Desk(ledger, network, Settings(state_dir=tmp_path, inventory=folder))
    site = desk.site
    halves: list[DecidedAhead] = []

    def noted(terms: Terms, request: AdmissionRequest, now: datetime) -> tuple[DecidedAhead, ...]:
        halves.extend(ahead := decide_ahead(terms, request, now))
        return ahead

    monkeypatch.setattr(operations, "decide_ahead", noted)
    noted_decisions = decisions(ledger, monkeypatch)
    cms = site.caller("cms", Role.REQUESTER, "cms")
    by = (NOON + 4 * HOUR).isoformat()
    more = {"rate": None, "duration": None, "volume": "1 GB", "by": by, "protocol": "tcp"} if is_volume else {}
    document = {
        "name": "run", "owner": "cms", "source": "anl-premium", "destination": "lbnl-premium:5001", "rate": "10 Mbit/s",
        "service": "ip-premium", "protocol": "udp", "start": NOON.isoformat(), "duration": "1 h", **more,
    }  # fmt: skip
    given = {key: value for key, value in document.items() if value is not None}
    entry = Requests(desk).create(from_mapping(given, NOON), cms, NOON, Options())
    assert entry.state.value == "committed"
    before = {"first before": 1 + is_volume, "second under": 1}
    assert noted_decisions.taken() == before, "of a volume also what its moves are asked about"
    assert (halves[0].half.waiting is not None) == is_volume, "of a volume the rate is not known before"


def test_the_largest_rate_is_looked_for_by_who_is_told_and_not_under_the_lock(
    desk: Desk, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[bool] = []

    def look(*arguments: Any) -> int:
        locked.append(desk.ledger._writer.lock.locked())
        return largest_bps(*arguments)

    monkeypatch.setattr(permitting, "largest_bps", look)
    alice = site.caller("alice", Role.REQUESTER, "vis")
    with pytest.raises(NotPermitted) as refused:
        ask(desk, alice, "many", 12, NOON + HOUR, NOON, destination="lbnl-competing:9")
    assert locked == []
    assert "; they allow up to 10 Mbit/s in its place" in str(refused.value)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)  # noqa: S301 - its own
    assert locked == [False]
    (event,) = desk.ledger.events_of(EventFilter(("policy.refused",)))
    assert event.details["message"] == refused.value.sentence
