"""The map, and the table below it."""

from __future__ import annotations

from typing import Any

from slotcar.base.timebase import Window
from slotcar.book.rules import roles
from slotcar.desk.overview import ResourcePage
from slotcar.views.capacity import Course
from slotcar.web.links.pages import THRESHOLDS
from slotcar.web.maps.model import picture_of
from slotcar.web.serving import WebPage
from slotcar.web.visit import PAGE, Answer, Shown, Visit


def show(visit: Visit) -> Answer:
    return Shown("maps/page.html", _model(visit))


def part(visit: Visit) -> Answer:
    return Shown("maps/now.html", _model(visit))


def _model(visit: Visit) -> dict[str, Any]:
    """
    Raises:
        NotAllowed. InvalidInput: `after` is no number.
    """
    roles.require_overview(visit.caller, "see the network's devices", "network")
    sequence = visit.desk.ledger.last_event()
    states = {
        one.device: one for one in visit.overview.device_states(visit.caller, visit.context.desk.loop, visit.now)
    }
    window = Window(visit.now, visit.clock.parse("now + 1 h"))
    resources, _ = visit.overview.resources(ResourcePage(limit=1_000_000), window, visit.caller, visit.now)
    courses: dict[str, Course] = {str(one.resource): one for one in resources}
    picture, after = picture_of(visit.desk.network, states, courses), visit.number("after")
    following = after + PAGE
    return {
        "picture": picture, "legend": THRESHOLDS, "window": window, "sequence": sequence, "after": after,
        "listed": picture.edges[after:following],
        "next": f"/map?after={following}" if following < len(picture.edges) else "",
    }  # fmt: skip


PAGES = (WebPage("/map", show, query=("after",)), WebPage("/map/now", part, query=("after",)))
