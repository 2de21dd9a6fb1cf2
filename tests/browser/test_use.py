"""What people do: watch, decide, ask, all from the keyboard; and what another site, an ended session or a restart does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.base.timebase import iso
from slotcar.book.model import State
from slotcar.desk.entries import Entries
from slotcar.desk.requests import Requests
from slotcar.planning.modification import Modification
from tests.browser.conftest import SignIn
from tests.integration.api.conftest import START
from tests.integration.web.conftest import HOSTILE, OPERATOR, Open, Site

pytestmark = pytest.mark.browser
LIVE = "#live[data-state=live]"


def test_a_boundary_is_watched_without_touching_a_key(site: Site, sign_in: SignIn) -> None:
    """From planned over staged and armed to active."""
    site.reserve("cms")
    tab = sign_in()
    tab.page.goto(f"/boundaries/{iso(START)}")
    tab.page.wait_for_selector(LIVE)
    assert "planned" in tab.page.inner_text("#boundary")
    devices = ["anl-7507-1", "anl-7507-2", "esnet-7507", "lbnl-7507"]
    boundary = {"at": START.isoformat(), "devices": devices}
    for kind, more, word in (
        ("boundary.staged", {}, "staged"), ("boundary.staged", {"revision": "r-1"}, "armed"),
        ("boundary.active", {"lag_us": dict.fromkeys(devices, 1500)}, "active"),
    ):  # fmt: skip
        site.desk.ledger.append_event(kind, datetime.now(UTC), details=boundary | more)
        tab.page.wait_for_selector(f"#boundary .big .mark:has-text('{word}')")
    assert "0.002 s" in tab.page.inner_text("#boundary")
    assert tab.complaints == []


@pytest.mark.in_short("/-#now")
@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("/", "#now"), ("/boundaries", "#table"), ("/log", "#table"), ("/links/sls:anl-esnet-ip-premium", "#under"),
        ("/devices/anl-7507-1", "#resources"), ("/map", "#map"), ("/links", "#table"),
    ],
)  # fmt: skip
def test_a_page_follows_by_itself(site: Site, sign_in: SignIn, address: str, part: str) -> None:
    tab = sign_in()
    tab.page.goto(address)
    tab.page.wait_for_selector(LIVE)
    before = tab.page.inner_text(part)
    site.reserve("cms", start="now", duration="1 h", rate="15 Mbit/s")
    tab.page.wait_for_function(
        "([part, before]) => document.querySelector(part).innerText !== before", arg=[part, before]
    )
    assert tab.complaints == []


@pytest.mark.slow
def test_all_tabs_of_a_browser_share_one_stream(site: Site, sign_in: SignIn) -> None:
    tab = sign_in()
    others = [tab.page.context.new_page() for _ in range(8)]
    for page in others:
        page.goto("/reservations")
        page.wait_for_selector(LIVE)
    site.reserve("cms")
    for page in others:
        page.wait_for_selector("#table a:has-text('hep/cms')")


def test_a_request_is_approved_from_the_keyboard(site: Site, sign_in: SignIn) -> None:
    entry = site.reserve("large", rate="21 Mbit/s")
    tab = sign_in()
    tab.page.keyboard.press("g")
    tab.page.keyboard.press("a")
    tab.page.wait_for_url("**/approvals")
    for _ in range(40):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate("document.activeElement.textContent") == "hep/large":
            break
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url(f"**/approvals/{entry.handle}")
    for _ in range(40):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate("document.activeElement.textContent") == "Approve":
            break
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url(f"**/reservations/{entry.handle}")
    assert Entries(site.desk).status(entry.handle, OPERATOR).state is State.COMMITTED
    tab.page.keyboard.press("?")
    assert tab.page.is_visible("#keys-title")


def test_a_decision_on_what_has_changed_is_refused_where_it_was_made(site: Site, sign_in: SignIn) -> None:
    entry = site.reserve("large", rate="21 Mbit/s")
    tab = sign_in()
    tab.page.goto(f"/approvals/{entry.handle}")
    Requests(site.desk).modify(entry.handle, Modification(rate_bps=25_000_000), OPERATOR, datetime.now(UTC))
    tab.page.click("button:has-text('Approve')")
    tab.page.wait_for_selector("#refused .problem")
    assert "The reservation has changed" in tab.page.inner_text("#refused")
    assert tab.page.evaluate("document.activeElement.textContent") == "The reservation has changed", "focus is there"
    assert Entries(site.desk).status(entry.handle, OPERATOR).state is State.AWAITING_APPROVAL


@pytest.mark.slow
def test_what_is_free_is_told_while_one_writes(site: Site, sign_in: SignIn) -> None:
    site.reserve("cms", start="now", duration="1 h", rate="20 Mbit/s")
    tab = sign_in("requester")
    tab.page.goto("/request")
    for name, value in {
        "name": "mine", "source": "anl-premium", "destination": "lbnl-premium:5002", "start": "now", "duration": "2 h",
    }.items():  # fmt: skip
        tab.page.fill(f"input[name={name}]", value)
    tab.page.keyboard.press("Tab")
    tab.page.click("text=take ¾")
    tab.page.wait_for_url("**/request?**")
    assert tab.page.input_value("input[name=rate]").endswith("bit/s")
    tab.page.fill("input[name=rate]", "44 Mbit/s")
    tab.page.click("button:has-text('Reserve')")
    tab.page.wait_for_selector("#refused .problem")
    assert "Refused by admission" in tab.page.inner_text("#refused")
    tab.page.fill("input[name=rate]", "1 Mbit/s")
    tab.page.click("button:has-text('Hold')")
    tab.page.wait_for_url("**/reservations/r-*")
    assert "Held until" in tab.page.inner_text("#state")
    tab.page.click("button:has-text('Commit')")
    tab.page.wait_for_selector(".mark:has-text('unknown')")  # no controller leads that would see it on its routers


def test_a_hostile_label_is_text(site: Site, sign_in: SignIn) -> None:
    entry = site.reserve("cms", labels=HOSTILE)
    tab = sign_in()
    dialogs: list[str] = []
    tab.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for address in ("/reservations", f"/reservations/{entry.handle}", "/log"):
        tab.page.goto(address)
        tab.page.wait_for_selector(LIVE)
    tab.page.hover("h1")
    assert dialogs == []
    assert tab.complaints == []
    tab.page.goto(f"/reservations/{entry.handle}")
    assert HOSTILE["note"] in tab.page.inner_text("main")


@pytest.fixture
def foreign(site: Site) -> Iterator[str]:
    """The address of another site, whose page sends a form here as soon as it is opened."""
    state = {"path": "/"}

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            form = f"<form method=post action='{site.base_url}{state['path']}'><input name=version value=1>"
            text = form + "<input name=decision value=approve></form><script>document.forms[0].submit()</script>"
            if self.path.startswith("/approve/"):
                state["path"] = self.path.replace("/approve/", "/approvals/")
                text = text.replace(f"{site.base_url}/'", f"{site.base_url}{state['path']}'")
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_words: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_form_of_another_site_decides_nothing(site: Site, sign_in: SignIn, foreign: str) -> None:
    entry = site.reserve("large", rate="21 Mbit/s")
    tab = sign_in()
    tab.page.goto(f"{foreign}/approve/{entry.handle}")
    tab.page.wait_for_url(f"{site.base_url}/approvals/{entry.handle}")
    assert Entries(site.desk).status(entry.handle, OPERATOR).state is State.AWAITING_APPROVAL


def test_a_name_that_was_led_here_is_answered_with_nothing(open_site: Open, chromium: object, site: Site) -> None:
    """A name of somebody's own that resolves to this address."""
    port = site.base_url.rpartition(":")[2]
    with site.client() as client:
        answer = client.get("/", headers={"Host": f"rebound.example.com:{port}"})
    assert answer.status_code == 421


