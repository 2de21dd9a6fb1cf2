"""What the loop is about, for whoever asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controller.units import format_duration


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
    `read_at`: when each device was last read, and had what is wanted or was given it.
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
    read_at: dict[str, datetime] = field(default_factory=dict)

    @property
    def checked_at(self) -> datetime | None:
        """As of when all devices are known to have had what was wanted; None before the first of their readings."""
        return min(list(self.read_at.values()), default=None)


def devices_words(settled: bool, checked_at: datetime | None, now: datetime, in_trouble: int = 0) -> str:
    """What a leader knows of its devices, never without how old that is: somebody may have changed one since."""
    if in_trouble and not settled:
        return f"{in_trouble} {'devices take' if in_trouble > 1 else 'device takes'} no push"
    if checked_at is None or not settled:
        return "at work on the devices"
    return f"devices had what is wanted {as_of(checked_at, now)}"


def as_of(checked_at: datetime, now: datetime) -> str:
    """`at the check 3 min ago`; to the second below two minutes."""
    seconds = max(0, round((now - checked_at).total_seconds()))
    whole = timedelta(seconds=seconds if seconds < 120 else seconds // 60 * 60)
    return f"at the check {format_duration(whole)} ago"
