"""How SLSs are found by probes and by routers, in one way for all who ask: audits, events and figures (ADR 87)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slotcar.base.timebase import MICROSECOND, Window, to_us
from slotcar.measuring.audits.periods import items_of, periods_of
from slotcar.measuring.audits.rates import ways_out
from slotcar.measuring.audits.words import FIGURES
from slotcar.network.model import InterfaceId, Network, Sls
from slotcar.store import Ledger
from slotcar.store.audits import HOUR_S, AuditedWay, AuditWindow
from slotcar.store.counts import CountedStep
from slotcar_client.wire import documents
from slotcar_client.wire.events import SlsBroken, SlsKept

HOUR = timedelta(seconds=HOUR_S)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """
    Raises (every method):
        LedgerUnavailable.
    """

    ledger: Ledger
    network: Network

    def windows(self, slses: Iterable[Sls], step_s: int, window: Window) -> dict[str, list[AuditWindow]]:
        """What probes measured, by the SLS's name."""
        by_sls: dict[str, list[AuditWindow]] = {}
        for one in self.ledger.audits.windows([sls.name for sls in slses], step_s, window):
            by_sls.setdefault(one.way.sls, []).append(one)
        return by_sls

    def items(
        self,
        slses: Sequence[Sls],
        windows: Mapping[str, Sequence[AuditWindow]],
        periods: Sequence[Window],
        now: datetime,
    ) -> dict[str, list[documents.AuditItem]]:
        """Each hour or day of each way, judged by what probes measured in it and by what routers counted."""
        audited = [one for one in slses if one.has_figures]
        out = {one.name: ways_out(one, self.network) for one in audited}
        whole = Window(periods[0].start, periods[-1].end)
        counted: dict[InterfaceId, list[CountedStep]] = {}
        places = {(one.device, one.name) for listed in out.values() for one in listed}
        for step in self.ledger.counts.of_links(places, whole):
            counted.setdefault(InterfaceId(device=step.device, name=step.interface), []).append(step)
        return {
            sls.name: list(
                items_of(
                    sls, windows.get(sls.name, ()), [step for one in out[sls.name] for step in counted.get(one, ())],
                    periods, to_us(now),
                )
            )
            for sls in audited
        }  # fmt: skip

    def latest(self, now: datetime) -> dict[str, list[documents.AuditItem]]:
        """By which hour each way of each SLS stands: this one; where nothing can be said of it yet, the one before."""
        slses = [one for one in self.network.sls.values() if one.has_figures]
        periods = periods_of(Window(now - HOUR, now + MICROSECOND), HOUR_S)
        windows = self.windows(slses, HOUR_S, Window(periods[0].start, periods[-1].end)) if slses else {}
        by_sls = self.items(slses, windows, periods, now) if slses else {}
        return {name: latest_of(items) for name, items in by_sls.items()}

    def take(
        self, way: AuditedWay, start_us: int, until_us: int, windows: Iterable[AuditWindow], now: datetime
    ) -> list[documents.AuditItem] | None:
        """Adds what was measured of a way, and tells of the hours that stand otherwise by it; these hours. None where it
        was added before. Also where the SLS promised nothing then: that it was measured is known."""
        added = self.ledger.audits.add(way, start_us, until_us, windows)
        if added is None:
            return None
        sls = self.network.sls[way.sls]
        items: list[documents.AuditItem] = []
        for one in added:
            if one.step_s == HOUR_S:
                (period,) = periods_of(Window.of_us(one.start_us, one.start_us + 1), HOUR_S)
                judged = self.items([sls], {sls.name: [one]}, [period], now)[sls.name]
                items += [item for item in judged if (item["source"], item["destination"]) == way[1:]]
        for item in items:
            self.tell_of(sls, item, now)
        return items

    def tell(self, now: datetime) -> None:
        """Events of the SLSs that stand otherwise than before."""
        for name, items in self.latest(now).items():
            for item in items:
                self.tell_of(self.network.sls[name], item, now)

    def tell_of(self, sls: Sls, item: documents.AuditItem, now: datetime) -> None:
        """An event where it stands otherwise than before. What is unknown changes nothing, and what was never known to
        be broken is no news where it is kept."""
        audits, verdict = self.ledger.audits, item["verdict"]
        way = AuditedWay(sls.name, item["source"], item["destination"])
        if verdict == "unknown":
            # Nobody probes it, and so it cannot be kept: but what routers drop the next time is news.
            if _is_known(item):
                audits.stand(way, "unknown")
            return
        if not way.source:
            audits.add(way, 0, to_us(now), ())
        stood = audits.stand(way, verdict)
        if stood is None or (verdict == "kept" and stood == "unknown"):
            return
        between = f" from {way.source} to {way.destination}" if way.source else ""
        whose = {"sls": sls.name, "service": sls.service.value, "source": way.source, "destination": way.destination}
        start = datetime.fromisoformat(item["start"])
        if verdict == "broken":
            broken = broken_by(item)
            words = f"{sls.name} is broken{between} by {' and '.join(broken)}"
            self.ledger.record(SlsBroken(**whose, start=start, broken=broken, message=words), now)
        else:
            self.ledger.record(SlsKept(**whose, start=start, message=f"{sls.name} is kept again{between}"), now)


def latest_of(items: Iterable[documents.AuditItem]) -> list[documents.AuditItem]:
    """Of each way the last item of which something is known; the last of all where nothing is. Pure."""
    latest: dict[tuple[str, str], documents.AuditItem] = {}
    for one in items:
        way = (one["source"], one["destination"])
        if _is_known(one) or way not in latest or not _is_known(latest[way]):
            latest[way] = one
    return list(latest.values())


def _is_known(item: documents.AuditItem) -> bool:
    """Whether something is known of it; of what nobody probes it is enough that routers dropped nothing."""
    return item["verdict"] != "unknown" or (not item["source"] and item["rate"]["verdict"] == "kept")


def worst_of(items: Sequence[documents.AuditItem]) -> documents.AuditVerdict:
    """Broken where one is, kept where all are. Pure."""
    verdicts = {one["verdict"] for one in items}
    if "broken" in verdicts:
        return "broken"
    return "kept" if verdicts == {"kept"} else "unknown"


def broken_by(item: documents.AuditItem) -> tuple[str, ...]:
    """The names of the figures that break it. Pure."""
    figures = {name: item[name] for name in FIGURES}  # type: ignore[literal-required]
    return tuple(name for name, one in figures.items() if one is not None and one["verdict"] == "broken")
