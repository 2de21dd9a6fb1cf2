"""Plans, applied."""

from __future__ import annotations

from datetime import datetime

from slotcar.desk.desk import Desk, answers
from slotcar.desk.entries import Entries
from slotcar.desk.files import ReservationFiles
from slotcar.planning.plan_file import plan_of_document
from slotcar.policy.caller import Caller
from slotcar.views.documents import entry_document
from slotcar_client.wire import documents, verbs


@answers(verbs.Apply)
def apply(verb: verbs.Apply, desk: Desk, caller: Caller, now: datetime) -> documents.Applied:
    plan = plan_of_document(verb.plan, "request", "say what POST /v1/plans answered")
    done = ReservationFiles(desk).apply(plan, caller, now)
    entries = Entries(desk).with_slots(done.entries, caller, desk.clocks.now())
    return {
        "created": done.created,
        "changed": done.changed,
        "cancelled": done.cancelled,
        "entries": [entry_document(entry) for entry in entries],
    }
