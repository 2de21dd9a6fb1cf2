"""How long the lab waits, in this machine's time, for what should have come long ago."""

from __future__ import annotations

#: Only a hang takes so long, also where the machine has ten times the work that it can do.
HANG_S = 900.0
