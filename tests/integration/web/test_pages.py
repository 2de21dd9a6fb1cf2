"""Every page for every role, with what it says, and what it does not say to whom."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from slotcar.base.timebase import iso
from slotcar.base.vocabulary import Service
from slotcar.book.model import State
from slotcar.desk.entries import Entries
from slotcar.desk.requests import Requests
from slotcar.planning.modification import Modification
from slotcar.rollout.holding import held_devices
from slotcar.store import EntryFilter
from slotcar.web.app import PAGES
from slotcar_client.wire.events import DeviceHeld
from tests.integration.api.conftest import ROOT, START
from tests.integration.web.conftest import HOSTILE, OPERATOR, Open, Site
from tests.support.patience import PATIENCE_S
from tests.support.statements import statements_of

DOCUMENT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
TABLE = DOCUMENT.partition("## Pages")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| ([A-Z]+) (/\S*) \| (.+) \| (.+) \| (.+) \| (.+) \|$", TABLE, re.MULTILINE)
WHO = ("nobody", "requester", "auditor", "operator")
SLS = "sls:anl-esnet-ip-premium"
DONE = {200, 303, 409, 412, 422}


def filled(path: str, entry: str) -> str:
    """An address of that route, of things that there are."""
    for place, value in {
        "{handle}": entry, "{instant}": iso(START), "{group:int}": "1", "{resource:path}": SLS, "{device}": "anl-7507-1",
        "{community}": "nowhere",
    }.items():  # fmt: skip
        path = path.replace(place, value)
    queries = {
        "/rollback/preview": "?device=nowhere&to=baseline",
        "/chart/steps": f"?resource={SLS}&from=now&until=now%2B1d",
        "/chart/usage": f"?handle={entry}&direction=forward",
        "/chart/link": "?device=anl-7507-1&interface=ATM1/0/0",
        "/usage/link": "?device=anl-7507-1&interface=ATM1/0/0",
    }
    return path + queries.get(path, "")


def test_every_page_is_in_the_table() -> None:
    assert sorted((method, path) for method, path, *_ in ROWS) == sorted((page.method, page.path) for page in PAGES)


def test_the_table_of_pages_is_true(site: Site) -> None:
    """Nobody is led to the sign-in; an own reservation is seen, another's is not there."""
    mine = site.reserve("mine", rate="1 Mbit/s").handle
    clients = {who: site.client() if who == "nobody" else site.signed_in(who) for who in WHO}
    for method, path, *cells in ROWS:
        for who, cell in zip(WHO, cells, strict=True):
            if path in ("/sign-out", "/account/end-sessions") and who != "nobody":
                continue  # tests/integration/web/test_sessions.py
            token = site.tokens["operator" if who == "nobody" else who]
            form = {"version": "999", "decision": "approve", "zone": "UTC", "token": token, "by": "5 min"}
            form |= {"device": "anl-7507-1", "to": "baseline", "until": "now + 5 min", "rate": "1 Mbit/s"}
            given = {"data": form} if method == "POST" else {}
            answer = clients[who].request(method, filled(path, mine), **given)
            answered = (method, path, who, answer.status_code, answer.text[:200])
            if cell == "sign-in":
                assert answer.status_code == 303, answered
                assert answer.headers["location"].startswith("/sign-in"), answered
            elif cell.startswith("yes"):
                unknown = answer.status_code == 404 and "nowhere" in answer.text
                assert answer.status_code in DONE or unknown, answered
            else:
                assert answer.status_code == int(cell), answered


