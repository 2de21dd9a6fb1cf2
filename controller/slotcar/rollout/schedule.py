"""What the reconcile loop does next, and when: a pure function of the coming boundaries, of what it has done, and of the
clock.

Devices that act by themselves are armed for boundaries long before these. How long is a function of the time alone, so that
every controller that leads arms the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

#: Boundaries beyond this number are armed only when they are as near as the lead. A router keeps its whole program in its
#: memory; where boundaries are closer together than a reading takes, only what was armed before them happens in time.
MOST_BOUNDARIES = 120
#: More steps than these take a slow router seconds to take in.
MANY = 8
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
#: Nothing else is pushed so shortly before a boundary that is armed, at the least: a push would race the devices' own step.
QUIET = timedelta(seconds=4)
#: A push is not put off for longer.
MOST_POSTPONED = 3 * QUIET
#: So soon a boundary is waited for, armed or not: pushing at once would come too late for it.
IMMINENT = timedelta(seconds=1)
#: How long after a boundary the devices are read: all have acted by then (`device_order.py`).
SETTLE = timedelta(milliseconds=1200)
#: The longest sleep: a missed notification costs no more.
LONGEST_SLEEP = timedelta(seconds=30)
#: So many turns and pushes say how long the next one takes.
REMEMBERED = 5


@dataclass(frozen=True, slots=True)
class Pace:
    """What an operator has set, and what the inventory says.

    Attributes:
        lead: how long before a boundary the devices that it changes are looked at again, and staged where they cannot be
            armed; at the least.
        arm_ahead: how long before a boundary the devices that can be are armed for it, or half of that.
        check: how often the devices are read though nothing should have changed (a router that restarted).
        all_act: whether all devices act by themselves.
    """

    lead: timedelta
    arm_ahead: timedelta
    check: timedelta
    all_act: bool = False


@dataclass(frozen=True, slots=True)
class LoopProgress:
    """What a controller has done.

    Attributes:
        armed: the boundaries that devices were last armed for.
        held: the boundary that a play waited for last.
        near: the boundaries that were near at the last turn.
        doubted_near_at: when devices were last to be read again because a boundary that changes them came near.
        doubted_all_at: when all were.
        postponed_since: since when a push is put off.
        turns, pushes: how long the last ones took.
    """

    armed: tuple[datetime, ...] = ()
    held: datetime | None = None
    near: tuple[datetime, ...] = ()
    doubted_near_at: datetime | None = None
    doubted_all_at: datetime | None = None
    postponed_since: datetime | None = None
    turns: tuple[timedelta, ...] = ()
    pushes: tuple[timedelta, ...] = ()

    def took_turn(self, duration: timedelta) -> LoopProgress:
        return replace(self, turns=(*self.turns, duration)[-REMEMBERED:])

    def took_push(self, duration: timedelta) -> LoopProgress:
        return replace(self, pushes=(*self.pushes, duration)[-REMEMBERED:])

    def of_new_lead(self, now: datetime) -> LoopProgress:
        """The progress at the beginning of a lead. What another controller did is not known, so all devices are read."""
        return replace(self, armed=(), held=None, near=(), doubted_all_at=now)

    def of_new_time(self) -> LoopProgress:
        """The clock was set: nothing that was done at an instant was done at that instant."""
        return LoopProgress(turns=self.turns, pushes=self.pushes)


@dataclass(frozen=True, slots=True)
class Turn:
    """The work of the loop at an instant.

    Attributes:
        postponed_until: nothing, until then.
        read_all: all devices are to be read again.
        read_for: the boundaries whose devices are.
        arm: the boundaries that devices are to be armed for now.
        arm_more: others are to be armed right after these.
        hold: the boundary that a play then is to wait for, for the devices that cannot be armed.
        idle: no boundary is near: there is time for what is not urgent.
        lead: how long before a boundary the loop wakes for it.
        progress: what will have been done.
    """

    progress: LoopProgress
    lead: timedelta
    postponed_until: datetime | None = None
    read_all: bool = False
    read_for: tuple[datetime, ...] = ()
    arm: tuple[datetime, ...] = ()
    arm_more: bool = False
    hold: datetime | None = None
    idle: bool = False


def next_turn(pace: Pace, progress: LoopProgress, coming: Sequence[datetime], now: datetime) -> Turn:
    """
    Args:
        coming: the boundaries after `now`, ascending, until `look_until` at the least.
    """
    lead = lead_now(pace, progress)
    later, postponed_since = _postponed(pace, progress, coming, now)
    progress = replace(progress, postponed_since=postponed_since)
    if later is not None:
        return Turn(progress, lead, postponed_until=later)
    near = tuple(instant for instant in coming if instant <= now + lead)
    read_all = progress.doubted_all_at is None or now - progress.doubted_all_at >= pace.check
    came_near = tuple(instant for instant in near if instant not in progress.near)
    rested = progress.doubted_near_at is None or now - progress.doubted_near_at >= pace.lead
    read_for = came_near if rested else ()
    to_arm = boundaries_to_arm(coming, now, lead, pace.arm_ahead)
    arm = armed_first(to_arm, progress.armed, now, lead)
    progress = replace(
        progress,
        near=near,
        doubted_all_at=now if read_all else progress.doubted_all_at,
        doubted_near_at=now if read_for else progress.doubted_near_at,
    )
    hold = near[0] if near and near[0] != progress.held else None
    return Turn(
        progress, lead, None, read_all, read_for, tuple(arm), arm_more=len(arm) < len(to_arm), hold=hold, idle=not near
    )  # fmt: skip


def wake_at(
    pace: Pace, turn: Turn, coming: Sequence[datetime], retries: Collection[datetime], began: datetime, now: datetime
) -> datetime:
    """When to look again at the latest after a turn in which all was done.

    The next check of all devices comes `pace.check` after the last. Where a turn takes longer than that, the loop rests as
    long as the turn took, and for `pace.check` at the most.

    Args:
        retries: when devices that were set aside are tried again, and when what else is due is.
        began: when the turn did, for which `coming` is.
    """
    settled = [instant + SETTLE for instant in coming[:1]]
    leads = [instant - turn.lead for instant in coming if instant - turn.lead > began]
    checked_at = turn.progress.doubted_all_at or began
    check = max(checked_at + pace.check, now + min(now - began, pace.check))
    return min([now + LONGEST_SLEEP, check, *retries, *settled, *leads])


def lead_now(pace: Pace, progress: LoopProgress) -> timedelta:
    """The lead as set, or longer where the last turns took longer: a change must be staged before its boundary."""
    return max([pace.lead, *(turn + turn / 2 + QUIET for turn in progress.turns)])


def look_until(pace: Pace, progress: LoopProgress, now: datetime) -> datetime:
    """The instant until which the loop needs to know the boundaries."""
    return max(now + lead_now(pace, progress), armed_until(now, pace.arm_ahead)) + LONGEST_SLEEP


def _postponed(
    pace: Pace, progress: LoopProgress, coming: Sequence[datetime], now: datetime
) -> tuple[datetime | None, datetime | None]:
    """When to push instead, where it would meet the devices' own step at a boundary; and since when that is put off."""
    later = None
    if coming and (wait := coming[0] - now) <= (_quiet(pace, progress) if coming[0] in progress.armed else IMMINENT):
        later = now + wait + SETTLE
    elif acting := [instant for instant in progress.armed if timedelta() <= now - instant < SETTLE]:
        later = acting[-1] + SETTLE
    since = (progress.postponed_since or now) if later else None
    if since is not None and now - since > MOST_POSTPONED:
        return None, None  # boundaries are dense
    return later, since


