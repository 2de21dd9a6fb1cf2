"""Groups: several resources reserved together, all or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.states import State
from slotcar_client.wire.verbs.reservations import REASON
from slotcar_client.wire.verbs.texts import After, BeginsBefore, EndsAfter, HoldFor, Newest, Owner, Reason, Version
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Form, Place, Verb

GroupHandle = Annotated[
    str, Keyword("maxLength", 200), Keyword("examples", ("g-7q2m5k3c9d4e8f1a",)), "what `group_create` answered with"
]


@dataclass(frozen=True)
class GroupCreate(
    Verb[documents.Group],
    to="POST /v1/groups",
    summary="Reserve together",
    created=True,
    location="/v1/groups/{handle}",
    repeatable=False,
    errors=(401, 403, 409, 503, *BODY),
):
    """All members are admitted, or none is (409) and the refusal names the member. `owner` may be left out."""

    group: Annotated[Mapping[str, Any], Place.WHOLE]
    hold: HoldFor = None


@dataclass(frozen=True)
class GroupCreateAll(
    Verb[documents.Groups],
    to="POST /v1/group-sets",
    summary="Reserve several groups together",
    created=True,
    repeatable=False,
    body=Form("GroupSetIn", "Several groups that are reserved in one decision, each as a reservation file says it."),
    errors=(401, 403, 409, 503, *BODY),
):
    """All members of all groups are admitted in one decision, or none is (409) and the refusal names the members.

    Each group is as `group_create` takes it.
    """

    together: Annotated[Sequence[Mapping[str, Any]], Keyword("minItems", 1)]
    hold: HoldFor = None


@dataclass(frozen=True)
class GroupList(Verb[documents.Groups], to="GET /v1/groups", summary="List groups", errors=(401, 403, 422, 503)):
    """By the number of their first members; `next` is the cursor of the following page, null on the last.

    A requester gets its own.
    """

    owner: Owner = None
    state: Annotated[Sequence[Annotated[str, State]] | None, "of the group; may be repeated"] = None
    since: EndsAfter = None
    until: BeginsBefore = None
    newest: Newest = False
    after: After = 0
    limit: Annotated[int, Keyword("minimum", 1), Keyword("maximum", 200)] = 50


@dataclass(frozen=True)
class Group(
    Verb[documents.Group], to="GET /v1/groups/{handle}", summary="Status of a group", errors=(401, 403, 404, 503)
):
    """One state for the group, and its members below it; its version is the ETag.

    Another owner's is as good as absent to a requester (404).
    """

    handle: GroupHandle


@dataclass(frozen=True)
class GroupCommit(
    Verb[documents.Group],
    to="POST /v1/groups/{handle}/commit",
    summary="Commit a held group",
    repeatable=False,
    errors=(*CHANGE, 412),
):
    """Makes all members firm, or leaves all to approval where one is above the operator's gate."""

    handle: GroupHandle
    version: Version = None


@dataclass(frozen=True)
class GroupCancel(
    Verb[documents.Group],
    to="POST /v1/groups/{handle}/cancel",
    summary="Cancel a group",
    repeatable=False,
    body=REASON,
    errors=(*CHANGE, *BODY, 412),
):
    """Gives all members back at once; routers, hosts and other managers follow."""

    handle: GroupHandle
    reason: Reason = ""
    version: Version = None


@dataclass(frozen=True)
class GroupApprove(
    Verb[documents.Group],
    to="POST /v1/groups/{handle}/approve",
    summary="Approve a group",
    repeatable=False,
    errors=(*CHANGE, 412, 428),
):
    """Lets what waits of its members through. Operators only; needs If-Match."""

    handle: GroupHandle
    version: Annotated[int, Place.VERSION]


@dataclass(frozen=True)
class GroupReject(
    Verb[documents.Group],
    to="POST /v1/groups/{handle}/reject",
    summary="Reject a group",
    repeatable=False,
    body=REASON,
    errors=(*CHANGE, *BODY, 412),
):
    """Turns away what waits of its members. Operators only."""

    handle: GroupHandle
    reason: Reason = ""
    version: Version = None
