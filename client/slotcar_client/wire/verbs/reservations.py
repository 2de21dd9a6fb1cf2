"""Reservations: asked for, looked at, changed and given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.states import State
from slotcar_client.wire.verbs.texts import (
    DURATION_PATTERN,
    LINE,
    LONGEST_QUANTITY,
    QUANTITY_PATTERN,
    TIME_PATTERN,
    After,
    BeginsBefore,
    EndsAfter,
    Handle,
    HoldFor,
    Label,
    Name,
    Newest,
    Owner,
    Reason,
    UpTo1000,
    Version,
)
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Form, Named, Place, Verb

_QUANTITY = (LONGEST_QUANTITY, Keyword("pattern", QUANTITY_PATTERN))
_TIME = (Keyword("maxLength", 100), Keyword("pattern", TIME_PATTERN))
_DURATION = (LONGEST_QUANTITY, Keyword("pattern", DURATION_PATTERN))
_PORT = (Keyword("minimum", 1), Keyword("maximum", 65535))
REASON = Form("ReasonIn", optional=True)


class Rates(TypedDict, total=False):
    """A rate each way; what is left out stays."""

    forward: Annotated[str | None, *_QUANTITY, Keyword("examples", ("20 Mbit/s",))]
    reverse: Annotated[str | None, *_QUANTITY, Keyword("examples", ("1 Mbit/s",))]


@dataclass(frozen=True)
class Create(
    Verb[documents.Entry],
    to="POST /v1/reservations",
    summary="Reserve",
    created=True,
    location="/v1/reservations/{handle}",
    errors=(401, 403, 409, 503, *BODY),
):
    """Admitted whole, or refused with numbers (409) and nothing held. `owner` may be left out: it is the caller's."""

    reservation: Annotated[Mapping[str, Any], Place.WHOLE]
    hold: HoldFor = None
    idempotency_key: Annotated[
        str | None,
        Place.HEADER,
        Keyword("minLength", 1),
        Keyword("maxLength", 200),
        Keyword("pattern", r"^[\x21-\x7e]+$"),
        Named("Idempotency-Key"),
    ] = None


@dataclass(frozen=True)
class List(Verb[documents.Entries], to="GET /v1/reservations", summary="List", errors=(401, 403, 503)):
    """By number; `next` is the cursor of the following page, null on the last. A requester gets its own."""

    owner: Owner = None
    name: Name = None
    state: Annotated[Sequence[Annotated[str, State]] | None, "may be repeated"] = None
    label: Label = None
    since: EndsAfter = None
    until: BeginsBefore = None
    search: Annotated[
        str | None,
        Keyword("minLength", 1),
        Keyword("maxLength", 200),
        LINE,
        "words of the owner and the name, the last perhaps unfinished; or a whole handle",
    ] = None
    newest: Newest = False
    counted: Annotated[bool, "say how many there are on all pages"] = False
    after: After = 0
    limit: UpTo1000 = 100


@dataclass(frozen=True)
class Status(Verb[documents.Entry], to="GET /v1/reservations/{handle}", summary="Status", errors=(401, 403, 404, 503)):
    """One reservation; its version is the ETag. A requester sees its own only: another's is as good as absent (404)."""

    handle: Handle


@dataclass(frozen=True)
class Explain(
    Verb[documents.Explanation],
    to="GET /v1/reservations/{handle}/explanation",
    summary="Where the numbers of its configuration come from",
    errors=(401, 403, 404, 409, 503),
):
    """Of the slot that is open or comes next, beside the reservations active then: payload, headers, framing, bursts,
    headroom. No device is read.

    The lines that it changes on devices are shown to whoever may see the devices' configurations; others get none of them.
    """

    handle: Handle


