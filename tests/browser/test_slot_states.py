"""What was verified of a slot, on its page and in the list: as states change, to everybody, on a narrow screen too."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.book.appending import AppendEvents
from slotcar.book.slot_now import SlotState
from slotcar.book.slot_states import SlotRecord, configured_devices, form_of
from slotcar.web.words import SLOTS
from tests.browser.conftest import SignIn
from tests.integration.web.conftest import Site
from tests.integration.web.test_slot_states import CASES, LAST, WHY, Recorded, recorded

__all__ = ["recorded"]
pytestmark = pytest.mark.browser


def test_a_slots_page_follows_what_its_routers_verify(site: Site, sign_in: SignIn) -> None:
    now = datetime.now(UTC)
    entry = site.reserve("cms", start=(now - timedelta(minutes=1)).isoformat())
    window = entry.reservation.windows[0]
    tab = sign_in()
    tab.page.goto(f"/reservations/{entry.handle}")
    tab.page.wait_for_selector("#live[data-state=live]")
    assert "unknown" in tab.page.inner_text("#state .big")
    for state, why in ((SlotState.IN_PLACE, {}), (SlotState.UNKNOWN, {LAST: WHY})):
        by_device = dict.fromkeys(configured_devices(entry), SlotState.IN_PLACE) | {LAST: state}
        record = SlotRecord(
            entry.handle, window, 1, form_of(entry, window), by_device, why, now, now + timedelta(hours=1)
        )
        site.desk.ledger.run(AppendEvents(now, [(record.event(), entry.handle)]))
        tab.page.wait_for_selector(f"#state .big .mark:has-text('{SLOTS[state].word}')")
    assert WHY in tab.page.inner_text(f"#state tr:has-text('{LAST}')")
    assert tab.complaints == []


@pytest.mark.parametrize("wide", [1200, 320])
def test_each_state_can_be_read_by_everybody(recorded: Recorded, sign_in: SignIn, wide: int) -> None:
    tab = sign_in()
    tab.page.set_viewport_size({"width": wide, "height": 900})
    addresses = ["/reservations?state=all", *(f"/reservations/{recorded.entries[state].handle}" for state in CASES)]
    for number, address in enumerate(addresses):
        tab.page.goto(address)
        assert tab.findings() == [], address
        assert tab.width <= wide, address
        if folder := os.environ.get("SLOTCAR_SCREENSHOTS"):
            tab.page.screenshot(path=f"{folder}/{wide}-{number}.png", full_page=False)
    assert tab.complaints == []
