"""Devices: last known states, and one with its events, its wanted configuration and what it has beside it."""

from __future__ import annotations

from typing import Any

from slotcar.base.timebase import Window
from slotcar.book.rules import roles
from slotcar.desk.logs import Logs
from slotcar.desk.overview import ResourcePage
from slotcar.desk.routers import Routers
from slotcar.recovery.comparison import difference_document
from slotcar.rollout.holding import holds_of
from slotcar.store.queries import EventFilter
from slotcar.views.boundary import DiffGroup, hunks_of
from slotcar.views.devices import named_devices
from slotcar.web.boundaries.model import GroupRows
from slotcar.web.home.model import summary_of
from slotcar.web.links.pages import THRESHOLDS, level_of, percent_of
from slotcar.web.serving import LONG_S, WebPage
from slotcar.web.visit import PAGE, Answer, Moved, Shown, Visit
from slotcar.web.words import DEVICES, why_not_operator

HISTORY = 30
#: What a device's page offers, by the verb that it does.
_ACTIONS = {
    "hold": "hold or release a router", "release": "hold or release a router", "difference": "read a device",
    "configurations": "see the devices' configurations",
}  # fmt: skip


def listed(visit: Visit) -> Answer:
    return Shown("devices/list.html", _list_model(visit))


def table(visit: Visit) -> Answer:
    return Shown("devices/table.html", _list_model(visit))


def _list_model(visit: Visit) -> dict[str, Any]:
    """
    Raises:
        NotAllowed.
    """
    sequence = visit.desk.ledger.last_event()
    states = visit.overview.device_states(visit.caller, visit.context.desk.loop, visit.now)
    after = visit.parameter("after")
    rest = [one for one in states if one.device > after]
    return {
        "rows": [(one, DEVICES[one.state]) for one in rest[:PAGE]], "summary": summary_of(states), "sequence": sequence,
        "next": f"/devices?after={rest[PAGE - 1].device}" if len(rest) > PAGE else "",
    }  # fmt: skip


def one(visit: Visit) -> Answer:
    """
    Raises:
        NotAllowed, NoSuchDevice.
    """
    roles.require_overview(visit.caller, "see devices", "device_states")
    name = str(visit.path["device"])
    network = visit.desk.network
    named_devices(network, [name])
    sequence = visit.desk.ledger.last_event()
    states = visit.overview.device_states(visit.caller, visit.context.desk.loop, visit.now)
    state = next(one for one in states if one.device == name)
    window = Window(visit.now, visit.clock.parse("now + 1 d"))
    courses, more = visit.overview.resources(ResourcePage(device=name), window, visit.caller, visit.now)
    model = {
        "device": network.devices[name], "state": state, "mark": DEVICES[state.state], "sequence": sequence,
        "events": Logs(visit.desk).events(EventFilter(device=name), visit.caller, 0, HISTORY, newest=True),
        "resources": [(course, percent_of(course), THRESHOLDS[level_of(percent_of(course))][1]) for course in courses],
        "more_resources": more is not None,
        "hosts": [host for host in network.hosts.values() if host.attached_to.device == name],
        "held": holds_of(visit.desk.ledger, visit.now, [name]).get(name),
        "why_not": {
            verb: why_not_operator(visit.caller, what, verb) for verb, what in _ACTIONS.items()
        },
        "domain": network.domains[network.devices[name].domain],
        "described": [one for _, one in sorted(network.devices[name].interfaces.items()) if one.description],
        "sls": [sls.name for sls in network.sls.values() if sls.ingress.device == name],
    }  # fmt: skip
    return Shown("devices/page.html", model)


def wanted(visit: Visit) -> Answer:
    """The lines that a push would compare with, now."""
    name = str(visit.path["device"])
    configurations = Routers(visit.desk).configurations(visit.now, visit.caller, [name])
    lines = configurations[name].lines if name in configurations else ()
    return Shown("devices/wanted.html", {"name": name, "lines": lines})


def compare(visit: Visit) -> Answer:
    """Reads the device, which takes seconds.

    Raises:
        NotAllowed, NoSuchDevice, NotPossible.
    """
    name = str(visit.path["device"])
    comparison = difference_document(name, Routers(visit.desk).compare([name], visit.caller, visit.now))
    diff = comparison.get("diff") or ()
    group = GroupRows(1, DiffGroup((name,), tuple(hunks_of(tuple(diff))))) if diff else None
    return Shown("devices/comparison.html", {"name": name, "comparison": comparison, "one": group}, heading=name)


def hold(visit: Visit) -> Answer:
    """
    Raises:
        NotAllowed, NoSuchDevice. InvalidInput: `until` is no time, or past.
    """
    name, until = str(visit.path["device"]), visit.form_value("until")
    visit.desk.held_routers.hold(
        name, visit.caller, visit.now, visit.time("until", until) if until else None, visit.form_value("reason")
    )
    return Moved(f"/devices/{name}")


def release(visit: Visit) -> Answer:
    """
    Raises:
        NotAllowed, NoSuchDevice. NotPossible: it is not held.
    """
    name = str(visit.path["device"])
    visit.desk.held_routers.release(name, visit.caller, visit.now)
    return Moved(f"/devices/{name}")


PAGES = (
    WebPage("/devices", listed, query=("after",)),
    WebPage("/devices/table", table, query=("after",)),
    WebPage("/devices/{device}", one),
    WebPage("/devices/{device}/wanted", wanted),
    WebPage("/devices/{device}/compare", compare, "POST", most_s=LONG_S),
    WebPage("/devices/{device}/hold", hold, "POST"),
    WebPage("/devices/{device}/release", release, "POST"),
)
