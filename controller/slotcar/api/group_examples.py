"""Examples of the groups' operations: a line and the cores of the host at its end."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
GROUP = "g-5m2k8q1x7v4n9c3d"


def group_examples(request: Json, entry: Json) -> dict[str, tuple[Json | None, Json]]:
    """Operation -> what is asked (None: no body), and the answer.

    Args:
        request, entry: of a single reservation of a flow.
    """
    times = {key: request[key] for key in ("start", "duration")}
    flow = {key: one for key, one in request.items() if key not in ("name", "owner", *times)}
    body: Json = {
        "name": "tonight",
        "owner": request["owner"],
        **times,
        "on_failure": "end-all",
        "members": [
            {"name": "line", "network": flow},
            {"name": "cores", "cpu": {"host": "lbnl-premium", "cores": 4}, "on_failure": "go-on"},
        ],
    }
    window = {"start": entry["reservation"]["slots"][0]["start"], "end": entry["reservation"]["slots"][0]["end"]}

    def answered(state: str, **more: Any) -> Json:
        members = [_line(entry, state), _cores(entry, state)]
        return {
            "handle": GROUP, "owner": request["owner"], "name": "tonight",
            "version": sum(one["version"] for one in members), "state": state, **window,
            "hold_until": None, "slot_state": "planned" if state == "committed" else None, "members": members, **more,
        }  # fmt: skip

    return {
        "group_create": (body, answered("committed")),
        "group_create_all": ({"together": [body]}, {"items": [answered("committed")], "next": None}),
        "group_list": (None, {"items": [answered("committed")], "next": None}),
        "group": (None, answered("committed")),
        "group_commit": (None, answered("committed")),
        "group_cancel": ({"reason": "not needed"}, answered("cancelled")),
        "group_approve": (None, answered("committed")),
        "group_reject": ({"reason": "the link is being maintained"}, answered("rejected")),
    }


def _line(entry: Json, state: str) -> Json:
    together = {"group": "tonight", "on_failure": "end-all"}
    reservation = entry["reservation"] | {"name": "tonight.line", "together": together}
    return entry | {
        "state": state, "reservation": reservation, "group": GROUP, "member": "line", "on_failure": "end-all",
        "slot": entry["slot"] if state == "committed" else None,
    }  # fmt: skip


def _cores(entry: Json, state: str) -> Json:
    host = {"host": "lbnl-premium", "port": None}
    slots = [one | {"forward_bps": 0, "reverse_bps": 0} for one in entry["reservation"]["slots"]]
    reservation = entry["reservation"] | {
        "name": "tonight.cores", "source": host, "destination": host, "service": "best-effort", "rate_bps": 0,
        "slots": slots, "rtt_us": 400_000,
        "claim": {"kind": "cpu", "place": "lbnl-premium", "request": {"host": "lbnl-premium", "cores": 4}},
        "together": {"group": "tonight", "on_failure": "go-on"},
    }  # fmt: skip
    return entry | {
        "handle": "r-3c9d4e8f1a7q2m5k", "number": 8, "state": state, "reservation": reservation, "paths": [],
        "demands": [{"resource": "cpu:lbnl-premium", "unit": "millicores", "rate_bps": 4000, "amounts": [4000]}],
        "group": GROUP, "member": "cores", "on_failure": "go-on",
        "slot": entry["slot"] | {"devices": [entry["slot"]["devices"][0] | {"device": "lbnl-premium"}]}
        if state == "committed"
        else None,
    }  # fmt: skip