def test_others_reservations_are_not_there(site: Site) -> None:
    theirs = site.reserve("their-secret", owner="astro", rate="1 Mbit/s", destination="lbnl-premium:6123").handle
    mine = site.signed_in("requester")
    answers = [
        mine.get(path) for path in (
            f"/reservations/{theirs}", f"/reservations/{theirs}/now", "/", "/home/now", "/reservations?state=all",
            "/reservations?owner=astro", "/reservations?search=secret", "/boundaries", f"/boundaries/{iso(START)}", "/log",
            "/usage", "/usage?by=sls", "/usage.csv", f"/approvals/{theirs}", f"/links/{SLS}",
            f"/usage/of/{theirs}", f"/chart/usage?handle={theirs}", "/usage/unused",
        )
    ]  # fmt: skip
    assert [answer.status_code for answer in (*answers[:2], *answers[-3:-1])] == [404] * 4
    answers.append(mine.post(f"/reservations/{theirs}/cancel", data={"version": "1"}))
    assert answers[-1].status_code == 404
    for answer in answers:
        # As a word: a request's number or an instant may hold these digits.
        for word in ("their-secret", "6123", *(() if theirs in str(answer.url) else (theirs,))):
            assert not re.search(rf"(?<![\w.-]){word}(?!\w)", answer.text), answer.url
    assert Entries(site.desk).status(theirs, OPERATOR).state is State.COMMITTED


def test_the_first_page_says_what_happens_next_and_where(site: Site) -> None:
    site.reserve("tonight")
    site.reserve("large", rate="21 Mbit/s", start=iso(START + timedelta(hours=5)), destination="lbnl-premium:5002")
    text = site.signed_in("operator").get("/").text
    assert f'<time datetime="{iso(START)}"' in text
    assert "hep/tonight starts" in text
    assert re.search(
        r'href="/devices/anl-7507-1">anl-7507-1</a></th><td>.*planned.*</td>\s*<td class="number">[1-9]', text
    )
    assert "it does not answer" in text, "a device in trouble"
    assert "hep/large" in text, "what waits"


def test_a_request_is_approved_knowing_what_it_does(site: Site) -> None:
    entry = site.reserve("large", rate="21 Mbit/s")
    operator, auditor = site.signed_in("operator"), site.signed_in("auditor")
    page = operator.get(f"/approvals/{entry.handle}").text
    assert "permit udp host 10.20.11.2 host 10.20.21.2 eq 5001" in page, "what it changes on a router"
    assert re.search(rf"{SLS}</a></th><td[^>]*>45 Mbit/s", page), "on top of which capacity"
    assert (
        "Only an operator may approve or reject; you are an auditor." in auditor.get(f"/approvals/{entry.handle}").text
    )
    stale = operator.post(f"/approvals/{entry.handle}", data={"version": "7", "decision": "approve"})
    assert (stale.status_code, "The reservation has changed" in stale.text) == (412, True)
    part = operator.post(
        f"/approvals/{entry.handle}", data={"version": "7", "decision": "approve"}, headers={"HX-Request": "true"}
    )
    assert part.status_code == 412
    assert part.text.startswith('<section class="problem"'), "told where it was asked"
    done = operator.post(f"/approvals/{entry.handle}", data={"version": "1", "decision": "approve"})
    assert done.headers["location"] == f"/reservations/{entry.handle}"
    history = operator.get(done.headers["location"]).text
    assert re.search(r"<code>reservation.committed</code></td><td>operator</td>", history), "who decided stays"


@pytest.mark.slow
def test_a_change_that_waits_is_shown_and_rejected(site: Site) -> None:
    entry = site.reserve("cms", rate="5 Mbit/s")
    Requests(site.desk).modify(entry.handle, Modification(rate_bps=25_000_000), OPERATOR, datetime.now(UTC))
    operator = site.signed_in("operator")
    assert "a change to 25 Mbit/s" in operator.get("/approvals").text
    assert "A change waits for approval: 25 Mbit/s" in operator.get(f"/reservations/{entry.handle}").text
    form = {"version": "2", "decision": "reject", "reason": "not today"}
    assert operator.post(f"/approvals/{entry.handle}", data=form).status_code == 303
    assert "not today" in operator.get(f"/reservations/{entry.handle}").text
    assert "Nothing waits for a decision" in operator.get("/approvals").text


