"""GARA's verbs over HTTP: create, status, modify, bind, commit, extend, cancel, approve, reject, enquire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Depends, Path, Query, Response

from slotcar.api.answers import model_of, written
from slotcar.api.bodies import BindIn, ExtendIn, ModifyIn, ProgressIn, RatesIn, ReasonIn
from slotcar.api.context import (
    Context,
    IfMatch,
    LabelQuery,
    MaybeIfMatch,
    NameQuery,
    Newest,
    OneVersion,
    OwnerQuery,
    TheCaller,
    TheContext,
    Time,
    label_of,
)
from slotcar.api.limits import json_only
from slotcar.api.verbs import serves
from slotcar.base import lengths
from slotcar.base.problems import LINE_PATTERN, InvalidInput, Problem
from slotcar.base.units import UnitError, parse_any_bps, parse_duration, parse_rate_bps, parse_remaining_bytes
from slotcar.book.model import Entry, State
from slotcar.book.rules.roles import Caller, owner_for
from slotcar.broker import Options
from slotcar.planning.enquiry import enquiry_document
from slotcar.planning.modification import Modification
from slotcar.reservation import from_mapping, parse_time
from slotcar.reservation.fingerprint import fingerprint_of
from slotcar.store.queries import EntryFilter
from slotcar.views.documents import entry_document
from slotcar_client.wire import documents, verbs

router = APIRouter(prefix="/v1", tags=["reservations"])
T = TypeVar("T")
Handle = Annotated[
    str,
    Path(max_length=lengths.HANDLE, description="what `create` answered with", examples=["r-7q2m5k3c9d4e8f1a"]),
]
Hold = Annotated[
    str | None,
    Query(max_length=lengths.QUANTITY, description="only hold it, for so long (`PT15M`); commit it or lose it"),
]
JSON = [Depends(json_only)]


def parsed(key: str, parse: Callable[[str], T], text: str | None) -> T | None:
    """
    Raises:
        InvalidInput: the text is wrong; it names the key.
    """
    try:
        return parse(text) if text is not None else None
    except UnitError as error:
        raise InvalidInput([Problem("request", 0, key, error.message, error.value, error.hint)]) from error


def answer(entry: Entry, context: Context, caller: Caller, *, created: bool = False) -> Response:
    (entry_with_slot,) = context.broker.with_slots([entry], caller, context.now())
    headers = {"ETag": f'"{entry.version}"'}
    if created:
        headers["Location"] = f"/v1/reservations/{entry.handle}"
    return written(entry_document(entry_with_slot), 201 if created else 200, headers)


@serves(router, verbs.Create)
def create(verb: verbs.Create, context: Context, caller: Caller) -> Response:
    moment, body = context.now(), verb.reservation
    owner = owner_for(caller, body.get("owner") if isinstance(body.get("owner"), str) else None)
    reservation = from_mapping({"owner": owner, **body}, moment)
    options = Options(
        hold=parsed("hold", parse_duration, verb.hold),
        idempotency_key=verb.idempotency_key,
        fingerprint=fingerprint_of({**body, "owner": owner}, verb.hold),
    )
    entry = context.broker.create(reservation, caller, moment, options)
    return answer(entry, context, caller, created=True)


@router.get("/reservations", response_model=model_of(documents.Entries), summary="List", name="list")
def entries(
    context: TheContext,
    caller: TheCaller,
    owner: OwnerQuery = None,
    name: NameQuery = None,
    state: Annotated[list[State] | None, Query(description="may be repeated")] = None,
    label: LabelQuery = None,
    since: Annotated[Time | None, Query(alias="from", description="only those that end after it")] = None,
    until: Annotated[Time | None, Query(description="only those that begin before it")] = None,
    search: Annotated[
        str | None,
        Query(min_length=1, max_length=lengths.SEARCH, pattern=LINE_PATTERN,
              description="words of the owner and the name, the last perhaps unfinished; or a whole handle"),
    ] = None,
    newest: Newest = False,
    counted: Annotated[bool, Query(description="say how many there are on all pages")] = False,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:  # fmt: skip
    """By number; `next` is the cursor of the following page, null on the last. A requester gets its own."""
    wanted = EntryFilter(owner, name, state, label_of(label), since, until, newest, after, limit + 1, search)
    if counted:
        counted_page = context.broker.page(wanted, caller)
        listed, count = counted_page.entries, counted_page.count
    else:
        listed, count = context.broker.list(wanted, caller), None
    page = context.broker.with_slots(listed[:limit], caller, context.now())
    return written(
        {
            "items": [entry_document(entry) for entry in page],
            "count": count,
            "next": str(page[-1].number) if len(listed) > limit else None,
        }
    )


@serves(router, verbs.Status)
def status(verb: verbs.Status, context: Context, caller: Caller) -> Response:
    return answer(context.broker.status(verb.handle, caller), context, caller)


@router.patch("/reservations/{handle}", response_model=model_of(documents.Entry), summary="Modify", dependencies=JSON)
def modify(handle: Handle, body: ModifyIn, context: TheContext, caller: TheCaller, version: IfMatch) -> Response:
    """Another rate or window, atomically: if it is refused (409), the old one stays. Needs If-Match.

    A raise above the approval gate is `proposed` in the answer: the old one is in force until an operator approves it.
    """
    moment = context.now()
    rate = RatesIn() if body.rate is None else body.rate
    one_rate, each_way = (rate, RatesIn()) if isinstance(rate, str) else (None, rate)
    change = Modification(
        rate_bps=parsed("rate", parse_rate_bps, one_rate),
        forward_bps=parsed("rate.forward", parse_any_bps, each_way.forward),
        reverse_bps=parsed("rate.reverse", parse_any_bps, each_way.reverse),
        start=parsed("start", lambda text: parse_time(text, moment), body.start),
        end=parsed("end", lambda text: parse_time(text, moment), body.end),
        duration=parsed("duration", parse_duration, body.duration),
    )
    return answer(context.broker.modify(handle, change, caller, moment, version), context, caller)


@router.post(
    "/reservations/{handle}/bind", response_model=model_of(documents.Entry), summary="Bind ports", dependencies=JSON
)
def bind(handle: Handle, body: BindIn, context: TheContext, caller: TheCaller, version: IfMatch) -> Response:
    """The ports that were not known before. Needs If-Match."""
    entry = context.broker.bind(handle, caller, context.now(), body.source_port, body.destination_port, version)
    return answer(entry, context, caller)


@router.post(
    "/reservations/{handle}/progress",
    response_model=model_of(documents.Entry),
    summary="Report progress",
    dependencies=JSON,
)
def progress(handle: Handle, body: ProgressIn, context: TheContext, caller: TheCaller) -> Response:
    """What remains of a volume by a deadline: what is done early is given back, what is behind gets what is free.

    Refused (409) for a fixed reservation, and where more remains than before.
    """
    remaining_bytes = parsed("remaining", parse_remaining_bytes, body.remaining)
    assert remaining_bytes is not None
    return answer(context.broker.report(handle, remaining_bytes, caller, context.now()), context, caller)


@serves(router, verbs.Commit)
def commit(verb: verbs.Commit, context: Context, caller: Caller) -> Response:
    return answer(context.broker.commit(verb.handle, caller, context.now(), verb.version), context, caller)


@router.post(
    "/reservations/{handle}/extend",
    response_model=model_of(documents.Entry),
    summary="Extend a hold",
    dependencies=JSON,
)
def extend(handle: Handle, body: ExtendIn, context: TheContext, caller: TheCaller, version: MaybeIfMatch) -> Response:
    """Keeps a hold until `by` from now. Refused (409) for what is not held, or not any more."""
    by = parsed("by", parse_duration, body.by)
    assert by is not None
    return answer(context.broker.extend(handle, by, caller, context.now(), version), context, caller)


@router.post(
    "/reservations/{handle}/cancel", response_model=model_of(documents.Entry), summary="Cancel", dependencies=JSON
)
def cancel(
    handle: Handle,
    context: TheContext,
    caller: TheCaller,
    version: MaybeIfMatch,
    body: ReasonIn | None = None,
) -> Response:
    """Gives it back at once; the routers follow."""
    entry = context.broker.cancel(handle, caller, context.now(), version, body.reason if body else "")
    return answer(entry, context, caller)


@router.post("/reservations/{handle}/approve", response_model=model_of(documents.Entry), summary="Approve")
def approve(handle: Handle, context: TheContext, caller: TheCaller, version: OneVersion) -> Response:
    """Lets a reservation above the approval gate, or the change of one, through. Operators only; needs If-Match."""
    return answer(context.broker.approve(handle, version, caller, context.now()), context, caller)


@router.post(
    "/reservations/{handle}/reject", response_model=model_of(documents.Entry), summary="Reject", dependencies=JSON
)
def reject(
    handle: Handle,
    context: TheContext,
    caller: TheCaller,
    version: MaybeIfMatch,
    body: ReasonIn | None = None,
) -> Response:
    """Turns a reservation above the approval gate away, or the change of one, which stays then. Operators only."""
    entry = context.broker.reject(handle, caller, context.now(), version, body.reason if body else "")
    return answer(entry, context, caller)


@router.get(
    "/reservations/{handle}/addable", response_model=model_of(documents.Enquiry), summary="Enquire what could be added"
)
def addable(handle: Handle, context: TheContext, caller: TheCaller) -> documents.Enquiry:
    """What could be added to the rates of a reservation from now to its end, each way. Changes nothing.

    Refused (409) for one that is over, and where admission finds the rates (a volume, a share).
    """
    return enquiry_document(context.broker.addable(handle, caller, context.now()))


@router.post("/enquiries", response_model=model_of(documents.Enquiry), summary="Enquire", dependencies=JSON)
def enquire(body: Annotated[dict[str, Any], Body()], context: TheContext, caller: TheCaller) -> documents.Enquiry:
    """The highest rate that would be admitted over a window, each way of `direction`, and what is free over time.

    Changes nothing. Where operators let requests take other ways than the shortest, the one with the most is told.

    The keys are a reservation's; `name`, `owner`, `rate` and `direction` may be left out.
    """
    moment = context.now()
    defaults = {"name": "enquiry", "owner": caller.owner or "enquiry", "direction": "both"}
    defaults |= {} if "volume" in body else {"rate": "1 bit/s"}
    return enquiry_document(context.broker.enquire(from_mapping({**defaults, **body}, moment), caller, moment))
