"""Several resources, one reservation: groups over HTTP (GARA's co-reservation with one handle)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response

from slotcar.api.answers import model_of
from slotcar.api.bodies import GroupSetIn, ReasonIn
from slotcar.api.context import Context, MaybeIfMatch, Newest, OneVersion, OwnerQuery, TheCaller, TheContext, Time
from slotcar.api.routes.reservations import JSON, Hold, parsed
from slotcar.base import lengths
from slotcar.base.units import parse_duration
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, RejectGroup
from slotcar.book.model import Entry, State
from slotcar.book.rules.roles import Caller, owner_for
from slotcar.planning.source import members_of_groups
from slotcar.store.group_queries import GroupFilter
from slotcar.views.documents import group_document
from slotcar_client.wire import documents

router = APIRouter(prefix="/v1", tags=["groups"])
Handle = Annotated[
    str,
    Path(max_length=lengths.HANDLE, description="what `group_create` answered with", examples=["g-7q2m5k3c9d4e8f1a"]),
]


def answer(members: Sequence[Entry], response: Response, context: Context, caller: Caller) -> documents.Group:
    document = group_document(context.broker.with_slots(members, caller, context.now()))
    response.headers["ETag"] = f'"{document["version"]}"'
    return document


@router.post(
    "/groups", status_code=201, response_model=model_of(documents.Group), summary="Reserve together", dependencies=JSON
)
def group_create(
    body: Annotated[dict[str, Any], Body()],
    response: Response,
    context: TheContext,
    caller: TheCaller,
    hold: Hold = None,
) -> documents.Group:
    """All members are admitted, or none is (409) and the refusal names the member. `owner` may be left out."""
    (entries,) = _created([body], hold, context, caller)
    response.headers["Location"] = f"/v1/groups/{entries[0].group}"
    return answer(entries, response, context, caller)


@router.post(
    "/group-sets", status_code=201, response_model=model_of(documents.Groups), summary="Reserve several groups together",
    dependencies=JSON,
)  # fmt: skip
def group_create_all(body: GroupSetIn, context: TheContext, caller: TheCaller, hold: Hold = None) -> documents.Groups:
    """All members of all groups are admitted in one decision, or none is (409) and the refusal names the members.

    Each group is as `group_create` takes it.
    """
    groups = _created(body.together, hold, context, caller)
    return {"items": _documents(groups, context, caller), "next": None}


def _created(
    bodies: Sequence[dict[str, Any]], hold: str | None, context: Context, caller: Caller
) -> tuple[tuple[Entry, ...], ...]:
    moment, broker = context.now(), context.broker
    owned = [
        {**one, "owner": owner_for(caller, one.get("owner") if isinstance(one.get("owner"), str) else None)}
        for one in bodies
    ]
    members = members_of_groups(owned, moment, broker.settings.max_windows, broker.network)
    return broker.create_groups(members, caller, moment, parsed("hold", parse_duration, hold))


def _documents(groups: Sequence[Sequence[Entry]], context: Context, caller: Caller) -> list[documents.Group]:
    entries = [one for members in groups for one in members]
    slotted = {one.handle: one for one in context.broker.with_slots(entries, caller, context.now())}
    return [group_document([slotted[one.handle] for one in members]) for members in groups]


@router.get("/groups", response_model=model_of(documents.Groups), summary="List groups")
def group_list(
    context: TheContext,
    caller: TheCaller,
    owner: OwnerQuery = None,
    state: Annotated[list[State] | None, Query(description="of the group; may be repeated")] = None,
    since: Annotated[Time | None, Query(alias="from", description="only those that end after it")] = None,
    until: Annotated[Time | None, Query(description="only those that begin before it")] = None,
    newest: Newest = False,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before")] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> documents.Groups:
    """By the number of their first members; `next` is the cursor of the following page, null on the last.

    A requester gets its own.
    """
    groups = context.broker.groups(GroupFilter(owner, state, since, until, newest, after, limit + 1), caller)
    page = groups[:limit]
    return {
        "items": _documents(page, context, caller),
        "next": str(page[-1][0].number) if len(groups) > limit else None,
    }


@router.get("/groups/{handle}", response_model=model_of(documents.Group), summary="Status of a group")
def group(handle: Handle, response: Response, context: TheContext, caller: TheCaller) -> documents.Group:
    """One state for the group, and its members below it; its version is the ETag.

    Another owner's is as good as absent to a requester (404).
    """
    return answer(context.broker.group(handle, caller), response, context, caller)


@router.post("/groups/{handle}/commit", response_model=model_of(documents.Group), summary="Commit a held group")
def group_commit(
    handle: Handle, response: Response, context: TheContext, caller: TheCaller, version: MaybeIfMatch
) -> documents.Group:
    """Makes all members firm, or leaves all to approval where one is above the operator's gate."""
    return answer(
        context.broker.on_group(CommitGroup, handle, caller, context.now(), "", version), response, context, caller
    )


@router.post(
    "/groups/{handle}/cancel", response_model=model_of(documents.Group), summary="Cancel a group", dependencies=JSON
)
def group_cancel(
    handle: Handle, response: Response, context: TheContext, caller: TheCaller, version: MaybeIfMatch,
    body: ReasonIn | None = None,
) -> documents.Group:  # fmt: skip
    """Gives all members back at once; routers, hosts and other managers follow."""
    reason = body.reason if body else ""
    return answer(
        context.broker.on_group(CancelGroup, handle, caller, context.now(), reason, version), response, context, caller
    )


@router.post("/groups/{handle}/approve", response_model=model_of(documents.Group), summary="Approve a group")
def group_approve(
    handle: Handle, response: Response, context: TheContext, caller: TheCaller, version: OneVersion
) -> documents.Group:
    """Lets what waits of its members through. Operators only; needs If-Match."""
    return answer(
        context.broker.on_group(ApproveGroup, handle, caller, context.now(), "", version), response, context, caller
    )


@router.post(
    "/groups/{handle}/reject", response_model=model_of(documents.Group), summary="Reject a group", dependencies=JSON
)
def group_reject(
    handle: Handle, response: Response, context: TheContext, caller: TheCaller, version: MaybeIfMatch,
    body: ReasonIn | None = None,
) -> documents.Group:  # fmt: skip
    """Turns away what waits of its members. Operators only."""
    reason = body.reason if body else ""
    return answer(
        context.broker.on_group(RejectGroup, handle, caller, context.now(), reason, version), response, context, caller
    )
