"""The examples of resources over time, the network, boundaries, last states, revisions and use."""

from __future__ import annotations

from typing import Any

_JSON = "application/json"
_WINDOW = {"start": "2027-03-01T12:00:00Z", "end": "2027-03-02T12:00:00Z"}
_SLOT = {"start": "2027-03-01T21:00:00Z", "end": "2027-03-01T23:00:00Z"}
_REVISION = "20270301T205958.120000Z-5f3c09ab"
_SLS = {
    "resource": "sls:anl-esnet-ip-premium",
    "place": "SLS anl-esnet-ip-premium",
    "device": "esnet-7507",
    "unit": "bps",
    "capacity_bps": 45_000_000,
    "window": _WINDOW,
    "reserved_bps": 36_986_302,
    "free_bps": 8_013_698,
    "tightest": _SLOT,
    "rounded": False,
    "steps": [
        {"at": at, "reserved_bps": reserved, "least_reserved_bps": reserved, "free_bps": 45_000_000 - reserved}
        for at, reserved in ((_WINDOW["start"], 0), (_SLOT["start"], 36_986_302), (_SLOT["end"], 0))
    ],
}
_INTERFACE = {
    "name": "ATM1/0/0",
    "role": "core",
    "capacity_bps": 155_000_000,
    "address": "10.20.1.1/30",
    "neighbour": "anl-7507-2:ATM1/0/0",
    "reserved_shares": {"ip-premium": 45_000_065},
    "description": "UBR VC to ESnet",
}
_TOPOLOGY = {
    "domains": [{"name": "anl", "over_provisioned": False, "description": ""}],
    "devices": [
        {
            "name": "anl-7507-1",
            "domain": "anl",
            "platform": "cisco-car",
            "position": {"x": 120, "y": 80},
            "interfaces": [_INTERFACE],
        }
    ],
    "links": [{"ends": ["anl-7507-1:ATM1/0/0", "anl-7507-2:ATM1/0/0"], "capacity_bps": 155_000_000}],
    "sls": [
        {
            "name": "anl-esnet-ip-premium",
            "upstream": "anl",
            "downstream": "esnet",
            "service": "ip-premium",
            "rate_bps": 45_000_000,
            "ingress": "esnet-7507:ATM1/0/0.60",
            "validity": None,
            "excess": "drop",
            "description": "renewed every January",
        }
    ],
    "hosts": [
        {
            "name": "anl-premium",
            "domain": "anl",
            "address": "10.20.11.2",
            "attached_to": "anl-7507-1:FastEthernet4/0/0",
        }
    ],
}
_BOUNDARY = {
    "at": _SLOT["start"],
    "item": {
        "at": _SLOT["start"],
        "starting": ["hep/tonight-cms"],
        "ending": [],
        "changing": [],
        "slots": [],
        "active": 1,
        "phase": "armed",
        "lag_us": None,
        "skew_us": None,
        "states": [],
        "devices": [{"device": "anl-7507-1", "phase": "armed", "lag_us": None, "message": ""}],
    },
    "groups": [
        {
            "devices": ["anl-7507-1"],
            "added": 2,
            "removed": 0,
            "lines": 2,
            "notes": [],
            "hunks": [
                {
                    "first_line": 0,
                    "lines": [
                        "+access-list 2602 remark slotcar hep/tonight-cms forward",
                        "+access-list 2602 permit tcp host 10.20.11.2 host 10.20.21.2 eq 5001",
                    ],
                }
            ],
        }
    ],
}

_HOLD = {
    "device": "anl-7507-1",
    "reason": "a fan is being changed",
    "actor": "ops",
    "since": "2027-03-01T12:00:00Z",
    "until": "2027-03-01T14:00:00Z",
}
OVERVIEW_EXAMPLES: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "resources": (None, {_JSON: {"items": [_SLS], "next": None}}),
    "network": (None, {_JSON: _TOPOLOGY}),
    "boundaries": (
        None,
        {_JSON: {"items": [{"at": _SLOT["start"], "starting": 1, "ending": 0, "changing": 0}], "next": None}},
    ),
    "boundary": (None, {_JSON: _BOUNDARY}),
    "device_states": (
        None,
        {
            _JSON: {
                "items": [
                    {
                        "device": "anl-7507-1",
                        "domain": "anl",
                        "platform": "cisco-car",
                        "state": "equal",
                        "message": "",
                        "since": "2027-03-01T20:59:59Z",
                        "read_at": "2027-03-01T21:05:00Z",
                        "phase": "active",
                    }
                ]
            }
        },
    ),
    "holds": (None, {_JSON: {"items": [_HOLD]}}),
    "hold": ({key: _HOLD[key] for key in ("reason", "until")}, {_JSON: _HOLD}),
    "release": (None, {_JSON: _HOLD}),
    "revisions": (
        None,
        {
            _JSON: {
                "items": [
                    {
                        "revision": _REVISION,
                        "at": "2027-03-01T20:59:58Z",
                        "devices": ["anl-7507-1"],
                        "came": ["hep/tonight-cms"],
                        "went": [],
                        "rollback_of": "",
                    }
                ],
                "next": None,
            }
        },
    ),
    "usage": (
        None,
        {
            _JSON: {
                "by": "owner",
                "items": [
                    {
                        "month": "2027-03",
                        "start": "2027-03-01T00:00:00Z",
                        "end": "2027-04-01T00:00:00Z",
                        "name": "hep",
                        "bits": 259_200_000_000,
                        "reservations": 1,
                    }
                ],
            }
        },
    ),
}
