"""Whether SLSs were kept, and what probes measured of them."""

from __future__ import annotations

from datetime import datetime, timedelta

from slotcar.desk.auditing import Auditing
from slotcar.desk.desk import Desk, answers
from slotcar.desk.reading import instant_of, window_of
from slotcar.policy.caller import Caller
from slotcar_client.wire import documents, verbs

#: What is shown where no time is named.
USUAL = timedelta(days=1)


@answers(verbs.Audits)
def audits(verb: verbs.Audits, desk: Desk, caller: Caller, now: datetime) -> documents.Audits:
    until = instant_of("until", verb.until) or now
    window = window_of(instant_of("from", verb.since) or until - USUAL, until)
    return Auditing(desk).audits(verb.sls, verb.service, window, verb.step, caller, now)


@answers(verbs.RecordStream)
def record_stream(verb: verbs.RecordStream, desk: Desk, caller: Caller, now: datetime) -> documents.AuditedStream:
    return Auditing(desk).record_stream(verb, caller, now)
