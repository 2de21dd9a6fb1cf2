"""The client library against the real API: every verb, retries that are safe, and events without a gap; both clients."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from slotcar.api.app import openapi_document
from slotcar.api.streaming import Streams
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Role
from slotcar_client import (
    AsyncSlotcar,
    Conflict,
    NoAnswer,
    NotFound,
    Problem,
    Refused,
    Retries,
    Slotcar,
    StaleVersion,
    Wrong,
)
from slotcar_client.wire import verbs
from tests.integration.api.conftest import START, As, Serve, body
from tests.support.least_verbs import least_of
from tests.support.receiver import Receiver
from tests.support.unreliable import AFTER, BEFORE, Unreliable, unreliable

PATHS = openapi_document()["paths"]
QUICK = Retries(attempts=4, first_s=0.01, longest_s=0.05)


class Awaited:
    """The asynchronous client, asked as the other one is."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncSlotcar(*given, **options)

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return lambda *given, **named: self._loop.run_until_complete(getattr(self._client, verb)(*given, **named))

    def watch(self, *given: Any, **named: Any) -> Iterator[Any]:
        events = self._client.watch(*given, **named)
        try:
            while True:
                yield self._loop.run_until_complete(anext(events))
        finally:
            self._loop.run_until_complete(events.aclose())

    def close(self) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


Opened = Callable[..., Any]


@pytest.fixture(params=[Slotcar, Awaited], ids=["sync", "async"])
def opened(request: pytest.FixtureRequest) -> Iterator[Opened]:
    """Opens a client of one of the two kinds."""
    clients: list[Any] = []

    def start(url: Any, token: str | None = None, **options: Any) -> Any:
        clients.append(request.param(str(url), token, **({"retries": QUICK} | options)))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def through(api: httpx.Client) -> Iterator[Unreliable]:
    """A proxy before the API, of which a test says what it does with the coming requests."""
    with unreliable(str(api.base_url)) as proxy:
        yield proxy


def test_every_verb_of_the_api_is_there(serve: Serve) -> None:
    """All operations of the API's document, each done by a verb."""
    calls: set[tuple[str, str]] = set()
    operations = {(method.upper(), path) for path, listed in PATHS.items() for method in listed}

    def note(request: httpx.Request) -> None:
        for method, path in operations:
            if method == request.method and re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", path), request.url.path):
                calls.add((method, path))

    api = serve(approval_rate_bps="20 Mbit/s", webhook_hosts="127.0.0.1")
    with Receiver() as receiver, Slotcar(str(api.base_url), event_hooks={"request": [note]}) as slotcar:
        assert slotcar.enquire(body())["directions"][0]["highest_rate_bps"] > 0
        handle = slotcar.create(body(), hold="5 min")["handle"]
        assert slotcar.extend(handle, "10 min")["state"] == "held"
        assert slotcar.commit("hep/cms")["state"] == "committed"
        assert slotcar.modify("hep/cms", rate="5 Mbit/s")["reservation"]["rate_bps"] == 5_000_000
        assert slotcar.bind("hep/cms", source_port=4000)["reservation"]["source"]["port"] == 4000
        assert slotcar.reservation(handle)["version"] == 5
        assert slotcar.addable("hep/cms")["adds_to"] == handle
        assert [one["handle"] for one in slotcar.reservations(name="cms", since=START)] == [handle]
        large = slotcar.create(body("large", rate="21 Mbit/s", destination="lbnl-premium:5002"))
        assert slotcar.approve(large["handle"], version=large["version"])["state"] == "committed"
        again = slotcar.create(body("again", rate="21 Mbit/s", destination="lbnl-premium:5003", direction="reverse"))
        assert slotcar.reject(again["handle"], "not today")["state"] == "rejected"
        volume = body("volume", destination="lbnl-premium:5005", rate=None, start=None, duration=None, end=None)
        moved = slotcar.create({**volume, "volume": "1 GB", "by": "now + 2 h"})
        assert slotcar.progress(moved["handle"], "500 MB")["progress"]["remaining_bytes"] == 500_000_000
        # It begins with the next second, which may have come.
        assert slotcar.progress(moved["handle"], "0 B")["state"] in ("cancelled", "ended")
        assert slotcar.cancel("hep/large", "done")["state"] == "cancelled"
        _ask_for_groups(slotcar)
        plan = slotcar.plan({"version": 1, "reservations": [body("more", destination="lbnl-premium:5004")]})
        assert slotcar.apply(plan)["created"] == 1
        assert [one["starting"] for one in slotcar.timeline(name="more")] == [["hep/more"], []]
        assert slotcar.configurations(START, ["anl-7507-1"])[0]["device"] == "anl-7507-1"
        with pytest.raises(Problem):  # nobody answers for the devices of this inventory
            slotcar.difference("nowhere")
        _ask_for_overviews(slotcar)
        _send_what_has_no_method(slotcar, handle)
        assert slotcar.events(newest=True, limit=1)[0]["kind"] == "device.released"
        assert next(slotcar.watch("hep/more", after=0))["details"]["name"] == "more"
        _ask_what_is_offered_and_be_told(slotcar, receiver)
        _send_the_others(slotcar, calls, handle)
    assert operations - calls == set()


