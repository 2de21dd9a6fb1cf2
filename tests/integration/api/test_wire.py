"""What the client library and the mover send goes on to be answered, with all that they may read of it.

`tests/samples/wire.json` has the requests of every verb of the client and of what a transfer asks, in an order in which
they make sense, each with its answer. (The client of 60bbf796 sends the same, but for sets of groups and the size of two
pages.) They are sent again as they stand there, by plain HTTP: programs and movers that are installed somewhere send them,
whatever becomes of the client here. An answer may have more than it had, and nothing less, and nothing otherwise.

The other case holds the client here to the same requests. Where `speak` asks for more, `UPDATE_GOLDEN=1 pytest` with the
name of this file writes the sample again: what is there must stay. `webhook_test` connects elsewhere, and is left out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar_client import Problem, Retries, Slotcar
from slotcar_transfer.lanes import Steering
from slotcar_transfer.profile import Shape
from slotcar_transfer.reserving import Ends, Reservation
from tests.integration.api.conftest import Serve
from tests.support.clocks import stopped_at
from tests.support.controllers import NO_TLS
from tests.support.differing import differences
from tests.support.patience import PATIENCE_S

FILE = Path(__file__).resolve().parents[2] / "samples" / "wire.json"
NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
START, END = "2027-03-01T13:00:00Z", "2027-03-01T15:00:00Z"
#: What a program sends back as it got it: handles of reservations and groups and webhooks' ids, which are drawn at random,
#: and the digests in a plan.
HANDLE = re.compile(r"\b(?:[rg]-[0-9a-hjkmnp-tv-z]{16}|wh-[0-9a-f]{12}|(?:sha256:)?[0-9a-f]{64})\b")
SECRET = re.compile(r'("signing_secret": )"[^"]*"')
HEADERS = ("if-match", "idempotency-key", "content-type", "last-event-id")
#: Of what says how this machine is, the forms are held, and not the values.
OF_THE_MACHINE = ("/readyz", "/healthz", "/metrics", "/v1/controller")
STREAM = "/v1/events/stream"
Exchange = dict[str, Any]


@dataclass
class Names:
    """Handles in their order, with what stands for each in the file."""

    known: dict[str, str] = field(default_factory=dict)

    def in_file(self, part: Any) -> Any:
        text = SECRET.sub(r'\1"…"', json.dumps(part))
        return json.loads(
            HANDLE.sub(lambda match: self.known.setdefault(match[0], f"handle-{len(self.known)}."), text)
        )

    def in_request(self, part: Any) -> Any:
        text = json.dumps(part)
        for handle, name in self.known.items():
            text = text.replace(name, handle)
        return json.loads(text)


def forms(document: Any) -> Any:
    """The document with its values' types in their place."""
    if isinstance(document, dict):
        return {key: forms(value) for key, value in document.items()}
    return "a list" if isinstance(document, list) else type(document).__name__


def body(name: str, port: int, **more: Any) -> dict[str, Any]:
    usual = {
        "name": name, "owner": "hep", "source": "anl-premium", "destination": f"lbnl-premium:{port}", "protocol": "udp",
        "service": "ip-premium", "rate": "2 Mbit/s", "start": START, "duration": "PT2H",
    }  # fmt: skip
    return {key: value for key, value in (usual | more).items() if value is not None}


def group(name: str, port: int, rate: str) -> dict[str, Any]:
    flow = {key: body("", port, rate=rate)[key] for key in ("source", "destination", "protocol", "service", "rate")}
    return {
        "name": name,
        "owner": "hep",
        "start": START,
        "duration": "PT1H",
        "members": [{"name": "line", "network": flow}],
    }


