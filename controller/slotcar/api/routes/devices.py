"""What a device has against what it is to have, read from the device itself; and devices that are held (ADR 34, ADR 49)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path

from slotcar.api.answers import model_of
from slotcar.api.context import Context, TheCaller, TheContext
from slotcar.api.verbs import serves
from slotcar.base import lengths
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller
from slotcar.recovery.comparison import difference_document
from slotcar.rollout.holding import Hold
from slotcar_client.wire import documents, verbs

router = APIRouter(prefix="/v1", tags=["devices"])
Name = Annotated[str, Path(max_length=lengths.PLACE, description="a device of the inventory", examples=["anl-7507-1"])]


@router.get(
    "/devices/{device}/difference",
    response_model=model_of(documents.DifferenceOfDevice),
    summary="Where a device differs from what is wanted now",
)
def difference(device: Name, context: TheContext, caller: TheCaller) -> documents.DifferenceOfDevice:
    """Reads the device through Ansible, which takes seconds, and changes nothing.

    `state` is `equal`, `different` with a unified diff of the part that is Slotcar's, or `failed` with the reason why
    the device could not be read.
    """
    return difference_document(device, context.broker.compare([device], caller, context.now()))


@router.get("/holds", response_model=model_of(documents.Holds), summary="The devices that are held")
def holds(context: TheContext, caller: TheCaller) -> documents.Holds:
    """By name, each with why, by whom, and until when."""
    return {"items": [_document(one) for one in context.broker.held_routers.holds(caller, context.now())]}


@serves(router, verbs.Hold)
def hold(verb: verbs.Hold, context: Context, caller: Caller) -> documents.Hold:
    until = datetime.fromisoformat(verb.until) if verb.until else None
    return _document(context.broker.held_routers.hold(verb.device, caller, context.now(), until, verb.reason))


@router.post("/devices/{device}/release", response_model=model_of(documents.Hold), summary="End the hold of a device")
def release(device: Name, context: TheContext, caller: TheCaller) -> documents.Hold:
    """The controller that leads reads it then, and pushes what the ledger wants. The answer is the hold that was ended."""
    return _document(context.broker.held_routers.release(device, caller, context.now()))


def _document(one: Hold) -> documents.Hold:
    return {
        "device": one.device, "reason": one.reason, "actor": one.actor, "since": iso(one.since),
        "until": iso(one.until) if one.until else None,
    }  # fmt: skip
