"""How late Linux routers of the lab took their last step: asked of their kernel, not by a login."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slotcar.rollout.linux.scripts import remote_dir
from slotcar_lab.control import Lab

#: The machine that holds the namespaces: what routers keep in files it has too, and one command costs less than four.
MACHINE = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The last step that a router took of the program that is armed.

    Attributes:
        lag_cs: how late it was, in 1/100 s, by the router's own account.
        taken_us: when it was taken, microseconds since the epoch by the lab's clock.
    """

    lag_cs: int
    taken_us: int

    @property
    def due_us(self) -> int:
        """When it was due by the router's account, microseconds since the epoch by the lab's clock."""
        return self.taken_us - 10_000 * self.lag_cs


def last_steps(lab: Lab, routers: Iterable[str]) -> dict[str, Step]:
    """By the names of those routers that have taken a step of the program that is armed."""
    files = {router: f"{remote_dir(router)}/lag" for router in routers}
    script = "; ".join(
        f"echo {router} $(cat {file} 2>/dev/null) $(stat -c %.6Y {file} 2>/dev/null)" for router, file in files.items()
    )
    answers = [line.split() for line in lab.check(MACHINE, ["sh", "-c", script]).splitlines()]
    return {words[0]: Step(int(words[1]), round(float(words[2]) * 1e6)) for words in answers if len(words) == 3}


def lags_cs(lab: Lab, routers: Iterable[str]) -> dict[str, int]:
    """In 1/100 s, of those that have taken a step of the program that is armed."""
    return {router: step.lag_cs for router, step in last_steps(lab, routers).items()}