def speak(slotcar: Slotcar) -> None:
    """Every verb, with each of its arguments somewhere."""
    slotcar.whoami(), slotcar.endpoints(), slotcar.services(), slotcar.limits(), slotcar.limits("hep")
    slotcar.enquire({key: value for key, value in body("", 5001, rate=None).items() if key not in ("name", "owner")})
    entry = slotcar.create(body("cms", 5001, labels={"run": "7"}), hold="5 min", idempotency_key="a-key-of-its-own")
    held = entry["handle"]
    slotcar.extend(held, "10 min")
    slotcar.commit("hep/cms", version=2)
    slotcar.modify("hep/cms", rate="5 Mbit/s")
    slotcar.modify(held, rate={"forward": "4 Mbit/s"}, version=4)
    slotcar.modify(held, end=END, version=5)
    slotcar.bind("hep/cms", source_port=4000)
    slotcar.reservation(held), slotcar.reservation("hep/cms"), slotcar.addable("hep/cms")
    large = slotcar.create(body("large", 5002, rate="21 Mbit/s"))
    slotcar.approve(large["handle"], version=large["version"])
    again = slotcar.create(body("again", 5003, rate="21 Mbit/s", direction="reverse"))
    slotcar.reject(again["handle"], "not today", version=1)
    slotcar.create(body("background", 5004, rate=None, share={"weight": 2, "at_most": "4 Mbit/s"}))
    schedule = [{"start": START, "duration": "1 h", "rate": "1 Mbit/s"}]
    slotcar.create(body("varying", 5005, rate=None, start=None, duration=None, schedule=schedule))
    slotcar.create(body("nightly", 5006, recurrence="FREQ=DAILY;COUNT=2", timezone="Europe/Zurich"))
    slotcar.reservations(owner="hep", name="cms", state=["committed"], label="run=7", since=START, until=END)
    slotcar.reservations(search="cms", newest=True, limit=2)
    for wrong in (body("toomuch", 5007, rate="90 Mbit/s"), body("unreadable", 5008, rate="10 mb"), body("cms", 5009)):
        with suppress(Problem):
            slotcar.create(wrong)
    for verb in (lambda: slotcar.cancel("hep/nothing"), lambda: slotcar.modify(held, rate="1 Mbit/s", version=1)):
        with suppress(Problem):
            verb()
    slotcar.cancel("hep/large", "done")
    speak_of_groups(slotcar)
    speak_of_files(slotcar)
    speak_of_the_network(slotcar)
    speak_of_events(slotcar)
    slotcar.alive(), slotcar.ready(), slotcar.metrics(), slotcar.controller()


def speak_of_files(slotcar: Slotcar) -> None:
    file = {"version": 1, "reservations": [body("more", 5010), body("cms", 5001, rate="3 Mbit/s")]}
    slotcar.apply(slotcar.plan(file, set_name="all", owners=["hep"]))
    with suppress(Problem):
        slotcar.apply(slotcar.plan({"version": 1, "reservations": [body("toomuch", 5011, rate="90 Mbit/s")]}))


def speak_of_events(slotcar: Slotcar) -> None:
    slotcar.events(newest=True, limit=2), slotcar.events(kinds=["reservation.held"], reservation="hep/cms", after=0)
    slotcar.events(owner="hep", name="cms", label="run=7", since=START, until=END, device="anl-7507-1")
    hook = slotcar.webhook_add("http://127.0.0.1:9/", kinds=["reservation."])["id"]
    slotcar.webhook_list(), slotcar.webhook_dead_letters(hook, 5), slotcar.webhook_redeliver(hook)
    with suppress(Problem):
        slotcar.webhook_redeliver(hook, [1])
    slotcar.webhook_remove(hook)
    next(slotcar.watch("hep/more", after=0))
    next(slotcar.watch(after=3, kinds=["reservation.committed"], owner="hep"))


def speak_of_groups(slotcar: Slotcar) -> None:
    held = slotcar.group_create(group("held", 6001, "1 Mbit/s"), hold="5 min")["handle"]
    slotcar.group(held), slotcar.groups(owner="hep", state=["held"], since=START, until=END, newest=True, limit=3)
    slotcar.group_commit(held, version=1)
    slotcar.group_cancel(held, "done", version=2)
    above = slotcar.group_create(group("above", 6002, "21 Mbit/s"))
    slotcar.group_approve(above["handle"], version=above["version"])
    slotcar.group_cancel(above["handle"])
    slotcar.group_reject(slotcar.group_create(group("waiting", 6003, "21 Mbit/s"))["handle"], "not today")
    slotcar.group_create_all([group("b", 6004, "1 Mbit/s"), group("a", 6005, "1 Mbit/s")], hold="5 min")
    with suppress(Problem):
        slotcar.group_create_all([group("fits", 6006, "1 Mbit/s"), group("toolarge", 6007, "90 Mbit/s")])


def speak_of_the_network(slotcar: Slotcar) -> None:
    (
        slotcar.timeline(since=START, until=END, name="more"),
        slotcar.timeline(owner="hep", device=["anl-7507-1"], limit=2),
    )
    slotcar.boundary(slotcar.boundaries(limit=2)[0]["at"])
    slotcar.usage(since=START, until=END)
    slotcar.resources(["sls:anl-esnet-ip-premium"], since=START, until=END, points=10)
    slotcar.network(), slotcar.device_states(), slotcar.revisions(limit=2)
    slotcar.configurations(START, ["anl-7507-1"])
    with suppress(Problem):
        slotcar.difference("nowhere")
    slotcar.hold("anl-7507-1", "a fan", until=START), slotcar.holds(), slotcar.release("anl-7507-1")


class Unwatched(Reservation):
    """What it watches comes between its own requests, at no known place: the stream is sent_again for by itself."""

    def _watch(self, after: int) -> None:
        pass


