"""The API's verbs, each once, as conversations without I/O: `Slotcar` and `AsyncSlotcar` have them as methods.

Every verb raises `NoAnswer` where the controller is not reached, and `Problem` where it does not do it. `which` is a
handle, or `OWNER/NAME` (the live reservation of that name, else the latest). A time is a text or an aware datetime.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from slotcar_client import answers
from slotcar_client.errors import Conflict, NotFound, Problem, StaleVersion, Wrong
from slotcar_client.transport import Conversation, Request

Time = str | datetime
Json = Mapping[str, Any]
#: The states in which a reservation takes a place.
LIVE = ("held", "awaiting-approval", "committed")
#: Of one page; the API gives no more.
PAGE = 1000
GROUPS_PAGE = 200


# -- reservations --------------------------------------------------------------------------------------------------


def enquire(asked: Json) -> Conversation[answers.Enquiry]:
    """The highest rate that would be admitted over a window, each way, and what is free over time; `name`, `owner` and
    `rate` may be left out.
    """
    return (yield from _json("POST", "/v1/enquiries", body=asked))


def addable(which: str) -> Conversation[answers.Enquiry]:
    """What could be added to a reservation of one's own from now to its end, as `enquire` answers.

    Raises:
        Conflict: it is over, or has no fixed rate.
    """
    return (yield from _json("GET", f"/v1/reservations/{(yield from _handle(which))}/addable"))


def create(
    reservation: Json, *, hold: str | None = None, idempotency_key: str | None = None
) -> Conversation[answers.Entry]:
    """Reserves what a reservation file would say; with `hold` (`15 min`) it is to be committed within that time.

    A key of its own makes it safe to send again; say one to make it safe for your program to say it again.

    Raises:
        Refused: no room, and nothing is held. QuotaExceeded, Conflict: the operator's rules forbid it.
    """
    headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
    return (yield from _json("POST", "/v1/reservations", {"hold": hold}, reservation, headers))


def reservation(which: str) -> Conversation[answers.Entry]:
    """One reservation as it is now."""
    return (yield from _json("GET", f"/v1/reservations/{(yield from _handle(which))}"))


def reservations(
    *, owner: str | None = None, name: str | None = None, state: Iterable[str] = (), label: str | None = None,
    since: Time | None = None, until: Time | None = None, search: str | None = None, newest: bool = False,
    limit: int | None = None,
) -> Conversation[list[answers.Entry]]:  # fmt: skip
    """All of them, page by page, or the first `limit`; `label` is `KEY` or `KEY=VALUE`, `search` beginnings of words of the
    owner and the name, or a handle."""
    asked = {
        "owner": owner, "name": name, "state": list(state), "label": label, "from": _time(since), "until": _time(until),
        "search": search, "newest": newest,
    }  # fmt: skip
    found: list[answers.Entry] = []
    after: str | None = None
    while True:
        size = PAGE if limit is None else min(PAGE, limit - len(found))
        page = yield from _json("GET", "/v1/reservations", asked | {"after": after, "limit": size})
        found += page["items"]
        after = page["next"]
        if after is None or (limit is not None and len(found) >= limit):
            return found


def modify(
    which: str, *, rate: str | Json | None = None, start: Time | None = None, end: Time | None = None,
    duration: str | None = None, version: int | None = None,
) -> Conversation[answers.Entry]:  # fmt: skip
    """Another rate (a text, or `{"forward": …, "reverse": …}`) or window. If it is refused, the old one stays.

    Without `version` it is a change of whatever the reservation is now.

    Raises:
        Refused. StaleVersion: it is not at `version` any more; where its `maybe_done` is true, perhaps by this change.
    """
    change = {"rate": rate, "start": _time(start), "end": _time(end), "duration": duration}
    handle, headers = yield from _version_of(which, version)
    return (yield from _json("PATCH", f"/v1/reservations/{handle}", body=_said(change), headers=headers))


def progress(which: str, remaining: str) -> Conversation[answers.Entry]:
    """What remains of a volume by a deadline (`1.2 TB`): its rates are found again, and `0 B` ends it.

    Raises:
        Conflict: it asks for no volume, or more remains than before.
    """
    handle = yield from _handle(which)
    return (yield from _json("POST", f"/v1/reservations/{handle}/progress", body={"remaining": remaining}))


def bind(
    which: str, *, source_port: int | None = None, destination_port: int | None = None, version: int | None = None
) -> Conversation[answers.Entry]:
    """Ports that were not known before."""
    handle, headers = yield from _version_of(which, version)
    ports = _said({"source_port": source_port, "destination_port": destination_port})
    return (yield from _json("POST", f"/v1/reservations/{handle}/bind", body=ports, headers=headers))


def commit(which: str, *, version: int | None = None) -> Conversation[answers.Entry]:
    """Makes a hold firm, or leaves it to approval above the operator's gate; only at `version`, where that is said."""
    return (yield from _moved(which, "commit", ("committed", "awaiting-approval"), version))


