"""Prints docs/reference/slot-states.md: each state of a slot, and what every face says of it, by the faces' own code.

Usage: `python tools/slot_state_table.py`. `make generate` writes it; a test compares it, and another asks the real faces.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.book.model import Entry, State
from slotcar.book.slot_now import SlotNow, SlotState
from slotcar.book.slot_states import IN_STATE
from slotcar.cli.entries import slot_lines
from slotcar.cli.listing import state_words
from slotcar.cli.watching import names
from slotcar.reservation.model import Reservation
from slotcar.views.documents import entry_document, timeline_document
from slotcar.views.timeline import TimelineQuery, timeline
from slotcar.web.times import Clock
from slotcar.web.words import mark_of, sentence

START = datetime(2027, 3, 1, 22, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(hours=1))
#: When each state is looked at, before its start, in it or after it, and by what and whom it is so.
EXAMPLES: Mapping[SlotState, tuple[timedelta, str]] = {
    SlotState.PLANNED: (timedelta(hours=-2), ""),
    SlotState.ARMED: (timedelta(minutes=-10), ""),
    SlotState.IN_PLACE: (timedelta(minutes=10), ""),
    SlotState.WITHHELD: (timedelta(minutes=10), "r3: it takes no push"),
    SlotState.FAILED: (timedelta(minutes=10), "r3: it takes no push"),
    SlotState.ROLLED_BACK: (timedelta(minutes=10), "r3: by an operator"),
    SlotState.ENDING: (timedelta(minutes=10), "r3: in place until it is taken away"),
    SlotState.ENDED: (timedelta(hours=1, minutes=5), ""),
    SlotState.UNKNOWN: (timedelta(minutes=30), "r3: no controller has read it since"),
}
MEANS = {
    SlotState.PLANNED: "nothing of it is on its devices yet",
    SlotState.ARMED: "its devices will begin it by themselves, or have nothing to do for it",
    SlotState.IN_PLACE: "all its devices were read back and have it",
    SlotState.WITHHELD: "kept from its devices because one of them is not ready, or is held",
    SlotState.FAILED: "a device took no push, and the others have it (`if_unready: degrade`) or wait",
    SlotState.ROLLED_BACK: "an operator took it from a device, which is held",
    SlotState.ENDING: "it was read back before it was cancelled or its end came, and is being taken away",
    SlotState.ENDED: "its devices were read back and do not have it any more",
    SlotState.UNKNOWN: "nobody has read its devices since",
}
INTRODUCTION = """\
# What is on the routers of a slot

Beside the ledger's state, which says what was promised, stands the slot's: what its routers verified
([ADR 60](../adr/0060-a-slot-is-what-its-routers-verified.md)). It is one decision, from what is recorded, and every
face prints what it answers. The clock alone never puts a slot in place. This page is written by `make generate` out of the
faces' own code, for a slot from 22:00 to 23:00 on 1 March 2027; a test asks each face over a real ledger.

- A slot's state is that of the device that is furthest from what was promised. Each device's own stands beside it.
- `since` of `in-place` is when the devices were last read back: at its start, and at each check since
  (`SLOTCAR_CHECK_INTERVAL`). Where no controller has read them for two checks and a minute, it is `unknown` since then.
- `ending` is what was `in-place` when it was cancelled, until its devices were read again or two checks and a minute have
  passed since they were; or when its end came, for a minute. What was armed is `ending` too, cancelled before its start.
- `why` says by what and by whom. Owners are told the device, and that an operator holds it; operators and auditors also a
  device's own words, and who holds it until when.
- A member of a group that is no flow (cores, disks, a third party's resource) has its host or server as device.
- Before a slot begins every router of its path is asked, also where none of its lines change. At a boundary such a router
  is `nothing to do`.
"""
COLUMNS = (
    "state", "means", "API, client (`slot.state`)", "`slotcar status`", "`slotcar status NAME`", "`slotcar timeline`",
    "page", "its sentence", "event, webhook",
)  # fmt: skip


def example(state: SlotState) -> tuple[Entry, datetime]:
    """A reservation whose slot is in that state, and when it is looked at."""
    ends = {"host": "a"}
    reservation = Reservation.model_validate(
        {
            "name": "cms", "owner": "hep", "source": ends, "destination": {"host": "b"}, "protocol": Protocol.UDP,
            "direction": Direction.FORWARD, "service": Service.IP_PREMIUM,
            "slots": [{"start": WINDOW.start, "end": WINDOW.end, "forward_bps": 1_000_000, "reverse_bps": 0}],
        }
    )  # fmt: skip
    after, why = EXAMPLES[state]
    since = None if state is SlotState.PLANNED else min(START + after, WINDOW.end) - timedelta(minutes=5)
    ledger_state = {SlotState.ENDED: State.ENDED, SlotState.ENDING: State.CANCELLED}.get(state, State.COMMITTED)
    changed_at = min(START + after, WINDOW.end)
    entry = Entry("r-1", 1, ledger_state, 1, reservation, (), (), START - timedelta(days=1), changed_at)
    return replace(entry, slot=SlotNow(1, 1, WINDOW, state, since, why)), START + after


def faces(entry: Entry, now: datetime) -> tuple[str, ...]:
    """What each face says of it: API, two of `status`, `timeline`, page, its sentence."""
    whole = entry_document(entry)
    document = whole["slot"]
    boundary = WINDOW.end if document["state"] == SlotState.ENDED else WINDOW.start
    (item,) = timeline([entry], [], TimelineQuery(boundary, boundary), now)
    return (
        document["state"],
        state_words(whole),
        "; ".join(line.removeprefix("slot").strip() for line in slot_lines(whole)),
        names(timeline_document(item)),
        f"{mark_of(entry).shape} {mark_of(entry).word}",
        sentence(entry, Clock("UTC", now)),
    )


def page() -> str:
    lines = [INTRODUCTION, f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for state in SlotState:
        api, *others = (f"`{cell}`" if number < 1 else cell for number, cell in enumerate(faces(*example(state))))
        event = "none, for nobody read it" if state is SlotState.ENDING else f"`{IN_STATE[state].kind}`"
        cells = (state.words, MEANS[state], api, *others, event)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
