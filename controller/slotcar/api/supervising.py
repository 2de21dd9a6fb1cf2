"""Parts of the controller that go on for ever: one that fails begins again, later each time, and is reported."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

log = structlog.get_logger("slotcar")
FIRST_WAIT_S = 2.0
LAST_WAIT_S = 60.0


def keep_running(
    name: str,
    run: Callable[[threading.Event], None],
    stopping: threading.Event,
    tell: Callable[[str, str], None],
    first_wait_s: float = FIRST_WAIT_S,
) -> None:
    """Runs a part until it is told to stop. `tell(part, why)` is called once for each reason.

    Raises:
        MemoryError: nothing of this process can be relied upon.
    """
    wait_s, last = first_wait_s, ""
    while not stopping.is_set():
        began_s = time.monotonic()
        try:
            run(stopping)
        except MemoryError:
            raise
        except Exception as error:
            if time.monotonic() - began_s > LAST_WAIT_S:
                wait_s, last = first_wait_s, ""
            why = f"{type(error).__name__}: {error}"
            log.exception("a part of the controller failed, and is begun again", part=name, again_in_s=wait_s)
            if why != last:
                tell(name, why)
            last = why
            stopping.wait(wait_s)
            wait_s = min(2 * wait_s, LAST_WAIT_S)
