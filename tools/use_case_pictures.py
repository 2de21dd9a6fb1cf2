"""Draws what each of the references' use cases in examples/ reserves over time: `python tools/use_case_pictures.py`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from slotcar.base.vocabulary import Direction
from slotcar.reservation import load_text

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("gome", "satellite", "medical-images", "segmentation", "avatar", "one-to-many")


def picture(name: str) -> None:
    """One panel for each reservation, payload each way."""
    file = ROOT / "examples" / name / "reservations.yml"
    reservations = load_text(file.read_text(encoding="utf-8"), file.name, datetime(2027, 1, 1, tzinfo=UTC))
    figure = Figure(figsize=(8, 1 + 1.3 * len(reservations)), layout="constrained")
    panels = figure.subplots(len(reservations), 1, sharex=True, squeeze=False)[:, 0]
    for panel, one in zip(panels, reservations, strict=True):
        for way in one.direction.ways:
            edges = [one.slots[0].start, *(slot.end for slot in one.slots)]
            rates = [slot.rate_bps(way) / 1e6 for slot in one.slots]
            panel.stairs(rates, edges, baseline=0, fill=way is Direction.FORWARD, alpha=0.6, label=way.value)
        panel.set_title(f"{one.name}: {one.source.host} to {one.destination.host}", fontsize="small", loc="left")
        panel.set_ylabel("Mbit/s")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
        if len(one.direction.ways) > 1:
            panel.legend(fontsize="small", loc="center right")
    locator = AutoDateLocator()
    panels[-1].xaxis.set_major_locator(locator)
    panels[-1].xaxis.set_major_formatter(ConciseDateFormatter(locator))
    panels[-1].set_xlabel("UTC")
    figure.savefig(file.parent / "rates.svg", metadata={"Date": None})


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "slotcar"
    for each in NAMES:
        picture(each)
