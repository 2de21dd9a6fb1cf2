"""What was used of what was reserved, as devices counted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword, Time
from slotcar_client.wire.verbs.texts import Device, Handle, Owner
from slotcar_client.wire.verbs.verb import Named, Verb

_FROM = Named("from")
Since = Annotated[Time | None, _FROM, "from here on; left out: a day before `until`"]
Until = Annotated[Time | None, "until here; left out: now"]


@dataclass(frozen=True)
class ReservationUsage(
    Verb[documents.ReservationUsage],
    to="GET /v1/reservations/{handle}/usage",
    summary="What a reservation carried",
    errors=(401, 403, 404, 422, 503),
):
    """For each direction, where its packets are policed: reserved, in profile, out of profile and dropped, over time.

    Bytes are those of IP packets. Of the time that nobody counted nothing is said, and it is not taken for unused.
    """

    handle: Handle
    since: Since = None
    until: Until = None


@dataclass(frozen=True)
class CountedUsage(
    Verb[documents.CountedUsages],
    to="GET /v1/usage/counted",
    summary="What was used of what was reserved, by month",
    errors=(401, 403, 422, 503),
):
    """What devices counted of reserved flows in each month of UTC, and what was reserved in the time that they counted.

    A requester gets its own. `GET /v1/usage` has what was reserved, whether or not anything was counted.
    """

    by: documents.CountedBy = "owner"
    since: Annotated[Time | None, _FROM, "this month's first, if it is left out"] = None
    until: Annotated[Time | None, "the end of the month, if it is left out"] = None
    owner: Owner = None


@dataclass(frozen=True)
class UnusedReservations(
    Verb[documents.UnusedReservations],
    to="GET /v1/usage/unused",
    summary="What is reserved and not used",
    errors=(401, 403, 422, 503),
):
    """Reservations whose slot is open, that were counted for a quarter of an hour at least within the last day, and used
    less than `below_percent` of what was reserved in that time; with what giving them back would free, most of it first.

    What nobody counted is not in it. A requester gets its own.
    """

    below_percent: Annotated[int, Keyword("minimum", 1), Keyword("maximum", 100)] = 10
    owner: Owner = None


@dataclass(frozen=True)
class LinkUsage(
    Verb[documents.LinkUsage],
    to="GET /v1/usage/link",
    summary="What a link carried",
    errors=(401, 403, 404, 422, 503),
):
    """An interface's way out: what was reserved, what left and what was free, over time, in all and for each service."""

    device: Device
    interface: Annotated[str, Keyword("maxLength", 320), Keyword("examples", ("ATM1/0/0",)), "one of the device's"]
    since: Since = None
    until: Until = None