def _hand_on_and_withdraw(slotcar: Slotcar, handle: str) -> None:
    handed = slotcar.delegate(handle, "bob", ["bind"], START)
    assert [(one["to"], one["may"]) for one in handed["delegations"]] == [("bob", ["bind"])]
    assert [(one["handle"], one["to"]) for one in slotcar.delegations()] == [(handle, "bob")]
    assert "delegations" not in slotcar.withdraw(handle, "bob")
    with pytest.raises(Conflict, match="delegated to bob"):
        slotcar.withdraw(handle, "bob")


def group(name: str, port: int, rate: str) -> dict[str, Any]:
    flow = {key: one for key, one in body(rate=rate).items() if key not in ("name", "owner", "start", "duration")}
    line = {"name": "line", "network": flow | {"destination": f"lbnl-premium:{port}"}}
    return {"name": name, "owner": "hep", "start": START.isoformat(), "duration": "PT1H", "members": [line]}


def _ask_for_groups(slotcar: Slotcar) -> None:
    held = slotcar.group_create(group("held", 5006, "1 Mbit/s"), hold="5 min")["handle"]
    assert slotcar.group(held)["state"] == "held"
    assert [one["handle"] for one in slotcar.groups(owner="hep", state=["held"], newest=True)] == [held]
    assert slotcar.group_commit(held)["state"] == "committed"
    assert slotcar.group_cancel(held, "done")["state"] == "cancelled"
    above = slotcar.group_create(group("above", 5007, "21 Mbit/s"))
    with pytest.raises(Problem, match="read it again"):
        slotcar.group_approve(above["handle"], version=above["version"] + 1)
    assert slotcar.group_approve(above["handle"], version=above["version"])["state"] == "committed"
    assert slotcar.group_cancel(above["handle"])["state"] == "cancelled"
    with pytest.raises(Problem, match=r"nothing of it was applied: hep/large\.line"):
        slotcar.group_create_all([group("fits", 5009, "1 Mbit/s"), group("large", 5010, "900 Mbit/s")])
    assert slotcar.groups(state=["committed"]) == []
    both = slotcar.group_create_all([group(name, port, "1 Mbit/s") for name, port in (("b", 5009), ("a", 5010))])
    assert [(one["name"], one["state"]) for one in both] == [("b", "committed"), ("a", "committed")]
    for one in both:
        slotcar.group_cancel(one["handle"])
    waiting = slotcar.group_create(group("waiting", 5008, "21 Mbit/s"))["handle"]
    assert slotcar.group_reject(waiting, "not today")["state"] == "rejected"


def _share_out(slotcar: Slotcar) -> None:
    """The site has no community: tests/integration/store/test_shares.py has one."""
    for send in (lambda: slotcar.share_give("lhc", "cms", "1 Mbit/s"), lambda: slotcar.share_withdraw("lhc", "cms")):
        with pytest.raises(NotFound, match="there is no community lhc"):
            send()
    assert slotcar.share_list() == {"items": [], "communities": []}


