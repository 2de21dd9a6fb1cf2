"""What a device has against what it is to have, read from the device itself; and devices that are held (ADR 34, ADR 49)."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter

from slotcar.api.context import Context
from slotcar.api.verbs import serves
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller
from slotcar.recovery.comparison import difference_document
from slotcar.rollout.holding import Hold
from slotcar_client.wire import documents, verbs

router = APIRouter(prefix="/v1", tags=["devices"])


@serves(router, verbs.Difference)
def difference(verb: verbs.Difference, context: Context, caller: Caller) -> documents.DifferenceOfDevice:
    return difference_document(verb.device, context.broker.compare([verb.device], caller, context.now()))


@serves(router, verbs.Holds)
def holds(_verb: verbs.Holds, context: Context, caller: Caller) -> documents.Holds:
    return {"items": [_document(one) for one in context.broker.held_routers.holds(caller, context.now())]}


@serves(router, verbs.Hold)
def hold(verb: verbs.Hold, context: Context, caller: Caller) -> documents.Hold:
    until = datetime.fromisoformat(verb.until) if verb.until else None
    return _document(context.broker.held_routers.hold(verb.device, caller, context.now(), until, verb.reason))


@serves(router, verbs.Release)
def release(verb: verbs.Release, context: Context, caller: Caller) -> documents.Hold:
    return _document(context.broker.held_routers.release(verb.device, caller, context.now()))


def _document(one: Hold) -> documents.Hold:
    return {
        "device": one.device, "reason": one.reason, "actor": one.actor, "since": iso(one.since),
        "until": iso(one.until) if one.until else None,
    }  # fmt: skip