def test_a_request_is_asked_held_and_committed(site: Site) -> None:
    mine = site.signed_in("requester")
    form = {
        "name": "run-7", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp", "duration": "2 h",
        "service": "ip-premium", "direction": "forward", "rate": "10 Mbit/s", "start": "now + 1 h", "labels": "run=7",
    }  # fmt: skip
    free = mine.post("/request/enquiry", data=form, headers={"HX-Request": "true"}).text
    assert "take ¾" in free
    held = mine.post("/request", data=form | {"how": "hold"})
    page = mine.get(held.headers["location"])
    assert "Held until" in page.text
    assert mine.post(f"{held.headers['location']}/extend", data={"version": "1", "by": "30 min"}).status_code == 303
    assert mine.post(f"{held.headers['location']}/commit", data={"version": "2"}).status_code == 303
    assert "It starts" in mine.get(held.headers["location"]).text
    assert "hep/run-7" in mine.get("/").text
    refused = mine.post("/request", data=form | {"name": "run-8", "rate": "44 Mbit/s", "how": "reserve"})
    assert (refused.status_code, "Refused by admission" in refused.text) == (409, True)
    assert "requested" in refused.text, refused.text
    wrong = mine.post("/request", data=form | {"start": "tomorrow", "name": "run-9"})
    assert (wrong.status_code, "start: is not a time" in wrong.text) == (422, True)
    assert mine.post(f"{held.headers['location']}/cancel", data={"version": "3", "reason": "done"}).status_code == 303
    assert "It was cancelled" in mine.get(held.headers["location"]).text


def test_a_file_is_planned_and_applied(site: Site) -> None:
    operator = site.signed_in("operator")
    text = (
        "version: 1\nreservations:\n  - name: planned\n    owner: hep\n    source: anl-premium\n"
        "    destination: lbnl-premium:5999\n    protocol: udp\n    service: ip-premium\n    rate: 1 Mbit/s\n"
        f"    start: {iso(START)}\n    duration: 2 h\n"
    )
    planned = operator.post("/plan", data={"text": text, "set": "web"}).text
    assert "1 to create" in planned
    weight = "ip-premium is served by its weight of fair-queue tos and not in strict priority"
    approximations = planned.partition("<h3>Approximations</h3>")[2]
    assert (
        approximations.count(f"anl-7507-1, anl-7507-2, esnet-7507, lbnl-7507: {weight}") == planned.count(weight) == 1
    )
    document = re.findall(r'name="plan" value="([^"]+)"', planned)[0].replace("&#34;", '"').replace("&amp;", "&")
    applied = operator.post("/plan/apply", data={"plan": document}).text
    assert "1 created" in applied
    again = operator.post("/plan/apply", data={"plan": document})
    assert (again.status_code, "out of date" in again.text) == (409, True)
    wrong = operator.post("/plan", data={"text": "version: 1\nreservations:\n  - name: [", "set": "web"})
    assert wrong.status_code == 422
    assert "the text" in wrong.text


def test_a_held_router_says_so_and_is_released_on_its_page(site: Site) -> None:
    operator, auditor = site.signed_in("operator"), site.signed_in("auditor")
    page = f"/devices/{(name := 'anl-7507-1')}"
    assert "Release it" not in operator.get(page).text
    details = {"actor": "ops", "message": "rolled back to baseline"}
    site.desk.ledger.append_event(DeviceHeld.kind, datetime.now(UTC), device=name, details=details)
    for client in (operator, auditor):
        shown = client.get(page).text
        assert "rolled back to baseline" in shown
        assert "Release it" in shown
        assert "held" in client.get("/").text
    assert "Only an operator may hold or release a router" in auditor.get(page).text
    assert auditor.post(f"{page}/release").status_code == 403
    assert held_devices(site.desk.ledger, datetime.now(UTC)).keys() == {name}
    answer = operator.post(f"{page}/release")
    assert (answer.status_code, answer.headers["location"]) == (303, page)
    assert held_devices(site.desk.ledger, datetime.now(UTC)) == {}
    assert "is not held" in operator.post(f"{page}/release").text


