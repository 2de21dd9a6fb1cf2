"""What is wanted when: boundaries, resources, configurations, the network, and what was pushed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword, SummedBy, Time
from slotcar_client.wire.verbs.texts import After, Label, Line, Name, Newest, Owner, UpTo1000
from slotcar_client.wire.verbs.verb import Named, Verb

_FROM = Named("from")


@dataclass(frozen=True)
class Timeline(
    Verb[documents.Timeline],
    to="GET /v1/timeline",
    summary="Slot boundaries, past and coming",
    errors=(401, 403, 404, 422, 503),
):
    """What starts and ends at each instant at which some device's configuration changes, in order, with how far each
    device is: planned, staged, armed, active, failed, withheld (what was to begin is kept from it), or unrecorded where it
    is past and nothing was written down.

    A requester sees the boundaries of its own reservations, with the devices that these cross. Pages go on at `next`.
    """

    since: Annotated[Time | None, _FROM, "an hour back, if it is left out"] = None
    until: Annotated[Time | None, "`hours` from now, if it is left out"] = None
    hours: Annotated[
        float, Keyword("exclusiveMinimum", 0), Keyword("maximum", 24 * 366), "how far ahead, without `until`"
    ] = 24.0
    device: Annotated[Sequence[Line] | None, "only boundaries that concern this one; may be repeated"] = None
    reservation: Annotated[Line | None, "only where this one starts or ends: a handle, or OWNER/NAME"] = None
    owner: Owner = None
    name: Name = None
    label: Label = None
    limit: UpTo1000 = 100


@dataclass(frozen=True)
class Events(
    Verb[documents.Events],
    to="GET /v1/events",
    summary="The audit log",
    by_hand=True,
    errors=(401, 403, 404, 422, 429, 503),
):
    """Every transition and every push, in order; a requester gets those of its own reservations.

    With `Accept: text/event-stream`, as server-sent events that go on.
    """

    kind: Annotated[
        Sequence[Annotated[str, Keyword("maxLength", 64), Keyword("pattern", r"^[a-z][a-z-]*(\.[a-z-]*)?$")]] | None,
        "only events whose kind begins so: `push.`, `reservation.committed`; may be repeated",
    ] = None
    reservation: Annotated[Line | None, "only of this one: a handle, or OWNER/NAME"] = None
    device: Annotated[Line | None, "only of this device"] = None
    owner: Owner = None
    name: Name = None
    label: Label = None
    since: Annotated[Time | None, _FROM, "only what was recorded then or later"] = None
    until: Annotated[Time | None, "only what was recorded then or before"] = None
    newest: Newest = False
    after: After = 0
    limit: UpTo1000 = 100


@dataclass(frozen=True)
class Controller(
    Verb[documents.Controller], to="GET /v1/controller", summary="The controller's status", errors=(401, 403, 503)
):
    """Whether this controller leads, its next boundary, how far each device is, and devices in trouble.

    A controller that does not lead knows that only: ask the one that does, or the timeline.
    """


@dataclass(frozen=True)
class Configurations(
    Verb[documents.Configurations],
    to="GET /v1/configurations",
    summary="What the devices are to have",
    errors=(401, 403, 404, 409, 422, 503),
):
    """The part of each device's configuration that is Slotcar's, at an instant: the bytes that a push compares with."""

    at: Annotated[Time | None, "now, if it is left out"] = None
    device: Annotated[Sequence[Line] | None, "only this one; may be repeated"] = None


@dataclass(frozen=True)
class Resources(
    Verb[documents.Resources], to="GET /v1/resources", summary="What is free when", errors=(401, 403, 404, 422, 503)
):
    """Capacity, reserved and free of every service on every interface, and of every SLS, over a window.

    `steps` are exact, or where there are more than `points` of them `rounded`: the highest and the least of equal parts.
    What is past is not kept.
    """

    resource: Annotated[
        Sequence[Line] | None,
        Keyword("maxItems", 50),
        "only this one; may be repeated; all, page by page, without",
    ] = None
    device: Annotated[Line | None, "only this device's"] = None
    domain: Annotated[Line | None, "only this domain's"] = None
    since: Annotated[Time | None, _FROM, "now, if it is left out"] = None
    until: Annotated[Time | None, "a day later, if it is left out"] = None
    points: Annotated[
        int, Keyword("minimum", 0), Keyword("maximum", 2000), "at most so many steps of each; 0 for none"
    ] = 0
    after: Annotated[Line, "`next` of the page before"] = ""
    limit: Annotated[int, Keyword("minimum", 1), Keyword("maximum", 50)] = 50


@dataclass(frozen=True)
class Network(Verb[documents.Topology], to="GET /v1/network", summary="The network", errors=(401, 403, 503)):
    """Domains, devices, links, SLSs and end systems as the inventory has them; `position` where a map draws a device."""


@dataclass(frozen=True)
class Boundaries(
    Verb[documents.BoundaryCounts],
    to="GET /v1/boundaries",
    summary="The next boundaries, counted",
    errors=(401, 403, 422, 503),
):
    """Instants at which slots of committed reservations start, end or change their rate, and how many.

    A requester sees those of its own. `GET /v1/timeline` names them, with the devices' phases.
    """

    since: Annotated[Time | None, _FROM, "those after it; now, if it is left out"] = None
    until: Annotated[Time | None, "31 days later, if it is left out"] = None
    limit: UpTo1000 = 50


@dataclass(frozen=True)
class Boundary(
    Verb[documents.BoundaryView],
    to="GET /v1/boundaries/{instant}",
    summary="One boundary and its diff",
    errors=(401, 403, 409, 422, 503),
):
    """What starts, ends and changes at an instant, each device's phase, and what changes on them: devices that change by
    the same lines stand together, in hunks with three lines of context. A requester gets its own, without diffs."""

    instant: Annotated[Time, Keyword("examples", ("2027-03-01T21:00:00Z",)), "RFC 3339"]


@dataclass(frozen=True)
class DeviceStates(
    Verb[documents.DeviceStates],
    to="GET /v1/devices",
    summary="The last known state of every device",
    errors=(401, 403, 503),
):
    """From the audit log, and from what the controller that leads has read; no device is asked."""


@dataclass(frozen=True)
class Revisions(
    Verb[documents.Revisions], to="GET /v1/revisions", summary="What was pushed", errors=(401, 403, 422, 503)
):
    """This controller's archive, the latest first: which devices, and whose reservations came and went."""

    before: Annotated[
        str | None,
        Keyword("maxLength", 300),
        Keyword("pattern", r"^[0-9]{8}T[0-9]{6}\.[0-9]{6}Z-[0-9a-f]{8}$"),
        "`next` of the page before",
    ] = None
    limit: Annotated[int, Keyword("minimum", 1), Keyword("maximum", 100)] = 50


@dataclass(frozen=True)
class Usage(
    Verb[documents.Usages], to="GET /v1/usage", summary="What was reserved, by month", errors=(401, 403, 422, 503)
):
    """Rate times time of what was and is reserved, in each month of UTC; what was cancelled counts until it was. A
    requester gets its own."""

    by: Annotated[SummedBy, "summed by"] = "owner"
    since: Annotated[Time | None, _FROM, "this month's first, if it is left out"] = None
    until: Annotated[Time | None, "the end of the month, if it is left out"] = None
    owner: Owner = None
