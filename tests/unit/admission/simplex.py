"""A plain simplex in fractions (dictionaries, Bland's rule), for the programs of tests: slow, and exact."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from slotcar.admission.program import LinearProgram

#: Coefficients are floats of simple ratios.
DENOMINATOR = 10**9


class Simplex:
    """`LinearSolver`, and how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def solve(self, program: LinearProgram) -> Sequence[float] | None:
        self.calls += 1
        size = len(program.cost)
        rows = [(row, bound) for row, bound in program.rows] + [
            ({column: 1.0}, bound) for column, bound in enumerate(program.upper)
        ]
        matrix = [[exact(row.get(column, 0)) for column in range(size)] for row, _ in rows]
        values = maximise(matrix, [exact(bound) for _, bound in rows], [-exact(cost) for cost in program.cost])
        return None if values is None else [float(value) for value in values]


def exact(value: float) -> Fraction:
    return Fraction(value).limit_denominator(DENOMINATOR)


class Dictionary:
    """Basic variables, each as a constant and coefficients of the others; the last row is the goal."""

    def __init__(self, rows: list[list[Fraction]], bounds: list[Fraction], goal: list[Fraction]) -> None:
        self.outside = list(range(len(goal)))
        self.basic = [len(goal) + number for number in range(len(rows))]
        self.table = [[bound, *(-value for value in row)] for row, bound in zip(rows, bounds, strict=True)]
        self.table.append([Fraction(0), *goal])

    def pivot(self, row: int, column: int) -> None:
        """`outside[column]` enters, `basic[row]` leaves."""
        old = self.table[row]
        factor = old[column + 1]
        new = [-value / factor for value in old]
        new[column + 1] = 1 / factor
        for number, other in enumerate(self.table):
            if number != row and (times := other[column + 1]):
                mixed = [value + times * part for value, part in zip(other, new, strict=True)]
                mixed[column + 1] = times * new[column + 1]
                self.table[number] = mixed
        self.table[row] = new
        self.basic[row], self.outside[column] = self.outside[column], self.basic[row]

    def optimise(self) -> None:
        while True:
            rising = [place for place, value in enumerate(self.table[-1][1:]) if value > 0]
            if not rising:
                return
            column = min(rising, key=lambda place: self.outside[place])
            limits = [
                (row[0] / -row[column + 1], self.basic[number], number)
                for number, row in enumerate(self.table[:-1])
                if row[column + 1] < 0
            ]
            self.pivot(min(limits)[2], column)


def maximise(rows: list[list[Fraction]], bounds: list[Fraction], goal: list[Fraction]) -> list[Fraction] | None:
    """`goal @ x` at its most, with `rows @ x <= bounds` and `x >= 0`; None where no x meets them. Bounded programs only."""
    size = len(goal)
    helper = [[*row, Fraction(-1)] for row in rows]
    program = Dictionary(helper, bounds, [*[Fraction(0)] * size, Fraction(-1)])
    worst = min(range(len(bounds)), key=lambda number: bounds[number])
    if bounds[worst] < 0:
        program.pivot(worst, size)
        program.optimise()
        if program.table[-1][0] < 0:
            return None
    if size in program.basic:
        row = program.basic.index(size)
        program.pivot(row, next(place for place, value in enumerate(program.table[row][1:]) if value))
    place = program.outside.index(size)
    program.outside.pop(place)
    for row in program.table:
        row.pop(place + 1)
    last = [Fraction(0)] * (len(program.outside) + 1)
    for column, value in enumerate(goal):
        if column in program.outside:
            last[program.outside.index(column) + 1] += value
        else:
            parts = program.table[program.basic.index(column)]
            last = [old + value * part for old, part in zip(last, parts, strict=True)]
    program.table[-1] = last
    program.optimise()
    values = dict(zip(program.basic, (row[0] for row in program.table), strict=False))
    return [values.get(column, Fraction(0)) for column in range(size)]
