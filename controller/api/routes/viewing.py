"""The timeline, the wanted configurations, and the audit log as pages or as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime

from controller.api.context import TheBroker, TheCaller, now
from controller.api.loop import controller_document
from controller.api.models import ConfigurationsOut, ControllerOut, EventsOut, TimelineOut
from controller.ledger import Ledger
from controller.ledger.errors import LedgerUnavailable
from controller.timebase import iso
from controller.verbs.access import require_overview
from controller.verbs.documents import event_document, timeline_document
from controller.verbs.viewing import LOOK_BACK, TimelineQuery

router = APIRouter(prefix="/v1", tags=["views"])
#: A line that keeps proxies from hanging up, and tells us that the reader has gone.
KEEP_ALIVE_S = 15.0
#: How often a quiet stream looks whether its reader or the server has gone.
LOOK_S = 2.0
PAGE = 200
#: Readers of the stream wait in threads of their own, so that they starve no request.
MOST_STREAMS = 200
FIRST_YEAR, LAST_YEAR = 1970, 9000


@router.get("/timeline", response_model=TimelineOut, summary="Slot boundaries, past and coming")
def timeline(
    found: TheBroker,
    caller: TheCaller,
    since: Annotated[AwareDatetime | None, Query(alias="from", description="an hour back, if it is left out")] = None,
    until: Annotated[AwareDatetime | None, Query(description="`hours` from now, if it is left out")] = None,
    hours: Annotated[float, Query(gt=0, le=24 * 366, description="how far ahead, without `until`")] = 24.0,
    device: Annotated[
        list[str] | None, Query(description="only boundaries that concern this one; may be repeated")
    ] = None,
    reservation: Annotated[
        str | None, Query(description="only where this one starts or ends: a handle, or OWNER/NAME")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """What starts and ends at each instant at which some device's configuration changes, in order, with how far each
    device is: planned, staged, armed, active, failed, or unrecorded where it is past and nothing was written down."""
    moment = now()
    query = TimelineQuery(
        _sane(since) if since else moment - LOOK_BACK,
        _sane(until) if until else moment + timedelta(hours=hours),
        limit,
        tuple(device or ()),
        found.broker.status(reservation, caller).handle if reservation else None,
    )
    return {"items": [timeline_document(item) for item in found.broker.timeline(query, caller, moment)]}


@router.get("/controller", response_model=ControllerOut, summary="What the controller is about")
def controller(found: TheBroker, caller: TheCaller) -> dict[str, Any]:
    """Whether this controller leads, its next boundary, how far each device is, and devices in trouble.

    A controller that does not lead knows that only: ask the one that does, or the timeline.
    """
    require_overview(caller, "see what the controller is about")
    return controller_document(found, now())


@router.get("/configurations", response_model=ConfigurationsOut, summary="What the devices are to have")
def configurations(
    found: TheBroker,
    caller: TheCaller,
    at: Annotated[AwareDatetime | None, Query(description="now, if it is left out")] = None,
    device: Annotated[list[str] | None, Query(description="only this one; may be repeated")] = None,
) -> dict[str, Any]:
    """The part of each device's configuration that is Slotcar's, at an instant: the bytes that a push compares with."""
    instant = _sane(at) if at else now()
    wanted = found.broker.configurations(instant, caller, device)
    return {
        "items": [
            {"device": name, "platform": one.platform.value, "at": iso(instant), "lines": list(one.lines)}
            for name, one in wanted.items()
        ]
    }


def _sane(at: datetime) -> datetime:
    """Within what microseconds and every platform's calendar can tell."""
    year = min(max(at.year, FIRST_YEAR), LAST_YEAR)
    return at if year == at.year else at.replace(year=year, month=2, day=1)


@router.get(
    "/events",
    response_model=EventsOut,
    summary="The audit log",
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
def events(
    request: Request,
    found: TheBroker,
    caller: TheCaller,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    last_event_id: Annotated[
        str | None, Header(alias="Last-Event-ID", description="of a stream that broke: it goes on after this one")
    ] = None,
) -> Any:
    """Every transition and every push, in order. With `Accept: text/event-stream`, as server-sent events that go on."""
    require_overview(caller, "read the audit log")
    ledger = found.broker.ledger
    if "text/event-stream" in request.headers.get("accept", ""):
        begin = int(last_event_id) if last_event_id and last_event_id.isdigit() and len(last_event_id) < 18 else after
        return StreamingResponse(_stream(ledger, begin, request), media_type="text/event-stream")
    listed = ledger.events(after, limit)
    return {"items": [event_document(event) for event in listed], "next": listed[-1].sequence if listed else after}


async def _stream(ledger: Ledger, after: int, request: Request) -> AsyncIterator[str]:
    """Ends where the database does not answer: the reader comes back with the last number that it got."""
    limiter, quiet_s = _limiter(), 0.0
    while not await request.is_disconnected():
        try:
            listed = await anyio.to_thread.run_sync(ledger.events, after, PAGE, limiter=limiter)
            there = bool(listed) or await anyio.to_thread.run_sync(
                ledger.wait_for_event, after, LOOK_S, limiter=limiter, abandon_on_cancel=True
            )
        except LedgerUnavailable:
            return
        for event in listed:
            after = event.sequence
            yield f"id: {event.sequence}\nevent: {event.kind}\ndata: {json.dumps(event_document(event))}\n\n"
        quiet_s = 0.0 if there else quiet_s + LOOK_S
        if quiet_s >= KEEP_ALIVE_S:
            yield ": nothing new\n\n"
            quiet_s = 0.0


_limiters: dict[int, anyio.CapacityLimiter] = {}


def _limiter() -> anyio.CapacityLimiter:
    """One for the event loop that asks."""
    key = id(anyio.lowlevel.current_token())
    return _limiters.setdefault(key, anyio.CapacityLimiter(MOST_STREAMS))
