"""Declarative: what applying a reservation file would do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Response

from slotcar.api.answers import model_of
from slotcar.api.context import TheCaller, TheContext
from slotcar.api.limits import json_only
from slotcar.api.plan_process import PlanRequest
from slotcar.base import lengths
from slotcar.base.names import Owner
from slotcar.planning.plan_page import PageStart, page_start
from slotcar_client.wire import documents

router = APIRouter(prefix="/v1", tags=["plans"])
PAGE_LINES, MOST_LINES = 2_000, 10_000


@router.post("/plans", response_model=model_of(documents.Plan), summary="Plan", dependencies=[Depends(json_only)])
async def plan(
    body: Annotated[dict[str, Any], Body()],
    context: TheContext,
    caller: TheCaller,
    set_name: Annotated[
        str,
        Query(
            alias="set",
            min_length=1,
            max_length=lengths.SET_NAME,
            pattern=r"^[A-Za-z0-9._+-]+$",
            description="name of the set",
        ),
    ] = "api",
    owners: Annotated[
        list[Owner] | None,
        Query(
            alias="owner",
            max_length=100,
            description="speak for this owner, too: what it no longer has in the set is cancelled; may be repeated",
        ),
    ] = None,
    start: Annotated[
        str | None,
        Query(
            alias="from",
            max_length=lengths.CURSOR,
            description="`next` of the page before: the diffs that come after it",
        ),
    ] = None,
    lines: Annotated[
        int, Query(ge=1, le=MOST_LINES, description="at most so many lines of the devices' diffs")
    ] = PAGE_LINES,
) -> Response:
    """What applying this reservation file would do: admissions, refusals, each device's diff. Writes nothing.

    A requester gets the outcomes of its own reservations; the devices' diffs are for operators. The diffs come in pages:
    where `next` is not null, planning the same again with `from` at it shows those that follow.
    """
    moment = context.now()
    first = page_start(start, moment) if start is not None else PageStart()
    request = PlanRequest(body, set_name, caller, moment, first, lines, tuple(owners or ()))
    return Response(await context.plans.make(context.desk, request), media_type="application/json")
