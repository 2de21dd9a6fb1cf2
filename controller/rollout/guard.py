"""The guard of each device: how the open slots end if nobody comes to end them (DESIGN rule 9). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from controller.render import renderer_for
from controller.render.model import Configuration
from controller.rollout.model import DeviceRevision, Guard, Step, Wanted
from controller.timeline import Active

#: How long after a slot's end the device waits for the controller before it helps itself.
GRACE = timedelta(seconds=20)
#: More ends than these are not foreseen: at the last one everything that is reserved ends.
MOST_STEPS = 40

Configure = Callable[[Sequence[Active]], Mapping[str, Configuration]]


def wanted_with_guards(active: Sequence[Active], configure: Configure) -> dict[str, Wanted]:
    """Each device's configuration while `active` is active, and how it changes as those slots end one by one.

    `configure` gives the configuration of every device for a set of active reservations. Starts of other slots are left
    out: a device begins nothing by itself.
    """
    now = configure(active)
    ends = sorted({one.window.end for one in active})
    if len(ends) > MOST_STEPS:
        ends = [*ends[: MOST_STEPS - 1], ends[-1]]
    guards: dict[str, list[tuple[datetime, Configuration]]] = {name: [] for name in now}
    last = now
    for index, end in enumerate(ends):
        left = () if index == len(ends) - 1 else tuple(one for one in active if one.window.end > end)
        then = configure(left)
        for name, configuration in then.items():
            if configuration.lines != last[name].lines:
                guards[name].append((end, configuration))
        last = then
    return {
        name: Wanted(
            configuration,
            Guard(
                tuple(end for end, _ in guards[name]), tuple(later for _, later in guards[name]), configuration.lines
            ),
        )
        for name, configuration in now.items()
    }


def steps(part: DeviceRevision, at: datetime) -> tuple[Step, ...]:
    """The guard as the device runs it: delays from the activation at `at`, and the change of each step."""
    renderer = renderer_for(part.device.platform)
    before = part.change.after
    found = []
    for end, after in zip(part.guard.ends, part.guard.configurations, strict=True):
        change = renderer.change(before, after, part.device)
        delay_s = max(1, int((end + GRACE - at).total_seconds()))
        found.append(Step(delay_s, change.apply))
        before = after
    return tuple(found)
