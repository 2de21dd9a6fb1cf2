"""Reservations: what is free, and one or all of them, asked for, changed and given back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from slotcar_client.calls.requests import Json, Time, pages, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs
from slotcar_client.wire.errors import NotFound

#: The states in which a reservation takes a place.
LIVE = ("held", "awaiting-approval", "committed")


def enquire(request: Json) -> Conversation[documents.Enquiry]:
    """The highest rate that would be admitted over a window, each way, and what is free over time; `name`, `owner` and
    `rate` may be left out.
    """
    return (yield from send(verbs.Enquire(request)))


def addable(which: str) -> Conversation[documents.Enquiry]:
    """What could be added to a reservation of one's own from now to its end, as `enquire` documents.

    Raises:
        Conflict: it is over, or has no fixed rate.
    """
    return (yield from send(verbs.Addable((yield from handle_of(which)))))


def create(
    reservation: Json, *, hold: str | None = None, idempotency_key: str | None = None
) -> Conversation[documents.Entry]:
    """Reserves what a reservation file would say; with `hold` (`15 min`) it is to be committed within that time.

    A key of its own makes it safe to send again; say one to make it safe for your program to say it again.

    Raises:
        Refused: no room, and nothing is held. QuotaExceeded, Conflict: the operator's rules forbid it.
    """
    return (yield from send(verbs.Create(reservation, hold, idempotency_key)))


def reservation(which: str) -> Conversation[documents.Entry]:
    """One reservation as it is now."""
    return (yield from send(verbs.Status((yield from handle_of(which)))))


def reservations(
    *, owner: str | None = None, name: str | None = None, state: Iterable[str] = (), label: str | None = None,
    since: Time | None = None, until: Time | None = None, search: str | None = None, newest: bool = False,
    limit: int | None = None,
) -> Conversation[list[documents.Entry]]:  # fmt: skip
    """All of them, page by page, or the first `limit`; `label` is `KEY` or `KEY=VALUE`, `search` beginnings of words of the
    owner and the name, or a handle."""
    verb = verbs.List(
        owner=owner, name=name, state=list(state) or None, label=label, since=time_text(since), until=time_text(until),
        search=search, newest=newest,
    )  # fmt: skip
    return (yield from pages(verb, limit=limit))


def explain(which: str) -> Conversation[documents.Explanation]:
    """Where each number of its configuration comes from, in the slot that is open or comes next.

    Raises:
        Conflict: a platform cannot express what is wanted.
    """
    return (yield from send(verbs.Explain((yield from handle_of(which)))))


def modify(
    which: str, *, rate: str | Json | None = None, start: Time | None = None, end: Time | None = None,
    duration: str | None = None, version: int | None = None,
) -> Conversation[documents.Entry]:  # fmt: skip
    """Another rate (a text, or `{"forward": …, "reverse": …}`) or window. If it is refused, the old one stays.

    Without `version` it is a change of whatever the reservation is now.

    Raises:
        Refused. StaleVersion: it is not at `version` any more; where its `maybe_done` is true, perhaps by this change.
    """
    rates, begin, until = cast("str | verbs.Rates | None", rate), time_text(start), time_text(end)
    handle, version = yield from _version_of(which, version)
    return (yield from send(verbs.Modify(handle, version, rates, begin, until, duration)))


def progress(which: str, remaining: str) -> Conversation[documents.Entry]:
    """What remains of a volume by a deadline (`1.2 TB`): its rates are found again, and `0 B` ends it.

    Raises:
        Conflict: it asks for no volume, or more remains than before.
    """
    return (yield from send(verbs.Progress((yield from handle_of(which)), remaining)))


def bind(
    which: str, *, source_port: int | None = None, destination_port: int | None = None, version: int | None = None
) -> Conversation[documents.Entry]:
    """Ports that were not known before."""
    handle, version = yield from _version_of(which, version)
    return (yield from send(verbs.Bind(handle, version, source_port, destination_port)))


def commit(which: str, *, version: int | None = None) -> Conversation[documents.Entry]:
    """Makes a hold firm, or leaves it to approval above the operator's gate; only at `version`, where that is said."""
    return (yield from send(verbs.Commit((yield from handle_of(which)), version)))


def extend(which: str, by: str, *, version: int | None = None) -> Conversation[documents.Entry]:
    """Keeps a hold until `by` (`15 min`) from now."""
    return (yield from send(verbs.Extend((yield from handle_of(which)), by, version)))


def cancel(which: str, reason: str = "", *, version: int | None = None) -> Conversation[documents.Entry]:
    """Gives it back at once; the routers follow."""
    return (yield from send(verbs.Cancel((yield from handle_of(which)), reason, version)))


def approve(which: str, *, version: int) -> Conversation[documents.Entry]:
    """Lets what waits of it through as it was at `version`: what somebody has seen. Operators only."""
    return (yield from send(verbs.Approve((yield from handle_of(which)), version)))


def reject(which: str, reason: str = "", *, version: int | None = None) -> Conversation[documents.Entry]:
    """Turns away what waits of it. Operators only."""
    return (yield from send(verbs.Reject((yield from handle_of(which)), reason, version)))


def handle_of(which: str) -> Conversation[str]:
    """The handle of a reservation.

    Raises:
        NotFound: no reservation of that owner and name.
    """
    owner, slash, name = which.partition("/")
    if not slash:
        return which
    for states in (LIVE, ()):
        entries = yield from reservations(owner=owner, name=name, state=states, newest=True, limit=1)
        if entries:
            return entries[0]["handle"]
    raise NotFound(404, {"type": "unknown-reservation", "detail": f"there is no reservation {which}"})


def _version_of(which: str, version: int | None) -> Conversation[tuple[str, int]]:
    """The handle, and of which version a change is: of what it is now, where none is said."""
    handle = yield from handle_of(which)
    if version is None:
        version = (yield from reservation(handle))["version"]
    return handle, version
