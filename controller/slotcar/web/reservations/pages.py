"""The list with its filter, one reservation, and what its owner or an operator may do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from slotcar.auth.access import acting
from slotcar.base.problems import InvalidInput, Problem
from slotcar.book.delegating import delegation_to
from slotcar.book.model import Entry, State
from slotcar.desk.delegating import Delegations
from slotcar.desk.entries import Entries
from slotcar.desk.logs import Logs
from slotcar.desk.reading import label_of
from slotcar.policy.delegating import DELEGABLE, SEE
from slotcar.policy.verdict import NotAllowed
from slotcar.store.queries import EntryFilter, EventFilter
from slotcar.web.reservations.model import (
    SLOTS_LISTED,
    amount_words,
    can_be_cancelled,
    over_since,
    picture_of,
    progress_of,
    rates_words,
    row_of,
    rows_of,
    used_bits,
)
from slotcar.web.serving import WebPage
from slotcar.web.visit import PAGE, Answer, Moved, Shown, Visit
from slotcar.web.words import SLOTS, sentence, turns_at, why_not_change
from slotcar_client.wire import verbs
from slotcar_client.wire.documents import MOST_COUNTED

FILTERS = ("search", "owner", "label", "state", "from", "until", "after")
#: What the list shows at first: what is over is history.
LIVE = "live"
_LIVE_STATES = (State.HELD, State.AWAITING_APPROVAL, State.COMMITTED)
HISTORY = 50


@dataclass(frozen=True, slots=True)
class ListFilters:
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
    filters = ListFilters(
        visit.parameter("search"),
        visit.parameter("owner"),
        visit.parameter("label"),
        visit.parameter("state", LIVE),
        visit.parameter("from"),
        visit.parameter("until"),
    )
    wanted = _filter(visit, filters)
    sequence = visit.desk.ledger.last_event()
    listed = Entries(visit.desk).page(wanted, visit.caller)
    page = visit.with_slots(listed.entries[:PAGE])
    parameters = {
        "search": filters.search,
        "owner": filters.owner,
        "label": filters.label,
        "state": filters.state,
        "from": filters.since,
        "until": filters.until,
    }
    query = {key: value for key, value in parameters.items() if value}
    following = f"/reservations?{urlencode({**query, 'after': page[-1].number})}" if len(listed.entries) > PAGE else ""
    return {
        "rows": rows_of(page, visit.clock), "asked": filters, "next": following, "sequence": sequence,
        "here_again": f"/reservations/table?{urlencode({**query, **({'after': wanted.after} if wanted.after else {})})}",
        "count": f"more than {MOST_COUNTED}" if listed.count > MOST_COUNTED else str(listed.count),
        "states": [LIVE, "all", *(one.value for one in State)], "overview": visit.may_overview,
    }  # fmt: skip


def _filter(visit: Visit, filters: ListFilters) -> EntryFilter:
    named = [one.value for one in State]
    if filters.state not in (LIVE, "all", *named):
        hint = f"say one of live, all, {', '.join(named)}"
        raise InvalidInput([Problem("query", 0, "state", "is not a state", filters.state, hint)])
    states = _LIVE_STATES if filters.state == LIVE else None if filters.state == "all" else (State(filters.state),)
    return EntryFilter(
        filters.owner or None,
        None,
        states,
        label_of(filters.label),
        visit.time("from", filters.since) if filters.since else None,
        visit.time("until", filters.until) if filters.until else None,
        newest=True,
        after=visit.number("after"),
        limit=PAGE + 1,
        search=filters.search or None,
    )


def one(visit: Visit) -> Answer:
    return Shown("reservations/page.html", {**_model(visit), "part": False})


def part(visit: Visit) -> Answer:
    """What follows the events. Buttons are changed only where they are others by now: somebody may be writing a reason."""
    model = _model(visit)
    acts = model["over"] or visit.number("seen") != model["entry"].version
    return Shown("reservations/now.html", {**model, "part": True, "acts": acts})


def _model(visit: Visit) -> dict[str, Any]:
    """
    Raises:
        UnknownHandle.
    """
    sequence = visit.desk.ledger.last_event()
    (entry,) = visit.with_slots([Entries(visit.desk).status(str(visit.path["handle"]), visit.caller)])
    reservation = entry.reservation
    history = Logs(visit.desk).events(EventFilter(handle=entry.handle), visit.caller, 0, HISTORY, newest=True)
    return {
        "entry": entry,
        "row": row_of(entry, visit.clock),
        "sentence": sentence(entry, visit.clock),
        "turns": turns_at(entry, visit.now),
        "sequence": sequence,
        "picture": picture_of(entry, visit.now),
        "over": over_since(entry, visit.now) is not None,
        "progress": progress_of(entry, visit.now),
        "amount": amount_words(reservation),
        "slots": [
            (slot, amount_words(reservation) if reservation.claim else rates_words(slot))
            for slot in reservation.slots[:SLOTS_LISTED]
        ],
        "slots_left": max(0, len(reservation.slots) - SLOTS_LISTED),
        "used_bits": used_bits(entry, visit.now),
        "devices": [(one, SLOTS[one.state]) for one in entry.slot.devices] if entry.slot else [],
        "history": history,
        "actions": _actions(visit, entry),
        "delegable": _delegable(visit, entry),
        "withdrawable": not over_since(entry, visit.now) and not _why_not(visit, entry, "withdraw"),
        "proposed": amount_words(entry.proposed.reservation) if entry.proposed else "",
        "overview": visit.may_overview,
    }


def _actions(visit: Visit, entry: Entry) -> dict[str, str]:
    """What may be asked for in this state, each with the reason why this caller may not; empty where it may."""
    held = entry.state is State.HELD and over_since(entry, visit.now) is None
    offered = {"commit": held, "extend": held, "cancel": can_be_cancelled(entry, visit.now)}
    return {verb: _why_not(visit, entry, verb) for verb, possible in offered.items() if possible}


def _why_not(visit: Visit, entry: Entry, verb: str) -> str:
    """Why the caller may not do the verb, by itself or by what was handed to it; empty where it may."""
    if delegation_to(visit.caller, entry, visit.now) is None:
        return why_not_change(visit.caller, verb, entry.reservation.owner)
    try:
        acting(visit.caller, entry, verb, visit.desk.site, visit.now)
    except NotAllowed as error:
        words = str(error)
        return f"{words[:1].upper()}{words[1:]}."
    return ""


def _delegable(visit: Visit, entry: Entry) -> Sequence[str]:
    """The rights that the caller may hand on; none where it may not, or the reservation is over."""
    if not can_be_cancelled(entry, visit.now) or _why_not(visit, entry, "delegate"):
        return ()
    return [verb for verb in DELEGABLE if verb != SEE]


def delegate(visit: Visit) -> Answer:
    handle = str(visit.path["handle"])
    until = visit.time("until", visit.form_value("until"))
    rights = [*visit.form.get("may", ())] or [SEE]
    Delegations(visit.desk).give(handle, visit.form_value("to"), rights, until, visit.caller, visit.now)
    return Moved(f"/reservations/{handle}")


def withdraw(visit: Visit) -> Answer:
    handle = str(visit.path["handle"])
    Delegations(visit.desk).withdraw(handle, visit.form_value("to"), visit.caller, visit.now)
    return Moved(f"/reservations/{handle}")


def commit(visit: Visit) -> Answer:
    return _done(visit, verbs.Commit(str(visit.path["handle"]), version_of(visit)))


def cancel(visit: Visit) -> Answer:
    return _done(visit, verbs.Cancel(str(visit.path["handle"]), visit.form_value("reason"), version_of(visit)))


def extend(visit: Visit) -> Answer:
    return _done(visit, verbs.Extend(str(visit.path["handle"]), visit.form_value("by"), version_of(visit)))


def _done(visit: Visit, verb: verbs.Verb[Any]) -> Answer:
    visit.desk.send(verb, visit.caller)
    return Moved(f"/reservations/{visit.path['handle']}")


def version_of(visit: Visit) -> int:
    """The version that the page showed: what is decided on is what somebody has seen.

    Raises:
        InvalidInput: the form does not say it.
    """
    text = visit.form_value("version")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidInput([Problem("request", 0, "version", "is not a version", text, "load the page again")])
    return int(text)


PAGES = (
    WebPage("/reservations", listed, verb="list", query=FILTERS),
    WebPage("/reservations/table", table, verb="list", query=FILTERS),
    WebPage("/reservations/{handle}", one, verb="status"),
    WebPage("/reservations/{handle}/now", part, verb="status", query=("seen",)),
    WebPage("/reservations/{handle}/commit", commit, "POST"),
    WebPage("/reservations/{handle}/cancel", cancel, "POST"),
    WebPage("/reservations/{handle}/extend", extend, "POST"),
    WebPage("/reservations/{handle}/delegate", delegate, "POST"),
    WebPage("/reservations/{handle}/withdraw", withdraw, "POST"),
)
