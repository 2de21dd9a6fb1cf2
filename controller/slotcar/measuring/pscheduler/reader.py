"""Reads what pSchedulers measured of SLSs into the ledger, while this controller leads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import from_us
from slotcar.book.errors import LedgerUnavailable
from slotcar.measuring.audits.verdicts import Verdicts
from slotcar.measuring.pscheduler.fetching import PScheduler
from slotcar.measuring.pscheduler.results import Unreadable, measured_of, probing_of
from slotcar.network.model import Network, PSchedulerTask, Sls
from slotcar.store import Ledger
from slotcar.store.audits import AuditedWay

log = structlog.get_logger("slotcar.pscheduler")
PERIOD_S = 60.0
#: How soon it is noticed that this controller leads.
LOOK_S = 1.0
#: How far back runs are asked for, of a way of which nothing is known or that was not read for long.
BACK = timedelta(days=1)


@dataclass(slots=True)
class PSchedulerReader:
    """
    Attributes:
        leads: whether this controller leads; only that one reads.
        troubles: by the task's address, why it could not be read last.
    """

    ledger: Ledger
    network: Network
    leads: Callable[[], bool]
    clock: Callable[[], datetime]
    troubles: dict[str, str] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)

    @property
    def sources(self) -> list[tuple[Sls, PSchedulerTask]]:
        return [(sls, one) for sls in self.network.sls.values() for one in sls.pscheduler]

    def run(self, stopping: threading.Event) -> None:
        """Until it is told to stop."""
        self._stopping = stopping
        while not stopping.is_set():
            if self.leads():
                self.read_all()
                stopping.wait(PERIOD_S)
            else:
                stopping.wait(LOOK_S)

    def read_all(self) -> None:
        """All sources, one after another; one that fails is noted, and nothing is known of its time."""
        for sls, source in self.sources:
            try:
                self._read(sls, source)
                trouble = ""
            except LedgerUnavailable:
                return
            except SlotcarError as error:
                trouble = str(error)
            self._note(sls, source, trouble)

    def _note(self, sls: Sls, source: PSchedulerTask, trouble: str) -> None:
        if trouble and self.troubles.get(source.task) != trouble:
            log.warning("what pScheduler measured is not known", sls=sls.name, problem=trouble)
        self.troubles.pop(source.task, None)
        if trouble:
            self.troubles[source.task] = trouble

    def _read(self, sls: Sls, source: PSchedulerTask) -> None:
        now = self.clock()
        with PScheduler(source) as scheduler:
            probing = probing_of(scheduler.task())
            verdicts = Verdicts(self.ledger, self.network)
            unreadable = ""
            for document in self._new_runs(scheduler, sls, source, now):
                try:
                    measured = measured_of(document, probing, sls, source)
                except Unreadable as error:  # of this run alone nothing is known
                    unreadable = str(error)
                    continue
                if measured is not None and measured.until_us <= int(now.timestamp() * 1_000_000):
                    verdicts.take(measured.way, measured.start_us, measured.until_us, measured.windows, now)
            if unreadable:
                raise Unreadable(f"{source.task}: a run cannot be read: {unreadable}")

    def _new_runs(self, scheduler: PScheduler, sls: Sls, source: PSchedulerTask, now: datetime) -> Iterator[object]:
        way = AuditedWay(sls.name, source.source, source.destination)
        known_us = next((one.until_us for one in self.ledger.audits.ways() if one.way == way), 0)
        since = max(now - BACK, from_us(known_us) if known_us else now - BACK)
        for address in scheduler.runs(since, now):
            if self._stopping.is_set() or not self.leads():
                return
            yield scheduler.run(address)
