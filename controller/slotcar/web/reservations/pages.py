"""The list with its filter, one reservation, and what its owner or an operator may do with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from slotcar.api.context import label_of
from slotcar.ledger.model import Entry, State
from slotcar.ledger.pages import MOST_COUNTED
from slotcar.ledger.queries import EventFilter, Filter
from slotcar.problems import InvalidInput, Problem
from slotcar.units import UnitError, parse_duration
from slotcar.web.reservations.model import (
    SLOTS_LISTED,
    amount_words,
    can_be_cancelled,
    picture_of,
    progress_of,
    rates_words,
    row_of,
    rows_of,
    used_bits,
)
from slotcar.web.serving import Page
from slotcar.web.visit import PAGE, Answer, Moved, Shown, Visit
from slotcar.web.words import sentence, turns_at, why_not_change

FILTERS = ("search", "owner", "label", "state", "from", "until", "after")
#: What the list shows at first: what is over is history.
LIVE = "live"
_LIVE_STATES = (State.HELD, State.AWAITING_APPROVAL, State.COMMITTED)
HISTORY = 50


@dataclass(frozen=True, slots=True)
class Asked:
    """What the filter says, in the address's own words; each is a text."""

    search: str
    owner: str
    label: str
    state: str
    since: str
    until: str


def listed(visit: Visit) -> Answer:
    return Shown("reservations/list.html", _list_model(visit))


def table(visit: Visit) -> Answer:
    return Shown("reservations/table.html", _list_model(visit))


def _list_model(visit: Visit) -> dict[str, Any]:
    """
    Raises:
        InvalidInput: a time or a state of the filter is wrong.
    """
    asked = Asked(
        visit.asked("search"), visit.asked("owner"), visit.asked("label"), visit.asked("state", LIVE), visit.asked("from"),
        visit.asked("until"),
    )  # fmt: skip
    wanted = _filter(visit, asked)
    sequence = visit.broker.ledger.last_event()
    listed = visit.broker.page(wanted, visit.caller)
    page = listed.entries[:PAGE]
    said = {
        "search": asked.search, "owner": asked.owner, "label": asked.label, "state": asked.state, "from": asked.since,
        "until": asked.until,
    }  # fmt: skip
    query = {key: value for key, value in said.items() if value}
    following = f"/reservations?{urlencode({**query, 'after': page[-1].number})}" if len(listed.entries) > PAGE else ""
    return {
        "rows": rows_of(page, visit.clock), "asked": asked, "next": following, "sequence": sequence,
        "here_again": f"/reservations/table?{urlencode({**query, **({'after': wanted.after} if wanted.after else {})})}",
        "count": f"more than {MOST_COUNTED}" if listed.count > MOST_COUNTED else str(listed.count),
        "states": [LIVE, "all", *(one.value for one in State)], "overview": visit.may_overview,
    }  # fmt: skip


def _filter(visit: Visit, asked: Asked) -> Filter:
    named = [one.value for one in State]
    if asked.state not in (LIVE, "all", *named):
        hint = f"say one of live, all, {', '.join(named)}"
        raise InvalidInput([Problem("query", 0, "state", "is no state", asked.state[:60], hint)])
    states = _LIVE_STATES if asked.state == LIVE else None if asked.state == "all" else (State(asked.state),)
    return Filter(
        asked.owner or None, None, states, label_of(asked.label),
        visit.time("from", asked.since) if asked.since else None, visit.time("until", asked.until) if asked.until else None,
        newest=True, after=visit.number("after"), limit=PAGE + 1, search=asked.search or None,
    )  # fmt: skip


def one(visit: Visit) -> Answer:
    return Shown("reservations/page.html", {**_model(visit), "part": False})


def part(visit: Visit) -> Answer:
    return Shown("reservations/now.html", {**_model(visit), "part": True})


def _model(visit: Visit) -> dict[str, Any]:
    """
    Raises:
        UnknownHandle.
    """
    sequence = visit.broker.ledger.last_event()
    entry = visit.broker.status(str(visit.path["handle"]), visit.caller)
    asked = entry.reservation
    history = visit.broker.events(EventFilter(handle=entry.handle), visit.caller, 0, HISTORY, newest=True)
    return {
        "entry": entry, "row": row_of(entry, visit.clock), "sentence": sentence(entry, visit.clock),
        "turns": turns_at(entry, visit.now),
        "sequence": sequence,
        "picture": picture_of(asked, visit.now), "progress": progress_of(entry, visit.now), "amount": amount_words(asked),
        "slots": [(slot, amount_words(asked) if asked.claim else rates_words(slot)) for slot in asked.slots[:SLOTS_LISTED]],
        "slots_left": max(0, len(asked.slots) - SLOTS_LISTED),
        "used_bits": used_bits(entry, visit.now), "history": history, "actions": _actions(visit, entry),
        "proposed": amount_words(entry.proposed.reservation) if entry.proposed else "", "overview": visit.may_overview,
    }  # fmt: skip


def _actions(visit: Visit, entry: Entry) -> dict[str, str]:
    """What may be asked for in this state, each with the reason why this caller may not; empty where it may."""
    why = why_not_change(visit.caller)
    offered = {
        "commit": entry.state is State.HELD,
        "extend": entry.state is State.HELD,
        "cancel": can_be_cancelled(entry),
    }
    return {name: why for name, possible in offered.items() if possible}


def commit(visit: Visit) -> Answer:
    handle = str(visit.path["handle"])
    visit.broker.commit(handle, visit.caller, visit.now, version_of(visit))
    return Moved(f"/reservations/{handle}")


def cancel(visit: Visit) -> Answer:
    handle = str(visit.path["handle"])
    visit.broker.cancel(handle, visit.caller, visit.now, version_of(visit), visit.said("reason"))
    return Moved(f"/reservations/{handle}")


def extend(visit: Visit) -> Answer:
    handle = str(visit.path["handle"])
    try:
        by = parse_duration(visit.said("by"))
    except UnitError as error:
        raise InvalidInput([Problem("request", 0, "by", error.message, error.value, error.hint)]) from error
    visit.broker.extend(handle, by, visit.caller, visit.now, version_of(visit))
    return Moved(f"/reservations/{handle}")


def version_of(visit: Visit) -> int:
    """The version that the page showed: what is decided on is what somebody has seen.

    Raises:
        InvalidInput: the form does not say it.
    """
    text = visit.said("version")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidInput([Problem("request", 0, "version", "is no version", text[:20], "load the page again")])
    return int(text)


PAGES = (
    Page("/reservations", listed, query=FILTERS),
    Page("/reservations/table", table, query=FILTERS),
    Page("/reservations/{handle}", one),
    Page("/reservations/{handle}/now", part),
    Page("/reservations/{handle}/commit", commit, "POST"),
    Page("/reservations/{handle}/cancel", cancel, "POST"),
    Page("/reservations/{handle}/extend", extend, "POST"),
)
