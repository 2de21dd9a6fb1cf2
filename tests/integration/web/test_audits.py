"""The page of audits: all SLSs in a row each, and one hour by hour with its figures."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.auditing import Auditing
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar_client.wire import verbs
from tests.integration.api.conftest import GARNET
from tests.integration.api.test_audits import ENDS, SLS, with_figures
from tests.integration.web.conftest import Site

HOUR = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
OPERATOR = Caller(name="ops", role=Role.OPERATOR)
ASKED_FOR = {"from": iso(HOUR), "until": iso(HOUR + timedelta(hours=1))}


@pytest.fixture(scope="module")
def network() -> Network:
    return with_figures(load_network(GARNET, None))


def hand_in(site: Site, delay_us: int) -> None:
    for minute in range(40):
        start = HOUR + timedelta(minutes=minute)
        packets = [[number, number * 100_000, delay_us] for number in range(600)]
        verb = verbs.RecordStream(
            SLS, **ENDS, start=iso(start), interval_us=100_000, packets=packets, clock_error_us=100
        )
        Auditing(site.desk).record_stream(verb, OPERATOR, start + timedelta(minutes=1))


def test_an_sls_is_found_broken_with_the_figure_that_breaks_it(site: Site) -> None:
    hand_in(site, 31_000)
    operator = site.signed_in("operator")
    page = operator.get("/audits", params=ASKED_FOR).text
    row = re.findall(rf"<tr><th scope=\"row\"><a href=\"([^\"]+)\">{SLS}</a></th>(.*?)</tr>", page)
    assert "<strong>1</strong>" in row[0][1]
    assert "no figures" in page, "the other SLSs"
    one = operator.get(row[0][0].replace("&amp;", "&")).text
    assert "0 kept, 1 broken, 0 unknown" in one
    assert re.search(r"<strong>3[01]\.\d+ ± 0\.\d+ ms</strong>", one)
    assert "0 % ± 0.0042 %" in one
    assert site.signed_in("requester").get("/audits").status_code == 403


def test_what_nobody_measured_and_what_has_no_figures_says_so(site: Site) -> None:
    operator = site.signed_in("operator")
    page = operator.get("/audits", params={**ASKED_FOR, "sls": SLS}).text
    assert "0 kept, 0 broken, 1 unknown" in page
    assert "nobody measured it" in page
    other = next(name for name in sorted(site.desk.network.sls) if name != SLS)
    assert "no delay, variation or loss was agreed" in operator.get("/audits", params={"sls": other}).text
    assert operator.get("/audits", params={"sls": "nobody"}).status_code == 422
