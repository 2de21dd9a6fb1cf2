"""How late Linux routers of the lab took their last step, by their own account: asked of their kernel, not by a login."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.rollout.linux.scripts import remote_dir
from slotcar_lab.control import Lab

#: The machine that holds the namespaces: what routers keep in files it has too, and one command costs less than four.
MACHINE = ""


def lags_cs(lab: Lab, routers: Iterable[str]) -> dict[str, int]:
    """In 1/100 s, of those that have taken a step of the program that is armed."""
    script = "; ".join(f"echo {router} $(cat {remote_dir(router)}/lag 2>/dev/null)" for router in routers)
    answers = [line.split() for line in lab.check(MACHINE, ["sh", "-c", script]).splitlines()]
    return {words[0]: int(words[1]) for words in answers if len(words) == 2}
