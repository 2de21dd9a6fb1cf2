"""Who may do what: the table of docs/security.md against the running API, route by route."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from starlette.routing import Mount, Route

from slotcar.api.app import app_with_routes, openapi_document
from slotcar.api.streaming import Streams
from slotcar.auth.tokens import create_token, revoke_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.policy.scopes import lets_pass, verbs_of_scopes
from slotcar.rollout.status import LoopStatus
from slotcar.store import open_ledger
from slotcar_client.calls.requests import send
from slotcar_client.wire.verbs import VERBS
from tests.integration.api.conftest import GARNET, ROOT, As, Running, Serve, at, body, created, problem
from tests.integration.conftest import copied
from tests.support.controllers import NO_TLS
from tests.support.least_verbs import least_of
from tests.support.patience import PATIENCE_S

DOCUMENT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
TABLE = DOCUMENT.partition("## Who may do what")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| ([A-Z]+) (/\S*) \| (\S+) \| (.+) \| (.+) \| (.+) \| (.+) \|$", TABLE, re.MULTILINE)
WHO = ("nobody", *(role.value for role in (Role.REQUESTER, Role.AUDITOR, Role.OPERATOR)))
#: Two owners may not reserve for the same packets.
THEIRS = {"destination": "lbnl-premium:5002"}
#: What is done as far as it makes sense: what else may be wrong with the request is not about who asks.
DONE = {200, 201, 409, 412, 422, 429}
#: Of what was measured.
ENDS = {"source": "anl-premium", "destination": "lbnl-premium"}


def routes(listed: Any) -> Iterator[tuple[str, str]]:
    """Every method and path of an application's routes, those of its routers too."""
    for route in listed:
        if router := getattr(route, "original_router", None):
            yield from routes(router.routes)
        elif isinstance(route, Mount):
            yield "GET", route.path
        else:
            assert isinstance(route, Route), f"what may be done at {route}?"
            yield from ((method, route.path) for method in route.methods or () if method != "HEAD")


def test_every_route_is_in_the_table() -> None:
    assert {(method, path) for method, path, *_ in ROWS} == set(routes(app_with_routes().routes))


@dataclass
class World:
    """One API with a token of each role, all of the owner hep but the operator's, and a reservation of hep and of astro."""

    clients: dict[str, httpx.Client]
    handles: dict[str, str]
    groups: dict[str, str]
    plans: dict[str, Any]


