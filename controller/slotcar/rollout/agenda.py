"""The steps of a device's program: what it runs at each instant. Pure, and loaded by Ansible's action plugins too."""

from __future__ import annotations

from slotcar.platforms import renderer_of
from slotcar.rollout.model import DeviceRevision, Step


def agenda(part: DeviceRevision) -> tuple[Step, ...]:
    """The program as the device runs it: the change of each step."""
    renderer = renderer_of(part.device)
    before = part.change.after
    steps = []
    for instant, after in zip(part.program.instants, part.program.configurations, strict=True):
        steps.append(Step(instant, renderer.change(before, after, part.device).apply))
        before = after
    return tuple(steps)
