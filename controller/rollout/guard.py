"""The guard of each device: how the open slots end if nobody comes to end them (DESIGN rule 9). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from controller.render import renderer_of
from controller.render.model import Configuration
from controller.rollout.model import DeviceRevision, Guard, Outlook, Step, Wanted
from controller.timeline import Active
from controller.vocabulary import Platform

#: How long after a slot's end the device waits for the controller before it helps itself.
GRACE = timedelta(seconds=20)
#: Platforms on which something can be armed. On the others a dead controller's slots end when it is back.
GUARDED = frozenset({Platform.LINUX_TC})
#: More ends than these are not foreseen: at the last one everything that is reserved ends.
MOST_STEPS = 40

#: Each device's configuration while a set of reservations is active at an instant, and why others have none.
Configure = Callable[[Sequence[Active], datetime], tuple[Mapping[str, Configuration], Mapping[str, str]]]


def wanted_with_guards(active: Sequence[Active], at: datetime, configure: Configure) -> Outlook:
    """Each device's configuration at `at` while `active` is active, and how it changes as those slots end one by one.

    Starts of other slots are left out: a device begins nothing by itself.
    """
    now, unrenderable = configure(active, at)
    ends = sorted({one.window.end for one in active})
    if len(ends) > MOST_STEPS:
        ends = [*ends[: MOST_STEPS - 1], ends[-1]]
    guards: dict[str, list[tuple[datetime, Configuration]]] = {name: [] for name in now}
    last = dict(now)
    for index, end in enumerate(ends):
        left = () if index == len(ends) - 1 else tuple(one for one in active if one.window.end > end)
        for name, configuration in configure(left, end)[0].items():
            if name in last and configuration.lines != last[name].lines:
                guards[name].append((end, configuration))
                last[name] = configuration
    wanted = {
        name: Wanted(one, _guard(guards[name], one) if one.platform in GUARDED else Guard())
        for name, one in now.items()
    }
    return Outlook(wanted, unrenderable)


def _guard(steps: Sequence[tuple[datetime, Configuration]], standing: Configuration) -> Guard:
    return Guard(tuple(end for end, _ in steps), tuple(later for _, later in steps), standing.lines)


def steps(part: DeviceRevision, at: datetime) -> tuple[Step, ...]:
    """The guard as the device runs it: delays from the activation at `at`, and the change of each step."""
    renderer = renderer_of(part.device)
    before = part.change.after
    found = []
    for end, after in zip(part.guard.ends, part.guard.configurations, strict=True):
        change = renderer.change(before, after, part.device)
        delay_s = max(1, int((end + GRACE - at).total_seconds()))
        found.append(Step(delay_s, change.apply))
        before = after
    return tuple(found)
