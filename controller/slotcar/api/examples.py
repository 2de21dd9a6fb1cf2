"""One request and one answer of each operation: one evening in the GARNET inventory.

A test holds every example against its schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from slotcar.api.group_examples import group_examples
from slotcar.api.offer_examples import OFFER_EXAMPLES
from slotcar.api.overview_examples import OVERVIEW_EXAMPLES
from slotcar.api.webhook_examples import WEBHOOK_EXAMPLES
from slotcar.reservation import from_mapping
from slotcar.views.documents import reservation_document

Json = dict[str, Any]
HANDLE = "r-7q2m5k3c9d4e8f1a"
AT = f"/v1/reservations/{HANDLE}"
WINDOW: Json = {"start": "2027-03-01T21:00:00Z", "end": "2027-03-01T23:00:00Z"}

RESERVATION_IN: Json = {
    "name": "tonight-cms",
    "owner": "hep",
    "source": "anl-premium",
    "destination": "lbnl-premium:5001",
    "protocol": "tcp",
    "service": "ip-premium",
    "rate": "36 Mbit/s",
    "rtt": "50 ms",
    "start": "2027-03-01T22:00:00+01:00",
    "duration": "PT2H",
}
ENQUIRY_IN: Json = {key: RESERVATION_IN[key] for key in RESERVATION_IN if key not in ("name", "owner", "rate", "rtt")}

RESERVATION: Json = reservation_document(from_mapping(RESERVATION_IN, datetime(2027, 3, 1, 12, tzinfo=UTC)))
_HOPS = [
    ("anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"),
    ("anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"),
    ("esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"),
    ("lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"),
]
_SLS = ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"]


def slot_example(state: str, devices: Sequence[str], window: Json) -> Json:
    """A slot of which all devices are in one state that needs no reason."""
    one = {"state": state, "since": None, "why": ""}
    return {"number": 1, "of": 1, **window, **one, "devices": [{"device": name, **one} for name in devices]}


def _demand(resource: str, rate_bps: int) -> Json:
    return {"resource": resource, "unit": "bps", "rate_bps": rate_bps, "amounts": [rate_bps]}


def _enquiry(adds_to: str | None) -> Json:
    free = {"steps": [WINDOW | {"rate_bps": 38_738_263}], "rounded": False}
    routers = [device for device, *_ in _HOPS]
    ways = (("forward", "anl-7507-1", routers), ("reverse", "anl-7507-2", routers[::-1]))
    directions = [
        {
            "direction": way, "highest_rate_bps": 38_738_263, "limited_by": f"if:{device}:ATM1/0/0:out:ip-premium",
            "routers": crossed, **free,
        }
        for way, device, crossed in ways
    ]  # fmt: skip
    return {"windows": [WINDOW], "adds_to": adds_to, "directions": directions, **free}


ENTRY: Json = {
    "handle": HANDLE,
    "number": 7,
    "state": "committed",
    "version": 1,
    "reservation": RESERVATION,
    "paths": [
        {
            "source": "anl-premium",
            "destination": "lbnl-premium",
            "hops": [
                {"device": device, "ingress": ingress, "egress": egress, "reserved": True}
                for device, ingress, egress in _HOPS
            ],
            "sls": _SLS,
        }
    ],
    "demands": [
        _demand("if:anl-7507-1:ATM1/0/0:out:ip-premium", 41_819_179),
        *(_demand(f"sls:{name}", 36_986_302) for name in _SLS),
    ],
    "created_at": "2027-03-01T12:00:00Z",
    "changed_at": "2027-03-01T12:00:00Z",
    "hold_until": None,
    "proposed": None,
    "progress": None,
    "slot": slot_example("planned", [device for device, *_ in _HOPS], WINDOW),
    "notes": [],
}


def _active(device: str, lag_us: int | None) -> Json:
    return {"device": device, "phase": "active", "lag_us": lag_us, "message": ""}


def _later(state: str, **reservation: Any) -> Json:
    return ENTRY | {
        "state": state,
        "version": 2,
        "changed_at": "2027-03-01T12:10:00Z",
        "reservation": RESERVATION | reservation,
        "slot": ENTRY["slot"] if state == "committed" else None,
    }


_FLOW = (
    "access-list 2602 remark slotcar hep/tonight-cms forward",
    "access-list 2602 permit tcp host 10.20.11.2 host 10.20.21.2 eq 5001",
)
_POLICER = (
    " rate-limit input access-group 2602 36992000 231165 231165 conform-action set-prec-transmit 5 exceed-action drop"
)
REFUSAL: Json = {
    "reason": "",
    "shortfalls": [
        {
            "resource": "sls:anl-esnet-ip-premium",
            "place": "SLS anl-esnet-ip-premium",
            "window": WINDOW,
            "unit": "bps",
            "requested_bps": 36_986_302,
            "free_bps": 8_013_698,
            "capacity_bps": 45_000_000,
        }
    ],
    "nearest_window": {"start": "2027-03-01T23:00:00Z", "end": "2027-03-02T01:00:00Z"},
    "highest_rate_bps": 2_738_262,
    "highest_share_permille": None,
    "transfer": None,
    "horizon": None,
    "paths_tried": 1,
    "path": [],
}
_PLAN: Json = {
    "format": "slotcar-plan/3",
    "made_at": "2027-03-01T12:00:00Z",
    "ledger_sequence": 6,
    "network": "sha256:6599c560a2f7ad89572ab25b3cf60c50150dceeaf387aa05fdab320fc1f82e02",
    "set_name": "tonight",
    "owners": ["hep"],
    "moves": [],
    "steps": [
        {
            "action": "create",
            "owner": "hep",
            "name": "tonight-cms",
            "handle": None,
            "expected_version": None,
            "reservation": RESERVATION | {"labels": {"slotcar/set": "tonight"}},
            "paths": ENTRY["paths"],
            "differences": [],
            "refusal": None,
            "seen": "",
            "waits": False,
            "note": "",
            "notes": [],
        }
    ],
    "boundaries": [
        {
            "at": WINDOW["start"],
            "devices": [
                {
                    "device": "anl-7507-1",
                    "diff": [f"+{line}" for line in (*_FLOW, _POLICER)],
                    "first_line": 0,
                    "lines_left_out": 0,
                    "approximations": [],
                }
            ],
        }
    ],
    "approximations": [
        {
            "devices": ["anl-7507-1", "esnet-7507", "lbnl-7507"],
            "words": "ip-premium is served by its weight of fair-queue tos and not in strict priority",
        }
    ],
    "in_the_way": [],
    "not_looked_at": ["lbnl-7507"],
    "looked_at": "2027-03-01T12:08:41Z",
    "boundaries_left_out": 0,
    "next": None,
    "summary": {"create": 1, "change": 0, "cancel": 0, "unchanged": 0, "refused": 0},
}
_EVENT: Json = {
    "sequence": 11,
    "at": "2027-03-01T12:10:00Z",
    "kind": "reservation.cancelled",
    "handle": HANDLE,
    "device": None,
    "details": {"actor": "cms-transfers", "owner": "hep", "name": "tonight-cms", "version": 2, "reason": "not needed"},
}
_CONTROLLER: Json = {
    "now": "2027-03-01T20:59:52Z",
    "started_at": "2027-02-26T08:14:03Z",
    "reconciles": True,
    "leading": True,
    "settled": True,
    "checked_at": "2027-03-01T20:59:40Z",
    "next_boundary": WINDOW["start"],
    "phases": {"anl-7507-1": "armed", "anl-7507-2": "armed", "esnet-7507": "staged", "lbnl-7507": "armed"},
    "troubles": {},
    "pushes": 41,
    "failed_pushes": 0,
    "last_push_at": "2027-03-01T19:00:00.090000Z",
    "last_revision": "20270301T190000.000000Z-5d0c1f2e",
    "error": "",
    "watches": [
        {
            "device": "anl-7507-1",
            "state": "listening",
            "how": "syslog",
            "since": "2027-02-26T08:14:09Z",
            "message": "",
            "changes": 2,
            "checks": 1,
        }
    ],
}
_STREAM = (
    "id: 11\nevent: reservation.cancelled\n"
    f'data: {{"sequence": 11, "at": "2027-03-01T12:10:00Z", "kind": "reservation.cancelled", "handle": "{HANDLE}",'
    ' "device": null, "details": {"actor": "cms-transfers"}}\n\n'
)
_METRICS = (
    "# HELP slotcar_reservations Reservations by state\n# TYPE slotcar_reservations gauge\n"
    'slotcar_reservations{state="committed"} 7.0\n'
)
_JSON = "application/json"

#: Operation -> what is asked (None: no body), and what is answered by media type.
EXAMPLES: dict[str, tuple[Json | None, dict[str, Any]]] = {
    "create": (RESERVATION_IN, {_JSON: ENTRY}),
    "list": (None, {_JSON: {"items": [ENTRY], "count": None, "next": "7"}}),
    "status": (None, {_JSON: ENTRY}),
    "modify": ({"rate": "40 Mbit/s"}, {_JSON: _later("committed", rate_bps=40_000_000)}),
    "progress": (
        {"remaining": "16 GB"},
        {
            _JSON: _later(
                "committed",
                need={
                    "volume_bytes": 32_400_000_000,
                    "by": WINDOW["end"],
                    "start": WINDOW["start"],
                    "at_most_bps": None,
                    "at_least_bps": 0,
                    "shape": "steady",
                },
            )
            | {
                "progress": {
                    "remaining_bytes": 16_000_000_000,
                    "at": "2027-03-01T22:00:00Z",
                    "needed_bps": 35_555_556,
                    "missing_bytes": 0,
                }
            }
        },
    ),
    "bind": (
        {"source_port": 40_000},
        {_JSON: _later("committed", source={"host": "anl-premium", "port": 40_000})},
    ),
    "commit": (None, {_JSON: _later("committed")}),
    "extend": ({"by": "PT15M"}, {_JSON: _later("held") | {"hold_until": "2027-03-01T12:25:00Z"}}),
    "cancel": ({"reason": "not needed"}, {_JSON: _later("cancelled")}),
    "approve": (None, {_JSON: _later("committed")}),
    "reject": ({"reason": "the link is being maintained"}, {_JSON: _later("rejected")}),
    **{name: (body, {_JSON: one}) for name, (body, one) in group_examples(RESERVATION_IN, ENTRY).items()},
    "enquire": (ENQUIRY_IN, {_JSON: _enquiry(None)}),
    "addable": (None, {_JSON: _enquiry(HANDLE)}),
    "plan": ({"version": 1, "reservations": [RESERVATION_IN]}, {_JSON: _PLAN}),
    "apply": (_PLAN, {_JSON: {"created": 1, "changed": 0, "cancelled": 0, "entries": [ENTRY]}}),
    "timeline": (
        None,
        {
            _JSON: {
                "items": [
                    {
                        "at": WINDOW["start"],
                        "starting": ["hep/tonight-cms"],
                        "ending": [],
                        "changing": [],
                        "slots": [],
                        "active": 1,
                        "phase": "active",
                        "lag_us": 91_000,
                        "skew_us": 28_000,
                        "devices": [_active("anl-7507-1", 63_000), _active("esnet-7507", 91_000)],
                        "states": [
                            {
                                "name": "hep/tonight-cms",
                                "what": "starting",
                                "state": "in-place",
                                "since": "2027-03-01T21:00:02Z",
                                "why": "",
                            }
                        ],
                    },
                    {
                        "at": WINDOW["end"],
                        "starting": [],
                        "ending": ["hep/tonight-cms"],
                        "changing": [],
                        "slots": [],
                        "active": 0,
                        "phase": "armed",
                        "lag_us": None,
                        "skew_us": None,
                        "devices": [_active(name, None) | {"phase": "armed"} for name in ("anl-7507-1", "esnet-7507")],
                        "states": [],
                    },
                ],
                "next": None,
            }
        },
    ),
    "controller": (None, {_JSON: _CONTROLLER}),
    "configurations": (
        None,
        {
            _JSON: {
                "items": [
                    {
                        "device": "anl-7507-1",
                        "platform": "cisco-car",
                        "at": WINDOW["start"],
                        "lines": [*_FLOW, "interface FastEthernet4/0/0", _POLICER],
                    }
                ]
            }
        },
    ),
    "difference": (
        None,
        {
            _JSON: {
                "device": "anl-7507-1",
                "state": "different",
                "diff": [f"+{line}" for line in _FLOW],
                "message": "",
            }
        },
    ),
    "events": (None, {_JSON: {"items": [_EVENT], "next": 11}, "text/event-stream": _STREAM}),
    "event_stream": (None, {"text/event-stream": _STREAM}),
    **WEBHOOK_EXAMPLES,
    **OFFER_EXAMPLES,
    **OVERVIEW_EXAMPLES,
    "healthz": (None, {_JSON: {"status": "ok", "checks": []}}),
    "readyz": (
        None,
        {_JSON: {"status": "ok", "checks": [{"name": "ledger", "ok": True, "message": "schema is current"}]}},
    ),
    "metrics": (None, {"text/plain": _METRICS}),
}
