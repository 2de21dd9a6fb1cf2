"""The table "state × what each face says" over the real faces: API, client, command line here and over HTTP, page, events,
webhooks. Each prints what the one decision answers, and none of them another state."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.book.appending import AppendEvents
from slotcar.book.model import Entry
from slotcar.book.slot_now import SlotState
from slotcar.book.slot_states import SlotRecord, configured_devices, form_of
from slotcar.desk.reservations import cancel
from slotcar.notify.message import message_of
from slotcar.views.documents import event_document
from slotcar.web.words import SLOTS
from slotcar_client import Slotcar
from slotcar_client.wire import verbs
from tests.integration.api.conftest import GARNET
from tests.integration.web.conftest import OPERATOR, Site
from tests.support.command_line import Cli, in_this_process
from tests.support.patience import PATIENCE_S

LAST = "lbnl-7507"
OPEN, LATER = timedelta(minutes=-5), timedelta(hours=1)
#: Of each state: when its slot starts; what the others of its path have, and what the last one has; None: nothing is said.
CASES: Mapping[SlotState, tuple[timedelta, tuple[SlotState, SlotState] | None]] = {
    SlotState.PLANNED: (LATER, None),
    SlotState.ARMED: (LATER, (SlotState.ARMED, SlotState.ARMED)),
    SlotState.IN_PLACE: (OPEN, (SlotState.IN_PLACE, SlotState.IN_PLACE)),
    SlotState.WITHHELD: (OPEN, (SlotState.WITHHELD, SlotState.FAILED)),
    SlotState.FAILED: (OPEN, (SlotState.IN_PLACE, SlotState.FAILED)),
    SlotState.ROLLED_BACK: (OPEN, (SlotState.IN_PLACE, SlotState.ROLLED_BACK)),
    SlotState.ENDING: (OPEN, (SlotState.IN_PLACE, SlotState.IN_PLACE)),
    SlotState.ENDED: (OPEN, (SlotState.ENDED, SlotState.ENDED)),
    SlotState.UNKNOWN: (OPEN, (SlotState.IN_PLACE, SlotState.UNKNOWN)),
}
WHY = "it takes no push"
#: These were cancelled.
OVER = (SlotState.ENDING, SlotState.ENDED)


@dataclass(frozen=True)
class Recorded:
    """A reservation in each state, by name; and the page that is asked."""

    site: Site
    entries: Mapping[SlotState, Entry]

    def api(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.site.base_url, headers={"Authorization": f"Bearer {self.site.tokens['operator']}"},
            timeout=PATIENCE_S,
        )  # fmt: skip


@pytest.fixture
def recorded(site: Site) -> Recorded:
    now, ledger = datetime.now(UTC), site.desk.ledger
    entries = {}
    for number, (state, (after, devices)) in enumerate(CASES.items(), 5001):
        entry = site.reserve(
            state.value, start=(now + after).isoformat(), destination=f"lbnl-premium:{number}", rate="1 Mbit/s"
        )
        entries[state] = entry
        if devices is not None:
            window = entry.reservation.windows[0]
            by_device = {name: devices[name == LAST] for name in configured_devices(entry)}
            why = {LAST: WHY} if devices[0] is not devices[1] else {}
            record = SlotRecord(entry.handle, window, 1, form_of(entry, window), by_device, why, now, now + LATER)
            assert record.state is (SlotState.IN_PLACE if state is SlotState.ENDING else state)
            if state in OVER:
                cancel(verbs.Cancel(entry.handle), site.desk, OPERATOR, now)
            ledger.run(AppendEvents(now, [(record.event(), entry.handle)]))
    return Recorded(site, entries)


def words_of(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_api_and_the_client_say_it_of_one_and_in_lists(recorded: Recorded) -> None:
    client = Slotcar(recorded.site.base_url, recorded.site.tokens["operator"])
    with recorded.api() as api, client:
        listed = {one["handle"]: one for one in api.get("/v1/reservations", params={"limit": 100}).json()["items"]}
        for state, entry in recorded.entries.items():
            one = api.get(f"/v1/reservations/{entry.handle}").json()
            assert one["slot"]["state"] == state.value
            assert listed[entry.handle]["slot"] == one["slot"]
            assert client.reservation(entry.handle)["slot"] == one["slot"]
            assert {device["device"] for device in one["slot"]["devices"]} == configured_devices(entry)
            troubled = state in (SlotState.WITHHELD, SlotState.FAILED, SlotState.ROLLED_BACK, SlotState.UNKNOWN)
            assert (f"{LAST}: {WHY}" in one["slot"]["why"]) is troubled, state


def test_a_requester_is_told_it_of_its_own_without_a_devices_words(recorded: Recorded) -> None:
    ledger, now = recorded.site.desk.ledger, datetime.now(UTC)
    ledger.append_event("push.device-failed", now, device=LAST, details={"message": "line 7 of hep/secret"})
    withheld = recorded.entries[SlotState.WITHHELD]
    answers = {}
    for role in ("operator", "requester"):
        headers = {"Authorization": f"Bearer {recorded.site.tokens[role]}"}
        answers[role] = httpx.get(
            f"{recorded.site.base_url}/v1/reservations/{withheld.handle}", headers=headers, timeout=PATIENCE_S
        ).json()
    assert answers["operator"]["slot"]["why"] == f"{LAST}: {WHY}: line 7 of hep/secret"
    assert answers["requester"]["slot"]["why"] == f"{LAST}: {WHY}"


def test_timeline_says_it_at_the_slots_start(recorded: Recorded) -> None:
    with recorded.api() as api:
        items = api.get("/v1/timeline").json()["items"]
    states = {one["name"]: one["state"] for item in items for one in item["states"]}
    for state in set(CASES) - {*OVER}:
        assert states[f"hep/{state.value}"] == state.value


@pytest.mark.parametrize("far", [False, True], ids=["here", "over-http"])
def test_the_command_line_says_it(
    recorded: Recorded, far: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], database_url: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    chosen = (
        {"API": recorded.site.base_url, "TOKEN": recorded.site.tokens["operator"]}
        if far
        else {"DATABASE_URL": database_url, "INVENTORY": str(GARNET), "STATE_DIR": str(tmp_path)}
    )
    for name, value in chosen.items():
        monkeypatch.setenv(f"SLOTCAR_{name}", value)
    slotcar: Cli = in_this_process(monkeypatch, capfd)
    rows = slotcar("status", "--all").out.splitlines()
    timeline = slotcar("timeline").out
    for state, entry in recorded.entries.items():
        name = f"hep/{state.value}"
        (row,) = [line for line in rows if line.startswith(f"{name} ")]
        ledger_word = "cancelled" if state in OVER else "committed"
        assert f"{ledger_word}, {state.words}" in row
        shown = slotcar("status", name).out
        assert f"slot     {state.words}" in shown
        assert (LAST in shown.split("slot     ")[1].split("path")[0]) is (
            state in {*SlotState} - {SlotState.PLANNED, SlotState.ARMED, SlotState.IN_PLACE, SlotState.ENDED}
        )
        document = slotcar("status", entry.handle, "-f", "json").data
        assert document["slot"]["state"] == state.value
        if state not in OVER:
            assert f"+{name} {state.words}" in timeline
    assert "active" not in "".join(rows), "the clock says nothing"


def test_the_page_says_it_in_its_list_and_of_one(recorded: Recorded) -> None:
    browser = recorded.site.signed_in("operator")
    listed = browser.get("/reservations", params={"state": "all"}).text
    for state, entry in recorded.entries.items():
        row = words_of(listed.split(f'/reservations/{entry.handle}"')[1].split("</tr>")[0])
        word = "cancelled" if state is SlotState.ENDED else SLOTS[state].word
        assert f" {word} " in row, state
        page = words_of(browser.get(f"/reservations/{entry.handle}").text)
        assert "What was verified on its devices, slot 1 of 1 Device State Since Why" in page
        sentence = {
            SlotState.PLANNED: "nothing of it yet", SlotState.UNKNOWN: "What its devices have is unknown since",
            SlotState.FAILED: "It failed: ", SlotState.ENDED: "It was cancelled",
        }.get(state, f"It is {state.words}")  # fmt: skip
        assert sentence in page, state


def test_events_and_webhooks_say_it(recorded: Recorded) -> None:
    for state, entry in recorded.entries.items():
        events = recorded.site.desk.ledger.events(limit=1000, handle=entry.handle)
        of_slot = [one for one in events if one.kind.startswith("slot.")]
        if CASES[state][1] is None:
            assert of_slot == []
            continue
        (event,) = of_slot
        kind = f"slot.{'in-place' if state is SlotState.ENDING else state.value}"  # nobody has read it since
        assert event.kind == kind
        body: Any = json.loads(message_of("wh-1", event).body)
        assert body["type"] == kind
        assert body["data"] == event_document(event)
        assert set(body["data"]["details"]["devices"]) == configured_devices(entry)
