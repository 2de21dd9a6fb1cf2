"""HiGHS as the solver of joint plans, behind `LinearSolver`. What it says is a proposal, which the exact tables judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from controller.admission.program import LinearProgram

#: A caller waits meanwhile, and with it whoever wants the ledger's lock.
MOST_S = 0.5


@dataclass(frozen=True, slots=True)
class HighsSolver:
    """The dual simplex of HiGHS, on one thread.

    Attributes:
        most_s: no program takes longer, seconds.
    """

    most_s: float = MOST_S

    def solve(self, program: LinearProgram) -> Sequence[float] | None:
        """See `LinearSolver`."""
        import highspy  # a quarter of the memory of a command that never solves anything

        highs = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("time_limit", self.most_s)):
            highs.setOptionValue(option, value)
        highs.passModel(_model(highspy, program))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return list(highs.getSolution().col_value)


def _model(highspy: Any, program: LinearProgram) -> Any:
    columns, rows = len(program.cost), len(program.rows)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = np.array(program.cost, dtype=np.float64)
    model.col_lower_, model.col_upper_ = np.zeros(columns), np.array(program.upper, dtype=np.float64)
    model.row_lower_ = np.full(rows, -highspy.kHighsInf)
    model.row_upper_ = np.array([bound for _, bound in program.rows], dtype=np.float64)
    lengths = [len(row) for row, _ in program.rows]
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    matrix.index_ = np.array([column for row, _ in program.rows for column in row], dtype=np.int32)
    matrix.value_ = np.array([value for row, _ in program.rows for value in row.values()], dtype=np.float64)
    return model
