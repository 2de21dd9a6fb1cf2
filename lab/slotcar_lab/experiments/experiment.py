"""One experiment: what it states, how it is run, and the `Result` that comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.model import Plot, Result, Row, Verdict
from slotcar_lab.experiments.scale import Scale

QUARTER = "Rates and bursts are written as a quarter of the paper's."


@dataclass(frozen=True, slots=True)
class Findings:
    """What a run of an experiment gives: rows by its own rules, in their order."""

    rows: tuple[Row, ...]
    plots: tuple[Plot, ...]
    configuration: Mapping[str, tuple[str, ...]]
    explanation: str = ""


class Simulate(Protocol):
    def __call__(self, say: Callable[[str], None], *, smoke: bool) -> Findings: ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        inventory: the network, which is also the lab's topology.
        measure: runs it on a bench that is up. simulate: of one that needs no lab, instead; it is told what to say, and
            whether it is only a smoke test. Exactly one of them.
        written: the part of the paper's rates that its files and figures have.
        least: the least part at which it shows what it is to: at less, packets of the same length are too few, or a frame
            takes as long as what is measured.
        scaled: whether it may run at another part than the one that it is written at.
        explain: why it differs, where that is known; shown only where a row does differ.
    """

    name: str
    title: str
    source: str
    shown: str
    inventory: Path
    measure: Callable[[Bench], Findings] | None = None
    simulate: Simulate | None = None
    scale: str = QUARTER
    written: Fraction = Fraction(1, 4)
    least: Fraction = Fraction(1, 8)
    scaled: bool = True
    explain: str = ""

    def __post_init__(self) -> None:
        assert (self.measure is None) != (self.simulate is None), self.name

    def scale_at(self, part: Fraction) -> Scale:
        """Where a part of the paper's rates is asked for: that, or the least that shows anything."""
        return Scale(max(part, self.least) if self.scaled else self.written, self.written)

    def imagine(self, say: Callable[[str], None], *, smoke: bool) -> Result:
        """Runs one that needs no lab."""
        assert self.simulate is not None
        began_at, began = datetime.now(UTC), time.monotonic()
        return self._result(self.simulate(say, smoke=smoke), began_at, began, self.scale)

    def run(self, ready: Bench) -> Result:
        """Runs it on a bench that is up with its inventory, and reserves nothing else.

        Raises:
            LabError: the lab or the controller failed.
        """
        assert self.measure is not None
        began_at, began = datetime.now(UTC), time.monotonic()
        try:
            measured = self.measure(ready)
        finally:
            ready.stop()
        return self._result(measured, began_at, began, f"{ready.scale} {self.scale}")

    def _result(self, measured: Findings, began_at: datetime, began: float, scale: str) -> Result:
        differs = any(row.verdict is Verdict.DIFFERS for row in measured.rows)
        words = [measured.explanation, self.explain if differs else ""]
        return Result(
            name=self.name,
            title=self.title,
            source=self.source,
            shown=self.shown,
            rows=measured.rows,
            plots=measured.plots,
            configuration=measured.configuration,
            began_at=began_at,
            took_s=time.monotonic() - began,
            scale=scale,
            explanation=" ".join(word for word in words if word),
        )
