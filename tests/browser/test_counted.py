"""The curves of what was counted, as wide as a telephone and as a desk, light and dark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.timebase import iso, to_us
from slotcar.store import Ledger
from slotcar.store.counts import OUT, CountedStep
from tests.browser.conftest import SignIn
from tests.browser.test_pages import LOOKS
from tests.integration.web.conftest import Site

pytestmark = pytest.mark.browser
EDGE, STEP_S, RATE_BPS = "anl-7507-1", 300, 4_000_000
#: In percent of what is promised: used and dropped, step by step; None where nobody counted.
COURSE = (80, 90, 100, 100, None, None, 60, 40, 5, 0, 0, 100, 100, 95, 70, 30)


def fill(ledger: Ledger, entry: int, where: tuple[str, str, str], percents: tuple[int | None, ...]) -> None:
    direction, service, interface = where
    last_us = to_us(datetime.now(UTC)) // (STEP_S * 1_000_000) * STEP_S * 1_000_000
    steps = []
    for place, percent in enumerate(percents):
        counted, used = (0 if percent is None else 1), RATE_BPS * STEP_S // 800 * (percent or 0)
        dropped = used // 10 if percent == 100 else 0
        steps.append(
            CountedStep(
                entry, direction, service, EDGE, interface, STEP_S, last_us - place * STEP_S * 1_000_000,
                counted * STEP_S * 1_000_000, counted * RATE_BPS * STEP_S, used // 1_000, used, 0, 0, dropped // 1_000,
                dropped,
                remarks=() if counted else ("restarted",),
            )
        )  # fmt: skip
    ledger.counts.keep(steps, [])


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_what_was_counted_can_be_read_by_everybody(
    site: Site, sign_in: SignIn, width: int, scheme: str, tmp_path: Path
) -> None:
    start = datetime.now(UTC) + timedelta(seconds=2)
    entry = site.reserve("cms", rate="4 Mbit/s", direction="both", start=iso(start), duration="PT2H")
    fill(site.desk.ledger, entry.number, ("forward", "ip-premium", "FastEthernet4/0/0"), COURSE)
    for service in ("ip-premium", "best-effort"):
        fill(site.desk.ledger, 0, (OUT, service, "ATM1/0/0"), COURSE[::-1])
    tab = sign_in("operator", viewport={"width": width, "height": 900}, color_scheme=scheme)
    addresses = {
        "reservation": f"/usage/of/{entry.handle}", "link": f"/usage/link?device={EDGE}&interface=ATM1/0/0",
        "unused": "/usage/unused",
    }  # fmt: skip
    for name, address in addresses.items():
        tab.page.goto(address)
        if name != "unused":
            tab.page.wait_for_selector("[data-drawn=yes]")
        assert tab.page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True)
        assert tab.findings() == [], address
        assert tab.width <= width, address
        assert tab.complaints == [], address
