"""Deadline transfers over one line, in steps of the mover's reports. Pure: no lab, no clock, a seed.

Admission, profiles and what a report changes are the controller's own functions. What the connections get of the line is
modelled: the base connection a part of its committed rate, the additional ones what is free, in equal parts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from slotcar.admission.deadline import Transfer, plan_transfer, progress
from slotcar.admission.free import free_in
from slotcar.admission.model import TransferRefused
from slotcar.admission.rates import MICROBITS_PER_BYTE, Crossing, Profile, clipped, microbits, profile_demands
from slotcar.admission.resource_id import ResourceId, managed_resource
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window, from_us, to_us
from slotcar.base.vocabulary import Shape

LINE_BPS = 1_000_000_000
LINE: ResourceId = managed_resource("line", "reference")
CROSSINGS = (Crossing(LINE),)
#: How often `slotcar transfer` reports what remains; how long before the deadline its reservation ends, at most, and as
#: a part of the time; and how many times the needed rate a late promise counts on. A test compares them with the mover's.
STEP_US = 30_000_000
MARGIN_US, MARGIN_PART = 60_000_000, 20
LATE_PEAK = 2
START_US = to_us(datetime(2027, 3, 1, tzinfo=UTC))
#: Of a transfer: the rate that it needs, in parts of the line, and how long it has. The reference prints neither.
LEAST_PART, MOST_PART = 0.01, 0.03
LEAST_S, MOST_S = 1_800, 5_400
#: What remains of a volume when it is done but for rounding, as a part of it.
ROUNDING = 0.001


@dataclass(frozen=True, slots=True)
class Method:
    """How a transfer reserves and sends.

    Attributes:
        share: what its base connection gets of its committed rate, 0 to 1.
        additional: whether it has an unreserved connection, too.
        controlled: whether it reports, and the reservation follows what remains. Without, it reserves so much more that
            its share suffices, until it is done.
        shape: of its profile, as `slotcar transfer` asks for it.
    """

    name: str
    share: float
    additional: bool
    controlled: bool
    shape: Shape = Shape.STEADY


@dataclass(frozen=True, slots=True)
class TransferRequest:
    """One transfer: it arrives at a step, with a volume and a deadline."""

    at_us: int
    by_us: int
    volume_bytes: int

    @property
    def reserved_until_us(self) -> int:
        """What `slotcar transfer` asks for: a host that is late fits between this and the deadline."""
        return self.by_us - min(MARGIN_US, (self.by_us - self.at_us) // MARGIN_PART)


@dataclass(slots=True)
class Outcome:
    """Of one run.

    Attributes:
        reserved_percent: of the line, over the arrivals' time. late: transfers that were done after their deadline.
        late_by_s: the most that one was late.
    """

    reserved_percent: float
    refused: int
    late: int
    late_by_s: float


@dataclass(slots=True)
class _Moving:
    request: TransferRequest
    transfer: Transfer
    profile: Profile
    remaining_bytes: float


def arrivals(count: int, load: float, seed: int) -> tuple[TransferRequest, ...]:
    """Poisson arrivals whose volumes together are `load` of the line over the time in which they arrive.

    Raises:
        ValueError: no arrivals, or a load that is no part of the line.
    """
    if count < 1 or not 0 < load < 1:
        raise ValueError(f"{count} arrivals at {load} of the line are none")
    chance = random.Random(seed)  # noqa: S311 - a simulation
    gaps = [chance.expovariate(1.0) for _ in range(count)]
    kinds = [(chance.uniform(LEAST_PART, MOST_PART), chance.randint(LEAST_S, MOST_S)) for _ in range(count)]
    volumes = [int(part * LINE_BPS * seconds / 8) for part, seconds in kinds]
    scale_us = sum(volumes) * MICROBITS_PER_BYTE / LINE_BPS / load / sum(gaps)
    transfers, at_us = [], 0.0
    for gap, (_, seconds), volume in zip(gaps, kinds, volumes, strict=True):
        at_us += gap * scale_us
        begins_us = START_US + -(-int(at_us) // STEP_US) * STEP_US
        transfers.append(TransferRequest(begins_us, begins_us + seconds * 1_000_000, volume))
    return tuple(transfers)


def span_us(transfers: Sequence[TransferRequest]) -> int:
    """In how long they arrive."""
    return max(transfers[-1].at_us - START_US, STEP_US)


@dataclass(slots=True)
class Simulation:
    """One method over one line of which `background` (0 to 1) is taken by unreserved traffic at a constant rate."""

    method: Method
    background: float
    tables: SlotTables = field(default_factory=lambda: SlotTables({LINE: LINE_BPS}))
    moving: list[_Moving] = field(default_factory=list)
    reserved_microbits: float = 0.0
    refused: int = 0
    late_by_s: list[float] = field(default_factory=list)

    def run(self, transfers: Sequence[TransferRequest]) -> Outcome:
        """All of them, until the last is done."""
        coming = list(reversed(transfers))
        now_us = START_US
        while coming or self.moving:
            if not self.moving and coming[-1].at_us > now_us:
                now_us = coming[-1].at_us
            self._report(now_us)
            while coming and coming[-1].at_us <= now_us:
                self._admit(coming.pop())
            self._step(now_us)
            now_us += STEP_US
        percent = 100 * self.reserved_microbits / span_us(transfers) / LINE_BPS
        return Outcome(percent, self.refused, len(self.late_by_s), max(self.late_by_s, default=0.0))

    def _admit(self, request: TransferRequest) -> None:
        volume = request.volume_bytes if self.method.controlled else int(request.volume_bytes / self.method.share)
        window = Window.of_us(request.at_us, request.reserved_until_us if self.method.controlled else request.by_us)
        transfer = Transfer(volume, window, CROSSINGS, shape=self.method.shape)
        if self.method.shape is Shape.LATEST:
            transfer = replace(transfer, at_most_bps=LATE_PEAK * transfer.needed_bps)
        profile = plan_transfer(self.tables, transfer, horizon=window.end)
        if isinstance(profile, TransferRefused):
            self.refused += 1
            return
        self.tables.add(*profile_demands(CROSSINGS, profile))
        self.moving.append(_Moving(request, transfer, profile, request.volume_bytes))

    def _report(self, now_us: int) -> None:
        """Each says what remains, and its reservation follows (NICT: remaining volume / remaining time)."""
        for one in self.moving if self.method.controlled else ():
            if now_us <= one.request.at_us or now_us >= one.request.reserved_until_us:
                continue
            self._give_back(one)
            now = from_us(now_us)
            free = free_in(self.tables, CROSSINGS, Window(now, one.transfer.window.end))
            planned = progress(one.transfer, one.profile, max(1, round(one.remaining_bytes)), now, free)
            one.profile = planned.profile
            if one.profile:
                self.tables.add(*profile_demands(CROSSINGS, one.profile))

    def _give_back(self, one: _Moving) -> None:
        if one.profile:
            self.tables.remove(*profile_demands(CROSSINGS, one.profile), surely_there=True)

    def _step(self, now_us: int) -> None:
        until_us = now_us + STEP_US
        reserved = [microbits(clipped(one.profile, now_us, until_us)) for one in self.moving]
        base = [self.method.share * one for one in reserved]
        free = max(0.0, (1 - self.background) * LINE_BPS * STEP_US - sum(base))
        # Where nothing is reserved any more, what is free is all that a transfer without a second connection has.
        each = free / len(self.moving) if self.moving else 0.0
        left = []
        for one, of_reservation, of_base in zip(self.moving, reserved, base, strict=True):
            more = each if self.method.additional or now_us >= one.request.by_us else 0.0
            could_bytes = (of_base + more) / MICROBITS_PER_BYTE
            part = min(1.0, one.remaining_bytes / could_bytes) if could_bytes else 1.0
            self.reserved_microbits += of_reservation * part
            one.remaining_bytes -= could_bytes * part
            if one.remaining_bytes > ROUNDING * one.request.volume_bytes:
                left.append(one)
                continue
            self._give_back(one)
            after_s = (now_us + part * STEP_US - one.request.by_us) / 1e6
            if after_s > 0 and now_us >= one.request.by_us:
                self.late_by_s.append(after_s)
        self.moving = left


def reserved_by_rule(without_control: float) -> float:
    """The part of a volume that remaining volume by remaining time reserves, where the additional connection's rate is
    constant, a part k of the needed one: 1 - k (1 - e^(-1/k)).

    Where k differs from transfer to transfer it is no less: the function is convex.

    Args:
        without_control: the part that the needed rate reserves until the volume is moved, 1 / (1 + k); between 0 and 1.
    """
    k = 1 / without_control - 1
    return 1 + k * math.expm1(-1 / k)


def simulated(method: Method, background: float, transfers: Sequence[TransferRequest]) -> Outcome:
    return Simulation(method, background).run(transfers)


def background_at(method: Method, percent: float, transfers: Sequence[TransferRequest], steps: int = 12) -> float:
    """The part of the line that others take where the method reserves `percent` of it; by halving.

    Raises:
        ValueError: it reserves more with none, or less with nearly all of the line.
    """
    low, high = 0.0, 0.99
    ends = [simulated(method, one, transfers).reserved_percent for one in (low, high)]
    if not ends[0] <= percent <= ends[1]:
        raise ValueError(f"{method.name} reserves {ends[0]:.1f} to {ends[1]:.1f} % whatever the background")
    for _ in range(steps):
        middle = (low + high) / 2
        above = simulated(method, middle, transfers).reserved_percent > percent
        low, high = (low, middle) if above else (middle, high)
    return (low + high) / 2
