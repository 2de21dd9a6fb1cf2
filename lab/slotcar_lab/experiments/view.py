"""What the report's page and its `verdicts.json` show, computed from results: the template computes nothing. Pure."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite, isnan
from typing import Any

from slotcar_lab.experiments.model import Plot, Result, Row, Verdict
from slotcar_lab.experiments.setting import Setting

#: A sign beside the word and the colour of each verdict, and what it means.
SIGNS = {Verdict.AS_THE_PAPER: "✓", Verdict.AS_PROMISED: "+", Verdict.DIFFERS: "≠", Verdict.NOT_SHOWN: "?"}
CLASSES = {
    Verdict.AS_THE_PAPER: "same",
    Verdict.AS_PROMISED: "promised",
    Verdict.DIFFERS: "differs",
    Verdict.NOT_SHOWN: "open",
}
MEANINGS = {
    Verdict.AS_THE_PAPER: "our figure obeys the row's rule, which was written down before the run",
    Verdict.AS_PROMISED: "the paper did not try this, or did not achieve it; our figure obeys what Slotcar promises",
    Verdict.DIFFERS: "our figure breaks the rule; the section says why, or that nobody knows",
    Verdict.NOT_SHOWN: "nothing was measured: it says nothing of routers",
}
FOLDER = "plots"


@dataclass(frozen=True, slots=True)
class VerdictView:
    word: str
    sign: str
    style: str
    meaning: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class RowView:
    figure: str
    paper: str
    ours: str
    unit: str
    rule: str
    verdict: VerdictView
    note: str


@dataclass(frozen=True, slots=True)
class PlotView:
    """`png`, `svg` and `data` are addresses relative to the page; `alt` says in words what the picture shows."""

    title: str
    png: str
    svg: str
    data: str
    alt: str


@dataclass(frozen=True, slots=True)
class DeviceView:
    name: str
    lines: int
    text: str


@dataclass(frozen=True, slots=True)
class ResultView:
    name: str
    title: str
    source: str
    shown: str
    scale: str
    explanation: str
    unexplained: bool
    began: str
    took: str
    counts: tuple[VerdictView, ...]
    rows: tuple[RowView, ...]
    plots: tuple[PlotView, ...]
    devices: tuple[DeviceView, ...]


@dataclass(frozen=True, slots=True)
class PageView:
    date: str
    command: str
    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    counts: tuple[VerdictView, ...]
    rows: int
    took: str
    results: tuple[ResultView, ...]


def page(results: Sequence[Result], setting: Setting) -> PageView:
    """The page of these results, of which there is at least one."""
    return PageView(
        date=_moment(min(result.began_at for result in results)),
        command=setting.command,
        facts=tuple((name, value) for name, value in _facts(setting) if value),
        versions=tuple(sorted(setting.versions.items())),
        counts=_counts(row for result in results for row in result.rows),
        rows=sum(len(result.rows) for result in results),
        took=_duration(sum(result.took_s for result in results)),
        results=tuple(_result(result) for result in results),
    )


def stem(result: Result, plot: Plot) -> str:
    """A plot's files, without their endings: relative to the page."""
    return f"{FOLDER}/{result.name}-{plot.slug}"