def _quiet(pace: Pace, progress: LoopProgress) -> timedelta:
    """How long before an armed boundary nothing else is pushed: the fastest push would meet it, and be taken back."""
    return min(max(QUIET, min(progress.pushes)), MOST_POSTPONED) if pace.all_act and progress.pushes else QUIET


def armed_until(now: datetime, ahead: timedelta) -> datetime:
    """The end of the time for which devices are armed at `now`: at least half of `ahead` from now, at most all of it.

    It moves in strides of half of `ahead`: a router is given a new program twice in that time, not at every boundary
    that comes into sight. The strides lie off the full and the half hour, where slots begin.
    """
    stride = max(ahead / 2, timedelta(seconds=1))
    first = EPOCH + stride / 4
    return first + ((now - first) // stride + 2) * stride


def boundaries_to_arm(
    boundaries: Sequence[datetime], now: datetime, lead: timedelta, ahead: timedelta
) -> list[datetime]:
    """The `boundaries` (ascending, after `now`) for which devices are armed at `now`.

    All that are nearer than `lead`, and of those until `armed_until` the first `MOST_BOUNDARIES`.
    """
    until = armed_until(now, ahead)
    return [
        instant
        for number, instant in enumerate(boundaries)
        if instant <= now + lead or (instant <= until and number < MOST_BOUNDARIES)
    ]


def armed_first(
    to_arm: Sequence[datetime], armed: Collection[datetime], now: datetime, lead: timedelta
) -> Sequence[datetime]:
    """The boundaries of `to_arm` that are armed in one push: where one of the near ones is not `armed` yet and many are
    far, the near ones go first, for it takes long to arm many."""
    near = [instant for instant in to_arm if instant <= now + lead]
    urgent = any(instant not in armed for instant in near)
    return near if urgent and len(to_arm) > len(near) + MANY else to_arm
