"""The demo's plot: throughput over time with the slot's boundaries marked, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slotcar_lab.demo.figures import Flow, Phase

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1")


def draw(flows: Sequence[Flow], slot: tuple[float, float], phases: Sequence[Phase], folder: Path) -> tuple[Path, Path]:
    """Writes `throughput.png` and `throughput.svg` into the folder and gives their paths."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(10, 5), dpi=130)
    axes.axvspan(*slot, color="#ebf4ff", zorder=0, label="slot")
    for edge, word in zip(slot, ("slot starts", "slot ends"), strict=True):
        axes.axvline(edge, color="#2b6cb0", linestyle="--", linewidth=1)
        axes.annotate(
            word,
            (edge, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, -14),
            textcoords="offset points",
            fontsize=9,
        )
    for flow, colour in zip(flows, COLOURS, strict=False):
        times = [sample.at_s for sample in flow.samples]
        rates = [sample.received_bps / 1e6 for sample in flow.samples]
        axes.plot(times, rates, color=colour, linewidth=1.8, marker=".", label=f"{flow.name}, received")
        axes.axhline(flow.offered_bps / 1e6, color=colour, linestyle=":", linewidth=1, alpha=0.6)
    for phase in phases:
        axes.text(
            (phase.start_s + phase.end_s) / 2,
            -0.13,
            phase.name,
            transform=axes.get_xaxis_transform(),
            ha="center",
            fontsize=9,
            color="#4a5568",
        )
    axes.set_ylim(bottom=0, top=1.18 * max(flow.offered_bps for flow in flows) / 1e6)
    axes.set_xlim(min(phase.start_s for phase in phases), max(phase.end_s for phase in phases))
    axes.set_xlabel("seconds since the traffic began", labelpad=24)
    axes.set_ylabel("payload received, Mb/s")
    title = "A premium flow under a congesting load: reserved for exactly its slot (dotted: offered)"
    axes.set_title(title, pad=30)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(flows) + 1, frameon=False)
    axes.grid(alpha=0.25)
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    paths = (folder / "throughput.png", folder / "throughput.svg")
    for path in paths:
        figure.savefig(path)
    plt.close(figure)
    return paths
