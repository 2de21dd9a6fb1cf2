"""Figures for Prometheus, read from the ledger and the loop at the moment of asking."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controller.api.context import Context
from controller.ledger.errors import LedgerUnavailable


class _Figures:
    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("slotcar_ledger_up", "1 when the ledger's database answers")
        try:
            states = GaugeMetricFamily("slotcar_reservations", "Reservations by state", labels=["state"])
            for state, count in self._context.broker.ledger.states().items():
                states.add_metric([state.value], count)
            up.add_metric([], 1)
            yield states
            yield CounterMetricFamily(
                "slotcar_ledger_events", "Events of the audit log", self._context.broker.ledger.last_event()
            )
        except LedgerUnavailable:
            up.add_metric([], 0)
        yield up
        yield from self._loop()

    def _loop(self) -> Iterator[Metric]:
        loop = self._context.loop
        if loop is None:
            return
        yield GaugeMetricFamily("slotcar_leading", "1 when this controller pushes to devices", int(loop.leading))
        yield CounterMetricFamily("slotcar_pushes", "Pushes that were verified", loop.pushes)
        yield CounterMetricFamily("slotcar_pushes_failed", "Pushes that failed", loop.failed_pushes)
        yield GaugeMetricFamily("slotcar_devices_in_trouble", "Devices that do not take a push", len(loop.troubles))
        if loop.next_boundary:
            yield GaugeMetricFamily(
                "slotcar_next_boundary_seconds",
                "The next slot boundary, since the epoch",
                loop.next_boundary.timestamp(),
            )


def registry_of(context: Context) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Figures(context))
    return registry
