"""How long a test waits for what should have come long ago: one number, for all that only a hang may reach."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Far beyond what anything takes: only a hang reaches it, also on a machine that is ten times as slow as usual.
PATIENCE_S = 300.0


def wait_for(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S, pause_s: float = 0.1) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause_s)
