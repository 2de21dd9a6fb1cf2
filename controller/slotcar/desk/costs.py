"""What transfers cost, from where to where, and what was measured of it."""

from __future__ import annotations

from datetime import datetime

from slotcar.desk.costing import Costing
from slotcar.desk.desk import Desk, answers
from slotcar.policy.caller import Caller
from slotcar_client.wire import documents, verbs


@answers(verbs.Costs)
def costs(verb: verbs.Costs, desk: Desk, caller: Caller, now: datetime) -> documents.Costs:
    return Costing(desk).costs(verb, caller, now)


@answers(verbs.EstimateAccuracy)
def estimate_accuracy(verb: verbs.EstimateAccuracy, desk: Desk, caller: Caller, now: datetime) -> documents.Accuracy:
    return Costing(desk).accuracy(verb, caller, now)


@answers(verbs.Closest)
def closest(verb: verbs.Closest, desk: Desk, caller: Caller, now: datetime) -> documents.Closest:
    return Costing(desk).closest(verb, caller, now)


@answers(verbs.Gather)
def gather(verb: verbs.Gather, desk: Desk, caller: Caller, now: datetime) -> documents.Gatherings:
    return Costing(desk).gather(verb, caller, now)


@answers(verbs.RecordTransfer)
def record_transfer(
    verb: verbs.RecordTransfer, desk: Desk, caller: Caller, now: datetime
) -> documents.MeasuredTransfer:
    return Costing(desk).record_transfer(verb, caller, now)


@answers(verbs.RecordProbe)
def record_probe(verb: verbs.RecordProbe, desk: Desk, caller: Caller, now: datetime) -> documents.MeasuredProbe:
    return Costing(desk).record_probe(verb, caller, now)
