"""The examples of who asks and of what may be asked for."""

from __future__ import annotations

from typing import Any

from slotcar.views.offers import services_document

_JSON = "application/json"
_LIMITS = {
    "owner": "hep",
    "horizon_s": 31_622_400,
    "hold_s": 900,
    "longest_hold_s": 86_400,
    "approval_rate_bps": 100_000_000,
    "approval_duration_s": None,
    "max_windows": 10_000,
    "max_body_bytes": 1_000_000,
    "webhook_hosts": ["hooks.hep.example.org"],
    "quotas": [
        {"what": "reservations", "limit": 500, "in_use": 12},
        {"what": "windows", "limit": None, "in_use": 40},
        {"what": "holds", "limit": None, "in_use": 1},
        {"what": "volume", "limit": 16_000_000_000_000_000, "in_use": 3_110_400_000_000},
    ],
}

OFFER_EXAMPLES: dict[str, tuple[None, dict[str, Any]]] = {
    "whoami": (
        None,
        {_JSON: {"name": "cms-transfers", "role": "requester", "owner": "hep", "expires_at": "2027-06-01T00:00:00Z"}},
    ),
    "endpoints": (
        None,
        {
            _JSON: {
                "hosts": [{"name": "anl-premium", "address": "10.20.11.2", "domain": "anl"}],
                "networks": [{"prefix": "10.20.11.0/24", "domain": "anl"}],
            }
        },
    ),
    "services": (None, {_JSON: services_document()}),
    "limits": (None, {_JSON: _LIMITS}),
}
