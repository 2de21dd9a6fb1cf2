"""Each page as wide as a telephone and as a desk, light and dark: no finding of axe, no complaint, nothing sideways."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from pathlib import Path

import pytest

from slotcar.base.timebase import iso
from tests.browser.conftest import AXE, SignIn
from tests.integration.api.conftest import ROOT, START
from tests.integration.web.conftest import HOSTILE, Site

pytestmark = pytest.mark.browser
SLS = "sls:anl-esnet-ip-premium"
#: By role, the pages that it has; `{}` stands for the first reservation's handle, `!` for that of one that waits.
PAGES = {
    "operator": (
        "/", "/boundaries", f"/boundaries/{iso(START)}", "/reservations", "/reservations/{}", "/approvals", "/approvals/!",
        "/links", f"/links/{SLS}", "/map", "/devices", "/devices/anl-7507-1", "/devices/anl-7507-1/wanted", "/request",
        "/plan", "/usage", "/log", "/account", "/rollback", "/audits",
    ),
    "requester": ("/", f"/boundaries/{iso(START)}", "/reservations/{}", "/request", "/usage", "/account"),
    "auditor": ("/approvals/!", "/reservations/{}", "/rollback"),
}  # fmt: skip
LOOKS = [
    (320, "dark"), pytest.param(1280, "light", marks=pytest.mark.slow),
    pytest.param(320, "light", marks=pytest.mark.slow), pytest.param(1280, "dark", marks=pytest.mark.slow),
]  # fmt: skip


def filled(site: Site) -> tuple[str, str]:
    """The handles of a reservation, and of one that waits."""
    first = site.reserve("cms", labels=HOSTILE)
    site.reserve("vlbi", owner="astro", rate="1 Mbit/s", destination="lbnl-premium:5002", start="now")
    waits = site.reserve(
        "large", rate="21 Mbit/s", destination="lbnl-premium:5003", start=iso(START + timedelta(hours=9))
    )
    return first.handle, waits.handle


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("role", PAGES)
def test_a_page_can_be_read_by_everybody(
    site: Site, sign_in: SignIn, role: str, width: int, scheme: str, tmp_path: Path
) -> None:
    first, waits = filled(site)
    tab = sign_in(role, viewport={"width": width, "height": 800}, color_scheme=scheme)
    for address in PAGES[role]:
        address = address.replace("{}", first).replace("!", waits)
        tab.page.goto(address)
        if tab.page.query_selector('[hx-trigger*="slotcar"]'):
            tab.page.wait_for_selector("#live[data-state=live]")
        if address.startswith("/links/"):
            tab.page.wait_for_selector("[data-drawn=yes]")
        assert tab.findings() == [], address
        assert tab.width <= width, address
        assert tab.complaints == [], address
        assert tab.page.evaluate("document.querySelectorAll('*').length") < 1500, address


@pytest.mark.slow
def test_a_page_prints_without_its_menus(site: Site, sign_in: SignIn) -> None:
    first, _ = filled(site)
    tab = sign_in()
    tab.page.goto(f"/reservations/{first}")
    tab.page.emulate_media(media="print")
    assert not tab.page.is_visible("nav")
    assert not tab.page.is_visible("form.action")
    assert tab.page.is_visible("svg.bars")
    assert "as of event" in tab.page.inner_text("footer")


@pytest.mark.slow
def test_the_pictures_of_the_documents(site: Site, sign_in: SignIn, tmp_path: Path) -> None:
    """`UPDATE_GOLDEN=1` makes them anew; they hold the day on which they were made, so they are not compared."""
    filled(site)
    tab = sign_in(viewport={"width": 1100, "height": 700}, color_scheme="light")
    text = (ROOT / "docs" / "howto" / "web.md").read_text()
    for name, address in {"page-now": "/", "page-boundary": f"/boundaries/{iso(START)}", "page-map": "/map"}.items():
        tab.page.goto(address)
        tab.page.wait_for_selector("#live[data-state=live]")
        screenshot = tab.page.screenshot(path=tmp_path / f"{name}.png")
        kept = ROOT / "docs" / "pictures" / f"{name}.png"
        if os.environ.get("UPDATE_GOLDEN"):
            kept.write_bytes(screenshot)
        assert kept.read_bytes().startswith(b"\x89PNG")
        assert f"../pictures/{name}.png" in text


def test_what_is_vendored_is_as_it_was_published() -> None:
    listed = dict(reversed(line.split("  ")) for line in (AXE.parent / "SHA256SUMS").read_text().splitlines())
    assert set(listed) == {file.name for file in AXE.parent.iterdir()} - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256((AXE.parent / name).read_bytes()).hexdigest() == digest, name
