"""People sign in at a real provider in a browser: each asks or approves as what its groups say, until the token ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.auth import provider as auth_provider
from slotcar.desk.entries import Entries
from slotcar.desk.logs import Logs
from slotcar.store.queries import EntryFilter, EventFilter
from tests.browser.conftest import Tab
from tests.integration.api.conftest import GARNET
from tests.integration.web.conftest import OPERATOR, Open, Site
from tests.support.clocks import stopped_at
from tests.support.issuers import entry_of, inventory_with
from tests.support.provider import Provider, new_key

GROUPS = {"ann": ["/cms"], "eve": ["/noc"], "nobody": []}


@pytest.fixture
def home() -> Iterator[Provider]:
    provider = Provider(groups=dict(GROUPS))
    yield provider
    provider.stop()


@pytest.fixture
def signed_site(home: Provider, open_site: Open, tmp_path: Path) -> Site:
    page = {"client_id": "page", "scopes": ["openid", "groups"]}
    entry = entry_of(home.url, page=page, role=None, roles={"requester": ["/cms"], "operator": ["/noc"]})
    site = open_site(inventory=inventory_with(tmp_path, GARNET, entry))
    home.redirect = f"{site.base_url}/sign-in/back"
    home.start()
    return site


@pytest.fixture
def tab_of(chromium: Any, signed_site: Site) -> Iterator[Any]:
    contexts: list[Any] = []

    def opened() -> Tab:
        contexts.append(chromium.new_context(base_url=signed_site.base_url))
        return Tab(contexts[-1].new_page())

    yield opened
    for context in contexts:
        context.close()


def go_through(tab: Tab, person: str, start: str = "/sign-in?next=%2Frequest") -> None:
    """Over the provider's own pages, and back."""
    tab.page.goto(start)
    tab.page.click("text=Sign in with home")
    tab.page.fill("input[name=login]", person)
    tab.page.fill("input[name=password]", "x")
    tab.page.click("button[type=submit]")
    tab.page.wait_for_selector("text=Continue")
    tab.page.click("button[type=submit]")


@pytest.mark.browser
def test_a_person_asks_and_another_approves(signed_site: Site, home: Provider, tab_of: Any) -> None:
    ann = tab_of()
    go_through(ann, "ann")
    ann.page.wait_for_url(f"{signed_site.base_url}/request")
    ann.complaints.clear()  # the provider's own pages ask for what is not there
    for name, value in {
        "name": "large", "source": "anl-premium", "destination": "lbnl-premium:5001", "rate": "21 Mbit/s",
        "start": "now + 2 h", "duration": "PT1H",
    }.items():  # fmt: skip
        ann.page.fill(f"[name={name}]", value)
    ann.page.select_option("[name=protocol]", "udp")
    ann.page.select_option("[name=service]", "ip-premium")
    ann.page.click("button:has-text('Reserve')")
    ann.page.wait_for_url("**/reservations/r-*")
    eve = tab_of()
    go_through(eve, "eve", "/sign-in?next=%2Fapprovals")
    eve.page.wait_for_url(f"{signed_site.base_url}/approvals")
    eve.page.click("a:has-text('hep/large')")
    eve.page.click("button:has-text('Approve')")
    eve.page.wait_for_url("**/reservations/r-*")
    (entry,) = Entries(signed_site.desk).list(EntryFilter(), OPERATOR)
    events = Logs(signed_site.desk).events(EventFilter(), OPERATOR, None, 10)
    assert [(one.details["actor"], one.details["proof"].partition(" of ")[0]) for one in events] == [
        ("ann@home", "subject ann"), ("eve@home", "subject eve"),
    ]  # fmt: skip
    assert entry.reservation.owner == "hep"
    assert ann.complaints == []
    ann.page.goto("/account")
    facts = ann.page.inner_text("dl.facts")
    assert f"Sign-in by OpenID Connect, without a password here: subject ann of {home.url}" in facts
    assert "Token" not in ann.page.inner_text("main")


@pytest.mark.browser
def test_who_has_no_role_is_told_and_so_is_who_did_not_begin(signed_site: Site, tab_of: Any) -> None:
    tab = tab_of()
    go_through(tab, "nobody")
    tab.page.wait_for_selector("text=Nobody@home has no role here")
    tab.page.goto("/sign-in/back?code=stolen&state=x")
    tab.page.wait_for_selector("text=has not begun to sign in")
    assert signed_site.desk.ledger.sessions.of_token("nobody@home") == ()


@pytest.mark.browser
def test_what_the_provider_answered_counts_once(signed_site: Site, tab_of: Any) -> None:
    """Neither in the browser that it was for, nor in another, does it sign anybody in again."""
    ann, answers = tab_of(), []
    ann.page.on("request", lambda request: answers.append(request.url) if "/sign-in/back?" in request.url else None)
    go_through(ann, "ann")
    ann.page.wait_for_url(f"{signed_site.base_url}/request")
    for tab in (ann, tab_of()):
        tab.page.goto(answers[0])
        tab.page.wait_for_selector("text=has not begun to sign in")
    assert len(signed_site.desk.ledger.sessions.of_token("ann@home")) == 1


@pytest.mark.browser
def test_a_provider_that_is_down_ends_no_session_and_begins_none(
    signed_site: Site, home: Provider, tab_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = tab_of()
    go_through(tab, "ann")
    tab.page.wait_for_url("**/request")
    home.stop()
    monkeypatch.setattr(auth_provider, "FRESH_S", 0.0)
    monkeypatch.setattr(auth_provider, "SOONEST_S", 0.0)
    tab.page.goto("/reservations")
    assert tab.page.is_visible("h1:has-text('Reservations')")
    home.keys = [new_key("second")]
    home.start()
    other = tab_of()
    go_through(other, "eve", "/sign-in")
    other.page.wait_for_url(f"{signed_site.base_url}/")
    tab.page.goto("/account")
    assert "ann@home" in tab.page.inner_text("main")
    tab.page.click("button:has-text('Sign out')")
    tab.page.wait_for_selector("text=You are signed out here")
    tab.page.goto("/reservations")
    tab.page.wait_for_url("**/sign-in?next=**")


@pytest.mark.browser
def test_a_session_is_over_with_its_token(signed_site: Site, home: Provider, tab_of: Any) -> None:
    tab = tab_of()
    go_through(tab, "ann")
    tab.page.wait_for_url("**/request")
    with stopped_at(datetime.now(UTC) + timedelta(seconds=home.id_token_s)):
        tab.page.goto("/account")
        tab.page.wait_for_url("**/sign-in?next=**")
    assert signed_site.desk.ledger.sessions.of_token("ann@home") == ()


@pytest.mark.browser
def test_who_signs_out_does_so_at_the_provider_too(signed_site: Site, tab_of: Any) -> None:
    ann = tab_of()
    go_through(ann, "ann")
    ann.page.wait_for_url(f"{signed_site.base_url}/request")
    ann.page.goto("/account")
    ann.page.click("button:has-text('Sign out')")
    ann.page.wait_for_selector("text=You are signed out here")
    assert not [one for one in ann.page.context.cookies() if one["name"].endswith("slotcar-session")]
    ann.page.click("text=Sign out at home, too")
    ann.page.click("button:has-text('Yes')")
    ann.page.wait_for_url(f"{signed_site.base_url}/sign-in")
    ann.page.click("text=Sign in with home")
    ann.page.wait_for_selector("input[name=password]")
