"""GARA's verbs: enquire, create, status, modify, bind, commit, extend, cancel, approve, reject."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slotcar.base.timebase import MICROSECOND, Window
from slotcar.base.units import parse_any_bps, parse_duration, parse_rate_bps, parse_remaining_bytes
from slotcar.book.model import Entry, State
from slotcar.book.operation import Move
from slotcar.book.rules.request_limits import require_reason
from slotcar.book.rules.roles import may_overview, owner_for, require_operator
from slotcar.book.rules.verb_rules import allows
from slotcar.desk.desk import Desk, answers
from slotcar.desk.entries import Entries, require_alone
from slotcar.desk.reading import instant_of, label_of, parsed, parsed_text
from slotcar.planning.errors import NotPossible
from slotcar.planning.modification import Modification
from slotcar.policy.caller import Caller
from slotcar.reservation import from_mapping, parse_time
from slotcar.reservation.fingerprint import fingerprint_of
from slotcar.reservation.model import is_storable
from slotcar.store.queries import EntryFilter
from slotcar.views.documents import entry_document
from slotcar_client.wire import documents, verbs

if TYPE_CHECKING:
    from slotcar.desk.requests import Requests


def _requests(desk: Desk) -> Requests:
    """With it come the tables that decide, which whoever only looks at reservations needs not."""
    from slotcar.desk.requests import Requests

    return Requests(desk)


def shown_entry(entry: Entry, desk: Desk, caller: Caller) -> documents.Entry:
    """As it is now, with what is on the devices of its slot."""
    (slotted,) = Entries(desk).with_slots([entry], caller, desk.clocks.now())
    return entry_document(slotted)


@answers(verbs.Explain)
def explain(verb: verbs.Explain, desk: Desk, caller: Caller, now: datetime) -> documents.Explanation:
    """The lines of devices are for whoever may see the devices' configurations."""
    from slotcar.book.shares import BackgroundShares
    from slotcar.views.numbers import explain as explained
    from slotcar.views.numbers import explanation_document

    entry = Entries(desk).status(verb.handle, caller)
    start = max(now, min((slot.start for slot in entry.reservation.slots if slot.end > now), default=now))
    slot = Window(start, start + MICROSECOND)
    others = BackgroundShares(desk.network)(desk.ledger.live_between(slot.start, slot.end), slot)
    entry = next((other for other in others if other.number == entry.number), entry)
    return explanation_document(entry, explained(entry, others, desk.network, now), with_lines=may_overview(caller))


