"""What a device has against what it is to have, read from the device itself."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from controller.api.context import TheBroker, TheCaller, now
from controller.api.models import DifferenceOfDeviceOut
from controller.auth.access import require_overview
from controller.recovery.comparison import compare
from controller.wiring import pusher_for

router = APIRouter(prefix="/v1", tags=["devices"])
Name = Annotated[str, Path(description="a device of the inventory", examples=["anl-7507-1"])]


@router.get(
    "/devices/{device}/difference",
    response_model=DifferenceOfDeviceOut,
    summary="Where a device differs from what is wanted now",
)
def difference(device: Name, found: TheBroker, caller: TheCaller) -> dict[str, Any]:
    """Reads the device through Ansible, which takes seconds, and changes nothing.

    `state` is `equal`, `different` with a unified diff of the part that is Slotcar's, or `failed` with the reason why
    the device could not be read.
    """
    require_overview(caller, "read a device")
    broker = found.broker
    seen = compare(broker.ledger, broker.network, pusher_for(broker.network, broker.settings, None), now(), [device])
    if seen.failures:
        return {"device": device, "state": "failed", "diff": [], "message": seen.failures[0].message}
    if seen.diffs:
        return {"device": device, "state": "different", "diff": list(seen.diffs[0].diff), "message": ""}
    return {"device": device, "state": "equal", "diff": [], "message": ""}