def extend(which: str, by: str, *, version: int | None = None) -> Conversation[answers.Entry]:
    """Keeps a hold until `by` (`15 min`) from now."""
    path = f"/v1/reservations/{(yield from _handle(which))}/extend"
    return (yield from _json("POST", path, body={"by": by}, headers=_if_match(version)))


def cancel(which: str, reason: str = "", *, version: int | None = None) -> Conversation[answers.Entry]:
    """Gives it back at once; the routers follow."""
    return (yield from _moved(which, "cancel", ("cancelled",), version, {"reason": reason}))


def approve(which: str, *, version: int) -> Conversation[answers.Entry]:
    """Lets what waits of it through as it was at `version`: what somebody has seen. Operators only."""
    path = f"/v1/reservations/{(yield from _handle(which))}/approve"
    return (yield from _json("POST", path, headers=_if_match(version)))


def reject(which: str, reason: str = "", *, version: int | None = None) -> Conversation[answers.Entry]:
    """Turns away what waits of it. Operators only."""
    return (yield from _moved(which, "reject", ("rejected", "committed"), version, {"reason": reason}))


# -- groups --------------------------------------------------------------------------------------------------------


def group_create(group: Json, *, hold: str | None = None) -> Conversation[answers.Group]:
    """Reserves all members of what a reservation file would say of a group, or none; `hold` as of `create`.

    Raises:
        Refused: no room for some member, which it names, and nothing is held.
    """
    return (yield from _json("POST", "/v1/groups", {"hold": hold}, group, repeatable=False))


def groups(
    *, owner: str | None = None, state: Iterable[str] = (), since: Time | None = None, until: Time | None = None,
    newest: bool = False, limit: int | None = None,
) -> Conversation[list[answers.Group]]:  # fmt: skip
    """All of them, page by page, or the first `limit`; `state` is the group's."""
    asked = {
        "owner": owner, "state": list(state), "from": _time(since), "until": _time(until), "newest": newest
    }  # fmt: skip
    found: list[answers.Group] = []
    after: str | None = None
    while True:
        size = GROUPS_PAGE if limit is None else min(GROUPS_PAGE, limit - len(found))
        page = yield from _json("GET", "/v1/groups", asked | {"after": after, "limit": size})
        found += page["items"]
        after = page["next"]
        if after is None or (limit is not None and len(found) >= limit):
            return found


def group(handle: str) -> Conversation[answers.Group]:
    """One group as it is now, with its members."""
    return (yield from _json("GET", _group(handle)))


def group_commit(handle: str, *, version: int | None = None) -> Conversation[answers.Group]:
    """Makes a held group firm, or leaves it to approval."""
    return (yield from _json("POST", f"{_group(handle)}/commit", headers=_if_match(version), repeatable=False))


def group_cancel(handle: str, reason: str = "", *, version: int | None = None) -> Conversation[answers.Group]:
    """Gives all members back at once."""
    path, body = f"{_group(handle)}/cancel", {"reason": reason}
    return (yield from _json("POST", path, body=body, headers=_if_match(version), repeatable=False))


def group_approve(handle: str, *, version: int) -> Conversation[answers.Group]:
    """Lets what waits of its members through as it was at `version`: what somebody has seen. Operators only."""
    return (yield from _json("POST", f"{_group(handle)}/approve", headers=_if_match(version), repeatable=False))


