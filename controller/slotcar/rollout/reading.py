"""Reads devices for a push, and says what is wanted of them once they were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slotcar.base.problems import SlotcarError
from slotcar.network.model import Device
from slotcar.rollout.model import Reading, Wanted
from slotcar.rollout.program import acts
from slotcar.rollout.pusher import Pusher, Readings


class ClockWasSet(SlotcarError):
    """Nobody knows what is wanted before it is known whether the new time is right."""


def read_devices(
    pusher: Pusher,
    targets: Mapping[str, Wanted],
    afresh: Callable[[], Mapping[str, Wanted]] | None,
    clock_was_set: Callable[[], bool],
) -> tuple[Readings, Mapping[str, Wanted]]:
    """What the devices of `targets` have, and what is wanted of them after the reading.

    Some may have been read before a boundary and others after it. Those that were read before it and act at it by
    themselves are read once more: they would refuse a push that takes them for what they were, and the whole push would
    be taken back. Once only, for boundaries may be as dense as readings.

    Args:
        afresh: what is wanted by now; None where it is the same at any time.

    Raises:
        ClockWasSet: while they were read. What `pusher.read` and `afresh` raise.
    """
    readings, wanted = _read(pusher, list(targets), clock_was_set), targets
    if afresh is None:
        return readings, wanted
    wanted = afresh()
    if early := _read_too_early(readings.by_device, targets, wanted, pusher.devices):
        readings = readings.with_newer(_read(pusher, early, clock_was_set), early)
        wanted = afresh()
    return readings, wanted


def _read(pusher: Pusher, names: list[str], clock_was_set: Callable[[], bool]) -> Readings:
    readings = pusher.read(sorted(names))
    if clock_was_set():
        raise ClockWasSet("the clock was set while devices were read")
    return readings


def _read_too_early(
    readings: Mapping[str, Reading],
    before: Mapping[str, Wanted],
    now: Mapping[str, Wanted],
    devices: Mapping[str, Device],
) -> list[str]:
    """Those that were read with just what was wanted `before`, and get by themselves what is wanted `now`."""
    return [
        name
        for name, one in readings.items()
        if acts(devices[name])
        and (one.configuration.lines, one.armed_id) == before[name].identity != now[name].identity
    ]