@pytest.mark.slow
def test_an_ended_session_leads_to_the_sign_in_and_back(site: Site, sign_in: SignIn) -> None:
    tab = sign_in()
    tab.page.goto("/usage?by=sls")
    site.desk.ledger.sessions.end_all("operator")
    tab.page.click("button:has-text('Show')")
    tab.page.wait_for_url("**/sign-in?next=**")
    tab.page.fill("input[name=token]", site.tokens["operator"])
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/usage?by=sls**")


@pytest.mark.slow
def test_a_page_lives_through_a_restart_of_its_controller(site: Site, sign_in: SignIn) -> None:
    tab = sign_in()
    tab.page.goto("/reservations")
    tab.page.wait_for_selector(LIVE)
    site.stop()
    tab.page.wait_for_selector("#live[data-state=reconnecting]")
    site.reserve("while-away")
    site.start()
    tab.page.wait_for_selector("#table a:has-text('hep/while-away')")
    tab.page.wait_for_selector(LIVE)


@pytest.mark.slow
def test_a_lost_database_is_told_and_comes_back(
    site: Site, sign_in: SignIn, database_url: str, server_url: str
) -> None:
    name = make_url(database_url).database
    tab = sign_in()
    tab.page.goto("/reservations")
    tab.page.wait_for_selector(LIVE)
    with psycopg.connect(server_url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")  # type: ignore[arg-type]
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        tab.page.wait_for_selector("#live[data-state=behind]:has-text('behind since')")
        other = tab.page.context.new_page()
        other.goto("/log")
        assert "What routers hold armed happens without the database" in other.inner_text("main")
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")  # type: ignore[arg-type]
    site.reserve("afterwards")
    tab.page.wait_for_selector("#table a:has-text('hep/afterwards')")
    tab.page.wait_for_selector(LIVE)


@pytest.mark.slow
def test_back_shows_a_page_and_no_fragment(site: Site, sign_in: SignIn) -> None:
    site.reserve("cms")
    tab = sign_in()
    tab.page.goto("/reservations")
    tab.page.fill("input[type=search]", "nothing-like-it")
    tab.page.wait_for_selector("text=No reservation is like that")
    tab.page.goto("/log")
    tab.page.go_back()
    tab.page.wait_for_selector("header nav")
    assert tab.page.is_visible("h1:has-text('Reservations')")


def test_who_signs_in_is_offered_the_zone_of_last_time_and_no_mistyped_one(site: Site, sign_in: SignIn) -> None:
    tab = sign_in(timezone_id="Asia/Tokyo")
    assert "Asia/Tokyo" in tab.page.inner_text("body"), "this machine's, where nobody said one"
    tab.page.goto("/sign-in")
    tab.page.fill("input[name=zone]", "Europe/Nowhere")
    tab.page.fill("input[name=token]", site.tokens["operator"])
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("text=is no time zone")
    tab.page.fill("input[name=token]", site.tokens["operator"])
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url(f"{site.base_url}/")
    tab.page.goto("/sign-in")
    assert tab.page.input_value("input[name=zone]") == "UTC", "with which the form came back"


@pytest.mark.parametrize(
    ("typed", "problem"),
    [("2027-10-31 02:30", "is twice on the clocks"), ("2027-03-28 02:30", "is left out by the clocks")],
)
def test_a_night_of_a_clock_change_is_told(site: Site, sign_in: SignIn, typed: str, problem: str) -> None:
    tab = sign_in()
    tab.page.goto("/account")
    tab.page.fill("input[name=zone]", "Europe/Zurich")
    tab.page.click("text=Show times in it")
    tab.page.wait_for_selector("text=Times in Europe/Zurich")
    tab.page.goto("/boundaries")
    tab.page.fill("input[name=from]", typed)
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector(".problem")
    assert problem in tab.page.inner_text(".problem")


@pytest.mark.slow
def test_the_countdown_counts(site: Site, sign_in: SignIn) -> None:
    site.reserve("cms", start=iso(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=50)), duration="1 h")
    tab = sign_in()
    first = tab.page.inner_text("#now .big [data-until]")
    tab.page.wait_for_function(
        "(first) => document.querySelector('#now .big [data-until]').textContent !== first", arg=first
    )
