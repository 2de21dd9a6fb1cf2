"""Figures of audits in words: for tables, pages and reports. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar_client.wire import documents

#: In the order in which they are shown.
FIGURES = ("delay", "variation", "loss", "rate")


def figure_words(figure: documents.AuditFigure | None) -> str:
    """What was measured, with what it may be off by; `-` of what was not agreed, `unknown` of what is not known at all."""
    if figure is None:
        return "-"
    low, high, error = figure["low"], figure["high"], figure["error"]
    if low is None or high is None:
        return "unknown"
    if figure["unit"] == "packets":
        return f"{low} dropped"
    middle, half = (low + high) // 2, -(-(high - low) // 2) + (error or 0)
    if figure["unit"] == "us":
        return f"{_ms(middle)} ± {_ms(half)} ms"
    return f"{_percent(middle)} ± {_percent(half)}"


def agreed_words(sls: Mapping[str, Any]) -> str:
    """What was agreed of delay, variation and loss."""
    times = (("delay", sls["delay_us"]), ("variation", sls["variation_us"]))
    parts = [f"{name} {_ms(time_us)} ms" for name, time_us in times if time_us is not None]
    if sls["loss_ppm"] is not None:
        parts.append(f"loss {_percent(sls['loss_ppm'])}")
    if not parts:
        return "no figures"
    quantile = sls["quantile_ppm"]
    of_packets = f", delay and variation of {_percent(quantile)} of the packets" if quantile < 1_000_000 else ""
    return ", ".join(parts) + of_packets


def reasons_of(item: documents.AuditItem) -> dict[str, str]:
    """Why a figure that was agreed is unknown, by its name. The rate's is none of them: it is not needed to say kept."""
    figures = {name: item[name] for name in FIGURES[:3]}  # type: ignore[literal-required]
    return {name: one["reason"] for name, one in figures.items() if one and one["reason"]}


def _ms(time_us: int) -> str:
    return _plain(f"{time_us / 1_000:.3f}")


def _percent(part_ppm: int) -> str:
    return f"{_plain(f'{part_ppm / 10_000:.4f}')} %"


def _plain(number: str) -> str:
    return number.rstrip("0").rstrip(".")
