"""What is asked of a device beside its configuration, and what is staged on it: by the way in which it is armed."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.base.registry import TransportKind, facts_of
from slotcar.network.model import Device
from slotcar.platforms import renderer_of
from slotcar.rollout.agenda import agenda
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.ios import eem
from slotcar.rollout.linux import scripts as linux
from slotcar.rollout.model import NO_PROGRAM, STALE, DeviceRevision, Reading, Restless, Revision

#: A router that tells a longer one tells none.
MOST_FENCE_DIGITS = 18


def commands(device: Device) -> list[str]:
    """What a reading asks: the renderer's questions; of a Linux router between two about what is armed, which an IOS
    router's configuration holds already."""
    readback = list(renderer_of(device).readback_commands(device))
    if facts_of(device.platform).transport is not TransportKind.LINUX:
        return readback
    state = linux.state_command(device)
    return [state, *readback, linux.fence_command(device), linux.again(state)]


def reading_of(outputs: Mapping[str, str], device: Device) -> Reading:
    """
    Raises:
        Unreadable: the answers are not the platform's. Restless: the device acted while it was read.
    """
    armed_id, lag_us = state_of(outputs, device)
    return Reading(renderer_of(device).running(outputs, device), armed_id, lag_us, _fence_of(outputs, device))


def _fence_of(outputs: Mapping[str, str], device: Device) -> int:
    """The greatest number of a lead that the device has seen; 0 where it has seen or knows none."""
    if eem.has_manager(device):
        return max(eem.Registered.of(outputs.get(eem.RUNNING, "")).fences, default=0)
    if facts_of(device.platform).transport is not TransportKind.LINUX:
        return 0
    answer = outputs.get(linux.fence_command(device), "").strip()
    return int(answer) if answer.isascii() and answer.isdigit() and len(answer) <= MOST_FENCE_DIGITS else 0


def state_of(outputs: Mapping[str, str], device: Device) -> tuple[str, int | None]:
    """What the device will still do by itself, and how late its last step was; as in `Reading`.

    Raises:
        Restless: it acted while it was read.
    """
    if eem.has_manager(device):
        return eem.armed_id(outputs.get(eem.RUNNING, "")), None  # it does not tell how late it was
    if facts_of(device.platform).transport is not TransportKind.LINUX:
        return NO_PROGRAM, None
    state = linux.state_command(device)
    first, last = outputs.get(state, NO_PROGRAM), outputs.get(linux.again(state), NO_PROGRAM)
    if first != last:
        raise Restless(f"{device.name}: it ran a scheduled step while it was read; {STALE}")
    name, *lag = last.split() or [NO_PROGRAM]
    return name, int(lag[0]) * 10_000 if lag else None


def write_scripts(folder: DeviceFolder, part: DeviceRevision, revision: Revision) -> None:
    """What a device's folder of a revision holds for its own way of being armed: a Linux router's `stage.sh`, run from
    standard input at staging; the steps' lines for an IOS router with an event manager; else nothing."""
    if facts_of(part.device.platform).transport is TransportKind.LINUX:
        folder.write_stage_script(linux.stage_script(part, revision))
    elif eem.has_manager(part.device):
        eem.write_steps(folder, agenda(part), acted=revision.acted)
