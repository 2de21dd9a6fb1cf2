"""The state of the reconcile loop, as API, page and CLI show it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from slotcar.base.units import format_duration
from slotcar.rollout.carried import Carried


@dataclass(slots=True)
class SetAside:
    """A device that could not be read or pushed to, and when it is tried again."""

    message: str
    retry_at: datetime
    wait: timedelta


@dataclass(frozen=True, slots=True)
class Work:
    """What the loop last did on one device, in seconds by the clock that nobody sets: when it began to read it, and from
    when until when it changed it (to infinity while it does). `compared_s`: when the reading began that the push was
    compared by, after its last change of the device; None where nobody knows."""

    read_s: float = -math.inf
    push_began_s: float = -math.inf
    push_ended_s: float = -math.inf
    compared_s: float | None = None


@dataclass(slots=True)
class LoopStatus:
    """The state of the loop, for `/readyz` and the metrics. Written by the loop only.

    `phases`, of each managed device: armed (it will act by itself at the next boundary), staged (a play waits for it),
    active (it has what is wanted), failed. `ahead_us`: how far devices' clocks were ahead when they were last staged.
    `counted_at`: when each device's counters were last read; `not_counted`: why those of others were not;
    `carried`: sums of what was counted.
    `read_at`: when each device was last read, and had what is wanted or was given it. `work`: what
    the loop last did on each.
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
    counted_at: dict[str, datetime] = field(default_factory=dict)
    not_counted: dict[str, str] = field(default_factory=dict)
    carried: Carried = field(default_factory=Carried)
    work: dict[str, Work] = field(default_factory=dict)

    def begin_reading(self, devices: Collection[str], now_s: float) -> None:
        self.work |= {name: replace(self.work.get(name, Work()), read_s=now_s) for name in devices}

    def begin_push(self, devices: Collection[str], now_s: float) -> dict[str, Work]:
        """Gives what was before, for `end_push`."""
        before = {name: self.work.get(name, Work()) for name in devices}
        self.work |= {
            name: replace(one, push_began_s=now_s, push_ended_s=math.inf, compared_s=None)
            for name, one in before.items()
        }
        return before

    def end_push(
        self,
        before: Mapping[str, Work],
        changed: Collection[str] | None,
        now_s: float,
        compared_s: Mapping[str, float] | None = None,
    ) -> None:
        """
        Args:
            changed: the devices that it changed, the others were left alone; None where nobody knows, for it failed.
            compared_s: when the reading of each began that it was compared by.
        """
        for name, one in before.items():
            work, read_s = self.work[name], (compared_s or {}).get(name)
            known_s = read_s if read_s is not None and work.push_began_s <= read_s <= now_s else None
            mine = changed is None or name in changed
            self.work[name] = replace(work, push_ended_s=now_s, compared_s=known_s) if mine else one

    @property
    def checked_at(self) -> datetime | None:
        """When the device was read whose last reading is oldest; None before any was read."""
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
