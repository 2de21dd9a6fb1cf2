"""The timeline, the controller's status, and the wanted configurations."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from slotcar.api.answers import model_of
from slotcar.api.context import (
    LabelQuery,
    Line,
    NameQuery,
    OwnerQuery,
    TheCaller,
    TheContext,
    Time,
    label_of,
)
from slotcar.api.loop import controller_document
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import require_overview
from slotcar.views.documents import configurations_document, timeline_document
from slotcar.views.timeline import LOOK_BACK, TimelineQuery
from slotcar_client.wire import documents

router = APIRouter(prefix="/v1", tags=["views"])


@router.get("/timeline", response_model=model_of(documents.Timeline), summary="Slot boundaries, past and coming")
def timeline(
    context: TheContext,
    caller: TheCaller,
    since: Annotated[Time | None, Query(alias="from", description="an hour back, if it is left out")] = None,
    until: Annotated[Time | None, Query(description="`hours` from now, if it is left out")] = None,
    hours: Annotated[float, Query(gt=0, le=24 * 366, description="how far ahead, without `until`")] = 24.0,
    device: Annotated[
        list[Line] | None, Query(description="only boundaries that concern this one; may be repeated")
    ] = None,
    reservation: Annotated[
        Line | None, Query(description="only where this one starts or ends: a handle, or OWNER/NAME")
    ] = None,
    owner: OwnerQuery = None,
    name: NameQuery = None,
    label: LabelQuery = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> documents.Timeline:
    """What starts and ends at each instant at which some device's configuration changes, in order, with how far each
    device is: planned, staged, armed, active, failed, withheld (what was to begin is kept from it), or unrecorded where it
    is past and nothing was written down.

    A requester sees the boundaries of its own reservations, with the devices that these cross. Pages go on at `next`.
    """
    moment = context.now()
    query = TimelineQuery(
        since or moment - LOOK_BACK,
        until or moment + timedelta(hours=hours),
        limit + 1,
        device,
        None if reservation is None else context.broker.status(reservation, caller).handle,
        owner,
        name,
        label_of(label),
    )
    listed = context.broker.timeline(query, caller, moment)
    return {
        "items": [timeline_document(item) for item in listed[:limit]],
        "next": iso(listed[limit].at) if len(listed) > limit else None,
    }


@router.get("/controller", response_model=model_of(documents.Controller), summary="The controller's status")
def controller(context: TheContext, caller: TheCaller) -> documents.Controller:
    """Whether this controller leads, its next boundary, how far each device is, and devices in trouble.

    A controller that does not lead knows that only: ask the one that does, or the timeline.
    """
    require_overview(caller, "see the controller's status", "controller")
    return controller_document(context, context.now())


@router.get(
    "/configurations", response_model=model_of(documents.Configurations), summary="What the devices are to have"
)
def configurations(
    context: TheContext,
    caller: TheCaller,
    at: Annotated[Time | None, Query(description="now, if it is left out")] = None,
    device: Annotated[list[Line] | None, Query(description="only this one; may be repeated")] = None,
) -> documents.Configurations:
    """The part of each device's configuration that is Slotcar's, at an instant: the bytes that a push compares with."""
    instant = at or context.now()
    wanted = context.broker.configurations(instant, caller, device)
    return {"items": configurations_document(wanted, instant)}
