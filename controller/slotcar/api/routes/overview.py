"""Resources over time, the network, boundaries with their diffs, last states, revisions, and use by month."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from slotcar.api.answers import model_of
from slotcar.api.context import Line, OwnerQuery, TheCaller, TheContext, Time
from slotcar.base import lengths
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import Window, iso
from slotcar.overview import LOOK_AHEAD, Overview, ResourcePage
from slotcar.views.boundary import groups_document
from slotcar.views.capacity import MOST_STEPS, course_document
from slotcar.views.device_states import states_document
from slotcar.views.documents import timeline_document
from slotcar.views.usage import month_at, usage_document
from slotcar_client.wire import documents

router = APIRouter(prefix="/v1", tags=["views"])
REVISION = r"^[0-9]{8}T[0-9]{6}\.[0-9]{6}Z-[0-9a-f]{8}$"
Instant = Annotated[Time, Path(description="RFC 3339", examples=["2027-03-01T21:00:00Z"])]


def window_of(since: Time, until: Time) -> Window:
    """
    Raises:
        InvalidInput: it does not end after it starts.
    """
    if until <= since:
        raise InvalidInput([Problem("query", 0, "until", "is not after `from`", iso(until), f"from is {iso(since)}")])
    return Window(since, until)


@router.get("/resources", response_model=model_of(documents.Resources), summary="What is free when")
def resources(
    context: TheContext,
    caller: TheCaller,
    resource: Annotated[
        list[Line] | None,
        Query(max_length=50, description="only this one; may be repeated; all, page by page, without"),
    ] = None,
    device: Annotated[Line | None, Query(description="only this device's")] = None,
    domain: Annotated[Line | None, Query(description="only this domain's")] = None,
    since: Annotated[Time | None, Query(alias="from", description="now, if it is left out")] = None,
    until: Annotated[Time | None, Query(description="a day later, if it is left out")] = None,
    points: Annotated[int, Query(ge=0, le=MOST_STEPS, description="at most so many steps of each; 0 for none")] = 0,
    after: Annotated[Line, Query(description="`next` of the page before")] = "",
    limit: Annotated[int, Query(ge=1, le=50)] = 50,
) -> documents.Resources:
    """Capacity, reserved and free of every service on every interface, and of every SLS, over a window.

    `steps` are exact, or where there are more than `points` of them `rounded`: the highest and the least of equal parts.
    What is past is not kept.
    """
    moment = context.now()
    begin = since or moment
    window = window_of(begin, until or begin + timedelta(days=1))
    page = ResourcePage(tuple(resource or ()), device, domain, after, limit)
    courses, following = Overview(context.broker).resources(page, window, caller, moment)
    return {"items": [course_document(one, context.broker.network, points) for one in courses], "next": following}


@router.get("/network", response_model=model_of(documents.Topology), summary="The network")
def network(context: TheContext, caller: TheCaller) -> documents.Topology:
    """Domains, devices, links, SLSs and end systems as the inventory has them; `position` where a map draws a device."""
    return Overview(context.broker).network(caller)


@router.get("/boundaries", response_model=model_of(documents.BoundaryCounts), summary="The next boundaries, counted")
def boundaries(
    context: TheContext,
    caller: TheCaller,
    since: Annotated[Time | None, Query(alias="from", description="those after it; now, if it is left out")] = None,
    until: Annotated[Time | None, Query(description="31 days later, if it is left out")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> documents.BoundaryCounts:
    """Instants at which slots of committed reservations start, end or change their rate, and how many.

    A requester sees those of its own. `GET /v1/timeline` names them, with the devices' phases.
    """
    begin = since or context.now()
    until = until or begin + LOOK_AHEAD
    window_of(begin, until)
    counts = Overview(context.broker).boundaries(begin, until, limit + 1, caller)
    items: list[documents.BoundaryCount] = [
        {"at": iso(one.at), "starting": one.starting, "ending": one.ending, "changing": one.changing}
        for one in counts[:limit]
    ]
    return {"items": items, "next": items[-1]["at"] if len(counts) > limit else None}


@router.get(
    "/boundaries/{instant}", response_model=model_of(documents.BoundaryView), summary="One boundary and its diff"
)
def boundary(instant: Instant, context: TheContext, caller: TheCaller) -> documents.BoundaryView:
    """What starts, ends and changes at an instant, each device's phase, and what changes on them: devices that change by
    the same lines stand together, in hunks with three lines of context. A requester gets its own, without diffs."""
    view = Overview(context.broker).boundary(instant, caller, context.now())
    return {
        "at": iso(view.at),
        "item": timeline_document(view.item) if view.item else None,
        "groups": None if view.groups is None else groups_document(view.groups),
    }


@router.get(
    "/devices",
    response_model=model_of(documents.DeviceStates),
    summary="The last known state of every device",
    name="device_states",
)
def device_states(context: TheContext, caller: TheCaller) -> documents.DeviceStates:
    """From the audit log, and from what the controller that leads has read; no device is asked."""
    return {"items": states_document(Overview(context.broker).device_states(caller, context.loop, context.now()))}


@router.get("/revisions", response_model=model_of(documents.Revisions), summary="What was pushed")
def revisions(
    context: TheContext,
    caller: TheCaller,
    before: Annotated[
        str | None, Query(max_length=lengths.CURSOR, pattern=REVISION, description="`next` of the page before")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> documents.Revisions:
    """This controller's archive, the latest first: which devices, and whose reservations came and went."""
    items, following = Overview(context.broker).revisions(before, limit, caller)
    return {"items": items, "next": following}


@router.get("/usage", response_model=model_of(documents.Usages), summary="What was reserved, by month")
def usage(
    context: TheContext,
    caller: TheCaller,
    by: Annotated[Literal["owner", "sls", "domain"], Query(description="summed by")] = "owner",
    since: Annotated[Time | None, Query(alias="from", description="this month's first, if it is left out")] = None,
    until: Annotated[Time | None, Query(description="the end of the month, if it is left out")] = None,
    owner: OwnerQuery = None,
) -> documents.Usages:
    """Rate times time of what was and is reserved, in each month of UTC; what was cancelled counts until it was. A
    requester gets its own."""
    begin = since or month_at(context.now()).start
    window = window_of(begin, until or month_at(begin).end)
    return usage_document(Overview(context.broker).usage(by, window, caller, owner))
