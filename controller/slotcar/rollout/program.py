"""The program of each device: the changes that it makes by itself at coming instants (docs/design.md rule 9). Pure.

A slot ends at its instant whether or not a controller lives: its end is in the program before its first packet is let in.
A slot begins at its instant because the coming boundaries are in the program some time before them (`schedule.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from slotcar.base.registry import facts_of
from slotcar.book.timeline import Active
from slotcar.network.model import Device
from slotcar.platforms.model import Configuration
from slotcar.rollout.device_order import DeviceBoundary, boundaries_in_order
from slotcar.rollout.model import Outlook, Program, Wanted

#: More ends than these are not foreseen: at the last one everything that is reserved ends.
MOST_STEPS = 40

#: Each device's configuration while a set of reservations is active at an instant, and why others have none.
Configure = Callable[[Sequence[Active], datetime], tuple[Mapping[str, Configuration], Mapping[str, str]]]
#: A boundary and who is active from then on.
Coming = tuple[datetime, Sequence[Active]]


class _Due(NamedTuple):
    """A step: when it is due on its device, for which boundary, and what the device has from then on."""

    at: datetime
    boundary: datetime
    configuration: Configuration


class WantedFor(Protocol):
    """Each device's configuration and program while a set of reservations is active at an instant."""

    def __call__(self, active: Sequence[Active], at: datetime, coming: Sequence[Coming] = ()) -> Outlook: ...


def acts(device: Device) -> bool:
    """Whether it acts by itself at coming instants. To the others a controller must be there at the instant."""
    return facts_of(device.platform).acts(device.options)


def wanted_with_programs(
    active: Sequence[Active],
    at: datetime,
    configure: Configure,
    acting: Collection[str],
    coming: Sequence[Coming] = (),
    deadlines: Mapping[str, datetime] | None = None,
) -> Outlook:
    """Each device's configuration at `at`, and its program: the configurations that it takes by itself later.

    Args:
        active: the slots that are open at `at`.
        configure: gives the configurations of all devices while some slots are open.
        acting: the names of the devices that act by themselves; the others have no program.
        coming: the boundaries that are near enough to be armed, ascending, all after `at`; starts too. What begins later
            is left out: nobody knows yet whether it will be wanted.
        deadlines: of devices with a dead-man: when each falls back to what it has without reservations, unless it is
            given a later one before.
    """
    now, unrenderable = configure(active, at)
    ends = _steps(now, boundaries_in_order(at, active, _ends(active)), configure)
    steps = {name: list(some) for name, some in ends.items()}
    if coming:
        steps = _steps(now, boundaries_in_order(at, active, [*coming, *_ends(coming[-1][1])]), configure)
    for name, deadline in (deadlines or {}).items():
        if name in now:
            steps[name] = _until(deadline, steps[name], now[name], configure((), deadline)[0][name])
    wanted = {
        name: Wanted(one, _program(steps[name], one) if name in acting else Program(), ends=_program(ends[name], one))
        for name, one in now.items()
    }
    return Outlook(wanted, unrenderable)


def _steps(
    now: Mapping[str, Configuration], boundaries: Sequence[DeviceBoundary], configure: Configure
) -> dict[str, list[_Due]]:
    """For each device the boundaries at which its configuration changes, with the configuration from then on."""
    last = dict(now)
    steps: dict[str, list[_Due]] = {name: [] for name in now}
    for boundary in boundaries:
        for name, configuration in configure(boundary.active, boundary.at)[0].items():
            # Mostly it is the very same object, and to see that is cheaper than to compare its lines.
            if name in last and configuration is not last[name] and configuration.lines != last[name].lines:
                steps[name].append(_Due(boundary.instant(name), boundary.at, configuration))
                last[name] = configuration
    return steps


def _ends(active: Sequence[Active]) -> list[Coming]:
    """How those slots end one after another, if nothing begins any more."""
    ends = sorted({one.window.end for one in active})
    if len(ends) > MOST_STEPS:
        ends = [*ends[: MOST_STEPS - 1], ends[-1]]
    return [(end, tuple(one for one in active if one.window.end > end) if end != ends[-1] else ()) for end in ends]


def _until(deadline: datetime, steps: Sequence[_Due], now: Configuration, baseline: Configuration) -> list[_Due]:
    """The steps before the deadline, and then the baseline where they do not lead to it."""
    earlier = [step for step in steps if step.at < deadline]
    last = earlier[-1].configuration if earlier else now
    return earlier if last.lines == baseline.lines else [*earlier, _Due(deadline, deadline, baseline)]


def _program(steps: Sequence[_Due], initial: Configuration) -> Program:
    instants, boundaries = (tuple(step.at for step in steps), tuple(step.boundary for step in steps))
    return Program(instants, tuple(step.configuration for step in steps), initial.lines, boundaries)