def test_labels_are_text_and_nothing_else(site: Site) -> None:
    entry = site.reserve("cms", labels=HOSTILE)
    operator = site.signed_in("operator")
    for path in ("/reservations", f"/reservations/{entry.handle}", "/log", "/"):
        text = operator.get(path).text
        assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in operator.get(f"/reservations/{entry.handle}").text


@pytest.mark.slow
def test_pages_are_empty_before_anything_is_reserved(site: Site) -> None:
    operator = site.signed_in("operator")
    for path, words in {
        "/": "No slot begins or ends within 31 days", "/reservations": "No reservation is like that",
        "/boundaries": "No slot begins or ends", "/approvals": "Nothing waits for a decision",
        "/log": "No event is like that", "/usage": "Nothing was or is reserved",
        "/rollback": "has pushed nothing yet",
    }.items():  # fmt: skip
        assert words in operator.get(path).text, path
    assert "You have no slot" in site.signed_in("requester").get("/").text


def test_a_key_that_means_nothing_is_refused(site: Site) -> None:
    answer = site.signed_in("operator").get("/reservations?nmae=cms")
    assert (answer.status_code, "those are search, owner" in answer.text) == (422, True)


def test_a_wrong_link_is_a_page_for_people(site: Site) -> None:
    operator = site.signed_in("operator")
    page = operator.get("/reservation", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (404, "text/html")
    assert "To the first page" in page.text
    assert operator.get("/reservation").headers["content-type"] == "application/problem+json"
    program = operator.get("/v1/nothing", headers={"Accept": "text/html"})
    assert program.headers["content-type"] == "application/problem+json"


def test_whose_reservations_make_a_curve_is_told(site: Site) -> None:
    site.reserve("cms")
    site.reserve("elsewhere", source="anl-competing", destination="anl-sink", rate="1 Mbit/s")
    page = site.signed_in("operator").get(f"/links/{SLS}").text
    under = page.partition('<table class="gantt">')[2].partition("</table>")[0]
    assert "hep/cms" in under
    assert "elsewhere" not in under
    assert '<rect class="slot coming"' in under


@pytest.mark.slow
def test_a_long_list_comes_in_pages(site: Site) -> None:
    for number in range(53):
        site.reserve(f"n{number:02}", rate="100 kbit/s", destination=f"lbnl-premium:{5000 + number}")
    operator = site.signed_in("operator")
    first = operator.get("/reservations").text
    assert "53 found" in first
    following = re.findall(r'href="(/reservations\?[^"]*after=[^"]+)"', first)[0].replace("&amp;", "&")
    second = operator.get(following).text
    names = [re.findall(r">hep/(n\d\d)<", text) for text in (first, second)]
    assert [len(one) for one in names] == [50, 3]
    assert names[0] + names[1] == sorted(names[0] + names[1], reverse=True)


PAGES_COUNTED = (
    "/", "/boundaries", f"/boundaries/{iso(START)}", "/reservations", "/approvals", "/links", f"/links/{SLS}", "/map",
    "/devices", "/devices/anl-7507-1", "/usage", "/log", "/request", "/account", "/rollback",
)  # fmt: skip


def test_each_page_takes_a_fixed_number_of_statements(site: Site) -> None:
    operator = site.signed_in("operator")

    def counted() -> dict[str, int]:
        sizes = {}
        for path in PAGES_COUNTED:
            with statements_of(site.desk.ledger) as sent:
                assert operator.get(path).status_code == 200
            sizes[path] = len(sent)
        return sizes

    for number in range(2):
        site.reserve(f"n{number}", rate="100 kbit/s", destination=f"lbnl-premium:{5000 + number}")
    counted()  # the slot tables are loaded
    few = counted()
    for number in range(2, 60):
        start = iso(START + timedelta(hours=number % 7))
        site.reserve(f"n{number}", rate="100 kbit/s", destination=f"lbnl-premium:{5000 + number}", start=start)
    counted()  # and follow
    assert counted() == few
    assert max(few.values()) <= 16, few


def test_what_every_answer_says_to_a_browser(site: Site) -> None:
    operator = site.signed_in("operator")
    for path in ("/", "/reservations/table", "/nothing", "/v1/whoami", "/sign-in"):
        headers = operator.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert "content-security-policy" not in operator.get("/docs").headers, "Swagger UI has a script in its page"
    assert operator.get("/").headers["cache-control"] == "no-store"
    assets = re.findall(r'(?:src|href)="(/assets/[^"]+)"', operator.get("/").text)
    assert len(assets) >= 4
    for address in assets:
        answer = operator.get(address)
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
    wrong = re.sub(r"/assets/[0-9a-f]+/", "/assets/000000000000/", assets[0])
    assert operator.get(wrong).status_code == 404


@pytest.mark.slow
def test_a_page_weighs_little(site: Site) -> None:
    """Without the chart's library, gzipped: 70 kB at most (WCAG has no number; a slow line does)."""
    operator = site.signed_in("operator")
    page = operator.get("/")
    addresses = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.text)
    total = sum(len(gzip.compress(operator.get(one).content)) for one in addresses) + len(gzip.compress(page.content))
    assert total <= 70_000