def _ask_for_overviews(slotcar: Slotcar) -> None:
    _share_out(slotcar)
    _hand_on_and_withdraw(slotcar, slotcar.reservation("hep/cms")["handle"])
    assert slotcar.resources(["sls:anl-esnet-ip-premium"], since=START, points=10)[0]["reserved_bps"] > 0
    assert {one["unit"] for one in slotcar.resources()} == {"bps"}
    assert {one["name"] for one in slotcar.network()["domains"]} == {"anl", "esnet", "lbnl"}
    first = slotcar.boundaries(limit=1)[0]
    item = slotcar.boundary(first["at"])["item"]
    assert item is not None
    assert len(item["starting"]) == first["starting"]
    assert {one["state"] for one in slotcar.device_states()} == {"unknown"}
    assert slotcar.revisions() == []
    assert slotcar.hold("anl-7507-1", "a fan", until=START)["reason"] == "a fan"
    assert [(one["device"], one["until"]) for one in slotcar.holds()] == [("anl-7507-1", iso(START))]
    assert slotcar.release("anl-7507-1")["device"] == "anl-7507-1"
    assert slotcar.holds() == []
    assert {one["name"] for one in slotcar.usage(since=START, until=START + timedelta(days=1))} == {"hep"}


def _send_what_has_no_method(slotcar: Slotcar, handle: str) -> None:
    ends = ("anl-premium", "lbnl-premium")
    assert slotcar.send(verbs.Costs(*ends, "1 GB"))["best_effort"] is None
    began = iso(datetime.now(UTC) - timedelta(seconds=10))
    assert slotcar.send(verbs.RecordTransfer(*ends, "1 GB", began))["throughput_bps"] > 0
    assert slotcar.send(verbs.RecordProbe(*ends, "iperf3", rtt="50 ms"))["rtt_us"] == 50_000
    assert slotcar.send(verbs.EstimateAccuracy())["unknown"] == 1
    with pytest.raises(Problem, match="nothing to audit"):
        slotcar.record_stream("anl-esnet-ip-premium", *ends, began, 100_000, [[0, 0, 9_000]])
    assert {one["nothing"] for one in slotcar.audits()["items"]} == {"no delay, variation or loss was agreed"}
    assert slotcar.send(verbs.Closest({"file": ["anl-premium"]}, ["lbnl-premium"]))["items"]
    assert slotcar.send(verbs.Gather({"anl-premium": "1 GB", "lbnl-premium": "1 GB"}))["items"]
    assert slotcar.send(verbs.ReservationUsage(handle))["handle"] == handle
    assert slotcar.send(verbs.PolicyWhy(handle))["now"]["permitted"]
    for sums in (verbs.CountedUsage(), verbs.UnusedReservations()):
        assert slotcar.send(sums)["items"] == []
    assert slotcar.send(verbs.LinkUsage("anl-7507-1", "ATM1/0/0"))["unknown"]
    assert slotcar.send(verbs.Connections())["items"] == []
    assert slotcar.send(verbs.Domains())["domain"] is None
    for one in (
        verbs.Connect(body("over")), verbs.ConnectTogether(group("run", 5008, "1 Mbit/s")),
        verbs.ReportConnection("c-1", "1 GB"),
        verbs.ConnectFurther("c-1"), verbs.ShowTicket("c-1"), verbs.CommitConnection("c-1"),
        verbs.ModifyConnection("c-1", body("over")), verbs.EndConnection("c-1"), verbs.ConnectionStatus("c-1"),
        verbs.SettleConnections(),
    ):  # fmt: skip
        with pytest.raises(Problem, match="this controller has all domains of its inventory"):
            slotcar.send(one)
    assert slotcar.slss() == {"items": []}
    for ask in (
        lambda: slotcar.open_sls({"name": "x"}), lambda: slotcar.change_sls("x", {"rate": "1 Mbit/s"}),
        lambda: slotcar.end_sls("x", datetime.now(UTC)),
    ):  # fmt: skip
        with pytest.raises(Problem, match="this controller has all domains of its inventory"):
            ask()


