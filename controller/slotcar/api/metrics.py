"""Figures for Prometheus, read from the ledger, its log, the loop and the webhooks at the moment of asking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from slotcar.admission.resource_id import KINDS, ResourceId
from slotcar.api.context import Context
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.errors import LedgerUnavailable
from slotcar.desk.controller import phases_of
from slotcar.measuring.audits.verdicts import Verdicts, worst_of
from slotcar.network.model import Network
from slotcar.rollout.carried import Carried
from slotcar.store.audits import WayState
from slotcar.store.webhooks import Backlog
from slotcar.views.capacity import courses, device_of
from slotcar.watching.model import WatchState

#: Of so many resources, by name, it is told what is reserved; each is three series of Prometheus.
MOST_LINKS = 2_000


#: A probe that was silent for longer than another of its SLS is taken for one that is gone.
GONE_US = 86_400_000_000


class _Figures:
    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("slotcar_ledger_up", "1 when the ledger's database answers")
        try:
            desk = self._context.desk
            self._context.figures.catch_up(desk.ledger, desk.network.devices, self._context.desk.started_at)
            states = GaugeMetricFamily("slotcar_reservations", "Reservations by state", labels=["state"])
            for state, count in self._context.desk.ledger.states().items():
                states.add_metric([state.value], count)
            up.add_metric([], 1)
            yield states
            yield CounterMetricFamily(
                "slotcar_ledger_events", "Events of the audit log", self._context.desk.ledger.last_event()
            )
            yield from self._webhooks()
            yield from self._audits()
            if desk.settings.link_metrics:
                yield from self._links(self._context.now())
        except LedgerUnavailable:
            up.add_metric([], 0)
        yield up
        yield from self._loop()
        yield from self._context.figures.collect()
        yield GaugeMetricFamily("slotcar_event_streams", "Event streams that are open", self._context.streams.count)

    def _webhooks(self) -> Iterator[Metric]:
        webhooks = self._context.desk.ledger.webhooks
        ids, backlogs = [one.id for one in webhooks.all()], webhooks.backlogs()
        label = ["webhook"]
        waiting = GaugeMetricFamily("slotcar_webhook_waiting", "Events that wait to be delivered", labels=label)
        dead = GaugeMetricFamily("slotcar_webhook_dead_letters", "Events that were given up", labels=label)
        oldest = GaugeMetricFamily(
            "slotcar_webhook_oldest_waiting_timestamp_seconds", "When what waits longest was queued", labels=label
        )
        delivered = CounterMetricFamily(
            "slotcar_webhook_deliveries", "Events delivered by this controller", labels=label
        )
        failed = CounterMetricFamily(
            "slotcar_webhook_delivery_failures", "Attempts of this controller that failed", labels=label
        )
        counts = self._context.deliveries
        for one in ids:
            backlog = backlogs.get(one, Backlog())
            waiting.add_metric([one], backlog.waiting)
            dead.add_metric([one], backlog.dead)
            if backlog.oldest_at is not None:
                oldest.add_metric([one], backlog.oldest_at.timestamp())
            delivered.add_metric([one], counts.delivered[one])
            failed.add_metric([one], counts.failed[one])
        yield from (waiting, dead, oldest, delivered, failed)

    def _audits(self) -> Iterator[Metric]:
        """Of each SLS the worst of its ways, by this hour or the one before. It is neither where that is unknown."""
        kept = GaugeMetricFamily("slotcar_sls_kept", "1 where an SLS is kept, 0 where it is broken", labels=["sls"])
        measured = GaugeMetricFamily(
            "slotcar_sls_measured_timestamp_seconds", "Up to when a probe measured an SLS", labels=["sls"]
        )
        ledger, network = self._context.desk.ledger, self._context.desk.network
        for name, items in Verdicts(ledger, network).latest(self._context.now()).items():
            if (verdict := worst_of(items)) != "unknown":
                kept.add_metric([name], int(verdict == "kept"))
        for name, at_us in measured_until_us(ledger.audits.ways()).items():
            if name in network.sls:
                measured.add_metric([name], at_us / 1e6)
        yield from (kept, measured)

    def _links(self, now: datetime) -> Iterator[Metric]:
        """What is reserved at this instant of every service of a link, in each direction, and of every SLS."""
        ledger, network = self._context.desk.ledger, self._context.desk.network
        names = links_of(ledger.terms.capacities, network)
        exported, moment = names[:MOST_LINKS], Window(now, now + MICROSECOND)
        links, _ = ledger.ask(lambda tables: courses(tables, exported, moment, network.sls), now)
        labels = ["resource", "device"]
        name, words = "slotcar_link_{}_bits_per_second", "of a link's service, or of an SLS"
        capacity = GaugeMetricFamily(name.format("capacity"), f"All {words}", labels=labels)
        reserved = GaugeMetricFamily(name.format("reserved"), f"What is reserved now {words}", labels=labels)
        free = GaugeMetricFamily(name.format("free"), f"What is free now {words}", labels=labels)
        for one in links:
            values = [str(one.resource), device_of(one.resource, network)]
            capacity.add_metric(values, one.capacity_bps)
            reserved.add_metric(values, one.peak_bps)
            free.add_metric(values, one.free_bps)
        yield from (capacity, reserved, free)
        left_out = "Links' services and SLSs of which nothing is told, as there are too many"
        yield GaugeMetricFamily("slotcar_links_left_out", left_out, len(names) - len(exported))

    def _loop(self) -> Iterator[Metric]:
        loop = self._context.desk.loop
        if loop is None:
            return
        yield GaugeMetricFamily("slotcar_leading", "1 when this controller pushes to devices", int(loop.leading))
        yield CounterMetricFamily("slotcar_pushes", "Pushes that were verified", loop.pushes)
        yield CounterMetricFamily("slotcar_pushes_failed", "Pushes that failed", loop.failed_pushes)
        yield GaugeMetricFamily("slotcar_devices_in_trouble", "Devices that do not take a push", len(loop.troubles))
        phases = GaugeMetricFamily("slotcar_devices", "Devices by how far they are with a boundary", labels=["phase"])
        for phase, count in sorted(Counter(phases_of(loop).values()).items()):
            phases.add_metric([phase], count)
        yield phases
        clocks = GaugeMetricFamily(
            "slotcar_device_clock_ahead_seconds",
            "How far a device's clock was ahead when last staged",
            labels=["device"],
        )
        for device, ahead_us in sorted(loop.ahead_us.items()):
            clocks.add_metric([device], ahead_us / 1e6)
        yield clocks
        coming = GaugeMetricFamily("slotcar_next_boundary_seconds", "The next slot boundary, since the epoch")
        if loop.next_boundary:
            coming.add_metric([], loop.next_boundary.timestamp())
        yield coming
        yield from self._watch()
        not_counted = "Devices whose counters were asked for and not understood"
        yield GaugeMetricFamily("slotcar_devices_not_counted", not_counted, len(loop.not_counted))
        if self._context.desk.settings.link_metrics:
            network = self._context.desk.network
            yield from _carried_by_sls(loop.carried, sorted(network.sls)[:MOST_LINKS])
            yield from _carried_by_link(loop.carried, ways_out_of(network)[:MOST_LINKS])

    def _watch(self) -> Iterator[Metric]:
        watch = self._context.desk.watch
        if watch is None:
            return
        states = Counter(one.state.value for one in watch.devices.copy().values())
        devices = GaugeMetricFamily(
            "slotcar_watched_devices", "Devices by whether they tell of changes by themselves", labels=["state"]
        )
        for state in WatchState:
            devices.add_metric([state.value], states[state.value])
        yield devices
        changes = CounterMetricFamily(
            "slotcar_device_changes_told", "Changes that a device told of", labels=["device"]
        )
        checks = CounterMetricFamily(
            "slotcar_device_change_checks", "Checks of a device for the changes that it told", labels=["device"]
        )
        for name in sorted(self._context.desk.network.devices):
            changes.add_metric([name], watch.changes[name])
            checks.add_metric([name], watch.checks[name])
        yield from (changes, checks)


def measured_until_us(ways: Iterable[WayState]) -> dict[str, int]:
    """Up to when all probes of an SLS measured it that are not gone."""
    until_us: dict[str, list[int]] = {}
    for one in ways:
        # What routers alone told of was not measured by a probe.
        if one.way.source:
            until_us.setdefault(one.way.sls, []).append(one.until_us)
    return {name: min(at for at in listed if at > max(listed) - GONE_US) for name, listed in until_us.items()}


def _carried_by_sls(carried: Carried, names: Sequence[str]) -> Iterator[Metric]:
    """All from the beginning: a counter that appears with 1 has not increased, as Prometheus sees it."""
    words = "of flows that cross the SLS, in bytes of IP packets, since this controller began"
    for name, words_of_it, counted in (
        ("slotcar_sls_promised_bytes", "What was promised in the time that was counted", carried.promised_bytes),
        ("slotcar_sls_used_bytes", "What passed", carried.used_bytes),
        ("slotcar_sls_dropped_bytes", "What policers dropped", carried.dropped_bytes),
    ):
        family = CounterMetricFamily(name, f"{words_of_it} {words}", labels=["sls"])
        for sls in names:
            family.add_metric([sls], counted[sls])
        yield family


def _carried_by_link(carried: Carried, ways: Sequence[tuple[str, str]]) -> Iterator[Metric]:
    for name, words_of_it, counted in (
        ("slotcar_link_sent_bytes", "What left, in bytes of IP packets", carried.sent_bytes),
        ("slotcar_link_dropped_packets", "What queues dropped", carried.dropped_packets),
    ):
        words = f"{words_of_it}, since this controller began"
        family = CounterMetricFamily(name, words, labels=["device", "interface"])
        for way in ways:
            family.add_metric(list(way), counted[way])
        yield family


def ways_out_of(network: Network) -> list[tuple[str, str]]:
    """Devices with their interfaces to other routers, by name."""
    return sorted(
        (name, interface)
        for name, device in network.devices.items()
        for interface, one in device.interfaces.items()
        if one.neighbour is not None
    )


def links_of(capacities: Mapping[ResourceId, int], network: Network) -> list[ResourceId]:
    """The resources that have a capacity, but those towards end systems and the inbound halves of links: what comes in at
    one end went out at the other.
    """
    resources = (name for name, capacity in capacities.items() if capacity and name.kind in KINDS)
    return sorted((name for name in resources if name.interface is None or _leaves_by_link(name, network)), key=str)


def _leaves_by_link(name: ResourceId, network: Network) -> bool:
    return name.is_outbound and name.interface is not None and network.interface(name.interface).neighbour is not None


def registry_of(context: Context) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Figures(context))
    return registry
