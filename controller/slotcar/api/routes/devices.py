"""What a device has against what it is to have, read from the device itself."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from slotcar.api.context import TheCaller, TheContext, now
from slotcar.api.models import DifferenceOfDeviceOut
from slotcar.recovery.comparison import difference_document

router = APIRouter(prefix="/v1", tags=["devices"])
Name = Annotated[str, Path(description="a device of the inventory", examples=["anl-7507-1"])]


@router.get(
    "/devices/{device}/difference",
    response_model=DifferenceOfDeviceOut,
    summary="Where a device differs from what is wanted now",
)
def difference(device: Name, context: TheContext, caller: TheCaller) -> dict[str, Any]:
    """Reads the device through Ansible, which takes seconds, and changes nothing.

    `state` is `equal`, `different` with a unified diff of the part that is Slotcar's, or `failed` with the reason why
    the device could not be read.
    """
    return difference_document(device, context.broker.compare([device], caller, now()))
