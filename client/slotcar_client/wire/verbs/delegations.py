"""Delegations: rights on one reservation that its owner hands to somebody else, limited in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs.texts import LINE, TIME_PATTERN, After, Handle, UpTo1000, Version
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Verb

CallerName = Annotated[
    str,
    Keyword("minLength", 1),
    Keyword("maxLength", 100),
    LINE,
    Keyword("examples", ("cms-transfer",)),
    "a caller, as `whoami` tells it its name: of a token, or NAME@ISSUER",
]


@dataclass(frozen=True)
class Delegate(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/delegate",
    summary="Delegate",
    errors=(*CHANGE, *BODY, 412),
):
    """Hands rights on it to somebody else before `until`, in the place of those that it had of it; `see`, to look at it,
    comes with each. A delegate may do no more than a requester of the owner may then, and hands nothing on. Quotas stay
    the owner's.

    Refused (409) to oneself, and for longer than the reservation lasts.
    """

    handle: Handle
    to: CallerName
    may: Annotated[
        Sequence[Annotated[str, Keyword("maxLength", 64)]],
        Keyword("examples", (("modify", "progress"),)),
        "of `see`, `commit`, `extend`, `modify`, `bind`, `progress`, `cancel`",
    ]
    until: Annotated[
        str,
        Keyword("maxLength", 100),
        Keyword("pattern", TIME_PATTERN),
        Keyword("examples", ("2027-03-01T23:00:00+01:00",)),
    ]
    version: Version = None


@dataclass(frozen=True)
class Withdraw(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/withdraw",
    summary="Withdraw a delegation",
    repeatable=False,
    errors=(*CHANGE, *BODY, 412),
):
    """Takes back at once all rights on it that somebody was handed. Refused (409) where it has none."""

    handle: Handle
    to: CallerName
    version: Version = None


@dataclass(frozen=True)
class Delegations(
    Verb[documents.Delegations], to="GET /v1/delegations", summary="List delegations", errors=(401, 403, 503)
):
    """Those that run, by the reservation's number: what the caller was handed, and what of its owner's reservations is in
    others' hands; all for operators and auditors. `limit` counts reservations; `next` is null on the last page."""

    after: After = 0
    limit: UpTo1000 = 100
