"""Cisco 7500 with CAR and ToS-based WFQ, as GARA used it (GARA §4.2, §5.1). IOS knows no DSCP there: precedence only."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.intent.model import QosIntent
from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import approximations, owned_of
from slotcar.platforms.cisco_car.change import change_lines
from slotcar.platforms.cisco_car.running import owned_in
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.renderer import Built, IosRenderer
from slotcar.platforms.model import Unrenderable


def _build(intent: QosIntent, device: Device) -> Built:
    return owned_of(intent, device), approximations(intent)


def _check_clear(device: str, foreign: Iterable[str], after: Ios) -> None:
    """Slotcar never takes another's queueing away: `fair-queue tos` would, and its undo would not give it back.

    Raises:
        Unrenderable: an interface's output is served in an operator's way.
    """
    queued = {name for name, one in after.interfaces.items() if one.tos_weights}
    for note in foreign:
        name, _, what = note.partition(": the queueing ")
        if what and name in queued:
            raise Unrenderable(
                f"{device}: {name} has {what}, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )


RENDERER = IosRenderer("cisco-car", _build, owned_in, _check_clear, change_lines)
