"""Pages that say what is so of the whole, and now: not of one page of a list, nor of what is over."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from slotcar.base.timebase import iso
from slotcar.desk.reservations import cancel
from slotcar_client.wire import verbs
from tests.integration.web.conftest import OPERATOR, Site
from tests.support.patience import wait_for


def test_the_tightest_resource_is_that_of_the_network_and_not_of_the_page(site: Site) -> None:
    """A page further on, on which it does not stand, says the same."""
    site.reserve("cms", rate="15 Mbit/s")
    operator = site.signed_in("operator")
    first = operator.get("/links?until=now+%2B+2+h").text
    count, tightest, use = re.findall(r"Tightest of all (\d+): <a [^>]*>([^<]+)</a>, (\d+) % taken", first)[0]
    uses = [int(one) for one in re.findall(r"</span>, (\d+) %</td>", first)]
    assert (len(uses), max(uses)) == (int(count), int(use))
    assert f"by name: {count} of {count}</caption>" in first
    later = operator.get(f"/links?until=now+%2B+2+h&after={tightest}").text
    assert f'"row"><a href="/links/{tightest}?' not in later
    assert f"Tightest of all {count}: " in later
    assert f">{tightest}</a>, {use} % taken" in later


def test_a_cancelled_reservation_looks_it_on_its_page(site: Site) -> None:
    """Also one whose page was open meanwhile: it asks for its part again, and its buttons go."""
    entry = site.reserve("cms", start="now", duration="2 h")
    operator = site.signed_in("operator")
    # A start is a whole second: the one of `now` has perhaps not come yet.
    wait_for(lambda: datetime.now(UTC) >= entry.reservation.start, "its start")
    page = operator.get(f"/reservations/{entry.handle}").text
    assert 'class="now-line"' in page
    again = re.findall(r'hx-get="(/reservations/[^"]+/now\?seen=\d+)"', page)[0]
    assert 'id="actions"' not in operator.get(again).text, "nobody's writing is taken away for nothing"
    cancel(verbs.Cancel(entry.handle), site.desk, OPERATOR, datetime.now(UTC))
    part, page = operator.get(again).text, operator.get(f"/reservations/{entry.handle}").text
    assert 'id="actions" class="actions" hx-swap-oob="true"' in part
    for text in (part, page):
        assert "<button" not in text.partition('id="actions"')[2].partition("</div>")[0]
        assert "now-line" not in text
        assert 'class="slot gone"' in text
        assert 'class="slot coming"' not in text


def test_a_card_that_leaves_something_out_says_so_and_where_all_is(site: Site) -> None:
    requester = site.signed_in("requester")
    for number in range(9):
        site.reserve(f"n{number}", rate="100 kbit/s", destination=f"lbnl-premium:{5001 + number}")
        if number == 7:
            assert "The first 8." not in requester.get("/").text
    page = requester.get("/").text
    assert 'The first 8. <a href="/reservations?state=committed">All of mine' in page
    assert page.count("hep/n") == 8
    assert "9 found" in requester.get("/reservations?state=committed").text


def test_a_time_within_a_sentence_is_in_the_session_s_zone_too(site: Site) -> None:
    """A deadline, and what is said of a router, which come as words with an instant in UTC."""
    by = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)
    entry = site.reserve("bulk", volume="1 GB", by=iso(by), rate=None, start=None, duration=None, protocol="tcp")
    details = {"message": f"it did not answer at {iso(by)}"}
    site.desk.ledger.append_event("push.device-failed", datetime.now(UTC), device="anl-7507-1", details=details)
    operator = site.signed_in("operator")
    operator.post("/account/zone", data={"zone": "Asia/Tokyo"})
    local = f"{by.astimezone(ZoneInfo('Asia/Tokyo')):%a %Y-%m-%d %H:%M}"
    assert f"1 GB by {local}" in operator.get(f"/reservations/{entry.handle}").text
    for path in ("/log", "/devices/anl-7507-1"):
        assert f"it did not answer at {local}" in operator.get(path).text, path
