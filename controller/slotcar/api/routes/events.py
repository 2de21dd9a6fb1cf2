"""The audit log: as pages, and as server-sent events that go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import StreamingResponse

from slotcar.api.answers import model_of
from slotcar.api.context import (
    Context,
    LabelQuery,
    Line,
    NameQuery,
    Newest,
    OwnerQuery,
    StillKnown,
    TheCaller,
    TheContext,
    Time,
)
from slotcar.api.streaming import Framing, frame
from slotcar.base import lengths
from slotcar.base.problems import InvalidInput, Problem
from slotcar.book.rules.roles import Caller
from slotcar.desk.entries import Entries
from slotcar.desk.logs import Logs
from slotcar.desk.reading import label_of
from slotcar.store.queries import EventFilter
from slotcar.views.documents import events_document
from slotcar.views.events import shown_to
from slotcar_client.wire import documents

router = APIRouter(prefix="/v1", tags=["views"])
KIND = r"^[a-z][a-z-]*(\.[a-z-]*)?$"
Kinds = Annotated[
    list[Annotated[str, Query(pattern=KIND, max_length=lengths.EVENT_KIND)]] | None,
    Query(description="only events whose kind begins so: `push.`, `reservation.committed`; may be repeated"),
]
LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID", max_length=lengths.EVENT_NUMBER, pattern=r"^[0-9]{1,18}$",
        description="of a stream that broke: it goes on after this one, whatever `after` says",
    ),
]  # fmt: skip


def wanted_events(
    context: TheContext,
    caller: TheCaller,
    kind: Kinds = None,
    reservation: Annotated[Line | None, Query(description="only of this one: a handle, or OWNER/NAME")] = None,
    device: Annotated[Line | None, Query(description="only of this device")] = None,
    owner: OwnerQuery = None,
    name: NameQuery = None,
    label: LabelQuery = None,
) -> EventFilter:
    """
    Raises:
        NotAllowed, UnknownHandle, NoSuchDevice.
    """
    handle = None if reservation is None else Entries(context.desk).status(reservation, caller).handle
    filters = EventFilter(tuple(kind or ()), handle, device, owner=owner, name=name, label=label_of(label))
    return Logs(context.desk).events_filter(filters, caller)


Wanted = Annotated[EventFilter, Depends(wanted_events)]


@router.get(
    "/events",
    response_model=model_of(documents.Events),
    summary="The audit log",
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    context: TheContext,
    wanted: Wanted,
    caller: TheCaller,
    still: StillKnown,
    since: Annotated[Time | None, Query(alias="from", description="only what was recorded then or later")] = None,
    until: Annotated[Time | None, Query(description="only what was recorded then or before")] = None,
    newest: Newest = False,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    last_event_id: LastEventId = None,
) -> Any:
    """Every transition and every push, in order; a requester gets those of its own reservations.

    With `Accept: text/event-stream`, as server-sent events that go on.
    """
    wanted = replace(wanted, since=since, until=until)
    if "text/event-stream" in request.headers.get("accept", ""):
        if newest or until is not None:
            raise InvalidInput(
                [
                    Problem(
                        "query",
                        0,
                        "newest" if newest else "until",
                        "cannot be used with an event stream, which has no end",
                    )
                ]
            )
        return await _streamed(request, context, wanted, caller, still, int(last_event_id) if last_event_id else after)
    ledger = context.desk.ledger
    listed = await context.streams.ask(ledger.newest_events if newest else ledger.events_of, wanted, after, limit)
    return events_document([shown_to(event, caller) for event in listed], after)


@router.get(
    "/events/stream",
    summary="Follow the audit log",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def event_stream(
    request: Request,
    context: TheContext,
    wanted: Wanted,
    caller: TheCaller,
    still: StillKnown,
    after: Annotated[
        int | None, Query(ge=0, le=2**62, description="from the one after this number on; from now on without it")
    ] = None,
    last_event_id: LastEventId = None,
) -> Any:
    """Server-sent events as they happen: `id` is the event's number, `event` its kind, `data` the event as in a page.

    An `EventSource` that lost its stream comes back with `Last-Event-ID` and misses nothing. A comment comes where
    nothing else does for 15 s, and where the database does not answer; the stream goes on when it does again. It ends
    within seconds where the token is revoked, or is over.
    """
    return await _streamed(request, context, wanted, caller, still, int(last_event_id) if last_event_id else after)


async def _streamed(
    request: Request,
    context: Context,
    wanted: EventFilter,
    caller: Caller,
    still: Callable[[], bool],
    after: int | None,
) -> StreamingResponse:
    """
    Raises:
        InvalidInput: the ledger has no event of that number yet: it is another's, or was restored from a backup.
    """
    ledger = context.desk.ledger
    last = await context.streams.ask(ledger.last_event)
    if after is not None and after > last:
        hint = f"say {last} for what is to come, or a number before it"
        raise InvalidInput([Problem("request", 0, "after", f"is after the last event, {last}", str(after), hint)])
    framing = Framing(lambda event: frame(shown_to(event, caller)))
    return context.streams.respond(
        request, ledger, last if after is None else after, wanted, reader_of(request, caller), still, framing
    )


def reader_of(request: Request, caller: Caller) -> str:
    """Whose streams are counted together: a token's, or an address's where no token is needed."""
    has_token = caller.owner is not None  # every token has an owner
    return f"token {caller.name}" if has_token else f"address {request.client.host if request.client else ''}"
