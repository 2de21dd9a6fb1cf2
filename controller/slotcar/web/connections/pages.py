"""The list with this domain's neighbours, and one connection with what every domain of it says."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from slotcar.book.rules.roles import may_overview
from slotcar.domains.model import ConnectionPhase
from slotcar.policy.asking import may
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Shown, Visit
from slotcar.web.words import StateMark
from slotcar_client.wire import documents, verbs

MARKS = {
    ConnectionPhase.CHECKING: StateMark("is being held", "◔", "wait"),
    ConnectionPhase.HELD: StateMark("held", "◌", "wait"),
    ConnectionPhase.COMMITTING: StateMark("is being committed", "◑", "wait"),
    ConnectionPhase.ABORTING: StateMark("is being given up", "◒", "wait"),
    ConnectionPhase.START: StateMark("in force", "●", "good"),
    ConnectionPhase.FAILED: StateMark("refused", "✕", "bad"),
    ConnectionPhase.TERMINATING: StateMark("is being ended", "◒", "wait"),
    ConnectionPhase.TERMINATED: StateMark("ended", "✕", "soft"),
    ConnectionPhase.ENDED: StateMark("over", "✓", "soft"),
}
SLS_MARKS = {
    "is being opened": StateMark("is being opened", "◔", "wait"),
    "to come": StateMark("to come", "◌", "wait"),
    "in force": StateMark("in force", "●", "good"),
    "is being changed": StateMark("is being changed", "◑", "wait"),
    "over": StateMark("over", "✓", "soft"),
}
IN_DOUBT = StateMark("in doubt", "?", "bad")


def listed(visit: Visit) -> Answer:
    desk = visit.context.desk
    connections = desk.send(verbs.Connections(), visit.caller)["items"]
    rows = [(one, mark_of(one), " → ".join(segment["domain"] for segment in one["segments"])) for one in connections]
    model = {"rows": rows, "around": desk.send(verbs.Domains(), visit.caller), "slss": _slss(visit)}
    return Shown("connections/list.html", model)


def _slss(visit: Visit) -> list[dict[str, Any]]:
    """SLSs with neighbours, and the most that is promised of each; none for whom they are not to be shown."""
    if not may_overview(visit.caller) or not may(visit.caller, verbs.Slss.operation):
        return []
    listed = visit.context.desk.send(verbs.Slss(), visit.caller)["items"]
    return [
        {
            "one": sls, "mark": SLS_MARKS[sls["state"]],
            "start": _at(sls["start"]) if sls["start"] else None, "end": _at(sls["end"]) if sls["end"] else None,
            "promised_bps": max((each["rate_bps"] for each in sls["promised"]), default=0),
        }
        for sls in listed
    ]  # fmt: skip


def one(visit: Visit) -> Answer:
    """
    Raises:
        Problem: there is no such connection, or all domains are this controller's.
    """
    name = str(visit.path["connection"])
    connection = visit.context.desk.send(verbs.ConnectionStatus(name), visit.caller)
    segments = [
        (each, MARKS[ConnectionPhase(each["phase"])], _at(each["stated_at"])) for each in connection["segments"]
    ]
    slots = [(_at(each["start"]), _at(each["end"]), each) for each in connection["slots"]]
    ticket = connection["rests_on"]
    is_open = any(start <= visit.now < end for start, end, _ in slots)
    model: dict[str, Any] = {
        "untold": "not told" if is_open else "no slot is open",
        "one": connection, "mark": mark_of(connection), "segments": segments, "slots": slots,
        "volume_by": _at(volume["by"]) if (volume := connection["volume"]) else None,
        "ticket_ends": _at(ticket["ends"]) if ticket else None,
    }  # fmt: skip
    return Shown("connections/page.html", model)


def mark_of(connection: documents.Connection) -> StateMark:
    return IN_DOUBT if connection["in_doubt"] else MARKS[ConnectionPhase(connection["phase"])]


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


PAGES = (
    WebPage("/connections", listed, verb="connections"),
    WebPage("/connections/{connection}", one, verb="connection_status"),
)
