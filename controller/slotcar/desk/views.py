"""The timeline, resources over time, the network, boundaries with their diffs, last states, revisions, use by month."""

from __future__ import annotations

from datetime import datetime, timedelta

from slotcar.base.timebase import iso
from slotcar.book.rules.roles import require_overview
from slotcar.desk.controller import controller_document
from slotcar.desk.desk import Desk, answers
from slotcar.desk.entries import Entries
from slotcar.desk.logs import Logs
from slotcar.desk.overview import LOOK_AHEAD, Overview, ResourcePage
from slotcar.desk.reading import instant_of, label_of, window_of
from slotcar.desk.routers import Routers
from slotcar.policy.caller import Caller
from slotcar.store.queries import EventFilter
from slotcar.views.boundary import groups_document
from slotcar.views.capacity import course_document
from slotcar.views.device_states import states_document
from slotcar.views.documents import configurations_document, events_document, timeline_document
from slotcar.views.timeline import LOOK_BACK, TimelineQuery
from slotcar.views.usage import month_at, usage_document
from slotcar_client.wire import documents, verbs


@answers(verbs.Timeline)
def timeline(verb: verbs.Timeline, desk: Desk, caller: Caller, now: datetime) -> documents.Timeline:
    query = TimelineQuery(
        instant_of("from", verb.since) or now - LOOK_BACK,
        instant_of("until", verb.until) or now + timedelta(hours=verb.hours),
        verb.limit + 1,
        verb.device,
        None if verb.reservation is None else Entries(desk).status(verb.reservation, caller).handle,
        verb.owner,
        verb.name,
        label_of(verb.label),
    )
    listed = Logs(desk).timeline(query, caller, now)
    return {
        "items": [timeline_document(item) for item in listed[: verb.limit]],
        "next": iso(listed[verb.limit].at) if len(listed) > verb.limit else None,
    }


@answers(verbs.Events)
def events(verb: verbs.Events, desk: Desk, caller: Caller, _now: datetime) -> documents.Events:
    """The route reads the log by itself, on the threads that streams have, too."""
    handle = None if verb.reservation is None else Entries(desk).status(verb.reservation, caller).handle
    since, until = instant_of("from", verb.since), instant_of("until", verb.until)
    kinds, label = tuple(verb.kind or ()), label_of(verb.label)
    wanted = EventFilter(kinds, handle, verb.device, since, until, verb.owner, verb.name, label)
    listed = Logs(desk).events(wanted, caller, verb.after, verb.limit, newest=verb.newest)
    return events_document(listed, verb.after)


@answers(verbs.Controller)
def controller(_verb: verbs.Controller, desk: Desk, caller: Caller, now: datetime) -> documents.Controller:
    require_overview(caller, "see the controller's status", "controller")
    return controller_document(desk, now)


@answers(verbs.Configurations)
def configurations(verb: verbs.Configurations, desk: Desk, caller: Caller, now: datetime) -> documents.Configurations:
    instant = instant_of("at", verb.at) or now
    wanted = Routers(desk).configurations(instant, caller, verb.device)
    return {"items": configurations_document(wanted, instant)}


@answers(verbs.Resources)
def resources(verb: verbs.Resources, desk: Desk, caller: Caller, now: datetime) -> documents.Resources:
    begin = instant_of("from", verb.since) or now
    window = window_of(begin, instant_of("until", verb.until) or begin + timedelta(days=1))
    page = ResourcePage(tuple(verb.resource or ()), verb.device, verb.domain, verb.after, verb.limit)
    courses, following = Overview(desk).resources(page, window, caller, now)
    return {
        "items": [course_document(course, desk.network, verb.points) for course in courses],
        "next": following,
    }


@answers(verbs.Network)
def network(_verb: verbs.Network, desk: Desk, caller: Caller, _now: datetime) -> documents.Topology:
    return Overview(desk).network(caller)


@answers(verbs.Boundaries)
def boundaries(verb: verbs.Boundaries, desk: Desk, caller: Caller, now: datetime) -> documents.BoundaryCounts:
    begin = instant_of("from", verb.since) or now
    until = instant_of("until", verb.until) or begin + LOOK_AHEAD
    window_of(begin, until)
    counts = Overview(desk).boundaries(begin, until, verb.limit + 1, caller)
    items: list[documents.BoundaryCount] = [
        {"at": iso(count.at), "starting": count.starting, "ending": count.ending, "changing": count.changing}
        for count in counts[: verb.limit]
    ]
    return {"items": items, "next": items[-1]["at"] if len(counts) > verb.limit else None}


@answers(verbs.Boundary)
def boundary(verb: verbs.Boundary, desk: Desk, caller: Caller, now: datetime) -> documents.BoundaryView:
    view = Overview(desk).boundary(instant_of("instant", verb.instant) or now, caller, now)
    return {
        "at": iso(view.at),
        "item": timeline_document(view.item) if view.item else None,
        "groups": None if view.groups is None else groups_document(view.groups),
    }


@answers(verbs.DeviceStates)
def device_states(_verb: verbs.DeviceStates, desk: Desk, caller: Caller, now: datetime) -> documents.DeviceStates:
    states = Overview(desk).device_states(caller, desk.loop, now)
    return {"items": states_document(states, Routers(desk).managed())}


@answers(verbs.Revisions)
def revisions(verb: verbs.Revisions, desk: Desk, caller: Caller, _now: datetime) -> documents.Revisions:
    items, following = Overview(desk).revisions(verb.before, verb.limit, caller)
    return {"items": items, "next": following}


@answers(verbs.Usage)
def usage(verb: verbs.Usage, desk: Desk, caller: Caller, now: datetime) -> documents.Usages:
    begin = instant_of("from", verb.since) or month_at(now).start
    window = window_of(begin, instant_of("until", verb.until) or month_at(begin).end)
    return usage_document(Overview(desk).usage(verb.by, window, caller, verb.owner))
