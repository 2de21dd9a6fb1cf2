"""Three controllers on loopback: HTTPS with certificates of both sides between them, the API before each."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from slotcar.api.context import Context
from slotcar.api.listening import bound, listen
from slotcar.api.peers import listening_to_neighbours
from slotcar.auth.tokens import TokenStore, create_token
from slotcar.base.settings import Settings
from slotcar.base.timebase import SYSTEM
from slotcar.book.rules.roles import Role
from slotcar.desk import agreeing, connections, slss
from slotcar.desk.agreeing import agreement_for
from slotcar.desk.desk import Desk
from slotcar.domains import carrying
from slotcar.domains.agreement import Agreement
from slotcar.domains.carrying import HttpsCarrier, NotReached
from slotcar.domains.keys import load_certificate, load_key, make_key
from slotcar.domains.neighbours import Neighbour
from slotcar.network.model import Network
from slotcar.store import Ledger, open_ledger
from slotcar.web.app import create_app
from tests.integration.domains.slss import without_border
from tests.integration.domains.three import NAMES, World
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port
from tests.unit.domains.networks import lab_of

RESERVATION = {
    "name": "tonight", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium", "protocol": "udp",
    "service": "ip-premium", "direction": "both", "rate": "10 Mbit/s", "start": "now + 1 h", "duration": "PT1H",
}  # fmt: skip


@dataclass
class Controllers:
    clients: dict[str, httpx.Client]
    agreements: dict[str, Agreement]
    ledgers: dict[str, Ledger]

    def ask(self, name: str, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = self.clients[name].request(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()


@pytest.fixture
def controllers(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Controllers]:
    """On the databases of `world`, whose own controllers do nothing here. They wait as long as only a hang takes."""
    monkeypatch.setattr(carrying, "TIMEOUT_S", PATIENCE_S)
    for module in (agreeing, connections):
        monkeypatch.setattr(module, "LONGEST_WAIT_S", PATIENCE_S)
    with running(world) as started:
        yield started


@contextmanager
def running(world: World, network_of: Callable[[str], Network] = lab_of) -> Iterator[Controllers]:
    ports = {name: free_port() for name in NAMES}
    with ExitStack() as stack:
        started = Controllers({}, {}, {})
        for name in NAMES:
            folder = world.folder / name
            settings = Settings(state_dir=folder, domain=name, open=True, reconcile=False, inventory=world.folder,
                                domain_key_file=folder / "key.pem",
                                domain_certificate_file=folder / "certificate.pem")  # fmt: skip
            ledger = stack.enter_context(open_ledger(world.databases[name], folder))
            desk = Desk(ledger, with_controllers(network_of(name), ports), settings)
            context = Context(replace(desk, agreement=agreement_for(desk)), TokenStore(settings.tokens_path))
            assert context.desk.agreement is not None
            sockets = stack.enter_context(bound("127.0.0.1", ports[name]))
            listen(sockets, 16)
            stack.enter_context(listening_to_neighbours(context, sockets))
            started.agreements[name] = context.desk.agreement
            started.ledgers[name] = ledger
            started.clients[name] = stack.enter_context(serving(create_app(context)))
        yield started


@contextmanager
def serving(app: FastAPI) -> Iterator[httpx.Client]:
    port = free_port()
    config = uvicorn.Config(app, port=port, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the API ended before it listened"
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S) as client:
        yield client
    server.should_exit = True
    thread.join()


def with_controllers(network: Network, ports: dict[str, int]) -> Network:
    domains = {
        name: domain.model_copy(
            update={"controller": f"https://127.0.0.1:{ports[name]}", "certificate": f"{name}/certificate.pem"}
        )
        for name, domain in network.domains.items()
    }
    return network.model_copy(update={"domains": domains})


def test_a_chain_over_https(controllers: Controllers) -> None:
    chain = controllers.ask("anl", "POST", "/v1/connections", RESERVATION, 201)
    assert (chain["phase"], chain["committed"], chain["owner"], chain["next"]) == (
        "reserve-start",
        1,
        "hep@anl",
        "esnet",
    )
    for name in NAMES:
        (entry,) = controllers.ask(name, "GET", "/v1/reservations")["items"]
        assert entry["state"] == "committed"
        (listed,) = controllers.ask(name, "GET", "/v1/connections")["items"]
        assert listed["connection"] == chain["connection"]
    path = f"/v1/connections/{chain['connection']}"
    changed = controllers.ask("anl", "POST", f"{path}/modify", RESERVATION | {"rate": "20 Mbit/s"})
    assert (changed["version"], changed["committed"]) == (2, 2)
    (entry,) = controllers.ask("lbnl", "GET", "/v1/reservations")["items"]
    assert entry["reservation"]["rate_bps"] == 20_000_000
    over = controllers.ask("anl", "POST", f"{path}/end", {"reason": "not needed any more"})
    assert (over["phase"], over["why"]) == ("terminated", "anl: not needed any more")
    wait_for(lambda: bool(controllers.ask("lbnl", "GET", path)["why"]), "the last domain to hear of the end")
    assert controllers.ask("lbnl", "GET", path)["why"] == "anl: not needed any more"
    neighbours = controllers.ask("esnet", "GET", "/v1/domains")["neighbours"]
    assert [(one["domain"], one["trouble"]) for one in neighbours] == [("anl", ""), ("lbnl", "")]
    assert all(abs(one["clock_ahead_ms"]) < 5_000 for one in neighbours)


VOLUME = {key: value for key, value in RESERVATION.items() if key not in ("rate", "start", "duration")} | {
    "name": "run-7", "volume": "20 GB", "by": "now + 3 h",
}  # fmt: skip
FLOW = {key: RESERVATION[key] for key in ("source", "destination", "protocol", "service", "direction", "rate")}
GROUP = {
    "name": "both", "owner": "hep", "start": "now + 1 h", "duration": "PT1H",
    "members": [{"name": "one", "network": FLOW | {"destination": "lbnl-premium:5001"}},
                {"name": "other", "network": FLOW | {"destination": "lbnl-premium:5002"}}],
}  # fmt: skip


def test_a_volume_and_a_group_over_https(controllers: Controllers) -> None:
    volume = controllers.ask("anl", "POST", "/v1/connections", VOLUME, 201)
    assert volume["volume"]["remaining_bytes"] == 20 * 10**9
    path = f"/v1/connections/{volume['connection']}"
    reported = controllers.ask("anl", "POST", f"{path}/progress", {"remaining": "1 GB"})
    assert (reported["committed"], reported["volume"]["remaining_bytes"], reported["volume"]["missing_bytes"]) == (
        2,
        10**9,
        0,
    )
    (entry,) = controllers.ask("lbnl", "GET", "/v1/reservations")["items"]
    assert entry["reservation"]["slots"] == reported["slots"]
    assert controllers.ask("lbnl", "GET", path)["volume"] is None
    more = controllers.ask("anl", "POST", f"{path}/progress", {"remaining": "2 GB"}, 409)
    assert "2 GB of run-7 cannot remain" in more["detail"]
    elsewhere = controllers.ask("lbnl", "POST", f"{path}/progress", {"remaining": "1 GB"}, 409)
    assert "is reported to anl, where it begins" in elsewhere["detail"]
    page = controllers.clients["anl"].get(f"/connections/{volume['connection']}").text
    assert "1 GB of 20 GB" in page
    too_much = controllers.ask("anl", "POST", "/v1/connections", VOLUME | {"name": "all", "volume": "90 GB"}, 409)
    assert "90 GB by" in too_much["detail"]
    one, other = controllers.ask("anl", "POST", "/v1/connections/together", GROUP, 201)["items"]
    assert one["members"] == [one["connection"], other["connection"]]
    large = GROUP | {
        "name": "large",
        "members": [GROUP["members"][0], {"name": "x", "network": FLOW | {"rate": "40 Mbit/s"}}],
    }
    refused = controllers.ask("anl", "POST", "/v1/connections/together", large, 409)
    assert refused["detail"].startswith("large.x: anl: ")
    controllers.ask("anl", "POST", f"{path}/progress", {"remaining": "0 B"})
    over = controllers.ask("anl", "GET", path)
    assert over["why"] == "anl: all of its volume is moved"


SLSS = {
    "there": {"upstream": "anl", "ingress": "esnet-hub:eth1"}, "back": {"upstream": "esnet", "ingress": "anl-border:eth2"},
}  # fmt: skip


def test_an_sls_is_opened_changed_and_ended_over_https(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "TIMEOUT_S", PATIENCE_S)
    for module in (connections, slss):
        monkeypatch.setattr(module, "LONGEST_WAIT_S", PATIENCE_S)
    with running(world, without_border) as controllers:
        for name, way in SLSS.items():
            terms = {"name": name, "service": "ip-premium", "rate": "20 Mbit/s", "burst": "500 kB", **way}
            terms |= {"validity": {"start": "now + 30 min", "end": "now + 5 h"}}
            opened = controllers.ask("anl", "POST", "/v1/slss", terms, 201)
            assert (opened["state"], opened["rate_bps"], opened["agreed"]) == ("to come", 20_000_000, True)
        controllers.ask("anl", "POST", "/v1/connections", RESERVATION, 201)
        wait_for(lambda: len(_promised(controllers, "esnet")) == 2, "esnet to know of both, with what is promised")
        refused = controllers.ask("esnet", "POST", "/v1/slss/there/change", {"rate": "5 Mbit/s"}, 409)
        assert "of the SLS there are promised" in refused["detail"]
        assert "which is more than 5 Mbit/s" in refused["detail"]
        changed = controllers.ask("esnet", "POST", "/v1/slss/there/change", {"rate": "30 Mbit/s"})
        assert changed["rate_bps"] == 30_000_000
        refused = controllers.ask("anl", "POST", "/v1/slss/back/end", {}, 409)
        assert "of the SLS back are promised" in refused["detail"]
        page = controllers.clients["anl"].get("/connections").text
        assert "SLSs between anl and its neighbours" in page
        assert "30 Mbit/s" in page
        past = controllers.ask("anl", "POST", "/v1/slss/there/end", {"at": "2020-01-01T00:00:00Z"}, 422)
        assert "is in the past" in str(past)
        problem = controllers.ask("anl", "POST", "/v1/slss/there/change", {"service": "assured-rate"}, 422)
        assert "cannot change" in str(problem)
        problem = controllers.ask("anl", "POST", "/v1/slss", {"name": "x", "upstream": "lbnl"}, 422)
        assert "ingress" in str(problem)
        problem = controllers.ask("lbnl", "POST", "/v1/slss/there/end", {}, 409)
        assert "no SLS there was agreed on" in problem["detail"]


def _promised(controllers: Controllers, name: str) -> list[Any]:
    return [one for one in controllers.ask(name, "GET", "/v1/slss")["items"] if one["promised"] and one["agreed"]]


def test_what_leaves_the_domain_is_not_reserved_in_part(controllers: Controllers) -> None:
    problem = controllers.ask("anl", "POST", "/v1/reservations", RESERVATION, 409)
    assert problem["detail"].startswith("the way from anl-premium to lbnl-premium leaves this controller's domain")
    controllers.ask("anl", "POST", "/v1/connections", RESERVATION, 201)
    (entry,) = controllers.ask("anl", "GET", "/v1/reservations")["items"]
    answer = controllers.clients["anl"].patch(
        f"/v1/reservations/{entry['handle']}", json={"rate": "20 Mbit/s"}, headers={"If-Match": "*"}
    )
    assert (answer.status_code, "slotcar domains" in answer.text) == (409, True)


def test_a_refusal_says_which_domain_in_its_numbers(controllers: Controllers) -> None:
    ledger = controllers.ledgers["lbnl"]
    policy = ledger.terms.policy
    reserving = replace(policy.reserving, agreements={"esnet": {"at_most_bps": 5_000_000}})
    ledger.set_terms(replace(ledger.terms, policy=replace(policy, reserving=reserving)))
    problem = controllers.ask("anl", "POST", "/v1/connections", RESERVATION, 409)
    assert problem["type"].endswith("refused-by-domain")
    assert problem["detail"] == (
        "lbnl: domain esnet may not ask for so much: its agreement has less; they allow up to 5 Mbit/s in its place"
    )


def test_an_agent_over_https(controllers: Controllers) -> None:
    first = controllers.ask("anl", "POST", "/v1/connections?agent=true", RESERVATION, 201)
    path = f"/v1/connections/{first['connection']}"
    assert first["condition"] == "esnet"
    refused = controllers.ask("anl", "POST", f"{path}/commit", status=409)
    assert "on condition of esnet's ticket" in refused["detail"]
    further = {"request": first["request_for_next"], "previous": "anl"}
    second = controllers.ask("esnet", "POST", f"{path}/segments", further, 201)
    assert (second["condition"], second["ticket"]) == ("lbnl", "")
    further = {"request": second["request_for_next"], "previous": "esnet"}
    third = controllers.ask("lbnl", "POST", f"{path}/segments", further, 201)
    second = controllers.ask("esnet", "POST", f"{path}/ticket", {"ticket": third["ticket"]})
    wrong = controllers.ask("anl", "POST", f"{path}/ticket", {"ticket": third["ticket"]}, 409)
    assert wrong["detail"] == "esnet's ticket is not signed with esnet's key"
    controllers.ask("anl", "POST", f"{path}/ticket", {"ticket": second["ticket"]})
    assert controllers.ask("anl", "POST", f"{path}/commit")["committed"] == 1
    assert controllers.agreements["lbnl"].in_force(first["connection"], 1, PATIENCE_S).committed == 1


def test_who_shows_no_certificate_of_a_neighbour_is_not_heard(controllers: Controllers, tmp_path: Path) -> None:
    address = controllers.agreements["anl"].neighbours["esnet"].controller
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with pytest.raises((httpx.HTTPError, ssl.SSLError)):
        httpx.post(
            f"{address}/v1/domains/messages",
            json={"message": ""},
            verify=trusting,
            trust_env=False,
            timeout=PATIENCE_S,
        )
    make_key("cern", tmp_path / "k.pem", tmp_path / "c.pem", controllers.agreements["anl"].now())
    stranger = HttpsCarrier(load_key("cern", tmp_path / "k.pem", tmp_path / "c.pem"))
    with pytest.raises(NotReached, match="esnet was not reached at https://127"):
        stranger.say(controllers.agreements["anl"].neighbours["esnet"], "hello")
    stranger.close()


def test_another_one_than_the_neighbour_is_not_spoken_to(controllers: Controllers) -> None:
    anl, esnet = controllers.agreements["anl"], controllers.agreements["esnet"]
    wrong = replace(anl.neighbours["esnet"], controller=esnet.neighbours["lbnl"].controller)
    with pytest.raises(
        NotReached, match=r"esnet was not reached .*another certificate is shown there than .* of esnet"
    ):
        anl.carrier.say(wrong, "hello")


class _Odd(http.server.BaseHTTPRequestHandler):
    """A neighbour that answers what it likes, or nothing."""

    answer = b"rubbish"
    never = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if not self.answer:
            self.never.wait()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"rubbish", "esnet answers with status 200 and no words that can be read"),
        (b'{"answers": [1]}', "no words that can be read"),
        (b"[" * 5000, "no words that can be read"),
        (b" " * 3_000_000, "esnet answers without an end"),
        (b"", "esnet did not answer at https://127.0.0.1:.* within 0.5 s"),
    ],
)
def test_a_neighbour_that_answers_rubbish_or_never_is_named(
    content: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrying, "TIMEOUT_S", PATIENCE_S if content else 0.5)
    monkeypatch.setattr(_Odd, "answer", content)
    for name in ("anl", "esnet"):
        make_key(name, tmp_path / name / "key.pem", tmp_path / name / "certificate.pem", SYSTEM.now())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Odd)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "esnet" / "certificate.pem", tmp_path / "esnet" / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    carrier = HttpsCarrier(load_key("anl", tmp_path / "anl" / "key.pem", tmp_path / "anl" / "certificate.pem"))
    certificate = load_certificate("esnet", tmp_path / "esnet" / "certificate.pem")
    try:
        with pytest.raises(NotReached, match=words):
            carrier.say(Neighbour("esnet", f"https://127.0.0.1:{server.server_port}", certificate), "hello")
    finally:
        _Odd.never.set()
        carrier.close()
        server.shutdown()
        server.server_close()
        thread.join()
        _Odd.never.clear()


@pytest.mark.parametrize(
    ("role", "owner", "sees", "changes"),
    [("requester", "hep", 200, 200), ("requester", "astro", 404, 404), ("auditor", None, 200, 403)],
)
def test_who_may_see_a_connection_and_who_may_end_it(
    controllers: Controllers, role: str, owner: str | None, sees: int, changes: int, world: World
) -> None:
    chain = controllers.ask("anl", "POST", "/v1/connections", RESERVATION, 201)
    file = world.folder / "anl" / "tokens.json"
    token = create_token(file, "asker", Role(role), owner or "asker", controllers.agreements["anl"].now())
    headers = {"Authorization": f"Bearer {token}"}
    path = f"/v1/connections/{chain['connection']}"
    client = controllers.clients["anl"]
    assert client.get(path, headers=headers).status_code == sees
    listed = client.get("/v1/connections", headers=headers).json()["items"]
    assert bool(listed) is (sees == 200)
    for verb, body in (("modify", RESERVATION | {"owner": "hep"}), ("ticket", {"ticket": ""}), ("end", {})):
        status = client.post(f"{path}/{verb}", json=body, headers=headers).status_code
        assert status == changes, verb


def test_the_page_and_the_end_say_what_each_domain_has(controllers: Controllers) -> None:
    chain = controllers.ask("anl", "POST", "/v1/connections", RESERVATION, 201)["connection"]
    page = controllers.clients["anl"].get(f"/connections/{chain}").text
    for words in ("hep@anl/tonight", "in force", "anl-esnet-ip-premium", "no slot is open", "esnet</th>", "lbnl</th>"):
        assert words in page
    listed = controllers.clients["esnet"].get("/connections").text
    assert chain in listed
    assert "Neighbours of esnet" in listed
    settled = controllers.ask("anl", "POST", "/v1/domains/settle", {})["items"]
    assert [one["phase"] for one in settled] == ["reserve-start"]
    ended = controllers.ask("anl", "POST", f"/v1/connections/{chain}/end", {})
    assert {one["domain"]: one["phase"] for one in ended["segments"]} == dict.fromkeys(NAMES, "terminated")
    kinds = [one["kind"] for one in controllers.ask("lbnl", "GET", "/v1/events")["items"]]
    assert [kind for kind in kinds if kind.startswith("connection.")] == [
        "connection.asked", "connection.held", "connection.committed", "connection.ended",
    ]  # fmt: skip
