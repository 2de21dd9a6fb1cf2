"""Takes what devices counted out of the readings of the controller that leads, and keeps what follows from it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import MICROSECOND, Clocks, Window
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Entry
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import Active, active_at
from slotcar.measuring.audits.verdicts import Verdicts
from slotcar.measuring.counters.increments import increments
from slotcar.measuring.counters.reading import CounterReading, counts_from, counts_json
from slotcar.measuring.counters.rows import counted_steps, places_of
from slotcar.measuring.counters.usage import UNUSED_PERCENT, is_counted_enough, is_unused, used_bytes
from slotcar.network.model import Device, Network
from slotcar.platforms.counting import counting_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.model import Configuration
from slotcar.rollout.beside import Answered
from slotcar.rollout.carried import Carried
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar.store.counts import CountedStep, KeptReading
from slotcar_client.wire.events import ReservationUnused

log = structlog.get_logger("slotcar.counters")
#: The finest steps that are kept: as readings come, and no finer than this.
FINE_STEPS_S = (60, 300)
#: How often what is old goes into coarser steps.
ROLL_UP = timedelta(hours=1)


@dataclass(slots=True)
class Meter:
    """What a reading asks beside the configuration (`slotcar.rollout.beside.Beside`).

    Attributes:
        period: how often devices are read at the least.
    """

    ledger: Ledger
    network: Network
    shares: BackgroundShares
    status: LoopStatus
    period: timedelta
    clocks: Clocks
    _rolled_up_s: float | None = field(default=None, init=False)

    def commands(self, device: Device) -> Sequence[str]:
        counting = counting_of(device)
        return counting.commands(device) if counting and self.network.is_configured(device) else ()

    def take(self, answered: Mapping[str, Answered], asked_at: datetime, at: datetime) -> None:
        names = [name for name in sorted(answered) if self.commands(self.network.devices[name])]
        try:
            if names:
                self._take({name: answered[name] for name in names}, asked_at, at)
                Verdicts(self.ledger, self.network).tell(at)
            self._roll_up(at)
        except LedgerUnavailable as error:
            # What was counted since the last reading that was kept follows from the next one.
            log.warning("counters not kept", problem=str(error))

    def _take(self, answered: Mapping[str, Answered], asked_at: datetime, at: datetime) -> None:
        entries = self.shares(self.ledger.live_between(at), Window(at, at + MICROSECOND))
        opened = active_at(entries, at)
        intents = intents_at(opened, self.network, at, answered)
        before = {name: _read_back(one) for name, one in self.ledger.counts.readings(answered).items()}
        steps: list[CountedStep] = []
        readings: list[KeptReading] = []
        for name, one in answered.items():
            after = self._reading(name, one, intents[name], asked_at, at)
            if after is not None:
                steps += self._steps(before.get(name), after, intents[name])
                readings.append(KeptReading(name, asked_at, at, after.configuration, counts_json(after.counts)))
        self.ledger.counts.keep(steps, readings)
        add_carried(self.status.carried, steps, opened)
        self._tell_unused(opened, steps, at)

    def _tell_unused(self, opened: Sequence[Active], steps: Sequence[CountedStep], at: datetime) -> None:
        """Once in a slot: when it was counted for long enough. It follows from what is kept, whoever leads."""
        counted_us = Counter[int]()
        for step in steps:
            counted_us[step.entry] += step.counted_us
        active_by_entry = {one.entry.number: one for one in opened if one.entry.number in counted_us}
        since = {number: active.window.start for number, active in active_by_entry.items()}
        for number, total in self.ledger.counts.totals(since, at).items() if since else ():
            entry = active_by_entry[number].entry
            before = replace(total, counted_us=total.counted_us - counted_us[number])
            if is_unused(total, entry, UNUSED_PERCENT) and not is_counted_enough(before, entry):
                self.ledger.record(_unused_event(total, entry), at, handle=entry.handle)

    def _reading(
        self, name: str, answered: Answered, intent: QosIntent, asked_at: datetime, at: datetime
    ) -> CounterReading | None:
        """None where the device's answer is not understood: what it counted follows from a later one."""
        device = self.network.devices[name]
        counting = counting_of(device)
        assert counting is not None
        try:
            counts = counting.counts(answered.outputs, device, intent, answered.configuration)
        except SlotcarError as error:
            if self.status.not_counted.get(name) != str(error):
                log.warning("counters not read", device=name, problem=str(error))
            self.status.not_counted[name] = str(error)
            return None
        self.status.not_counted.pop(name, None)
        self.status.counted_at[name] = at
        return CounterReading(name, asked_at, at, _digest(answered.configuration), counts)

    def _steps(self, before: CounterReading | None, after: CounterReading, intent: QosIntent) -> Iterator[CountedStep]:
        interfaces = self.network.devices[after.device].interfaces
        lines_bps = {name: one.capacity_bps for name, one in interfaces.items()}
        known = places_of(intent)
        listed = [one for one in increments(before, after, lines_bps) if one.place in known]
        for one in listed:
            if one.remark is not None:
                log.info("counter", device=after.device, place=str(one.place), remark=one.remark.value)
        return counted_steps(listed, intent, self._step_s())

    def _step_s(self) -> int:
        return next((one for one in reversed(FINE_STEPS_S) if one <= self.period.total_seconds()), FINE_STEPS_S[0])

    def _roll_up(self, now: datetime) -> None:
        passed_s = self.clocks.monotonic()
        if self._rolled_up_s is None or passed_s - self._rolled_up_s >= ROLL_UP.total_seconds():
            self._rolled_up_s = passed_s
            self.ledger.counts.roll_up(now)
            self.ledger.audits.forget(now)


def add_carried(carried: Carried, steps: Iterable[CountedStep], opened: Iterable[Active]) -> None:
    """Adds what was counted to the sums of the SLSs that the flows cross, and of the links that it left by."""
    entries = {one.entry.number: one.entry for one in opened}
    for step in steps:
        if not step.entry:
            carried.sent_bytes[step.device, step.interface] += step.in_profile_bytes
            carried.dropped_packets[step.device, step.interface] += step.dropped_packets
        elif step.entry in entries:
            for sls in _sls_of(entries[step.entry], step.direction):
                carried.promised_bytes[sls] += step.reserved_bits // 8
                carried.used_bytes[sls] += used_bytes(step)
                carried.dropped_bytes[sls] += step.dropped_bytes


def _sls_of(entry: Entry, direction: str) -> tuple[str, ...]:
    """The SLSs of the paths in that direction, each once; none where the entry has no such path."""
    ways = zip(entry.reservation.ways, entry.paths, strict=False)
    return tuple(dict.fromkeys(name for way, path in ways if way.value == direction for name in path.sls))


def _unused_event(total: CountedStep, entry: Entry) -> ReservationUnused:
    minutes = total.counted_us // len(entry.reservation.direction.ways) // 60_000_000
    return ReservationUnused(
        counted_s=total.counted_us // 1_000_000, reserved_bits=total.reserved_bits, used_bytes=used_bytes(total),
        message=f"less than {UNUSED_PERCENT} % of it was used in {minutes} min; cancelling it frees the rest",
    )  # fmt: skip


def _read_back(kept: KeptReading) -> CounterReading:
    return CounterReading(kept.device, kept.asked_at, kept.at, kept.configuration, counts_from(kept.counts))


def _digest(configuration: Configuration) -> str:
    return hashlib.sha256(configuration.text.encode()).hexdigest()[:16]
