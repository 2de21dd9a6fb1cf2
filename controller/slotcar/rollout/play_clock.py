"""The present time in a play. It goes on as before where this machine's clock is set while the play runs.

A router is armed with how long it is until its steps. A play that took the time from the clock would, set back by an hour,
arm the end of a slot an hour late. So a controller gives each of its plays the difference of the clock and of the one that
only counts seconds, which all processes of a machine share.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import timedelta

#: In the environment of a play: seconds since the epoch at which the monotonic clock would be zero.
OFFSET = "SLOTCAR_PLAY_CLOCK_OFFSET"


def environment(offset: timedelta | None) -> Mapping[str, str]:
    """What a play gets. `offset` is that of the controller's clocks (`Clocks.offset`)."""
    return {} if offset is None else {OFFSET: str(offset.total_seconds())}


def now_s() -> float:
    """Seconds since the epoch; by this machine's clock where no controller runs the play."""
    offset = os.environ.get(OFFSET)
    return time.time() if offset is None else time.monotonic() + float(offset)


def monotonic_s() -> float:
    """Seconds that nobody sets, the same in the controller that runs the play."""
    return time.time() if os.environ.get(OFFSET) is None else time.monotonic()