def verdicts(results: Sequence[Result], setting: Setting, files: Iterable[str]) -> str:
    """`verdicts.json`, as `schemas/verdicts.schema.json` has it.

    Args:
        files: all other files of the report, relative to its folder.
    """
    document = {
        "version": 1,
        "setting": {
            "command": setting.command,
            "kernel": setting.kernel,
            "accelerator": setting.accelerator,
            "machine": setting.machine,
            "commit": setting.commit,
            "versions": dict(sorted(setting.versions.items())),
            "scale": setting.scale,
        },
        "counts": _tally(row for result in results for row in result.rows),
        "experiments": [_record(result) for result in results],
        "files": sorted(files),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def data(plot: Plot) -> str:
    """The plot's points as CSV: the curve's name, x and y under the axes' labels."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["curve", plot.x_label, plot.y_label])
    for curve in plot.curves:
        writer.writerows((curve.name, x, y) for x, y in zip(curve.x, curve.y, strict=True))
    return text.getvalue()


def number(value: float | None) -> str:
    """Four significant digits, without an exponent where that is readable; a dash where nothing was measured."""
    if value is None or isnan(value):
        return "–"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    if value and not 0.0001 <= abs(value) < 1e9:
        return f"{value:.3g}".replace("-", "−")
    digits = max(0, 3 - len(str(int(abs(value)))) + 1) if abs(value) >= 1 else 4
    text = f"{value:,.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace(",", " ").replace("-", "−")


def _facts(setting: Setting) -> tuple[tuple[str, str], ...]:
    return (
        ("routers' kernel", setting.kernel),
        ("accelerator", setting.accelerator),
        ("machine", setting.machine),
        ("commit", setting.commit),
        ("part of the papers' rates that was asked for", setting.scale),
    )


def _result(result: Result) -> ResultView:
    differs = any(row.verdict is Verdict.DIFFERS for row in result.rows)
    return ResultView(
        name=result.name,
        title=result.title,
        source=result.source,
        shown=result.shown,
        scale=result.scale,
        explanation=result.explanation,
        unexplained=differs and not result.explanation,
        began=_moment(result.began_at),
        took=_duration(result.took_s),
        counts=_counts(result.rows),
        rows=tuple(_row(row) for row in result.rows),
        plots=tuple(_plot(result, plot) for plot in result.plots),
        devices=tuple(
            DeviceView(name, len(lines), "\n".join(lines)) for name, lines in sorted(result.configuration.items())
        ),
    )


def _row(row: Row) -> RowView:
    unit = "" if row.ours is None else row.unit
    return RowView(row.figure, row.paper, number(row.ours), unit, row.rule, _verdict(row.verdict), row.note)


def _verdict(verdict: Verdict, count: int = 0) -> VerdictView:
    return VerdictView(verdict.value, SIGNS[verdict], CLASSES[verdict], MEANINGS[verdict], count)


def _counts(rows: Iterable[Row]) -> tuple[VerdictView, ...]:
    counted = Counter(row.verdict for row in rows)
    return tuple(_verdict(verdict, counted[verdict]) for verdict in Verdict)


def _tally(rows: Iterable[Row]) -> dict[str, int]:
    counted = Counter(row.verdict for row in rows)
    return {verdict.value: counted[verdict] for verdict in Verdict}


def _plot(result: Result, plot: Plot) -> PlotView:
    base = stem(result, plot)
    return PlotView(plot.title, f"{base}.png", f"{base}.svg", f"{base}.csv", _alt(plot))


def _alt(plot: Plot) -> str:
    """What a reader who does not see the picture needs: the axes, each curve's range, and the marks."""
    parts = [f"{plot.title}. {plot.y_label} against {plot.x_label}."]
    for curve in plot.curves:
        finite = [y for y in curve.y if isfinite(y)]
        span = (
            f"{number(min(finite))} to {number(max(finite))}, last {number(finite[-1])}"
            if finite
            else "nothing measured"
        )
        parts.append(f"{curve.name}: {span}.")
    if plot.marks:
        parts.append("Marked: " + ", ".join(f"{word} at {number(at)}" for at, word in sorted(plot.marks)) + ".")
    return " ".join(parts)


def _record(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "title": result.title,
        "source": result.source,
        "shown": result.shown,
        "scale": result.scale,
        "began_at": result.began_at.astimezone(UTC).isoformat(),
        "took_s": round(result.took_s, 1),
        "counts": _tally(result.rows),
        "rows": [
            {
                "figure": row.figure,
                "paper": row.paper,
                "ours": _plain(row.ours),
                "unit": row.unit,
                "rule": row.rule,
                "verdict": row.verdict.value,
                "note": row.note,
            }
            for row in result.rows
        ],
        "plots": [{"title": plot.title, "data": f"{stem(result, plot)}.csv"} for plot in result.plots],
        "explanation": result.explanation,
    }


def _plain(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    if value is None or isnan(value):
        return None
    return float(value) if isfinite(value) else ("infinity" if value > 0 else "-infinity")


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