@pytest.fixture(scope="module")
def world(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    folder, running, moment = tmp_path_factory.mktemp("access"), Running(), datetime.now(UTC)
    secrets = {role.value: create_token(folder / "tokens.json", role.value, role, "hep", moment) for role in Role}
    loop = LoopStatus(troubles={"anl-7507-1": "it answers nothing at 10.1.2.3"})
    with copied(server_url, migrated) as url, open_ledger(url, folder) as ledger:
        anyone = running.start(
            ledger, network, Settings(state_dir=folder, inventory=GARNET), streams=Streams(each=0), loop=loop
        )
        headers = {"nobody": {}} | {name: {"Authorization": f"Bearer {one}"} for name, one in secrets.items()}
        clients = {
            who: httpx.Client(base_url=anyone.base_url, headers=one, timeout=PATIENCE_S, verify=NO_TLS)
            for who, one in headers.items()
        }
        operator = clients["operator"]
        handles = {
            "own": created(operator, "mine", rate="1 Mbit/s")["handle"],
            "other's": created(operator, "theirs", owner="astro", rate="1 Mbit/s", **THEIRS)["handle"],
        }
        groups = {
            whose: operator.post("/v1/groups", json=group(owner)).json()["handle"]
            for whose, owner in (("own", "hep"), ("other's", "astro"))
        }
        plans = {
            whose: operator.post("/v1/plans", json=file(owner)).json()
            for whose, owner in (("own", "hep"), ("other's", "astro"))
        }
        yield World(clients, handles, groups, plans)
        for client in clients.values():
            client.close()
        running.stop()


def file(owner: str, name: str = "planned", **more: Any) -> dict[str, Any]:
    flow = THEIRS if owner == "astro" else {}
    return {"version": 1, "reservations": [body(name, owner=owner, rate="1 Mbit/s", **flow | more)]}


def group(owner: str, name: str = "together", **more: Any) -> dict[str, Any]:
    """A group of one flow."""
    document = body("x", owner=owner, **{"rate": "1 Mbit/s"} | (THEIRS if owner == "astro" else {}) | more)
    times = {key: document.pop(key) for key in ("start", "end", "duration") if key in document}
    flow = {key: one for key, one in document.items() if key not in ("name", "owner")}
    return {"name": name, "owner": owner, **times, "members": [{"name": "line", "network": flow}]}


def arguments_of(world: World, path: str, whose: str) -> dict[str, Any]:
    """A request to a route that is right but for who asks. It changes as little as it can."""
    owner = "astro" if whose == "other's" else "hep"
    bodies: dict[str, Any] = {
        "/v1/reservations": body("asked", owner=owner, rate="900 Mbit/s"),
        "/v1/connections": body("asked", owner=owner, rate="900 Mbit/s"),
        "/v1/groups": group(owner, "asked", rate="900 Mbit/s"),
        "/v1/group-sets": {"together": [group(owner, "asked", rate="900 Mbit/s")]},
        "/v1/enquiries": body(name=None, owner=None),
        "/v1/plans": file(owner),
        "/v1/applies": world.plans.get(whose, {}),
        "/v1/webhooks": {"url": "https://example.net/", "secret": "file:/nowhere"},
        "/v1/transfers": {**ENDS, "volume": "1 GB", "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z"},
        "/v1/communities/{community}/shares": {"name": "x", "rate": "1 Mbit/s"},
        "/v1/probes": {**ENDS, "tool": "ping", "rtt": "20 ms"},
        "/v1/audits/streams": {
            **ENDS,
            "sls": "anl-esnet-ip-premium",
            "start": "2026-01-01T00:00:00Z",
            "interval_us": 100_000,
            "packets": [[0, 0, 9_000]],
        },
    }
    last = {
        "extend": {"by": "PT1M"},
        "delegate": {"to": "somebody", "may": ["see"], "until": "now + 5 min"},
        "withdraw": {"to": "nobody"},
        "progress": {"remaining": "1 GB"},
        "bind": {"source_port": 9},
        "hold": {"reason": "", "until": None},
    }
    last["{handle}"] = {"rate": "1 Mbit/s"}
    sent = bodies.get(path, last.get(path.rpartition("/")[2], _LEAST.get(path)))
    return {} if sent is None else {"json": sent}


def _bodies() -> Iterator[tuple[str, Any]]:
    """Of each verb with one, what it needs, by its address."""
    for verb in VERBS.values():
        body_of_it = next(send(least_of(verb))).body
        if body_of_it is not None:
            yield verb.address, body_of_it


_LEAST = dict(_bodies())


#: What is done to a connection needs a controller of one domain: tests/integration/domains/test_over_https.py.
OF_CONNECTIONS = "/v1/connections/"


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if not row[1].startswith(OF_CONNECTIONS)],
    ids=lambda row: f"{row[0]} {row[1]} {row[2]}",
)
def test_the_table_of_rights_is_true(world: World, row: tuple[str, ...]) -> None:
    method, path, whose, *cells = row
    handles = world.groups if path.startswith("/v1/groups") else world.handles
    place = path.replace("{handle}", handles.get(whose, "")).replace("{webhook}", "wh-0")
    place += "?device=anl-7507-1&interface=ATM1/0/0" if path == "/v1/usage/link" else ""
    place = place.replace("{device}", "nowhere").replace("/static", "/static/swagger-ui/swagger-ui.css")
    for who, cell in zip(WHO, cells, strict=True):
        given = {} if method in ("GET", "DELETE") else arguments_of(world, path, whose)
        answer = world.clients[who].request(method, place, headers={"If-Match": '"999"'}, **given)
        if cell.startswith("yes"):
            kind = answer.json()["type"] if answer.status_code == 404 else ""
            is_done = answer.status_code in DONE or kind.endswith(
                ("unknown-webhook", "unknown-device", "unknown-community")
            )
            assert is_done, (who, answer.status_code, answer.text[:300])
        else:
            assert answer.status_code == int(cell), (who, answer.text[:300])


