"""A volume by a deadline over a row of domains: the profile that the first domain proposes, and what remains. Pure.

Every domain holds exactly the slots that it is asked for, as of any other request. What they are for, a volume, is the
first domain's business alone: it finds them over what all domains tell to be free, and finds others when that changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from slotcar.admission.deadline import KEPT_ABOVE_PERMILLE, Transfer, progress, shaped
from slotcar.admission.free import Free
from slotcar.admission.placing import next_second, profile_of, rest_of, slots_of
from slotcar.admission.rates import MICROBITS_PER_BYTE, Profile, RateStep, clipped, microbits
from slotcar.base.timebase import Window, iso, to_us
from slotcar.base.units import MAX_RATE_BPS, format_bytes, format_bytes_about
from slotcar.book.errors import ProgressRefused
from slotcar.domains.enquiring import Steps
from slotcar.reservation.model import Reservation, Slot, constant_slots
from slotcar.reservation.need import VolumeByDeadline

#: A profile that begins at once begins so much later: all domains are to know of it by then.
AGREEING = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Volume:
    """What a connection is to move, as its first domain keeps it.

    Attributes:
        remaining_bytes: as it was at an instant, `at`, by its owner's report; all of it at first.
        missing_bytes: what the profile that was agreed on does not move by the deadline.
    """

    need: VolumeByDeadline
    remaining_bytes: int
    at: datetime
    missing_bytes: int = 0

    def to_document(self) -> dict[str, object]:
        return {
            "need": self.need.model_dump(mode="json"), "remaining_bytes": self.remaining_bytes, "at": iso(self.at),
            "missing_bytes": self.missing_bytes,
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Volume:
        """
        Raises:
            KeyError, ValueError, TypeError: it is none.
        """
        need = VolumeByDeadline.model_validate(document["need"])
        numbers = (int(str(document[name])) for name in ("remaining_bytes", "missing_bytes"))
        remaining_bytes, missing_bytes = numbers
        return cls(need, remaining_bytes, datetime.fromisoformat(str(document["at"])), missing_bytes)


@dataclass(frozen=True, slots=True)
class ProposedSlots:
    """What the first domain asks all for: the reservation with its slots, and the volume that they are for."""

    reservation: Reservation
    volume: Volume


def begin_of(now: datetime) -> datetime:
    """When a profile that is agreed on from now begins, at the soonest."""
    return next_second(now + AGREEING)


def probe(reservation: Reservation, start: datetime, by: datetime) -> Reservation:
    """A fixed request over all of the time that there is, to ask what is free for."""
    slots = constant_slots((Window(start, by),), 1, reservation.direction)
    return reservation.model_copy(update={"need": None, "slots": slots})


def free_of(steps: Steps) -> Free:
    """Steps without a gap between them as columns."""
    return Free.of([RateStep(to_us(one.window.start), to_us(one.window.end), one.rate_bps) for one in steps])


def proposed(reservation: Reservation, steps: Steps, now: datetime, least_rate_bps: int) -> ProposedSlots | None:
    """The slots that move a reservation's volume over what is free; None where none do.

    Args:
        steps: what is free in all domains, from `begin_of` now, or from the need's start, to its deadline.
        least_rate_bps: no step is slower, unless the need's `at_most` is.
    """
    need = reservation.need
    assert need is not None, "it is a volume by a deadline"
    window = need.window_from(begin_of(now))
    profile = shaped(_transfer(need, need.volume_bytes, window, least_rate_bps), free_of(steps))
    if profile is None:
        return None
    slots = slots_of(reservation, profile, window.start, ())
    return ProposedSlots(_fixed(reservation, slots), Volume(need, need.volume_bytes, now))


def reported(
    reservation: Reservation,
    volume: Volume,
    steps: Steps,
    now: datetime,
    least_rate_bps: int,
    *,
    is_beside: bool = True,
) -> ProposedSlots:
    """The slots from now on, once so much remains: what is done early is given back, what has fallen behind asks for more.
    The same slots where the rest of them will do.

    Args:
        reservation: as it is in force. volume: with what remains now.
        steps: what is free, from `begin_of` now to the deadline.
        is_beside: that is beside the slots in force. Otherwise, where a domain tells no more than it lets anybody have,
            they are in it.
    """
    moment = begin_of(now)
    profile = profile_of(reservation)
    remaining_bytes = volume.remaining_bytes
    transfer = _transfer(volume.need, remaining_bytes, volume.need.window_from(moment), least_rate_bps)
    # Until the new profile begins the one before goes on.
    soon = microbits(clipped(profile, to_us(now), to_us(moment))) // MICROBITS_PER_BYTE
    rest_bytes = max(1, remaining_bytes - soon)
    plan = progress(transfer, profile, rest_bytes, moment, with_own(free_of(steps), profile, adds=is_beside))
    then = Volume(volume.need, remaining_bytes, now, plan.missing_bytes)
    if plan.profile == rest_of(reservation, moment) or not plan.profile:
        return ProposedSlots(reservation, then)
    return ProposedSlots(_fixed(reservation, slots_of(reservation, plan.profile, moment, reservation.slots)), then)


def restated(reservation: Reservation, volume: Volume, remaining_bytes: int, now: datetime) -> Volume:
    """The volume by a report alone, with the slots that are in force."""
    rest = microbits(clipped(profile_of(reservation), to_us(now), to_us(volume.need.by)))
    missing_bytes = max(0, remaining_bytes + -rest // MICROBITS_PER_BYTE)
    return Volume(volume.need, remaining_bytes, now, missing_bytes)


def remains(reservation: Reservation, volume: Volume, now: datetime) -> int:
    """What remains now: as it was reported, less what the slots have moved since."""
    moved = microbits(clipped(profile_of(reservation), to_us(volume.at), to_us(now)))
    return max(0, volume.remaining_bytes + -moved // MICROBITS_PER_BYTE)


def is_off(reservation: Reservation, volume: Volume, now: datetime) -> bool:
    """Whether the rest of the slots moves less than what remains, or over 1 % more."""
    moment = begin_of(now)
    needed = remains(reservation, volume, moment) * MICROBITS_PER_BYTE
    above = microbits(rest_of(reservation, moment)) - needed
    return moment < volume.need.by and needed > 0 and not 0 <= above * 1000 <= needed * KEPT_ABOVE_PERMILLE


def require_possible(name: str, volume: Volume, remaining_bytes: int, now: datetime) -> None:
    """
    Raises:
        ProgressRefused: more remains than before, or the deadline is past.
    """
    if begin_of(now) >= volume.need.by:
        by = iso(volume.need.by)
        raise ProgressRefused(f"the deadline of {name}, {by}, is past: nothing can be changed any more")
    if remaining_bytes > volume.remaining_bytes:
        raise ProgressRefused(
            f"{format_bytes(remaining_bytes)} of {name} cannot remain: that is more than what remained at"
            f" {iso(volume.at)}, {format_bytes(volume.remaining_bytes)}"
        )


def refusal(need: VolumeByDeadline, steps: Steps, alone: Mapping[str, int]) -> str:
    """Why a volume does not fit, in the numbers that the domains told.

    Args:
        steps: what is free in all of them. alone: the bytes that each one leaves by the deadline, by itself.
    """
    most = format_bytes_about(usable_bytes(need, steps))
    words = (
        f"{format_bytes(need.volume_bytes)} by {iso(need.by)} do not fit: all domains together leave at most {most}"
    )
    if not alone:
        return words
    tightest = min(alone, key=lambda name: alone[name])
    return f"{words}; {tightest} leaves the least, {format_bytes_about(alone[tightest])}"


def usable_bytes(need: VolumeByDeadline, steps: Steps) -> int:
    """What a need can use of what is free."""
    usable = free_of(steps).between(need.at_least_bps, need.highest_bps)
    return usable.microbits // MICROBITS_PER_BYTE


def with_own(free: Free, profile: Profile, *, adds: bool) -> Free:
    """What is free, and what a profile has already, beside it or in it: a change of the profile takes its place."""
    own = clipped(profile, int(free.starts_us[0]), free.end_us)
    cuts = sorted({*free.starts_us.tolist(), *(at for step in own for at in step[:2]), free.end_us})
    steps = []
    for start_us, end_us in pairwise(cuts):
        has_bps = sum(step.rate_bps for step in own if step.start_us <= start_us and end_us <= step.end_us)
        free_bps = free.least_bps(start_us, end_us)
        rate_bps = free_bps + has_bps if adds else max(free_bps, has_bps)
        steps.append(RateStep(start_us, end_us, min(rate_bps, MAX_RATE_BPS)))
    return Free.of(steps)


def _transfer(need: VolumeByDeadline, volume_bytes: int, window: Window, least_rate_bps: int) -> Transfer:
    at_least_bps = max(need.at_least_bps, min(least_rate_bps, need.highest_bps))
    return Transfer(max(1, volume_bytes), window, (), at_least_bps, need.highest_bps, need.shape)


def _fixed(reservation: Reservation, slots: tuple[Slot, ...]) -> Reservation:
    return reservation.model_copy(update={"need": None, "slots": slots})