def _send_the_others(slotcar: Slotcar, calls: Collection[tuple[str, str]], handle: str) -> None:
    """What nothing above sent, with as little as it needs: it is answered, or refused as the document says."""
    for verb in verbs.VERBS.values():
        if (verb.method, verb.address) not in calls:
            assert (
                _status_of(slotcar, least_of(verb, handle=handle))
                in PATHS[verb.address][verb.method.lower()]["responses"]
            )


def _status_of(slotcar: Slotcar, verb: verbs.Verb[Any]) -> str:
    try:
        slotcar.send(verb)
    except Problem as refused:
        return str(refused.status)
    return "201" if verb.created else "200"


def _ask_what_is_offered_and_be_told(slotcar: Slotcar, receiver: Receiver) -> None:
    assert slotcar.controller()["leading"] is False
    assert slotcar.whoami()["role"] == "operator"
    assert "anl-premium" in {one["name"] for one in slotcar.endpoints()["hosts"]}
    assert slotcar.services()[0]["dscps"] == [46]
    assert slotcar.limits("hep")["quotas"][0]["in_use"] == 2
    hook = slotcar.webhook_add(receiver.url, kinds=["reservation."])
    assert slotcar.webhook_test(hook["id"])["delivered"]
    assert (slotcar.webhook_list()[0]["id"], slotcar.webhook_dead_letters(hook["id"])) == (hook["id"], [])
    assert slotcar.webhook_redeliver(hook["id"]) == 0
    assert slotcar.webhook_remove(hook["id"])["id"] == hook["id"]
    assert slotcar.alive()["status"] == slotcar.ready()["status"] == "ok"
    assert "slotcar_reservations" in slotcar.metrics()


def test_errors_carry_the_numbers(serve: Serve, opened: Opened) -> None:
    slotcar = opened(serve(owner_quotas={"few": {"reservations": 0}}).base_url)
    with pytest.raises(Refused) as refused:
        slotcar.create(body(rate="900 Mbit/s"))
    short = refused.value.refusal["shortfalls"][0]
    assert short["requested_bps"] > short["free_bps"] > (refused.value.refusal["highest_rate_bps"] or 0) > 0
    with pytest.raises(Wrong, match="rate") as wrong:
        slotcar.create(body(rate="10 mb"))
    assert wrong.value.mistakes[0]["key"] == "rate"
    with pytest.raises(NotFound, match="there is no reservation hep/nothing"):
        slotcar.cancel("hep/nothing")
    with pytest.raises(Conflict) as quota:
        slotcar.create(body(owner="few"))
    assert quota.value.quota["limit"] == 0  # type: ignore[attr-defined]
    entry = slotcar.create(body())
    slotcar.modify(entry["handle"], rate="1 Mbit/s", version=1)
    with pytest.raises(StaleVersion) as stale:
        slotcar.modify(entry["handle"], rate="2 Mbit/s", version=1)
    assert (stale.value.current_version, stale.value.maybe_done) == (2, False)
    with pytest.raises(ValueError, match="no time zone"):
        slotcar.modify(entry["handle"], end=datetime(2027, 3, 1))  # noqa: DTZ001 - it is what is refused


def test_nobody_there_is_no_answer(opened: Opened) -> None:
    with pytest.raises(NoAnswer, match="does not answer") as error:
        opened("http://127.0.0.1:9", retries=Retries(attempts=2, first_s=0.01)).whoami()
    assert not error.value.maybe_done


@pytest.mark.parametrize("fate", [BEFORE, AFTER, 502, 503, 429], ids=str)
def test_what_is_created_twice_is_there_once(through: Unreliable, opened: Opened, fate: str | int) -> None:
    slotcar = opened(through.url)
    through.fates = [fate, fate]
    entry = slotcar.create(body())
    assert through.requests == ["POST /v1/reservations"] * 3
    assert [one["handle"] for one in slotcar.reservations(name="cms", state=["committed"])] == [entry["handle"]]