def test_a_requester_is_told_nothing_of_other_owners(world: World) -> None:
    """Whatever it asks: no owner, name, handle, address with a port, or device of another's reservation."""
    me, operator = world.clients["requester"], world.clients["operator"]
    theirs = created(
        operator, "their-secret", owner="astro", destination="lbnl-premium:6123", source="anl-premium:6124",
        rate="1 Mbit/s",
    )  # fmt: skip
    mine = {"name": "mine-alone", "destination": "lbnl-premium:6125"}
    answers = [
        me.get("/v1/reservations"), me.get("/v1/reservations", params={"owner": "astro"}),
        me.get("/v1/reservations", params={"name": "their-secret"}),
        me.post("/v1/plans", json=file("hep", **mine)),
        me.post("/v1/plans", json=file("hep", **mine), params={"set": "another"}),
        me.post("/v1/reservations", json=body(**mine, rate="44 Mbit/s")),
        me.post("/v1/enquiries", json=body(**mine | {"name": None}, owner=None)),
        *(me.get(f"/v1/{path}") for path in ("timeline", "events", "events/stream", "controller", "configurations")),
        me.get("/v1/events", params={"owner": "astro"}), me.get("/v1/timeline", params={"owner": "astro"}),
        me.get("/v1/events?newest=true&limit=1000"),
        me.get("/v1/events", params={"device": "anl-7507-1"}),
        me.get("/v1/devices/anl-7507-1/difference"), me.get("/v1/webhooks"), me.get("/readyz"),
    ]  # fmt: skip
    for answer in answers:
        for word in ("astro", theirs["handle"], world.handles["other's"], "6123", "6124", "10.1.2.3"):
            # As a word: an instant's microseconds may hold a port's digits.
            assert not re.search(rf"(?<![\w.-]){re.escape(word)}(?!\w)", answer.text), answer.request.url
    plan = answers[3].json()
    # Another case may have applied a plan of this owner's, which this one takes away.
    assert [step["action"] for step in plan["steps"] if step["action"] != "cancel"] == ["create"]
    assert (plan["boundaries"], plan["boundaries_left_out"] > 0) == ([], True)
    refusal = answers[5].json()["refusal"]
    assert refusal["shortfalls"][0]["free_bps"] > 0
    whole = operator.post("/v1/plans", json=file("hep", **mine)).json()
    assert "6123" in json.dumps(whole["boundaries"]), "an operator sees the devices, with all that is on them"


def test_readiness_says_why_only_to_who_may_see_devices(world: World) -> None:
    for who in WHO:
        text = world.clients[who].get("/readyz").text
        assert ("10.1.2.3" in text, "anl-7507-1" in text, "1 in trouble" in text) == (
            (True, True, False) if who in ("auditor", "operator") else (False, False, True)
        )


def test_without_a_token_nobody_is_an_operator(as_: As, tmp_path: Any) -> None:
    """Neither before the first token is made nor after the last one was revoked."""
    ops = as_("ops", Role.OPERATOR)
    assert ops.get("/v1/reservations").status_code == 200
    revoke_token(tmp_path / "tokens.json", "ops")
    document = problem(ops.get("/v1/reservations"), 401, "unauthenticated")
    assert "slotcar token create" in document["detail"]
    (tmp_path / "tokens.json").unlink()
    document = problem(httpx.get(f"{ops.base_url}/v1/reservations", timeout=PATIENCE_S), 401, "unauthenticated")
    assert "slotcar token create" in document["detail"]


