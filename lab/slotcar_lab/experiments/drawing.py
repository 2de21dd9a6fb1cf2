"""Draws a `Plot` as PNG and SVG: the same bytes for the same plot."""

from __future__ import annotations

from io import BytesIO
from itertools import cycle, pairwise
from math import isfinite
from typing import Any

from slotcar_lab.experiments.model import Curve, Plot

#: The demo's, and two more; told apart by the line and the point too.
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#97266d", "#4a5568")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))
POINTS = ("o", "s", "^", "D", "v", "P")
#: More points than this are a picture inside the SVG: a browser would draw them one by one.
MANY, FEW = 3_000, 60
#: Lines of marks nearer than this part of the width have their words one above the other.
NEAR, LEVELS, WORD_PT = 0.16, 3, 12
RC = {
    "svg.hashsalt": "slotcar",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(plot: Plot) -> tuple[bytes, bytes]:
    """The plot as PNG and as SVG.

    Raises:
        ValueError: a curve's `x` and `y` differ in length, or the style is not one of `Plot.style`'s.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 4.6), dpi=120, layout="constrained")
        axes = figure.add_subplot()
        _scale(axes, plot)
        _curves(axes, plot)
        axes.set_title(plot.title, loc="left", pad=8 + WORD_PT * _marks(axes, plot))
        axes.set_xlabel(plot.x_label)
        axes.set_ylabel(plot.y_label)
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)
        if len(plot.curves) > 1 or plot.style == "bars":
            figure.legend(
                loc="outside lower left", ncols=3, frameon=False, markerscale=2 if plot.style == "points" else 1
            )
        png, svg = BytesIO(), BytesIO()
        figure.savefig(png, format="png", metadata={"Software": None})
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return png.getvalue(), svg.getvalue()


def _finite(curve: Curve) -> tuple[list[float], list[float]]:
    pairs = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if isfinite(x) and isfinite(y)]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _scale(axes: Any, plot: Plot) -> None:
    """Logarithmic axes only where they have something to show: none of a value that is not positive."""
    points = [point for curve in plot.curves for point in zip(*_finite(curve), strict=True)]
    if plot.x_log and any(x > 0 for x, _ in points):
        axes.set_xscale("log")
    if plot.y_log and any(y > 0 for _, y in points):
        axes.set_yscale("log")
    if not points:
        axes.text(0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", va="center")
        axes.set_xticks([])
        axes.set_yticks([])


def _curves(axes: Any, plot: Plot) -> None:
    styles = zip(cycle(COLOURS), cycle(LINES), cycle(POINTS), strict=False)
    drawn = {"line": _line, "steps": _steps, "points": _points}
    if plot.style == "bars":
        _bars(axes, plot)
    elif plot.style in drawn:
        for curve, (colour, line, point) in zip(plot.curves, styles, strict=False):
            drawn[plot.style](axes, curve, colour, line, point)
    else:
        raise ValueError(f"plot {plot.slug}: there is no style {plot.style}; there are bars, {', '.join(drawn)}")
    ends = [y for curve in plot.curves for y in _finite(curve)[1]]
    if axes.get_yscale() == "linear" and ends and min(ends) >= 0:
        axes.set_ylim(bottom=0, top=None if max(ends) > 0 else 1)


def _line(axes: Any, curve: Curve, colour: str, line: Any, point: str) -> None:
    x, y = _finite(curve)
    marker = {"marker": point, "markersize": 4} if len(x) <= FEW else {}
    axes.plot(x, y, color=colour, linestyle=line, linewidth=1.6, label=curve.name, rasterized=len(x) > MANY, **marker)


def _steps(axes: Any, curve: Curve, colour: str, line: Any, _: str) -> None:
    x, y = _finite(curve)
    axes.step(
        x, y, where="post", color=colour, linestyle=line, linewidth=1.6, label=curve.name, rasterized=len(x) > MANY
    )


def _points(axes: Any, curve: Curve, colour: str, _: Any, point: str) -> None:
    x, y = _finite(curve)
    size = 2.5 if len(x) > FEW else 5
    many = len(x) > MANY
    axes.plot(
        x, y, color=colour, linestyle="none", marker=point, markersize=size, label=curve.name, rasterized=many,
        alpha=0.5 if many else 0.9, markeredgewidth=0,
    )  # fmt: skip


def _bars(axes: Any, plot: Plot) -> None:
    """Beside each other at each x, told apart by their hatching too."""
    places = sorted({x for curve in plot.curves for x in _finite(curve)[0]})
    room = min((right - left for left, right in pairwise(places)), default=1.0)
    width = 0.8 * room / max(1, len(plot.curves))
    for index, (curve, colour, hatch) in enumerate(zip(plot.curves, cycle(COLOURS), cycle(("", "//", "..", "xx")))):
        x, y = _finite(curve)
        shift = (index - (len(plot.curves) - 1) / 2) * width
        axes.bar(
            [at + shift for at in x], y, width, color=colour, hatch=hatch, label=curve.name, edgecolor="white",
            linewidth=0.5,
        )  # fmt: skip


def _marks(axes: Any, plot: Plot) -> int:
    """Vertical lines with their words above the axes, one level higher where the one before is near; gives the levels."""
    left, right = axes.get_xlim()
    level, levels, before = 0, 0, None
    for at, word in sorted(mark for mark in plot.marks if isfinite(mark[0])):
        axes.axvline(at, color="#4a5568", linestyle=(0, (4, 3)), linewidth=1, zorder=1)
        near = before is not None and right > left and (at - before) / (right - left) < NEAR
        level, before = ((level + 1) % LEVELS if near else 0), at
        levels = max(levels, level + 1)
        axes.annotate(
            word, (at, 1.0), xycoords=("data", "axes fraction"), xytext=(3, 4 + WORD_PT * level),
            textcoords="offset points", fontsize=9, color="#2d3748",
        )  # fmt: skip
    return levels
