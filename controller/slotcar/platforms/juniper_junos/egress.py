"""The way out: forwarding classes, schedulers by share, drop profiles, and which code point means what. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from slotcar.base.assured import AssuredClass
from slotcar.base.vocabulary import DSCP, Service
from slotcar.network.model import Device
from slotcar.network.shaping import Shaper
from slotcar.platforms.intent.model import Egress, QosIntent, Queue
from slotcar.platforms.juniper_junos.document import label_of, port_and_unit
from slotcar.platforms.juniper_junos.facts import JunosOptions
from slotcar.platforms.juniper_junos.ingress import LOSSES, checked_name, class_of
from slotcar.platforms.juniper_junos.limits import BUFFER_US, JUNOS, SHAPE_BPS
from slotcar.platforms.juniper_junos.objects import (
    ASSURED_CLASS,
    CODE_POINTS,
    PREFIX,
    PREMIUM,
    QBSS,
    Classifier,
    CodePoints,
    DropProfile,
    ForwardingClass,
    Marked,
    Object,
    RewriteRule,
    Scheduled,
    Scheduler,
    SchedulerMap,
    TrafficControlProfile,
)  # fmt: skip
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.platforms.options import options_of
from slotcar.platforms.shaped import bucket_bytes

#: Drop profiles: from and to how full a queue, percent, and how many packets of a hundred are dropped or marked then.
#: Green, yellow and red of an assured rate (RFC 2597), then best effort; as `cisco-mqc` has them.
GREEN, YELLOW, RED, DEFAULT = (f"{PREFIX}{name}" for name in ("GREEN", "YELLOW", "RED", "BE"))
PROFILES = {GREEN: (40, 80, 10), YELLOW: (20, 40, 10), RED: (5, 15, 10), DEFAULT: (25, 75, 10)}
#: Loss priority `high` of best effort is what exceeded an SLS: it is dropped as early as red.
BEST_EFFORT_PROFILES = (("high", RED), ("low", DEFAULT))
_MILLION = 1_000_000


def bits(dscp: int) -> str:
    """A code point as Junos's classifiers and rewrite rules take it, whatever aliases the router has.

    >>> bits(46)
    '101110'
    """
    return f"{dscp:06b}"


def egress_of(intent: QosIntent, device: Device) -> Iterator[Object]:
    """
    Raises:
        Unrenderable: shares, a rate or a name that Junos does not take.
    """
    names = {e.interface.name for e in intent.egress} | {a.interface.name for a in intent.aggregates}
    names |= {f.interface.name for f in intent.flows} | {one.name for one in intent.untrusted}
    if not names:
        return
    yield from _classes(intent, device)
    for name in sorted(names):
        yield Marked(*port_and_unit(name, device.name), CODE_POINTS, CODE_POINTS)
    if intent.egress:
        yield from (DropProfile(name, *numbers) for name, numbers in PROFILES.items())
        yield from (profile for one in intent.assured for profile in _own_profiles(one))
    for egress in intent.egress:
        yield from _Output(egress, device).objects()


def shorter_queues(intent: QosIntent, device: Device) -> Iterator[Approximation]:
    """Where Junos holds less of a class than the queue that is wanted."""
    for egress in intent.egress:
        yield from _Output(egress, device).shorter_queues()


def _classes(intent: QosIntent, device: Device) -> Iterator[Object]:
    options = options_of(device, JunosOptions)
    queues = options.queues_of_classes(len(intent.assured))
    assured = {class_of(Service.ASSURED_RATE, options, one): one for one in intent.assured}
    yield ForwardingClass(PREMIUM, options.premium_queue)
    yield from (ForwardingClass(name, queue) for name, queue in zip(assured, queues, strict=True))
    yield ForwardingClass(QBSS, options.qbss_queue)
    premium = CodePoints(PREMIUM, (("low", bits(DSCP[Service.IP_PREMIUM])),))
    qbss = CodePoints(QBSS, (("low", bits(DSCP[Service.QBSS])),))
    own = [qbss] if all(DSCP[Service.QBSS] not in one.dscps for one in intent.assured) else []
    classified = [CodePoints(name, _points(one, one.dscps)) for name, one in assured.items()]
    yield Classifier(CODE_POINTS, (premium, *classified, *own))
    # What exceeded an SLS is best effort with loss priority `high`, and must not keep the code point that it came with.
    demoted = CodePoints(options.best_effort_class, (("high", bits(DSCP[Service.BEST_EFFORT])),))
    rewritten = [
        CodePoints(name, _points(one, one.colours if len(one.dscps) > 1 else one.dscps))
        for name, one in assured.items()
    ]
    yield RewriteRule(CODE_POINTS, (premium, *rewritten, *own, demoted))


def _points(one: AssuredClass, dscps: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """Loss priorities with their code points. Of two, the second is both yellow and red."""
    return tuple((loss, bits(dscp)) for loss, dscp in zip(LOSSES, dscps, strict=False))


def _own_profiles(one: AssuredClass) -> Iterator[DropProfile]:
    """Of a class that says what it drops early: for each of its code points."""
    for number, drop in enumerate(one.drops, 1):
        yield DropProfile(
            f"{ASSURED_CLASS}{one.name}-{number}", drop.low_percent, drop.high_percent, -(-100 // drop.one_of)
        )


def _profiles_of(one: AssuredClass) -> tuple[tuple[str, str], ...]:
    """The drop profile of each loss priority of an assured class. Of two code points, the second has yellow and red."""
    names_of_all = (GREEN, YELLOW, RED)[: len(one.dscps)]
    names = tuple(f"{ASSURED_CLASS}{one.name}-{number}" for number, _ in enumerate(one.drops, 1)) or names_of_all
    if len(names) == 2:
        names = (*names, names[1])
    return tuple(sorted(zip(LOSSES, names, strict=False)))


class _Output:
    """The queueing of one interface. Shares are configured, not what is admitted now: they stay while reservations come
    and go (GARA §5.1)."""

    def __init__(self, egress: Egress, device: Device) -> None:
        self._egress = egress
        self._device = device
        self._options = options_of(device, JunosOptions)
        self._name = egress.interface.name
        self._label = label_of(self._name, device.name)
        self._where = f"{device.name} {self._name}"
        self._queues = {queue.key: queue for queue in egress.queues}

    def objects(self) -> Iterator[Object]:
        port, unit = port_and_unit(self._name, self._device.name)
        of_unit = schedules_units(self._device, port)
        shaped = of_unit or self._name in self._options.shaped
        schedulers = dict(self._schedulers())
        yield from schedulers.values()
        name = checked_name(f"{PREFIX}{self._label}", self._device)
        yield SchedulerMap(name, tuple(sorted((of, one.name) for of, one in schedulers.items())))
        if shaped:
            yield TrafficControlProfile(name, name, self._shaping())
        yield Scheduled(port, unit if of_unit else None, name, shaped)

    def _shaping(self) -> int:
        rate_bps = self._egress.capacity_bps
        if not SHAPE_BPS.floor <= rate_bps <= SHAPE_BPS.ceiling:
            raise Unrenderable(
                f"{self._where}: shaping to {rate_bps} bit/s wanted, {SHAPE_BPS.floor} to {SHAPE_BPS.ceiling} can be"
            )
        return rate_bps

    def _schedulers(self) -> Iterator[tuple[str, Scheduler]]:
        """The schedulers, by forwarding class, with a shaper where a class leaves towards an SLS."""
        shapers = {self._class_of(queue): queue.shaper for queue in self._egress.queues if queue.shaper}
        rates, control_bps = self._rates(), self._control_bps()
        control = self._options.network_control_class
        self._check({**rates, control: control_bps})
        JUNOS.check_queues(len(rates) + 2, self._where)
        for name, rate_bps in rates.items():
            yield name, self._towards_sls(self._scheduler(name, rate_bps), shapers.get(name))
        percent = self._options.network_control_percent
        yield control, Scheduler(self._called("NC"), "low", rate_bps=control_bps, buffer_percent=percent)
        best_effort = self._queues[Service.BEST_EFFORT]
        yield self._options.best_effort_class, Scheduler(
            self._called("BE"), "low", buffer_us=_buffer_us(best_effort, self._left_bps(rates)),
            profiles=BEST_EFFORT_PROFILES, ecn=self._options.ecn,
        )  # fmt: skip

    def _towards_sls(self, scheduler: Scheduler, shaper: Shaper | None) -> Scheduler:
        """What is shaped waits where `rate-limit` would drop it."""
        if shaper is None:
            return scheduler
        limits = JUNOS.weight
        if not limits.floor <= shaper.rate_bps <= limits.ceiling:
            raise Unrenderable(
                f"{self._where}: shaping towards an SLS to {shaper.rate_bps} bit/s wanted, {limits.floor} to"
                f" {limits.ceiling} can be"
            )
        bucket = bucket_bytes(shaper, self._where)
        return replace(scheduler, rate_limited=False, shaped_bps=shaper.rate_bps, shaped_burst_bytes=bucket)

    def _control_bps(self) -> int:
        return -(-self._egress.capacity_bps * self._options.network_control_percent // 100)

    def _left_bps(self, rates: Mapping[str, int]) -> int:
        """What best effort has by itself."""
        return max(1, self._egress.capacity_bps - sum(rates.values()) - self._control_bps())

    def shorter_queues(self) -> Iterator[Approximation]:
        rates = self._rates()
        names = {self._class_of(queue): queue for queue in self._egress.queues}
        rates_bps = {**rates, self._options.best_effort_class: self._left_bps(rates)}
        most = {
            queue.key: BUFFER_US.ceiling * rates_bps[name] // 8_000_000
            for name, queue in names.items()
            if queue.service is not Service.IP_PREMIUM and rates_bps.get(name)
        }
        cut = ", ".join(
            f"{key} {most_bytes} of {self._queues[key].queue_bytes} bytes"
            for key, most_bytes in most.items()
            if self._queues[key].queue_bytes > most_bytes
        )
        if cut:
            words = f"{self._name}: queues are cut to {BUFFER_US.ceiling // 1_000} ms of their rates: {cut}"
            yield Approximation(self._device.name, f"{self._name} queue lengths", words)

    def _rates(self) -> dict[str, int]:
        """What each of Slotcar's classes is guaranteed, bit/s, rounded up; without those that have no share. QBSS has 1 %
        at least (D7.3 §8.1.3)."""
        rates = {}
        for queue in self._egress.queues:
            if queue.service is Service.BEST_EFFORT:
                continue
            share_ppm = max(queue.share_ppm, _MILLION // 100) if queue.service is Service.QBSS else queue.share_ppm
            if share_ppm:
                rate_bps = -(-self._egress.capacity_bps * share_ppm // _MILLION)
                if queue.shaper is not None:
                    rate_bps = min(rate_bps, queue.shaper.rate_bps)
                rate_bps = JUNOS.weight.at_least(rate_bps, self._where, f"a share of {queue.key}", "bit/s")
                rates[self._class_of(queue)] = rate_bps
        return rates

    def _class_of(self, queue: Queue) -> str:
        return class_of(queue.service, self._options, queue.assured)

    def _check(self, rates: dict[str, int]) -> None:
        total = sum(rates.values())
        if total > self._egress.capacity_bps:
            words = ", ".join(f"{name.removeprefix(PREFIX)} {rate}" for name, rate in rates.items())
            raise Unrenderable(
                f"{self._where}: the shares need {total} bit/s ({words}), and the link has {self._egress.capacity_bps};"
                " `slotcar_options.network_control_percent` is left to the router's own control traffic"
            )

    def _scheduler(self, of: str, rate_bps: int) -> Scheduler:
        if of == PREMIUM:
            percent = min(100, -(-rate_bps * 100 // self._egress.capacity_bps))
            name = self._called("EF")
            return Scheduler(name, "strict-high", rate_bps=rate_bps, rate_limited=True, buffer_percent=percent)
        if of == QBSS:
            buffer_us = _buffer_us(self._queues[Service.QBSS], rate_bps)
            return Scheduler(self._called("QBSS"), "low", rate_bps=rate_bps, buffer_us=buffer_us)
        queue = next(one for one in self._egress.queues if self._class_of(one) == of)
        buffer_us = _buffer_us(queue, rate_bps)
        name = self._called(of.removeprefix(PREFIX))
        profiles = _profiles_of(queue.assured)
        return Scheduler(name, "low", rate_bps=rate_bps, buffer_us=buffer_us, profiles=profiles, ecn=self._options.ecn)

    def _called(self, what: str) -> str:
        return checked_name(f"{PREFIX}{what}-{self._label}", self._device)


def schedules_units(device: Device, port: str) -> bool:
    """Whether a port of the inventory schedules unit by unit: where it has another unit than 0 there."""
    of_port = [port_and_unit(name, device.name) for name in device.interfaces]
    return any(unit for other, unit in of_port if other == port)


def _buffer_us(queue: Queue, rate_bps: int) -> int:
    """The time that a full queue takes at its own rate, cut to what Junos accepts."""
    return min(BUFFER_US.ceiling, max(BUFFER_US.floor, -(-queue.queue_bytes * 8_000_000 // rate_bps)))
