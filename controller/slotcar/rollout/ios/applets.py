"""The steps of a router's program as applets of its event manager: one for each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Of applets, and of their files; both are Slotcar's own.
PREFIX = "slotcar-step-"


@dataclass(frozen=True, slots=True)
class Applet:
    """One step of a program. `at` is in seconds since the epoch; `program` names what is left before the step."""

    name: str
    program: str
    at: float
    lines: tuple[str, ...]

    @property
    def file(self) -> str:
        return f"{self.name}.cfg"


def applets(ids: Sequence[str], instants: Sequence[float], changes: Sequence[tuple[str, ...]]) -> tuple[Applet, ...]:
    """
    Args:
        ids: a program's names after each number of steps; one more than there are steps.
        instants: of the steps, seconds since the epoch.
        changes: the steps' lines.
    """
    total = len(instants)
    steps = zip(ids, instants, changes, strict=False)
    return tuple(
        Applet(f"{PREFIX}{number}-{total}-{program}", program, at, lines)
        for number, (program, at, lines) in enumerate(steps, 1)
    )
