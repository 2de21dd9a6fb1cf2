"""What a device has against what it is to have, read from the device itself; and devices that are held (ADR 34, ADR 49)."""

from __future__ import annotations

from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.desk.desk import Desk, answers
from slotcar.desk.reading import instant_of
from slotcar.desk.routers import Routers
from slotcar.policy.caller import Caller
from slotcar.recovery.comparison import comparison_document, difference_document
from slotcar.rollout.holding import Hold
from slotcar_client.wire import documents, verbs


@answers(verbs.Difference)
def difference(verb: verbs.Difference, desk: Desk, caller: Caller, now: datetime) -> documents.DifferenceOfDevice:
    return difference_document(verb.device, Routers(desk).compare([verb.device], caller, now))


@answers(verbs.Differences)
def differences(verb: verbs.Differences, desk: Desk, caller: Caller, now: datetime) -> documents.Comparison:
    return comparison_document(Routers(desk).compare(verb.device, caller, now, verb.operation))


@answers(verbs.Adopt)
def adopt(verb: verbs.Adopt, desk: Desk, caller: Caller, now: datetime) -> documents.Adoption:
    return {"device": verb.device, "is_new": Routers(desk).adopt(verb.device, caller, now)}


@answers(verbs.Holds)
def holds(_verb: verbs.Holds, desk: Desk, caller: Caller, now: datetime) -> documents.Holds:
    return {"items": [_document(hold) for hold in desk.held_routers.holds(caller, now)]}


@answers(verbs.Hold)
def hold(verb: verbs.Hold, desk: Desk, caller: Caller, now: datetime) -> documents.Hold:
    until = instant_of("until", verb.until)
    return _document(desk.held_routers.hold(verb.device, caller, now, until, verb.reason))


@answers(verbs.Release)
def release(verb: verbs.Release, desk: Desk, caller: Caller, now: datetime) -> documents.Hold:
    return _document(desk.held_routers.release(verb.device, caller, now))


def _document(hold: Hold) -> documents.Hold:
    return {
        "device": hold.device, "reason": hold.reason, "actor": hold.actor, "since": iso(hold.since),
        "until": iso(hold.until) if hold.until else None,
    }  # fmt: skip
