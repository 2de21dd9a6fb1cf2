"""The list with the tightest time of each resource, and one with its curve and the table below it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from slotcar.admission.resource_id import ResourceId
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import Window, from_us, iso
from slotcar.desk.overview import ResourcePage
from slotcar.views.capacity import MOST_STEPS, Course, course_document, device_of
from slotcar.views.topology import description_of
from slotcar.web.reservations.model import lanes_of, rows_of
from slotcar.web.serving import WebPage
from slotcar.web.visit import PAGE, Answer, Data, Shown, Visit
from slotcar.web.words import StateMark

MONTH = "now + 30 d"
#: Reservations under a curve; the list has all.
CROSSING = 30
#: From so many per cent on a resource is of this look; the map's legend says the same.
THRESHOLDS = (
    (0, StateMark("free", "○", "soft")),
    (1, StateMark("in use", "◔", "good")),
    (70, StateMark("busy", "◕", "wait")),
    (90, StateMark("nearly full", "●", "bad")),
)


def percent_of(course: Course) -> int:
    return 100 - course.free_bps * 100 // course.capacity_bps if course.capacity_bps else 100


def level_of(percent: int) -> int:
    """The place in `THRESHOLDS`."""
    return max(place for place, (least, _) in enumerate(THRESHOLDS) if percent >= least)


def listed(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput, NotAllowed, NoSuchDevice.
    """
    window, range_text = window_of(visit, "now", "now + 1 d")
    device, domain = visit.parameter("device") or None, visit.parameter("domain") or None
    page = ResourcePage((), device, domain, visit.parameter("after"), PAGE)
    sequence = visit.desk.ledger.last_event()
    courses, after = visit.overview.resources(page, window, visit.caller, visit.now)
    query = {**range_text, "device": device, "domain": domain, "after": after}
    following = f"/links?{urlencode({key: value for key, value in query.items() if value})}" if after else ""
    network = visit.desk.network
    rows = [
        (one, device_of(one.resource, network), percent_of(one), THRESHOLDS[level_of(percent_of(one))][1])
        for one in courses
    ]
    tightest, count = visit.overview.tightest(device, domain, window, visit.caller, visit.now)
    model = {
        "rows": rows,
        "window": window,
        "said": range_text,
        "device": device or "",
        "domain": domain or "",
        "next": following,
        "domains": sorted(network.domains),
        "sequence": sequence,
        "query": urlencode(range_text),
        "tightest": tightest,
        "tightest_percent": percent_of(tightest) if tightest else 0,
        "count": count,
    }
    return Shown("links/list.html", model)


def one(visit: Visit) -> Answer:
    return Shown("links/page.html", _model(visit))


def _model(visit: Visit) -> dict[str, Any]:
    name = str(visit.path["resource"])
    window, range_text = window_of(visit, "now", MONTH)
    sequence = visit.desk.ledger.last_event()
    course = _course(visit, name, window)
    steps, rounded = course.steps(MOST_STEPS) if course else ((), False)
    after = visit.number("after")
    page_steps = steps[after : after + PAGE]
    ends = [step.start_us for step in steps[1:]] + [course.window.end_us if course else 0]
    rows = [(from_us(step.start_us), from_us(end), step) for step, end in zip(page_steps, ends[after:], strict=False)]
    more = after + PAGE < len(steps)
    address = f"/links/{quote(name)}"
    listed = visit.overview.crossing(name, course.window, CROSSING + 1, visit.caller) if course else ()
    crossing = visit.with_slots(listed)
    lanes = lanes_of(crossing[:CROSSING], course.window, visit.now) if course else ()
    return {
        "crossing": list(zip(rows_of(crossing[:CROSSING], visit.clock), lanes, strict=True)),
        "more_cross": len(crossing) > CROSSING,
        "name": name, "course": course, "window": window, "said": range_text, "rows": rows, "rounded": rounded,
        "percent": percent_of(course) if course else 0, "sequence": sequence, "page": address,
        "next": f"{address}?{urlencode({**range_text, 'after': after + PAGE})}" if more else "",
        "data": f"/chart/steps?{urlencode({'resource': name, 'from': iso(window.start), 'until': iso(window.end)})}",
        "device": device_of(course.resource, visit.desk.network) if course else "", "zone": visit.clock.name,
        "counted": _counted(course.resource) if course else "",
        "description": description_of(course.resource, visit.desk.network) if course else "",
    }  # fmt: skip


def _counted(resource: ResourceId) -> str:
    """Where it is shown what left by the resource's interface; empty where none has it for its way out."""
    if resource.interface is None or not resource.is_outbound:
        return ""
    place = {"device": resource.interface.device, "interface": resource.interface.name}
    return f"/usage/link?{urlencode(place)}"


def _course(visit: Visit, name: str, window: Window) -> Course | None:
    """None where all of the window is past, of which nothing is kept.

    Raises:
        NoSuchResource, NotAllowed.
    """
    courses, _ = visit.overview.resources(ResourcePage((name,)), window, visit.caller, visit.now)
    return courses[0] if courses else None


def steps(visit: Visit) -> Answer:
    """What the chart draws, exact up to `points` steps; `dataZoom` asks again for a part."""
    window = Window(*_ordered(visit, *(visit.time(key, visit.parameter(key)) for key in ("from", "until"))))
    points = min(visit.number("points") or MOST_STEPS, MOST_STEPS)
    course = _course(visit, visit.parameter("resource"), window)
    return Data(course_document(course, visit.desk.network, points) if course else {"steps": []})


def window_of(visit: Visit, since: str, until: str) -> tuple[Window, dict[str, str]]:
    """The range of the address, and as it was written there.

    Raises:
        InvalidInput.
    """
    range_text = {"from": visit.parameter("from", since), "until": visit.parameter("until", until)}
    return Window(*_ordered(visit, *(visit.time(key, text) for key, text in range_text.items()))), range_text


def _ordered(visit: Visit, start: datetime, end: datetime) -> tuple[datetime, datetime]:
    if start < end and end - start <= timedelta(days=3660):
        return start, end
    raise InvalidInput(
        [
            Problem(
                "query",
                0,
                "until",
                "is not after `from`",
                visit.clock.words(end),
                f"from is {visit.clock.words(start)}",
            )
        ]
    )


PAGES = (
    WebPage("/links", listed, query=("from", "until", "device", "domain", "after")),
    WebPage("/links/{resource:path}", one, query=("from", "until", "after")),
    WebPage("/chart/steps", steps, query=("resource", "from", "until", "points")),
)
