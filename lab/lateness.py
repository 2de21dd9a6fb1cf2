"""How late a Linux router of the lab took its last step, by its own account: asked of its kernel's side, not by a login."""

from __future__ import annotations

from controller.rollout.linux.scripts import remote_dir
from lab.control import Lab


def lag_cs(lab: Lab, router: str) -> int | None:
    """In 1/100 s; None where it has taken none of the program that is armed."""
    told = lab.check(router, ["sh", "-c", f"cat {remote_dir(router)}/lag 2>/dev/null || :"]).strip()
    return int(told) if told else None
