"""What an audit found, as documents. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, cast

from slotcar.base.timebase import Window, iso
from slotcar.measuring.audits.histogram import MILLION
from slotcar.measuring.audits.judging import Judged, Judgement
from slotcar.network.model import Sls
from slotcar.store.audits import AuditedWay, AuditWindow
from slotcar_client.wire import documents

NO_FIGURES = "no delay, variation or loss was agreed"


def item_document(
    way: AuditedWay, period: Window, window: AuditWindow | None, due_us: int, judged: Judgement
) -> documents.AuditItem:
    return {
        "start": iso(period.start), "end": iso(period.end),
        "source": way.source, "destination": way.destination, "verdict": judged.verdict.value,
        "due_s": due_us // MILLION, "measured_s": window.measured_us // MILLION if window else 0,
        "sent_packets": window.arrived_packets + window.lost_packets if window else 0,
        "lost_packets": window.lost_packets if window else 0,
        "unanswered_packets": window.unanswered_packets if window else 0,
        "loss_periods": window.loss_periods if window else 0, "longest_loss": window.longest_loss if window else 0,
        "shortest_distance": window.shortest_distance if window else None,
        "delay": _figure(judged.delay), "variation": _figure(judged.variation), "loss": _figure(judged.loss),
        "rate": figure_document(judged.rate),
    }  # fmt: skip


def figure_document(judged: Judged) -> documents.AuditFigure:
    return {
        "verdict": judged.verdict.value, "unit": cast(Literal["us", "ppm", "packets"], judged.unit),
        "bound": judged.bound, "low": judged.figure.low if judged.figure else None,
        "high": judged.figure.high if judged.figure else None, "error": judged.error, "reason": judged.reason,
    }  # fmt: skip


def _figure(judged: Judged | None) -> documents.AuditFigure | None:
    return None if judged is None else figure_document(judged)


def sls_document(sls: Sls, items: Sequence[documents.AuditItem]) -> documents.SlsAudit:
    counted = Counter(one["verdict"] for one in items)
    return {
        "sls": sls.name, "upstream": sls.upstream, "downstream": sls.downstream, "service": sls.service.value,
        "rate_bps": sls.rate_bps, "delay_us": sls.delay_us, "variation_us": sls.variation_us,
        "loss_ppm": sls.loss_ppm, "quantile_ppm": sls.quantile_ppm,
        "schedule": str(sls.schedule) if sls.schedule else "", "nothing": "" if sls.has_figures else NO_FIGURES,
        "kept": counted["kept"], "broken": counted["broken"], "unknown": counted["unknown"], "items": list(items),
    }  # fmt: skip
