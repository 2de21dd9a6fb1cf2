"""What the loop is about, for whoever asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(slots=True)
class SetAside:
    """A device that could not be read or pushed to, and when it is tried again."""

    message: str
    retry_at: datetime
    wait: timedelta


@dataclass(slots=True)
class LoopStatus:
    """What the loop is about, for `/readyz` and the metrics. Written by the loop only.

    `phases`, of each managed device: armed (it will act by itself at the next boundary), staged (a play waits for it),
    active (it has what is wanted), failed. `ahead_us`: how far devices' clocks were ahead when they were last staged.
    """

    leading: bool = False
    settled: bool = False
    next_boundary: datetime | None = None
    last_revision: str = ""
    last_push_at: datetime | None = None
    pushes: int = 0
    failed_pushes: int = 0
    error: str = ""
    troubles: dict[str, str] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    ahead_us: dict[str, int] = field(default_factory=dict)
