"""Answers the verbs about audits: whether SLSs were kept; and takes what probes measured of them (ADR 87)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slotcar.base.model_errors import nearest
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import Window, iso
from slotcar.base.vocabulary import RESERVED_SERVICES
from slotcar.book.rules import roles
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk
from slotcar.measuring.audits.documents import sls_document
from slotcar.measuring.audits.periods import periods_of, ways_of
from slotcar.measuring.audits.reading import stream_of
from slotcar.measuring.audits.streams import windows_of
from slotcar.measuring.audits.verdicts import Verdicts
from slotcar.network.model import Sls
from slotcar.store.audits import DAY_S, HOUR_S, AuditWindow
from slotcar_client.wire import documents, verbs

STEPS_S = {"hour": HOUR_S, "day": DAY_S}
#: What is longer is shown by days, where nobody says by what.
BY_HOURS = timedelta(days=2)
#: Of one answer.
MOST_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class Auditing:
    """The verbs. Errors are `SlotcarError`s; `InvalidInput` names every mistake of a request with its key."""

    desk: Desk

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
        verdicts = Verdicts(self.desk.ledger, self.desk.network)
        windows = verdicts.windows(chosen, step_s, whole)
        _require_few(chosen, windows, periods)
        items = verdicts.items(chosen, windows, periods, now)
        return {
            "since": iso(whole.start), "until": iso(whole.end), "step": "hour" if step_s == HOUR_S else "day",
            "items": [sls_document(one, items.get(one.name, ())) for one in chosen],
        }  # fmt: skip

    def record_stream(self, verb: verbs.RecordStream, caller: Caller, now: datetime) -> documents.AuditedStream:
        """
        Raises:
            NotAllowed: the caller may change nothing.
        """
        roles.require_may_change(caller, verb="record_stream")
        stream = stream_of(verb, self.desk.network, now)
        way = stream.way
        windows = windows_of(stream, self.desk.network.sls[way.sls])
        verdicts = Verdicts(self.desk.ledger, self.desk.network)
        items = verdicts.take(way, stream.start_us, stream.until_us, windows, now)
        return {
            "sls": way.sls, "source": way.source, "destination": way.destination, "is_new": items is not None,
            "items": items or [],
        }  # fmt: skip

    # -- inside ----------------------------------------------------------------------------------------------------

    def _chosen(self, name: str | None, service: str | None) -> list[Sls]:
        network = self.desk.network
        if name is not None and name not in network.sls:
            hint = nearest(name, sorted(network.sls))
            raise InvalidInput([Problem("query", 0, "sls", "is no SLS of the inventory", name, hint)])
        if service is not None and service not in RESERVED_SERVICES:
            hint = f"say one of {', '.join(RESERVED_SERVICES)}"
            raise InvalidInput([Problem("query", 0, "service", "is no class that an SLS promises", service, hint)])
        chosen = [network.sls[name]] if name is not None else [network.sls[one] for one in sorted(network.sls)]
        return [one for one in chosen if service in (None, one.service.value)]


def _require_few(chosen: Sequence[Sls], windows: dict[str, list[AuditWindow]], periods: Sequence[Window]) -> None:
    ways = sum(len(ways_of(sls, windows.get(sls.name, ()))) for sls in chosen if sls.has_figures)
    if ways * len(periods) > MOST_ITEMS:
        hint = "ask for less time, for days, or for one SLS"
        problem = Problem(
            "query", 0, "until", f"would show {ways * len(periods)} items, more than {MOST_ITEMS}", "", hint
        )
        raise InvalidInput([problem])