@dataclass(frozen=True)
class Modify(
    Verb[documents.Entry],
    to="PATCH /v1/reservations/{handle}",
    summary="Modify",
    body=Form("ModifyIn", "What is left out stays. Either an end or a duration."),
    errors=(*CHANGE, *BODY, 412, 428),
):
    """Another rate or window, atomically: if it is refused (409), the old one stays. Needs If-Match.

    A raise above the approval gate is `proposed` in the answer: the old one is in force until an operator approves it.
    """

    handle: Handle
    version: Version
    rate: Annotated[Annotated[str, *_QUANTITY] | Rates | None, Keyword("examples", ("40 Mbit/s",))] = None
    start: Annotated[str | None, *_TIME, Keyword("examples", ("2027-03-01T23:00:00+01:00",))] = None
    end: Annotated[str | None, *_TIME, Keyword("examples", ("2027-03-02T06:00:00+01:00",))] = None
    duration: Annotated[str | None, *_DURATION, Keyword("examples", ("PT3H",))] = None


@dataclass(frozen=True)
class Bind(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/bind",
    summary="Bind ports",
    errors=(*CHANGE, *BODY, 412, 428),
):
    """The ports that were not known before. Needs If-Match."""

    handle: Handle
    version: Version
    source_port: Annotated[int | None, *_PORT] = None
    destination_port: Annotated[int | None, *_PORT] = None


@dataclass(frozen=True)
class Progress(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/progress",
    summary="Report progress",
    errors=(*CHANGE, *BODY),
):
    """What remains of a volume by a deadline: what is done early is given back, what is behind gets what is free.

    Refused (409) for a fixed reservation, and where more remains than before.
    """

    handle: Handle
    remaining: Annotated[
        str,
        *_QUANTITY,
        Keyword("examples", ("1.2 TB",)),
        "what of the volume remains to be moved; `0 B` ends the reservation",
    ]


@dataclass(frozen=True)
class Commit(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/commit",
    summary="Commit a hold",
    settles=("committed", "awaiting-approval"),
    errors=(*CHANGE, 412),
):
    """Makes a hold firm, or leaves it to approval above the operator's gate. Refused (409) once it has run out."""

    handle: Handle
    version: Version = None


@dataclass(frozen=True)
class Extend(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/extend",
    summary="Extend a hold",
    errors=(*CHANGE, *BODY, 412),
):
    """Keeps a hold until `by` from now. Refused (409) for what is not held, or not any more."""

    handle: Handle
    by: Annotated[str, *_DURATION, Keyword("examples", ("PT15M",)), "how long from now"]
    version: Version = None


@dataclass(frozen=True)
class Cancel(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/cancel",
    summary="Cancel",
    settles=("cancelled",),
    body=REASON,
    errors=(*CHANGE, *BODY, 412),
):
    """Gives it back at once; the routers follow."""

    handle: Handle
    reason: Reason = ""
    version: Version = None


@dataclass(frozen=True)
class Approve(
    Verb[documents.Entry], to="POST /v1/reservations/{handle}/approve", summary="Approve", errors=(*CHANGE, 412, 428)
):
    """Lets a reservation above the approval gate, or the change of one, through. Operators only; needs If-Match."""

    handle: Handle
    version: Annotated[int, Place.VERSION]


@dataclass(frozen=True)
class Reject(
    Verb[documents.Entry],
    to="POST /v1/reservations/{handle}/reject",
    summary="Reject",
    settles=("rejected", "committed"),
    body=REASON,
    errors=(*CHANGE, *BODY, 412),
):
    """Turns a reservation above the approval gate away, or the change of one, which stays then. Operators only."""

    handle: Handle
    reason: Reason = ""
    version: Version = None


@dataclass(frozen=True)
class Addable(
    Verb[documents.Enquiry],
    to="GET /v1/reservations/{handle}/addable",
    summary="Enquire what could be added",
    errors=(401, 403, 404, 409, 503),
):
    """What could be added to the rates of a reservation from now to its end, each way. Changes nothing.

    Refused (409) for one that is over, and where admission finds the rates (a volume, a share).
    """

    handle: Handle


@dataclass(frozen=True)
class Enquire(Verb[documents.Enquiry], to="POST /v1/enquiries", summary="Enquire", errors=(401, 403, 503, *BODY)):
    """The highest rate that would be admitted over a window, each way of `direction`, and what is free over time.

    Changes nothing. Where operators let requests take other ways than the shortest, the one with the most is told.

    The keys are a reservation's; `name`, `owner`, `rate` and `direction` may be left out.
    """

    reservation: Annotated[Mapping[str, Any], Place.WHOLE]
