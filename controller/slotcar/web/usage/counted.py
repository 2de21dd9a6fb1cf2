"""What devices counted: of a reservation, of a link's way out, and what is reserved and not used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from slotcar.base.timebase import Window, iso
from slotcar.measuring.counters.usage import LOOKED_BACK, used_part
from slotcar.web.links.pages import window_of
from slotcar.web.serving import WebPage
from slotcar.web.usage.curves import OF_LINK, OF_RESERVATION, CurveLine, curves_of, flow_of, rows_of
from slotcar.web.visit import PAGE, Answer, Data, Shown, Visit


def reservation(visit: Visit) -> Answer:
    """
    Raises:
        UnknownHandle, InvalidInput.
    """
    handle = str(visit.path["handle"])
    window, range_text = _window(visit)
    usage = visit.overview.reservation_usage(handle, window, visit.caller, visit.now)
    flows = [
        {
            "flow": flow, "total": flow["total"], "percent": used_part(flow["total"]),
            "unknown_s": max(0, flow["open_s"] - flow["total"]["counted_s"]),
            **_listed(visit, flow["items"], OF_RESERVATION),
            "data": _data("/chart/usage", window, handle=handle, direction=flow["direction"]),
        }
        for flow in usage["flows"]
    ]  # fmt: skip
    model = {"usage": usage, "flows": flows, "lines": OF_RESERVATION, "page": f"/usage/of/{handle}"}
    return Shown("usage/reservation.html", {**_common(visit, window, range_text), **model})


def link(visit: Visit) -> Answer:
    """
    Raises:
        NotAllowed, NoSuchDevice, InvalidInput.
    """
    window, range_text = _window(visit)
    device, interface = visit.parameter("device"), visit.parameter("interface")
    usage = visit.overview.link_usage(device, interface, window, visit.caller)
    model = {
        "usage": usage, "lines": OF_LINK, "page": "/usage/link", **_listed(visit, usage["items"], OF_LINK),
        "data": _data("/chart/link", window, device=device, interface=interface),
    }  # fmt: skip
    return Shown("usage/link.html", {**_common(visit, window, range_text), **model})


def unused(visit: Visit) -> Answer:
    listed = visit.overview.unused(visit.caller, visit.now)
    rows = [(one, used_part(one), datetime.fromisoformat(one["until"])) for one in listed["items"][:PAGE]]
    model = {
        "listed": listed,
        "rows": rows,
        "looked_back": LOOKED_BACK,
        "left_out": max(0, len(listed["items"]) - PAGE),
    }
    return Shown("usage/unused.html", {**model, "sequence": visit.desk.ledger.last_event()})


def reservation_curve(visit: Visit) -> Answer:
    window, _ = _window(visit)
    usage = visit.overview.reservation_usage(visit.parameter("handle"), window, visit.caller, visit.now)
    flow = flow_of(usage, visit.parameter("direction"))
    return Data(curves_of(flow["items"] if flow else (), OF_RESERVATION))


def link_curve(visit: Visit) -> Answer:
    usage = visit.overview.link_usage(
        visit.parameter("device"), visit.parameter("interface"), _window(visit)[0], visit.caller
    )
    return Data(curves_of(usage["items"], OF_LINK))


def _common(visit: Visit, window: Window, range_text: Mapping[str, str]) -> dict[str, Any]:
    sequence = visit.desk.ledger.last_event()
    return {"window": window, "said": range_text, "sequence": sequence, "zone": visit.clock.name}


def _listed(visit: Visit, parts: Sequence[Mapping[str, Any]], lines: Sequence[CurveLine]) -> dict[str, Any]:
    """The newest rows, and of how many."""
    rows = rows_of(parts, lines)
    return {"rows": rows[: -PAGE - 1 : -1], "steps": len(rows)}


def _data(address: str, window: Window, **place: str) -> str:
    return f"{address}?{urlencode({**place, 'from': iso(window.start), 'until': iso(window.end)})}"


def _window(visit: Visit) -> tuple[Window, dict[str, str]]:
    """The range of the address, and as it was written there; the last day to the minute where none is."""
    until = visit.now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return window_of(visit, visit.clock.written(until - LOOKED_BACK), visit.clock.written(until))


PAGES = (
    WebPage("/usage/unused", unused, verb="unused_reservations"),
    WebPage("/usage/link", link, query=("device", "interface", "from", "until")),
    WebPage("/usage/of/{handle}", reservation, verb="reservation_usage", query=("from", "until")),
    WebPage(
        "/chart/usage", reservation_curve, verb="reservation_usage", query=("handle", "direction", "from", "until")
    ),
    WebPage("/chart/link", link_curve, query=("device", "interface", "from", "until")),
)
