"""Rights on one reservation that its owner hands to somebody else."""

from __future__ import annotations

from datetime import datetime

from slotcar.book.delegating import shown_delegations
from slotcar.desk.delegating import Delegations
from slotcar.desk.desk import Desk, answers
from slotcar.desk.reading import parsed_text
from slotcar.desk.reservations import shown_entry
from slotcar.policy.caller import Caller
from slotcar.reservation import parse_time
from slotcar.views.documents import delegated_documents
from slotcar_client.wire import documents, verbs


@answers(verbs.Delegate)
def delegate(verb: verbs.Delegate, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    until = parsed_text("until", lambda text: parse_time(text, now), verb.until)
    entry = Delegations(desk).give(verb.handle, verb.to, verb.may, until, caller, now, verb.version)
    return shown_entry(entry, desk, caller)


@answers(verbs.Withdraw)
def withdraw(verb: verbs.Withdraw, desk: Desk, caller: Caller, now: datetime) -> documents.Entry:
    return shown_entry(Delegations(desk).withdraw(verb.handle, verb.to, caller, now, verb.version), desk, caller)


@answers(verbs.Delegations)
def delegations(verb: verbs.Delegations, desk: Desk, caller: Caller, now: datetime) -> documents.Delegations:
    listed = Delegations(desk).listed(caller, now, verb.after, verb.limit + 1)
    page = listed[: verb.limit]
    return {
        "items": [one for entry in page for one in delegated_documents(entry, shown_delegations(entry, caller, now))],
        "next": page[-1].number if len(listed) > verb.limit else None,
    }
