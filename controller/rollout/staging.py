"""What is asked of a device beside its configuration, and what is staged on it: by the way in which it is armed."""

from __future__ import annotations

from collections.abc import Mapping

from controller.network.model import Device
from controller.render import renderer_of
from controller.rollout.linux import scripts as linux
from controller.rollout.model import NO_PROGRAM, STALE, DeviceRevision, Reading, Restless, Revision
from controller.rollout.program import ARMED

#: What an activation leaves in the device's folder: how far its clock is ahead of the controller's.
CLOCK = "clock.json"


def commands(device: Device) -> list[str]:
    """What a reading asks: the renderer's questions, between two about what is armed."""
    asked = list(renderer_of(device).readback_commands(device))
    if device.platform not in ARMED:
        return asked
    state = linux.state_command(device)
    return [state, *asked, linux.again(state)]


def reading_of(outputs: Mapping[str, str], device: Device) -> Reading:
    """
    Raises:
        Unreadable: the answers are not the platform's. Restless: the device acted while it was read.
    """
    armed_id, lag_us = state_of(outputs, device)
    return Reading(renderer_of(device).running(outputs, device), armed_id, lag_us)


def state_of(outputs: Mapping[str, str], device: Device) -> tuple[str, int | None]:
    """What the device will still do by itself, and how late its last step was; as in `Reading`.

    Raises:
        Restless: it acted while it was read.
    """
    if device.platform not in ARMED:
        return NO_PROGRAM, None
    state = linux.state_command(device)
    first, last = outputs.get(state, NO_PROGRAM), outputs.get(linux.again(state), NO_PROGRAM)
    if first != last:
        raise Restless(f"{device.name}: it acted while it was read; {STALE}")
    name, *lag = last.split() or [NO_PROGRAM]
    return name, int(lag[0]) * 10_000 if lag else None


def scripts(part: DeviceRevision, revision: Revision) -> dict[str, str]:
    """`stage.sh`, run from standard input at staging; empty for a platform that stages otherwise."""
    if part.device.platform not in ARMED:
        return {}
    return {"stage.sh": linux.stage_script(part, revision)}
