"""The form, the enquiry that follows it, and the hold or the reservation that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from slotcar.base.vocabulary import RESERVED_SERVICES, Direction, Protocol
from slotcar.book.model import State
from slotcar.book.rules import roles
from slotcar.desk.enquiring import enquired
from slotcar.desk.requests import Options, Requests
from slotcar.policy.asking import may
from slotcar.reservation import from_mapping
from slotcar.reservation.profiles import KINDS, service_of
from slotcar.web.requests.model import FIELDS, address_with, body_of, ways_of
from slotcar.web.serving import WebPage
from slotcar.web.times import echo
from slotcar.web.visit import Answer, Moved, Shown, Visit
from slotcar.web.words import why_not_change, why_not_operator
from slotcar_client.wire import verbs

#: A hold of the page: time to look at what was found, and to decide.
HOLD = timedelta(minutes=15)


def form(visit: Visit) -> Answer:
    names_ends = may(visit.caller, verbs.Endpoints.operation)
    ends = visit.desk.send(verbs.Endpoints(), visit.caller) if names_ends else {"hosts": [], "networks": []}
    fields = {key: visit.parameter(key, otherwise) for key, otherwise in FIELDS.items()}
    model = {
        "said": fields, "hosts": [host["name"] for host in ends["hosts"]],
        "networks": [one["prefix"] for one in ends["networks"]], "services": sorted(one.value for one in RESERVED_SERVICES),
        "profiles": [one.value for one in KINDS],
        "classes": sorted({name for one in visit.desk.network.domains.values() for name in one.assured_classes}),
        "kinds": [(name.value, kind.applications) for name, kind in KINDS.items()],
        "protocols": [one.value for one in Protocol], "directions": [one.value for one in Direction],
        "why_not": why_not_change(visit.caller, "create"), "operator": visit.is_operator,
        "why_not_enquire": why_not_operator(visit.caller, "enquire", verbs.Enquire.operation),
        "sequence": visit.desk.ledger.last_event(),
    }  # fmt: skip
    return Shown("requests/page.html", model)


def _form_fields(visit: Visit) -> dict[str, str]:
    return {key: visit.form_value(key) for key in FIELDS}


def enquiry(visit: Visit) -> Answer:
    """What would be admitted of this, now and over the window; changes nothing.

    Raises:
        InvalidInput, NoPath, BeyondHorizon.
    """
    fields = _form_fields(visit)
    # Of a kind of application only its service matters here: what is free has no rate yet.
    of_rates = fields | {"volume": "", "by": "", "profile": ""}
    body = body_of(of_rates | {"service": service_of(fields["profile"]) or fields["service"]}, visit.clock)
    defaults = {"name": "enquiry", "owner": visit.caller.owner or "enquiry", "rate": "1 bit/s"}
    reservation = from_mapping({**defaults, **body, "rate": "1 bit/s"}, visit.now)
    window = reservation.windows[0]
    answer = enquired(visit.context.desk, reservation, visit.caller, visit.now)
    model: dict[str, Any] = {
        "ways": [(way, address_with(fields, way.three_quarters)) for way in ways_of(answer)],
        "echo": echo(window.start, reservation.end, visit.clock),
        "volume": fields["volume"],
        "overview": visit.may_overview,
        "unknown_beyond": answer.unknown_beyond,
    }
    return Shown("requests/enquiry.html", model, heading="What is free")


def reserve(visit: Visit) -> Answer:
    """Holds it for a while, or reserves it at once.

    Raises:
        RefusedByAdmission, RefusedByPolicy, InvalidInput, NotAllowed, NoPath, NameTaken.
    """
    fields: Mapping[str, str] = _form_fields(visit)
    body = body_of(fields, visit.clock)
    body["owner"] = roles.owner_for(visit.caller, body.get("owner"))
    hold = HOLD if visit.form_value("how") == "hold" else None
    entry = Requests(visit.desk).create(from_mapping(body, visit.now), visit.caller, visit.now, Options(hold=hold))
    assert entry.state in (State.HELD, State.COMMITTED, State.AWAITING_APPROVAL)
    return Moved(f"/reservations/{entry.handle}")


PAGES = (
    WebPage("/request", form, query=tuple(FIELDS)),
    WebPage("/request", reserve, "POST"),
    WebPage("/request/enquiry", enquiry, "POST", verb="enquire"),
)
