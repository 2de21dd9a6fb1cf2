"""Figures out of the audit log: each event is counted once, at the first scrape after it.

Every controller reads the same log, so all of them tell the same: take the greatest of their figures, not the sum.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.metrics_core import Metric

from slotcar.book.model import Event
from slotcar.store import Ledger
from slotcar.store.queries import EventFilter
from slotcar.views.phases import lags_us
from slotcar_client.wire.events import (
    BoundaryActive,
    BoundaryFailed,
    ControllerLeads,
    DeviceDrifted,
    DeviceSetAside,
    PushAlarm,
    PushArmed,
    PushFailure,
    PushNotRolledBack,
    PushStarted,
    PushVerified,
    PushWithheld,
)

#: When each series was made is of no use here, and as many series again.
disable_created_metrics()  # type: ignore[no-untyped-call]
FAMILIES = ("boundary.", "push.", "device.", "controller.")
OF_A_DEVICE = frozenset({PushFailure, DeviceSetAside, PushNotRolledBack, DeviceDrifted})
PAGE = 2000
#: Of pages at one scrape; what is left is counted at the next one.
MOST_PAGES = 25
#: Pushes that never came to an end are forgotten after so many others.
MOST_UNDER_WAY = 10_000
LAGS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
PUSHES_S = (0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 60, 120, 300)


class LogFigures:
    """The figures of one controller, counted from its start on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._position: int | None = None
        self._started: dict[tuple[str, str | None], tuple[datetime, datetime | None]] = {}
        self.registry = CollectorRegistry()
        self._lag = self._histogram("boundary_activation_lag", "From a boundary to a device's acting on it", LAGS_S)
        self._skew = self._histogram("boundary_skew", "From the first device of a boundary to its last", LAGS_S)
        self._push = self._histogram(
            "push_duration", "From a push's start, or its boundary if that is later, to its end", PUSHES_S
        )
        device = ("device",)
        self._counted: Mapping[type, Counter] = {
            BoundaryFailed: self._counter("boundary_failures", "Boundaries at which devices failed"),
            PushFailure: self._counter("device_push_failures", "Pushes that failed and were taken back", device),
            DeviceSetAside: self._counter("device_failures", "Times that a device was set aside", device),
            PushNotRolledBack: self._counter(
                "device_rollback_failures", "Pushes that failed and could not be taken back", device
            ),
            PushWithheld: self._counter(
                "reservations_withheld", "Reservations that were not activated as a device was in trouble"
            ),
            PushAlarm: self._counter("slots_in_danger", "Slots that asked to call operators and could not begin"),
            DeviceDrifted: self._counter("device_drifts", "Times that others had changed a device", device),
            ControllerLeads: self._counter("leadership_changes", "Times that a controller took the lead"),
        }
        self._verified = self._instants("verified", "When the device was last verified after a push")
        self._armed_until = self._instants("armed_until", "The last instant that the device is armed for")

    def _histogram(self, name: str, words: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"slotcar_{name}_seconds", words, buckets=buckets, registry=self.registry)

    def _counter(self, name: str, words: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(f"slotcar_{name}", words, labels, registry=self.registry)

    def _instants(self, name: str, words: str) -> Gauge:
        return Gauge(f"slotcar_device_{name}_timestamp_seconds", words, ["device"], registry=self.registry)

    def catch_up(self, ledger: Ledger, devices: Iterable[str], started_at: datetime) -> None:
        """Counts what was recorded since the last time, and at first since the controller's start.

        Of `devices` each has its series from the beginning.

        Raises:
            LedgerUnavailable: nothing was counted that is not counted again.
        """
        with self._lock:
            if self._position is None:
                before = ledger.events_of(EventFilter(until=started_at), after=None, limit=1)
                # A counter that appears with 1 has not increased, as Prometheus sees it.
                for device, kind in itertools.product(devices, OF_A_DEVICE):
                    self._counted[kind].labels(device)
                for latest in (PushVerified, PushArmed):
                    for event in ledger.summaries.latest_of_devices((latest.kind,)):
                        self._look_at_device(event)
                self._position = before[0].sequence if before else 0
            wanted = EventFilter(FAMILIES)
            for _ in range(MOST_PAGES):
                last = ledger.last_event()
                listed = ledger.events_of(wanted, self._position, PAGE)
                for event in listed:
                    self._take(event)
                    self._position = event.sequence
                if len(listed) < PAGE:
                    self._position = max(self._position, last)
                    return

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            yield from self.registry.collect()

    def _take(self, event: Event) -> None:
        says = event.says
        counter = self._counted.get(type(says))
        if counter is not None:
            (counter.labels(event.device or "") if type(says) in OF_A_DEVICE else counter).inc()
        if isinstance(says, BoundaryActive):
            self._lags(list(lags_us(event).values()))
        elif isinstance(says, PushStarted):
            self._start(event, says)
        elif isinstance(says, PushVerified):
            self._finish(event, says)
        self._look_at_device(event)

    def _lags(self, lags_us: list[int]) -> None:
        for lag in lags_us:
            self._lag.observe(lag / 1e6)
        if len(lags_us) > 1:
            self._skew.observe((max(lags_us) - min(lags_us)) / 1e6)

    def _look_at_device(self, event: Event) -> None:
        if event.device is None:
            return
        if isinstance(event.says, PushVerified):
            self._verified.labels(event.device).set(event.at.timestamp())
        elif isinstance(event.says, PushArmed) and event.says.until is not None:
            self._armed_until.labels(event.device).set(event.says.until.timestamp())

    def _start(self, event: Event, says: PushStarted) -> None:
        if len(self._started) >= MOST_UNDER_WAY:
            self._started.clear()
        self._started[says.revision, event.device] = (event.at, says.activate_at)

    def _finish(self, event: Event, says: PushVerified) -> None:
        started = self._started.pop((says.revision, event.device), None)
        if started is None:
            return
        began, activate_at = started
        if activate_at is not None and activate_at <= event.at:
            # What is staged ahead waits for its instant: that is no work.
            began = max(began, activate_at)
        self._push.observe(max(0.0, (event.at - began).total_seconds()))