def group_reject(handle: str, reason: str = "", *, version: int | None = None) -> Conversation[answers.Group]:
    """Turns away what waits of its members. Operators only."""
    path, body = f"{_group(handle)}/reject", {"reason": reason}
    return (yield from _json("POST", path, body=body, headers=_if_match(version), repeatable=False))


# -- files ---------------------------------------------------------------------------------------------------------


def plan(
    file: Json, *, set_name: str | None = None, owners: Sequence[str] = (), start: str | None = None,
    lines: int | None = None,
) -> Conversation[answers.Plan]:  # fmt: skip
    """What applying a reservation file (its content, not its name) would do. `start` is `next` of the page before;
    `owners` are those that it speaks for beside the owners in it: what they no longer have in the set is cancelled.
    """
    query = {"set": set_name, "owner": list(owners), "from": start, "lines": lines}
    return (yield from _json("POST", "/v1/plans", query, file))


def apply(plan: answers.Plan) -> Conversation[answers.Applied]:
    """Exactly the plan, whole or not at all.

    Raises:
        Conflict: it holds a refusal, or the ledger or the inventory has changed since; where its `maybe_done` is true,
            perhaps by this plan.
    """
    return (yield from _json("POST", "/v1/applies", body=plan))


# -- what is offered -----------------------------------------------------------------------------------------------


def whoami() -> Conversation[answers.Caller]:
    """Whom the token stands for, and until when."""
    return (yield from _json("GET", "/v1/whoami"))


def endpoints() -> Conversation[answers.Endpoints]:
    """What may be a source or a destination."""
    return (yield from _json("GET", "/v1/endpoints"))


def services() -> Conversation[list[answers.Service]]:
    return (yield from _items("/v1/services"))


def limits(owner: str | None = None) -> Conversation[answers.Limits]:
    """The operator's limits, and what the owner has of its quotas."""
    return (yield from _json("GET", "/v1/limits", {"owner": owner}))


# -- looking -------------------------------------------------------------------------------------------------------


def timeline(
    *, since: Time | None = None, until: Time | None = None, hours: float | None = None, device: Iterable[str] = (),
    reservation: str | None = None, owner: str | None = None, name: str | None = None, label: str | None = None,
    limit: int | None = None,
) -> Conversation[list[answers.TimelineItem]]:  # fmt: skip
    """Slot boundaries from an hour back to 24 hours ahead, where neither is said; the first `limit` (100)."""
    asked = {
        "from": _time(since), "until": _time(until), "hours": hours, "device": list(device), "owner": owner, "name": name,
        "reservation": reservation, "label": label,
    }  # fmt: skip
    found: list[answers.TimelineItem] = []
    most = 100 if limit is None else limit
    while True:
        page = yield from _json("GET", "/v1/timeline", asked | {"limit": min(PAGE, most - len(found))})
        found += page["items"]
        if page["next"] is None or len(found) >= most:
            return found
        asked["from"] = page["next"]


def configurations(at: Time | None = None, device: Iterable[str] = ()) -> Conversation[list[answers.Configuration]]:
    """What devices are to have at an instant; not for requesters."""
    return (yield from _items("/v1/configurations", {"at": _time(at), "device": list(device)}))


def resources(
    resource: Iterable[str] = (), *, device: str | None = None, domain: str | None = None, since: Time | None = None,
    until: Time | None = None, points: int | None = None,
) -> Conversation[list[answers.Resource]]:  # fmt: skip
    """Capacity, reserved and free of these resources, or of all, from now for a day where neither is said; with at most
    `points` steps of each. Not for requesters."""
    asked = {
        "resource": list(resource), "device": device, "domain": domain, "from": _time(since), "until": _time(until),
        "points": points,
    }  # fmt: skip
    found: list[answers.Resource] = []
    after: str | None = None
    while True:
        page = yield from _json("GET", "/v1/resources", asked | {"after": after})
        found += page["items"]
        after = page["next"]
        if after is None:
            return found


