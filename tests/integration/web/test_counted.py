"""The pages of what devices counted: a reservation's curve, a link's, and what is reserved and not used."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from slotcar.base.timebase import iso
from slotcar.store.counts import CountedStep
from tests.integration.api.test_counted import EDGE, keep
from tests.integration.web.conftest import Site
from tests.support.patience import wait_for

SLS = "sls:anl-esnet-ip-premium"
LINK = {"device": EDGE, "interface": "ATM1/0/0"}


def numbers(site: Site, name: str = "cms", seconds: int = 5) -> tuple[str, int]:
    """A reservation that opens in so many seconds: its handle and its number."""
    start = datetime.now(UTC) + timedelta(seconds=seconds)
    entry = site.reserve(name, rate="1 Mbit/s", start=iso(start), duration="PT2H")
    return entry.handle, entry.number


def test_a_reservation_shows_what_was_promised_used_and_dropped(site: Site) -> None:
    handle, number = numbers(site)
    keep(site.desk.ledger, number, 30_000)
    operator = site.signed_in("operator")
    assert f'href="/usage/of/{handle}"' in operator.get(f"/reservations/{handle}").text
    page = operator.get(f"/usage/of/{handle}").text
    assert f"{EDGE} FastEthernet4/0/0" in page
    assert "<dt>Used</dt><dd>120 kB of 150 kB, 80 %</dd>" in page
    address = re.findall(r'data-curves="([^"]+)"', page)[0].replace("&amp;", "&")
    lines = {one["name"]: one["points"] for one in operator.get(address).json()["lines"]}
    assert {name: {value for _, value in points} for name, points in lines.items()} == {
        "used": {800}, "promised": {1_000}, "dropped": {100 * 8 // 300},
    }  # fmt: skip
    assert len(lines["used"]) == 5, "four steps, and the end of the last one"


def test_time_that_nobody_counted_is_a_gap_and_no_zero(site: Site) -> None:
    handle, number = numbers(site)
    keep(site.desk.ledger, number, 30_000, steps=1)
    place = (number, "forward", "ip-premium", EDGE, "FastEthernet4/0/0", 300)
    never = CountedStep(*place, step_us(hours=2), 0, 0, 0, 0, 0, 0, 0, 0, remarks=("restarted",))
    early = CountedStep(*place, step_us(hours=3), 300_000_000, 300_000, 7, 30_000, 0, 0, 0, 0)
    site.desk.ledger.counts.keep([never, early], [])
    operator = site.signed_in("operator")
    points = operator.get(f"/chart/usage?handle={handle}&direction=forward").json()["lines"][0]["points"]
    assert [value for _, value in points] == [800, None, None, None, 800, 800]
    assert "unknown" in operator.get(f"/usage/of/{handle}").text


def step_us(hours: int) -> int:
    step_us = 300_000_000
    instant = datetime.now(UTC) - timedelta(hours=hours)
    return int(instant.timestamp()) * 1_000_000 // step_us * step_us


def test_a_flow_that_nobody_read_says_so(site: Site) -> None:
    handle, _ = numbers(site)
    page = site.signed_in("operator").get(f"/usage/of/{handle}").text
    assert "Unknown: nothing of this time was read of it." in page
    assert "data-curves" not in page


def test_a_link_shows_what_was_reserved_used_and_free(site: Site) -> None:
    keep(site.desk.ledger, 0, 1_000_000, direction="out", interface="ATM1/0/0")
    operator = site.signed_in("operator")
    page = operator.get("/usage/link", params=LINK).text
    assert "Packets dropped" in page
    lines = {one["name"]: one["points"][0][1] for one in operator.get("/chart/link", params=LINK).json()["lines"]}
    capacity_bps = site.desk.network.devices[EDGE].interfaces["ATM1/0/0"].capacity_bps
    assert lines == {"used": 8_000_000 // 300, "reserved": 1_000, "free": capacity_bps - 8_000_000 // 300 - 1}
    assert site.signed_in("requester").get("/usage/link", params=LINK).status_code == 403
    assert operator.get("/usage/link", params=LINK | {"interface": "eth9"}).status_code == 422


def test_what_is_not_used_is_listed_with_what_it_would_free(site: Site) -> None:
    operator = site.signed_in("operator")
    assert "Nothing that was counted is unused" in operator.get("/usage/unused").text
    handle, number = numbers(site, "idle", seconds=2)
    keep(site.desk.ledger, number, 10)
    row = f'<a href="/reservations/{handle}">hep/idle</a>'
    wait_for(lambda: row in operator.get("/usage/unused").text, "the slot's beginning")
    page = operator.get("/usage/unused").text
    assert f"{SLS} 1.01" in page
    assert "0 %" in page
    assert row in site.signed_in("requester").get("/usage/unused").text
