"""Answers the verbs about audits: whether SLSs were kept; and takes what probes measured of them (ADR 87)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slotcar.base.model_errors import nearest
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import Window, from_us, iso, to_us
from slotcar.base.vocabulary import RESERVED_SERVICES
from slotcar.book.rules import roles
from slotcar.book.rules.roles import Caller
from slotcar.broker.broker import Broker
from slotcar.measuring.audits.documents import item_document, sls_document
from slotcar.measuring.audits.judging import AuditVerdict, Judgement, judge
from slotcar.measuring.audits.periods import items_of, periods_of
from slotcar.measuring.audits.rates import ways_out
from slotcar.measuring.audits.reading import stream_of
from slotcar.measuring.audits.streams import windows_of
from slotcar.network.model import Sls
from slotcar.network.schedules import due_us
from slotcar.store.audits import DAY_S, HOUR_S, AuditWindow
from slotcar.store.counts import CountedStep
from slotcar_client.wire import documents, verbs
from slotcar_client.wire.events import SlsBroken, SlsKept

STEPS_S = {"hour": HOUR_S, "day": DAY_S}
#: What is longer is shown by days, where nobody says by what.
BY_HOURS = timedelta(days=2)
#: Of one answer.
MOST_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class Auditing:
    """The verbs. Errors are `SlotcarError`s; `InvalidInput` names every mistake of a request with its key."""

    broker: Broker

    def audits(
        self, name: str | None, service: str | None, window: Window, step: str | None, caller: Caller, now: datetime
    ) -> documents.Audits:
        """Of one SLS or of all, of a class or of all; by `hour` or `day`.

        Raises:
            NotAllowed: neither operator nor auditor.
        """
        roles.require_overview(caller, "see whether SLSs were kept", "audits")
        step_s = STEPS_S.get(step or "", HOUR_S if window.duration <= BY_HOURS else DAY_S)
        chosen = self._chosen(name, service)
        periods = periods_of(window, step_s)
        whole = Window(periods[0].start, periods[-1].end)
        windows = self._windows(chosen, step_s, whole)
        _require_few(chosen, windows, periods)
        return {
            "since": iso(whole.start), "until": iso(whole.end), "step": "hour" if step_s == HOUR_S else "day",
            "items": [self._audit(one, windows.get(one.name, ()), periods, whole, now) for one in chosen],
        }  # fmt: skip

    def record_stream(self, verb: verbs.RecordStream, caller: Caller, now: datetime) -> documents.AuditedStream:
        """
        Raises:
            NotAllowed: the caller may change nothing.
        """
        roles.require_may_change(caller, verb="record_stream")
        stream = stream_of(verb, self.broker.network, now)
        sls, way = self.broker.network.sls[stream.way.sls], stream.way
        windows = windows_of(stream, sls)
        # Also where it promised nothing then: that it was measured is known.
        added = self.broker.ledger.audits.add(way, stream.start_us, stream.until_us, windows)
        hours = [one for one in added or () if one.step_s == HOUR_S]
        judged = [_judged_so_far(sls, one, now) for one in hours]
        if hours:
            self._stand(sls, hours[-1], judged[-1][1], now)
        return {
            "sls": way.sls, "source": way.source, "destination": way.destination, "is_new": added is not None,
            "items": [
                item_document(way, one.start_us, one.start_us + HOUR_S * 1_000_000, one, due, judgement)
                for one, (due, judgement) in zip(hours, judged, strict=True)
            ],
        }  # fmt: skip

    # -- inside ----------------------------------------------------------------------------------------------------

    def _chosen(self, name: str | None, service: str | None) -> list[Sls]:
        network = self.broker.network
        if name is not None and name not in network.sls:
            hint = nearest(name, sorted(network.sls))
            raise InvalidInput([Problem("query", 0, "sls", "is no SLS of the inventory", name, hint)])
        if service is not None and service not in RESERVED_SERVICES:
            hint = f"say one of {', '.join(RESERVED_SERVICES)}"
            raise InvalidInput([Problem("query", 0, "service", "is no class that an SLS promises", service, hint)])
        chosen = [network.sls[name]] if name is not None else [network.sls[one] for one in sorted(network.sls)]
        return [one for one in chosen if service in (None, one.service.value)]

    def _windows(self, chosen: Sequence[Sls], step_s: int, window: Window) -> dict[str, list[AuditWindow]]:
        by_sls: dict[str, list[AuditWindow]] = {}
        for one in self.broker.ledger.audits.windows([sls.name for sls in chosen], step_s, window):
            by_sls.setdefault(one.way.sls, []).append(one)
        return by_sls

    def _audit(
        self, sls: Sls, windows: Sequence[AuditWindow], periods: Sequence[Window], whole: Window, now: datetime
    ) -> documents.SlsAudit:
        if not sls.has_figures:
            return sls_document(sls, ())
        return sls_document(sls, list(items_of(sls, windows, self._counted(sls, whole), periods, to_us(now))))

    def _counted(self, sls: Sls, window: Window) -> list[CountedStep]:
        out = ways_out(sls, self.broker.network)
        return [step for one in out for step in self.broker.ledger.counts.of_link(one.device, one.name, window)]

    def _stand(self, sls: Sls, window: AuditWindow, judged: Judgement, now: datetime) -> None:
        """An event where it stands otherwise than before. What is unknown changes nothing, and what was never known to
        be broken is no news where it is kept."""
        if judged.verdict is AuditVerdict.UNKNOWN:
            return
        stood = self.broker.ledger.audits.stand(window.way, judged.verdict.value)
        if stood is None or (judged.verdict is AuditVerdict.KEPT and stood == AuditVerdict.UNKNOWN):
            return
        parts = {"delay": judged.delay, "variation": judged.variation, "loss": judged.loss, "rate": judged.rate}
        broken = tuple(name for name, one in parts.items() if one is not None and one.verdict is AuditVerdict.BROKEN)
        way = window.way
        whose = {"sls": sls.name, "service": sls.service.value, "source": way.source, "destination": way.destination}
        start, between = from_us(window.start_us), f"from {way.source} to {way.destination}"
        if judged.verdict is AuditVerdict.BROKEN:
            words = f"{sls.name} is broken {between} by {' and '.join(broken)}"
            self.broker.ledger.record(SlsBroken(**whose, start=start, broken=broken, message=words), now)
        else:
            words = f"{sls.name} is kept again {between}"
            self.broker.ledger.record(SlsKept(**whose, start=start, message=words), now)


def _judged_so_far(sls: Sls, window: AuditWindow, now: datetime) -> tuple[int, Judgement]:
    """For how much of its hour the SLS promised something, and how it stands by probes alone."""
    due = due_us(Window.of_us(window.start_us, window.start_us + HOUR_S * 1_000_000), sls.validity, sls.schedule)
    return due, judge(sls, window, due)


def _require_few(chosen: Sequence[Sls], windows: dict[str, list[AuditWindow]], periods: Sequence[Window]) -> None:
    ways = sum(max(1, len({one.way for one in windows.get(sls.name, ())})) for sls in chosen if sls.has_figures)
    if ways * len(periods) > MOST_ITEMS:
        hint = "ask for less time, for days, or for one SLS"
        problem = Problem(
            "query", 0, "until", f"would show {ways * len(periods)} items, more than {MOST_ITEMS}", "", hint
        )
        raise InvalidInput([problem])