@answers(verbs.Create)
def create(verb: verbs.Create, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    from slotcar.desk.requests import Options

    body = verb.reservation
    owner = owner_of_body(body, caller)
    options = Options(
        hold=parsed("hold", parse_duration, verb.hold),
        idempotency_key=verb.idempotency_key,
        fingerprint=fingerprint_of({**body, "owner": owner}, verb.hold),
    )
    return shown_entry(
        _requests(desk).create(from_mapping({"owner": owner, **body}, now), caller, now, options), desk, caller
    )


def owner_of_body(body: Mapping[str, Any], caller: Caller) -> str:
    """The owner of what a body asks for: its own words, or the caller's owner.

    Raises:
        NotAllowed: the caller may not reserve for that owner.
    """
    owner = body.get("owner")
    # One that cannot be kept is refused with the rest that is wrong; no policy can be asked about it.
    return owner_for(caller, owner if isinstance(owner, str) and is_storable(owner) else None)


@answers(verbs.List)
def list_(verb: verbs.List, desk: Desk, caller: Caller, now: datetime) -> documents.Entries:
    wanted = EntryFilter(
        verb.owner,
        verb.name,
        None if verb.state is None else [State(text) for text in verb.state],
        label_of(verb.label),
        instant_of("from", verb.since),
        instant_of("until", verb.until),
        verb.newest,
        int(verb.after),
        verb.limit + 1,
        verb.search,
    )
    if verb.counted:
        counted_page = Entries(desk).page(wanted, caller)
        listed, count = counted_page.entries, counted_page.count
    else:
        listed, count = Entries(desk).list(wanted, caller), None
    page = Entries(desk).with_slots(listed[: verb.limit], caller, now)
    return {
        "items": [entry_document(entry) for entry in page],
        "count": count,
        "next": str(page[-1].number) if len(listed) > verb.limit else None,
    }


@answers(verbs.Status)
def status(verb: verbs.Status, desk: Desk, caller: Caller, _now: datetime) -> documents.Entry:
    return shown_entry(Entries(desk).status(verb.handle, caller), desk, caller)


@answers(verbs.Modify)
def modify(verb: verbs.Modify, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    one_rate = verb.rate if isinstance(verb.rate, str) else None
    each_way: verbs.Rates = {} if verb.rate is None or isinstance(verb.rate, str) else verb.rate
    change = Modification(
        rate_bps=parsed("rate", parse_rate_bps, one_rate),
        forward_bps=parsed("rate.forward", parse_any_bps, each_way.get("forward")),
        reverse_bps=parsed("rate.reverse", parse_any_bps, each_way.get("reverse")),
        start=parsed("start", lambda text: parse_time(text, now), verb.start),
        end=parsed("end", lambda text: parse_time(text, now), verb.end),
        duration=parsed("duration", parse_duration, verb.duration),
    )
    return shown_entry(_requests(desk).modify(verb.handle, change, caller, now, verb.version), desk, caller)


@answers(verbs.Bind)
def bind(verb: verbs.Bind, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    entry = _requests(desk).bind(verb.handle, caller, now, verb.source_port, verb.destination_port, verb.version)
    return shown_entry(entry, desk, caller)


@answers(verbs.Progress)
def progress(verb: verbs.Progress, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    remaining_bytes = parsed_text("remaining", parse_remaining_bytes, verb.remaining)
    return shown_entry(_requests(desk).report(verb.handle, remaining_bytes, caller, now), desk, caller)


@answers(verbs.Commit)
def commit(verb: verbs.Commit, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    """Makes a hold firm; above the operator's gate it waits for approval instead."""
    from slotcar.book.approving import Commit

    entry, acts = Entries(desk).changeable(verb.handle, caller, verb.operation, now, alone=True)
    return shown_entry(desk.ledger.run(Commit(now, entry.handle, acts.actor, verb.version)), desk, caller)


@answers(verbs.Extend)
def extend(verb: verbs.Extend, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    """
    Raises:
        NotPossible: it is not held. HoldTooLong: the operator lets no hold last so long.
    """
    from slotcar.book.operations import ExtendHold

    hold_until = now + parsed_text("by", parse_duration, verb.by)
    entry, acts = Entries(desk).changeable(verb.handle, caller, verb.operation, now, alone=True)
    if not allows(verbs.Extend, entry.state):
        raise NotPossible(f"reservation {entry.handle} is {entry.state.value}: only a hold can be extended")
    kept_longer = ExtendHold(now, entry.handle, acts.actor, verb.version, hold_until=hold_until)
    return shown_entry(desk.ledger.run(kept_longer), desk, caller)


@answers(verbs.Cancel)
def cancel(verb: verbs.Cancel, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    """Gives it back, at once; routers follow at the reconcile loop's next turn."""
    entry, acts = Entries(desk).changeable(verb.handle, caller, verb.operation, now, alone=True)
    require_reason(verb.reason)
    move = Move(now, entry.handle, acts.actor, verb.version, to=State.CANCELLED, reason=verb.reason)
    return shown_entry(desk.ledger.run(move), desk, caller)


@answers(verbs.Approve)
def approve(verb: verbs.Approve, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    """Lets what waits of it into force as it was at the version: the reservation, or the change of it.

    Raises:
        NotAllowed: no operator. CannotExpress, RefusedByPolicy: see `Requests.create`.
    """
    from slotcar.book.approving import Approve
    from slotcar.planning.routing import RoutedReservation

    require_operator(caller, "approve a reservation", verb.operation)
    entry = require_alone(Entries(desk).status(verb.handle, caller))
    change = entry.proposed
    routed = RoutedReservation(change.reservation, change.paths, change.demands) if change else None
    condition = desk.platform_limits.condition(routed) if routed else None
    approval = Approve(now, entry.handle, caller.actor, verb.version, condition=condition)
    return shown_entry(desk.ledger.run(approval), desk, caller)


@answers(verbs.Reject)
def reject(verb: verbs.Reject, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    """Turns away what waits of it: the reservation; of a committed one the change, and it stays as it is."""
    from slotcar.book.approving import Reject

    require_operator(caller, "reject a reservation", verb.operation)
    require_reason(verb.reason)
    handle = require_alone(Entries(desk).status(verb.handle, caller)).handle
    return shown_entry(
        desk.ledger.run(Reject(now, handle, caller.actor, verb.version, reason=verb.reason)), desk, caller
    )


@answers(verbs.Addable)
def addable(verb: verbs.Addable, desk: Desk, caller: Caller, now: datetime) -> documents.Enquiry:
    from slotcar.planning.enquiry import enquiry_document

    return enquiry_document(_requests(desk).addable(verb.handle, caller, now))


@answers(verbs.Enquire)
def enquire(verb: verbs.Enquire, desk: Desk, caller: Caller, now: datetime) -> documents.Enquiry:
    from slotcar.desk.enquiring import enquired  # with it come the tickets of domains, and what checks signatures
    from slotcar.planning.enquiry import enquiry_document

    body = verb.reservation
    way = "forward" if body.get("receivers") else "both"
    defaults = {"name": "enquiry", "owner": caller.owner or "enquiry", "direction": way}
    defaults |= {} if "volume" in body else {"rate": "1 bit/s"}
    return enquiry_document(enquired(desk, from_mapping({**defaults, **body}, now), caller, now))