def network() -> Conversation[answers.Topology]:
    """Domains, devices, links, SLSs and end systems; not for requesters."""
    return (yield from _json("GET", "/v1/network"))


def boundaries(
    *, since: Time | None = None, until: Time | None = None, limit: int | None = None
) -> Conversation[list[answers.BoundaryCount]]:
    """The next boundaries, counted; from now for 31 days where neither is said."""
    return (yield from _items("/v1/boundaries", {"from": _time(since), "until": _time(until), "limit": limit}))


def boundary(instant: Time) -> Conversation[answers.BoundaryView]:
    """What happens at an instant, how far each device is, and what changes on them."""
    return (yield from _json("GET", f"/v1/boundaries/{quote(_time(instant) or '', safe='')}"))


def device_states() -> Conversation[list[answers.DeviceState]]:
    """The last known state of every device, which is not read for it; not for requesters."""
    return (yield from _items("/v1/devices"))


def revisions(*, before: str | None = None, limit: int | None = None) -> Conversation[list[answers.Revision]]:
    """What was pushed, the latest first, or the latest before one; not for requesters."""
    return (yield from _items("/v1/revisions", {"before": before, "limit": limit}))


def usage(
    *, by: str | None = None, since: Time | None = None, until: Time | None = None, owner: str | None = None
) -> Conversation[list[answers.Usage]]:
    """What was reserved in each month, by `owner`, `sls` or `domain`; this month where no time is said."""
    return (yield from _items("/v1/usage", {"by": by, "from": _time(since), "until": _time(until), "owner": owner}))


def holds() -> Conversation[list[answers.Hold]]:
    """The routers that are held, by name; not for requesters."""
    return (yield from _items("/v1/holds", {}))


def hold(device: str, reason: str = "", *, until: Time | None = None) -> Conversation[answers.Hold]:
    """Has a router left alone as it is, until `until` or its release; for operators."""
    body = {"reason": reason, "until": _time(until)}
    return (yield from _json("POST", f"/v1/devices/{quote(device, safe='')}/hold", body=body))


def release(device: str) -> Conversation[answers.Hold]:
    """Ends the hold of a router, and gives it; for operators."""
    return (yield from _json("POST", f"/v1/devices/{quote(device, safe='')}/release"))


def difference(device: str) -> Conversation[answers.DifferenceOfDevice]:
    """What a device has beside what it is to have; reads it, which takes seconds. Not for requesters."""
    return (yield from _json("GET", f"/v1/devices/{quote(device, safe='')}/difference"))


def controller() -> Conversation[answers.Controller]:
    """What the controller is about; not for requesters."""
    return (yield from _json("GET", "/v1/controller"))


def events(
    *, kinds: Iterable[str] = (), reservation: str | None = None, device: str | None = None, owner: str | None = None,
    name: str | None = None, label: str | None = None, since: Time | None = None, until: Time | None = None,
    newest: bool = False, after: int | None = None, limit: int = 100,
) -> Conversation[list[answers.Event]]:  # fmt: skip
    """At most `limit` of the audit log: the first after the number `after`, or with `newest` the last before it."""
    asked = {
        "kind": list(kinds), "reservation": reservation, "device": device, "owner": owner, "name": name, "label": label,
        "from": _time(since), "until": _time(until), "newest": newest,
    }  # fmt: skip
    found: list[answers.Event] = []
    while len(found) < limit:
        size = min(PAGE, limit - len(found))
        page = yield from _json("GET", "/v1/events", asked | {"after": after, "limit": size})
        found += page["items"]
        after = page["next"]
        if len(page["items"]) < size:
            break
    return found


# -- webhooks ------------------------------------------------------------------------------------------------------


def webhook_add(url: str, *, secret: str | None = None, kinds: Iterable[str] = ()) -> Conversation[answers.Webhook]:
    """A requester's gets the events of its own reservations, and its answer is the only one with the signing secret."""
    body = _said({"url": url, "secret": secret, "kinds": list(kinds)})
    return (yield from _json("POST", "/v1/webhooks", body=body, repeatable=False))


def webhook_list() -> Conversation[list[answers.Webhook]]:
    return (yield from _items("/v1/webhooks"))