@pytest.mark.parametrize("scopes", [("reservations:read",), ("see", "commit"), ("operate",), ("plan", "views:read")])
def test_a_token_with_scopes_is_for_these_verbs_alone(as_: As, scopes: tuple[str, ...]) -> None:
    """An operator's, at every route: what its scopes do not name is refused by them, whatever else is wrong with it."""
    client, passed = as_("narrow", Role.OPERATOR, scopes=scopes), set()
    for name, method, path in operations():
        place = re.sub("{[^}]*}", "nowhere", path)
        with client.stream(method, place, headers={"If-Match": '"999"'}, json={}) as answer:
            refused = answer.status_code == 403 and "its scopes are" in json.loads(answer.read())["detail"]
        assert refused == (not lets_pass(scopes, name)), (name, answer.status_code)
        passed |= set() if refused else {name}
    assert passed == {"whoami"}.union(*(verbs_of_scopes()[one] for one in scopes))
    assert client.get("/v1/whoami").json()["scopes"] == list(scopes)


def operations() -> Iterator[tuple[str, str, str]]:
    """Name, method and path of each that needs a token."""
    for path, methods in openapi_document()["paths"].items():
        for method, operation in methods.items():
            if path.startswith("/v1/"):
                yield operation["operationId"], method.upper(), path


def test_a_token_that_is_wrong_is_refused_by_an_open_controller_too(serve: Serve) -> None:
    answer = serve().get("/v1/reservations", headers={"Authorization": "Bearer slotcar_wrong"})
    problem(answer, 401, "unauthenticated")


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:8470", True), ("127.0.0.1", True), ("[::1]:80", True), ("LOCALHOST", True), ("a.example.net", True),
        ("rebound.example.com", False), ("localhost.example.com", False), ("127.0.0.1.example.com:80", False),
        ("x@localhost", False), ("localhost:x", False), ("", False), ("10.0.0.1", False),
    ],
)  # fmt: skip
def test_a_request_for_another_host_is_refused(named: httpx.Client, host: str, known: bool) -> None:
    answer = named.get("/v1/reservations", headers={"Host": host})
    if known:
        assert answer.status_code == 200
    else:
        assert "SLOTCAR_HOSTS" in problem(answer, 421, "wrong-host")["detail"]


@pytest.fixture(scope="module")
def named(server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An open API that has a name beside its own."""
    folder, running = tmp_path_factory.mktemp("named"), Running()
    with copied(server_url, migrated) as url, open_ledger(url, folder) as ledger:
        chosen = Settings(state_dir=folder, inventory=GARNET, open=True, hosts="a.example.net")
        yield running.start(ledger, network, chosen)
        running.stop()


def test_a_page_of_another_site_changes_and_reads_nothing(named: httpx.Client) -> None:
    entry = created(named)
    own = f"http://{named.base_url.host}:{named.base_url.port}"
    for headers in (
        {"Origin": "https://evil.example.com"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "x"},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Origin": own},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ):  # fmt: skip
        problem(named.post(at(entry, "cancel"), headers=headers), 403, "cross-site")
    problem(named.get("/v1/controller", headers={"Sec-Fetch-Site": "cross-site"}), 403, "cross-site")
    led_here = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert named.get("/v1/controller", headers=led_here).status_code == 200
    assert named.get(at(entry)).json()["state"] == "committed"
    for headers in ({"Origin": own}, {"Sec-Fetch-Site": "same-origin", "Origin": own}, {"Sec-Fetch-Site": "none"}):
        assert named.patch(at(entry), json={"rate": "1 Mbit/s"}, headers={"If-Match": "*", **headers}).is_success
    behind_a_proxy = {"Host": "a.example.net", "Origin": "https://a.example.net"}
    assert named.post(at(entry, "cancel"), headers=behind_a_proxy).is_success