def test_a_change_whose_answer_was_lost_is_not_done_twice(through: Unreliable, opened: Opened) -> None:
    slotcar = opened(through.url)
    entry = slotcar.create(body())
    through.fates = [AFTER]
    with pytest.raises(StaleVersion) as stale:
        slotcar.modify(entry["handle"], rate="5 Mbit/s", version=1)
    assert (stale.value.current_version, stale.value.maybe_done) == (2, True)
    assert slotcar.reservation(entry["handle"])["version"] == 2


@pytest.mark.parametrize("fate", [BEFORE, AFTER])
def test_a_cancel_whose_answer_was_lost_is_seen_to_be_done(through: Unreliable, opened: Opened, fate: str) -> None:
    slotcar = opened(through.url)
    entry = slotcar.create(body())
    through.fates = [fate]
    assert slotcar.cancel(entry["handle"])["state"] == "cancelled"
    with pytest.raises(Conflict):  # it was not this call that did it
        slotcar.cancel(entry["handle"])


def test_what_may_not_be_sent_twice_is_sent_once(through: Unreliable, opened: Opened) -> None:
    slotcar = opened(through.url)
    through.fates = [AFTER]
    with pytest.raises(NoAnswer) as lost:
        slotcar.webhook_add("https://example.net/")
    assert lost.value.maybe_done
    (webhook,) = slotcar.webhook_list()
    slotcar.webhook_remove(webhook["id"])


def test_an_end_to_all_attempts(through: Unreliable, opened: Opened) -> None:
    through.fates = [BEFORE] * 9
    with pytest.raises(NoAnswer):
        opened(through.url).whoami()
    assert through.requests == ["GET /v1/whoami"] * QUICK.attempts


# -- events --------------------------------------------------------------------------------------------------------


def test_events_come_without_a_gap_though_streams_break(through: Unreliable, opened: Opened) -> None:
    """Each cancelled and made anew between two streams: what was recorded while there was none comes too, once."""
    slotcar = opened(through.url)
    first = slotcar.create(body())
    events = slotcar.watch(after=slotcar.events(newest=True, limit=1)[0]["sequence"] - 1)
    assert next(events)["handle"] == first["handle"]
    through.fates = [BEFORE, 503, BEFORE]
    handles = [first["handle"]]
    slotcar.cancel(first["handle"])
    assert (next(events)["handle"], handles) == (first["handle"], handles)
    second = slotcar.create(body())
    assert next(events)["handle"] == second["handle"]


@pytest.mark.in_short("async")
def test_where_no_stream_is_to_be_had_pages_are_asked_for(serve: Serve, opened: Opened) -> None:
    slotcar = opened(serve(how={"streams": Streams(each=0)}).base_url)
    before = slotcar.create(body("before"))
    events = slotcar.watch(after=0)
    assert next(events)["handle"] == before["handle"]
    entry = slotcar.create(body(destination="lbnl-premium:5002"))
    assert next(events)["handle"] == entry["handle"]
    slotcar.cancel(entry["handle"])
    assert next(events)["kind"] == "reservation.cancelled"


def test_who_may_not_is_told_and_does_not_wait_for_ever(as_: As, serve: Serve, opened: Opened) -> None:
    hep, astro = as_("hep", Role.REQUESTER), as_("astro", Role.REQUESTER, "astro")
    token = hep.headers["Authorization"].removeprefix("Bearer ")
    theirs = astro.post("/v1/reservations", json=body(owner=None)).json()
    slotcar = opened(hep.base_url, token)
    with pytest.raises(NotFound):
        next(slotcar.watch(theirs["handle"]))
    with pytest.raises(Problem) as nobody:
        next(opened(hep.base_url, "slotcar_wrong").watch())
    assert nobody.value.status == 401
    mine = slotcar.create(body(owner=None, destination="lbnl-premium:5002"))
    assert next(slotcar.watch(after=0))["handle"] == mine["handle"]
