"""What part of the papers' rates a lab runs: all links, agreements, reservations and flows of an experiment by one factor.

An experiment is written at a part of its paper's rates of its own (`written`), and its figures are told at that one,
whatever the lab ran at: rates and bursts are divided by the factor, and what is a frame's time on a link is multiplied by
it. Packets stay as long as they are, and so do times. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

#: What a report is measured at, and what the tests are.
REPORT, TESTS = Fraction(1, 8), Fraction(1, 32)
RATE = re.compile(r"\b(\d+(?:\.\d+)?) ([kMG]?)bit/s")
BURST = re.compile(r"\bburst: (\d+(?:\.\d+)?) ([kM]?)B\b")
TIMES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
#: A line of a file that says so is left as it is.
AS_IT_IS = "not scaled"


@dataclass(frozen=True, slots=True)
class Scale:
    """Attributes:
    part: of the paper's rates, in the lab.
    written: of the paper's rates, in the experiment's files and figures.
    """

    part: Fraction
    written: Fraction

    @property
    def factor(self) -> Fraction:
        return self.part / self.written

    def lab(self, own: float) -> int:
        """A rate or a burst of the lab."""
        return round(own * self.factor)

    def own(self, labs: float) -> float:
        """A rate or a burst as the experiment is written."""
        return labs / float(self.factor)

    def own_ms(self, labs: float | None) -> float | None:
        """What frames take on a link, as the experiment is written; None is None."""
        return None if labs is None else labs * float(self.factor)

    def text(self, text: str) -> str:
        """Inventories and reservations in the lab's rates."""
        return "".join(line if AS_IT_IS in line else self._line(line) for line in text.splitlines(keepends=True))

    def _line(self, line: str) -> str:
        line = BURST.sub(lambda match: f"burst: {self.lab(float(match[1]) * TIMES[match[2]])} B", line)
        return RATE.sub(lambda match: f"{self.lab(float(match[1]) * TIMES[match[2]])} bit/s", line)

    def __str__(self) -> str:
        measured = f"Measured at {self.part} of the paper's rates"
        if self.factor == 1:
            return f"{measured}."
        return f"{measured}; figures in Mb/s and kB, and what a load adds to a delay, are told as at {self.written}."


def part_of(text: str) -> Fraction:
    """
    Raises:
        ValueError: it is no part of the papers' rates.
    """
    try:
        part = Fraction(text)
    except (ValueError, ZeroDivisionError):
        part = Fraction(0)
    if not 0 < part <= 1:
        raise ValueError(f"{text} is not a number above 0 and at most 1, such as 1/8")
    return part


#: As an experiment is written, whatever that is.
AS_WRITTEN = Scale(Fraction(1), Fraction(1))
