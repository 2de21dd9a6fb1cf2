"""What was counted between two readings of a device. Pure.

A counter that went back was begun again: by a push that replaced what counts, by a restart of the device, or by
somebody else. Or it has 32 bits and came to its end. Nothing is made up for what nobody saw: it is left out, and the
time that it is of does not count as counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from slotcar.measuring.counters.reading import CounterReading, difference, went_back, wrapped
from slotcar.platforms.counting import Count, Place

WRAPS_AT = 1 << 32
#: Of IP, bytes.
LEAST_PACKET, MOST_PACKET = 20, 65_535
#: What a line may have carried beyond its rate times the time: clocks, bursts, and counters that are read a little
#: later.
SLACK, SLACK_BYTES = 0.05, 1_000_000
#: Ages are cut to whole seconds.
AGE_GRAIN = timedelta(seconds=1)


class Remark(StrEnum):
    """What was to be seen of counters, beside what they say.

    `wrapped`: a counter of 32 bits began again, and was continued. `pushed`: Slotcar replaced what counts.
    `restarted`: all of the device's counters began again. `cleared`: this one did, and no push of Slotcar's explains
    it. `impossible`: it grew by more than the line carries: another wrote to it, and nothing of it is taken.
    """

    WRAPPED = "wrapped"
    PUSHED = "pushed"
    RESTARTED = "restarted"
    CLEARED = "cleared"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class Increment:
    """What was counted at one place in `[start, end)`; None where that is unknown.

    Attributes:
        start: later than the last reading where the counter is known to have begun since.
    """

    place: Place
    start: datetime
    end: datetime
    count: Count | None
    remark: Remark | None = None


def increments(
    before: CounterReading | None, after: CounterReading, lines_bps: Mapping[str, int]
) -> tuple[Increment, ...]:
    """In the order of `after`. Nothing follows from the first reading of a device, or from one that is not later than
    the one before.

    Args:
        lines_bps: what each interface carries; one that is missing may carry anything.
    """
    if before is None or after.at <= before.at:
        return ()
    began_again = set(_began_again(before, after))
    known = [place for place in after.counts if before.counts.get(place, Count()) != Count()]
    if before.configuration != after.configuration:
        reason = Remark.PUSHED
    elif len(known) > 1 and began_again >= set(known):
        reason = Remark.RESTARTED
    else:
        reason = Remark.CLEARED
    listed = []
    for place in after.counts:
        line_bps = lines_bps.get(place.interface)
        one = _increment(place, before, after, line_bps, reason if place in began_again else None)
        if one is not None:
            listed.append(_possible(one, line_bps))
    return tuple(listed)


def _began_again(before: CounterReading, after: CounterReading) -> Iterator[Place]:
    for place, count in after.counts.items():
        old = before.counts.get(place)
        if old is not None and (_began_after(before, after, count) or went_back(difference(count, old))):
            yield place


def _began_after(before: CounterReading, after: CounterReading, count: Count) -> bool:
    """Whether the counter surely began after the reading before."""
    return count.age_s is not None and after.asked_at - timedelta(seconds=count.age_s) - AGE_GRAIN > before.at


def _increment(
    place: Place, before: CounterReading, after: CounterReading, line_bps: int | None, reason: Remark | None
) -> Increment | None:
    count, old = after.counts[place], before.counts.get(place)
    age = None if count.age_s is None else timedelta(seconds=count.age_s)
    start = before.at if age is None else min(max(before.at, after.at - age), after.at)
    if old is None:
        # What counts is new since the last reading; or it had no name then, and what it counted before is not of this
        # time.
        older = age is not None and after.at - age < before.asked_at
        return None if older else Increment(place, start, after.at, count)
    if reason is None:
        return Increment(place, before.at, after.at, difference(count, old))
    sure = _began_after(before, after, count)
    if not sure and (whole := _wrapped(difference(count, old), before, after, line_bps)) is not None:
        return Increment(place, before.at, after.at, whole, Remark.WRAPPED)
    # Where nobody knows for how much of the time it counted, none of it counts as counted.
    return Increment(place, start if sure else after.at, after.at, count, reason)


def _wrapped(back: Count, before: CounterReading, after: CounterReading, line_bps: int | None) -> Count | None:
    """The difference as that of counters of 32 bits; None where that is not sure: the line may carry more than they
    count in this time, or less than they would have counted, or packets went back too, which come to no end so
    soon."""
    most = most_bytes(line_bps, after.at - before.at)
    if most is None or most >= WRAPS_AT:
        return None
    whole = wrapped(back, WRAPS_AT)
    return None if went_back(whole) or not _are_packets(whole) or passed_bytes(whole) > most else whole


def _are_packets(count: Count) -> bool:
    parts = (count.in_profile, count.out_of_profile)
    return all(LEAST_PACKET * part.packets <= part.ip_bytes <= MOST_PACKET * part.packets for part in parts)


def _possible(one: Increment, line_bps: int | None) -> Increment:
    most = most_bytes(line_bps, one.end - one.start)
    if one.count is None or most is None or one.start == one.end or passed_bytes(one.count) <= most:
        return one
    return Increment(one.place, one.start, one.end, None, Remark.IMPOSSIBLE)


def passed_bytes(count: Count) -> int:
    """What went on. What a policer dropped need not have come by the line: hosts in one machine have none."""
    return count.in_profile.ip_bytes + count.out_of_profile.ip_bytes


def most_bytes(line_bps: int | None, time: timedelta) -> int | None:
    if line_bps is None:
        return None
    return int(line_bps * time.total_seconds() / 8 * (1 + SLACK)) + SLACK_BYTES