def webhook_remove(webhook: str) -> Conversation[answers.Webhook]:
    return (yield from _json("DELETE", _webhook(webhook)))


def webhook_test(webhook: str) -> Conversation[answers.Tested]:
    """Has one message sent at once, and says what became of it."""
    return (yield from _json("POST", f"{_webhook(webhook)}/test"))


def webhook_dead_letters(webhook: str, limit: int | None = None) -> Conversation[list[answers.DeadLetter]]:
    """Events that were given up."""
    return (yield from _items(f"{_webhook(webhook)}/dead-letters", {"limit": limit}))


def webhook_redeliver(webhook: str, sequences: Iterable[int] | None = None) -> Conversation[int]:
    """How many of the dead letters, these or all, wait again."""
    body = {"sequences": None if sequences is None else list(sequences)}
    answer = yield from _json("POST", f"{_webhook(webhook)}/redeliver", body=body)
    waiting: int = answer["waiting"]
    return waiting


# -- health --------------------------------------------------------------------------------------------------------


def alive() -> Conversation[answers.Health]:
    return (yield from _json("GET", "/healthz"))


def ready() -> Conversation[answers.Health]:
    """Whether the controller can do its work; `failing` after the usual attempts where it cannot."""
    try:
        return (yield from _json("GET", "/readyz"))
    except Problem as problem:
        if problem.status == 503 and "checks" in problem.document:
            return {"status": "failing", "checks": problem.document["checks"]}
        raise


def metrics() -> Conversation[str]:
    """In Prometheus' text form."""
    answer = yield Request("GET", "/metrics")
    return answer.body


# -- what they share -----------------------------------------------------------------------------------------------


def _json(
    method: str, path: str, query: Json | None = None, body: Any = None, headers: Mapping[str, str] | None = None,
    repeatable: bool = True,
) -> Conversation[Any]:  # fmt: skip
    answer = yield Request(method, path, _said(query or {}), body, headers or {}, repeatable)
    if not isinstance(answer.body, dict):
        raise Wrong(answer.status, {"detail": f"it answers {answer.status} without JSON, and so not as Slotcar does"})
    return answer.body


def _items(path: str, query: Json | None = None) -> Conversation[Any]:
    page = yield from _json("GET", path, query)
    return page["items"]


def _handle(which: str) -> Conversation[str]:
    """
    Raises:
        NotFound: no reservation of that owner and name.
    """
    owner, slash, name = which.partition("/")
    if not slash:
        return quote(which, safe="")
    for states in (LIVE, ()):
        found = yield from reservations(owner=owner, name=name, state=states, newest=True, limit=1)
        if found:
            return found[0]["handle"]
    raise NotFound(404, {"type": "unknown-reservation", "detail": f"there is no reservation {which}"})


def _version_of(which: str, version: int | None) -> Conversation[tuple[str, dict[str, str]]]:
    """The handle, and the header that says of which version a change is."""
    handle = yield from _handle(which)
    if version is None:
        version = (yield from reservation(handle))["version"]
    return handle, _if_match(version)


def _if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


def _moved(
    which: str, verb: str, states: tuple[str, ...], version: int | None, body: Json | None = None
) -> Conversation[answers.Entry]:
    """Moves a reservation to one of the states; where an attempt was lost that may have done so, it is looked whether."""
    handle = yield from _handle(which)
    try:
        return (yield from _json("POST", f"/v1/reservations/{handle}/{verb}", body=body, headers=_if_match(version)))
    except (Conflict, StaleVersion) as problem:
        if not problem.maybe_done:
            raise
        entry = yield from reservation(handle)
        if entry["state"] not in states:
            raise
        return entry


def _group(handle: str) -> str:
    return f"/v1/groups/{quote(handle, safe='')}"


def _webhook(webhook: str) -> str:
    return f"/v1/webhooks/{quote(webhook, safe='')}"


def _said(given: Json) -> dict[str, Any]:
    """Without what was not said."""
    return {key: value for key, value in given.items() if value is not None and value is not False and value != []}


def _time(at: Time | None) -> str | None:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError(f"{at.isoformat()} has no time zone")
        return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return at
