"""Who may what, and why."""

from __future__ import annotations

from datetime import datetime

from slotcar.desk.desk import Desk, answers
from slotcar.desk.past_policies import PastPolicies
from slotcar.planning.policy_documents import why_document
from slotcar.policy.caller import Caller
from slotcar_client.wire import documents, verbs


@answers(verbs.PolicyWhy)
def policy_why(verb: verbs.PolicyWhy, desk: Desk, caller: Caller, now: datetime) -> documents.PolicyWhy:
    why = PastPolicies(desk).why(verb.handle, caller, now)
    return why_document(why.request, why.then, why.now, caller)