def test_an_open_controller_needs_no_sign_in(open_site: Open) -> None:
    client = open_site(open=True).client()
    assert client.get("/").status_code == 200
    assert client.post("/account/zone", data={"zone": "Europe/Zurich"}).status_code == 303
    assert "Times in Europe/Zurich, UTC+0" in client.get("/").text


@pytest.mark.in_short("headers0")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://example.com"}, {"Sec-Fetch-Site": "cross-site", "Origin": ""}, {"Origin": "null"},
        {"Origin": ""},
    ],
)  # fmt: skip
def test_a_form_of_another_site_does_nothing(site: Site, headers: dict[str, str]) -> None:
    entry = site.reserve("large", rate="21 Mbit/s")
    operator = site.signed_in("operator")
    sent = {key: value for key, value in headers.items() if value}
    with httpx.Client(base_url=site.base_url, cookies=operator.cookies, headers=sent, timeout=PATIENCE_S) as foreign:
        answer = foreign.post(f"/approvals/{entry.handle}", data={"version": "1", "decision": "approve"})
    assert answer.status_code == 403
    assert Entries(site.desk).list(EntryFilter(waits=True), OPERATOR)[0].handle == entry.handle


def test_descriptions_are_where_an_operator_looks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a router's domain and interfaces on its page, an SLS's and an interface's on their own."""

    def describe(parts: dict[str, Any], name: str, text: str) -> None:
        monkeypatch.setitem(parts, name, parts[name].model_copy(update={"description": text}))

    network = site.desk.network
    router = network.devices["anl-7507-1"]
    shared = next(name for name, one in sorted(router.interfaces.items()) if one.share_bps(Service.IP_PREMIUM))
    describe(network.domains, router.domain, "Argonne <b>")
    describe(network.sls, SLS.partition(":")[2], "renewed every January")
    describe(router.interfaces, shared, "UBR VC")
    operator = site.signed_in("operator")
    page = operator.get("/devices/anl-7507-1").text
    assert "Argonne &lt;b&gt;" in page
    assert f"{shared}: UBR VC" in page
    assert "renewed every January" in operator.get(f"/links/{SLS}").text
    assert "UBR VC" in operator.get(f"/links/if:anl-7507-1:{shared}:out:ip-premium").text
