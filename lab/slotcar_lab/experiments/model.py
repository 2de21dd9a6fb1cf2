"""What an experiment states before it runs, and what it showed. Pure: no lab, no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Verdict(StrEnum):
    """What a row's rule says of the figure that was measured."""

    AS_THE_PAPER = "as the paper"
    #: The paper did not try it, or did not achieve it: the rule is what Slotcar promises.
    AS_PROMISED = "as promised"
    DIFFERS = "differs"
    #: Nothing was measured.
    NOT_SHOWN = "not shown"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a paper beside ours.

    Attributes:
        figure: what is compared, in words.
        paper: the paper's value, as it prints it.
        ours: what was measured, in `unit`; None where nothing was.
        rule: when ours is as the paper's, in words, written before the run.
        note: what a reader should know of this figure of this run.
    """

    figure: str
    paper: str
    ours: float | None
    unit: str
    rule: str
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A row as it is stated before the run: `holds` alone decides its verdict.

    Attributes:
        holds: takes ours and the figure of the same run that it is held against (0 where there is none).
        promise: whether the rule is Slotcar's own, of what the paper did not try or did not achieve.
    """

    figure: str
    paper: str
    unit: str
    words: str
    holds: Callable[[float, float], bool]
    promise: bool = False

    def judge(self, ours: float | None, beside: float | None = 0.0, *, note: str = "") -> Row:
        """The row with what was measured.

        Args:
            ours: the figure, in the rule's unit; None where nothing was measured.
            beside: what `words` compare it with, likewise.
        """
        if ours is None or beside is None:
            verdict = Verdict.NOT_SHOWN
        else:
            good = Verdict.AS_PROMISED if self.promise else Verdict.AS_THE_PAPER
            verdict = good if self.holds(ours, beside) else Verdict.DIFFERS
        return Row(self.figure, self.paper, ours, self.unit, self.words, verdict, note)


@dataclass(frozen=True, slots=True)
class Curve:
    """`x` and `y` have the same length, in the units of their plot's labels."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves in one pair of axes.

    Attributes:
        slug: its name in files and addresses.
        marks: vertical lines, each at an x and with a word.
        style: `line`, `points`, `steps` or `bars`.
    """

    slug: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    marks: tuple[tuple[float, str], ...] = ()
    style: str = "line"
    y_log: bool = False
    x_log: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """One run of one experiment.

    Attributes:
        name: as on the command line.
        source: the paper and its section.
        shown: what must be shown, in words.
        configuration: for each device the lines that Slotcar rendered.
        began_at: aware UTC.
        scale: how the paper's rates were scaled, and why.
        explanation: why a row differs, where one does.
    """

    name: str
    title: str
    source: str
    shown: str
    rows: tuple[Row, ...]
    plots: tuple[Plot, ...]
    configuration: Mapping[str, tuple[str, ...]]
    began_at: datetime
    took_s: float
    scale: str
    explanation: str = ""
