"""Shares: what a community's manager shares out among its members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs.texts import LINE, LONGEST_QUANTITY, QUANTITY_PATTERN, TIME_PATTERN
from slotcar_client.wire.verbs.verb import BODY, Form, Verb

CommunityName = Annotated[
    str, Keyword("maxLength", 128), LINE, Keyword("examples", ("hep",)), "a community of the site's policies"
]
ShareName = Annotated[str, Keyword("minLength", 1), Keyword("maxLength", 63), LINE, Keyword("examples", ("cms",))]


@dataclass(frozen=True)
class ShareGive(
    Verb[documents.CommunityShare],
    to="POST /v1/communities/{community}/shares",
    summary="Share out",
    body=Form("ShareIn"),
    errors=(401, 403, 404, 409, 503, *BODY),
):
    """Lets members of a community have at most so much of what it was given, together, in the place of the share of that
    name. What the community was given holds beside; shares may come to more than that in all. For its managers."""

    community: CommunityName
    name: Annotated[ShareName, "of the share; unique in its community"]
    rate: Annotated[
        str,
        LONGEST_QUANTITY,
        Keyword("pattern", QUANTITY_PATTERN),
        Keyword("examples", ("20 Mbit/s",)),
        "`0 bit/s` for none",
    ]
    members: Annotated[
        Sequence[Annotated[str, Keyword("maxLength", 128)]], "owners; the one of the share's name where there are none"
    ] = ()
    until: Annotated[
        str | None, Keyword("maxLength", 100), Keyword("pattern", TIME_PATTERN), "of slots before it; for ever without"
    ] = None
    hours: Annotated[
        Sequence[Annotated[int, Keyword("minimum", 0), Keyword("maximum", 23)]],
        "of the day in the site's zone, at which its members may reserve; all where there are none",
    ] = ()
    services: Annotated[
        Sequence[Annotated[str, Keyword("maxLength", 100)]], "that they may reserve; all where there are none"
    ] = ()


@dataclass(frozen=True)
class ShareWithdraw(
    Verb[documents.CommunityShare],
    to="DELETE /v1/communities/{community}/shares/{name}",
    summary="Withdraw a share",
    repeatable=False,
    errors=(401, 403, 404, 409, 503),
):
    """Takes a share away: its members are bound by what else there is. The answer is the share as it was."""

    community: CommunityName
    name: ShareName


@dataclass(frozen=True)
class ShareList(Verb[documents.CommunityShares], to="GET /v1/shares", summary="List shares", errors=(401, 403, 503)):
    """What was shared out to the caller's owner, with what is in use now; all of the communities that it manages. An
    operator and an auditor get those of all."""