def move(slotcar: Slotcar) -> None:
    """What `slotcar transfer --by` asks: begun, reported, begun again from another port, done; and one that is stopped."""

    def reservation(name: str, **more: Any) -> Unwatched:
        return Unwatched(
            slotcar, name, NOW + timedelta(hours=2), "ip-premium", Steering(), lambda _words: None, **more
        )

    ends = Ends("anl-premium", 7001, "lbnl-premium", 7002)
    first = reservation("moved", more={"labels": {"slotcar/transfer": "moved"}})
    first.begin(1_000_000_000, ends)
    first.report(600_000_000)
    next(slotcar.watch(first.handle, after=0))
    taken_up = reservation("moved")
    taken_up.begin(700_000_000, ends)
    other = reservation("moved", owner="hep", shape=Shape.EARLIEST)
    other.begin(500_000_000, Ends("anl-premium", 7003, "lbnl-premium", 7002))
    other.give_back(done=False, reason="stopped")
    last = reservation("last", owner="hep", shape=Shape.LATEST, more={"at_most": "20 Mbit/s"})
    last.begin(500_000_000, Ends("anl-premium", 7004, "lbnl-premium", 7005))
    last.report(400_000_000)
    last.give_back(done=True)


class Record:
    """What a client sends, and what it is answered."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._names, self._keys = Names(), 0

    def note(self, response: httpx.Response) -> None:
        request = response.request
        headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
        if re.fullmatch(r"[0-9a-f-]{36}", headers.get("idempotency-key", "")):
            self._keys += 1
            headers["idempotency-key"] = f"key-{self._keys}"
        sent = {
            "method": request.method,
            "path": request.url.raw_path.decode(),
            "headers": headers,
            "body": json.loads(request.content) if request.content else None,
        }
        if request.url.path == STREAM:
            answer: Any = None  # it has no end: its first event is read when the request is sent again
        else:
            answer = answer_of(request.url.path, response.read(), response.headers)
        # What was sent_again first, so that no name is drawn from an answer that the request names.
        self.exchanges.append(self._names.in_file({**sent, "status": response.status_code, "answer": answer}))


def answer_of(path: str, content: bytes, headers: httpx.Headers) -> Any:
    if "json" not in headers["content-type"]:
        return headers["content-type"]
    document = json.loads(content)
    return forms(document) if path in OF_THE_MACHINE else document


@pytest.fixture
def address(serve: Serve) -> Iterator[str]:
    with stopped_at(NOW):
        yield str(serve(approval_rate_bps="20 Mbit/s", webhook_hosts="127.0.0.1").base_url)


def requests_of(exchanges: list[Exchange]) -> list[Exchange]:
    return [{key: one[key] for key in ("method", "path", "headers", "body")} for one in exchanges]


@pytest.mark.parametrize("program", [speak, move], ids=["client", "mover"])
def test_the_programs_of_today_send_what_is_recorded(address: str, program: Callable[[Slotcar], None]) -> None:
    record = Record()
    options: dict[str, Any] = {"timeout_s": PATIENCE_S, "event_hooks": {"response": [record.note]}}
    with Slotcar(address, retries=Retries(attempts=1), **options) as slotcar:
        program(slotcar)
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("UPDATE_GOLDEN"):
        lines = {
            name: record.exchanges if name == program.__name__ else recorded.get(name, [])
            for name in ("speak", "move")
        }
        parts = [f'"{name}": [\n' + ",\n".join(map(json.dumps, some)) + "\n]" for name, some in lines.items()]
        FILE.write_text("{" + ",\n".join(parts) + "}\n")
        return
    assert requests_of(record.exchanges) == requests_of(recorded[program.__name__])


@pytest.mark.parametrize("program", ["speak", "move"])
def test_what_was_recorded_is_answered_as_it_was(address: str, program: str) -> None:
    names = Names()
    different: dict[str, Any] = {}
    with httpx.Client(base_url=address, timeout=PATIENCE_S, verify=NO_TLS) as plain:
        for number, one in enumerate(json.loads(FILE.read_text())[program]):
            sent_again = names.in_request({key: one[key] for key in ("method", "path", "headers", "body")})
            content = None if sent_again["body"] is None else json.dumps(sent_again["body"]).encode()
            request = plain.build_request(
                sent_again["method"], sent_again["path"], headers=sent_again["headers"], content=content
            )
            response = plain.send(request, stream=True)
            status, path = response.status_code, request.url.path
            answer = first_event(response) if path == STREAM else answer_of(path, response.read(), response.headers)
            response.close()
            place = f"{number}: {one['method']} {one['path']}: "
            if path == STREAM:
                assert {"sequence", "kind", "at", "handle", "details"} <= answer.keys()
                answer = None
            different |= differences(one["answer"], names.in_file(answer), place)
            different |= {} if status == one["status"] else {place: status}
    assert different == {}


def first_event(response: httpx.Response) -> dict[str, Any]:
    line = next(line for line in response.iter_lines() if line.startswith("data:"))
    event: dict[str, Any] = json.loads(line.removeprefix("data:"))
    return event
