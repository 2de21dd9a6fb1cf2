"""HiGHS as the solver of joint plans, behind `LinearSolver`. What it says is a proposal, which the exact tables judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotcar.admission.program import LinearProgram

#: A caller waits meanwhile, and with it whoever wants the ledger's lock.
MOST_S = 0.5
#: From so many coefficients on, the interior point is quicker: it needs much the same for any program of a size, where the
#: simplex takes ten times as long for some, those among them that no values meet.
INTERIOR_POINT_FROM = 20_000


@dataclass(frozen=True, slots=True)
class HighsSolver:
    """HiGHS on one thread: the dual simplex, and of large programs the interior point with a crossover to a vertex.

    Attributes:
        most_s: no program takes longer, seconds.
    """

    most_s: float = MOST_S

    def solve(self, program: LinearProgram) -> Sequence[float] | None:
        """See `LinearSolver`."""
        import highspy  # a quarter of the memory of a command that never solves anything

        highs = highspy.Highs()
        method = "ipm" if len(program.coefficients) >= INTERIOR_POINT_FROM else "simplex"
        for option, value in (
            ("output_flag", False), ("threads", 1), ("time_limit", self.most_s), ("solver", method),
        ):  # fmt: skip
            highs.setOptionValue(option, value)
        highs.passModel(_model(highspy, program))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return list(highs.getSolution().col_value)


def _model(highspy: Any, program: LinearProgram) -> Any:
    import numpy as np

    columns, rows = len(program.cost), len(program.bounds)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = program.cost
    model.col_lower_, model.col_upper_ = np.zeros(columns), program.upper
    model.row_lower_, model.row_upper_ = np.full(rows, -highspy.kHighsInf), program.bounds
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_, matrix.index_ = program.starts.astype(np.int32), program.columns.astype(np.int32)
    matrix.value_ = program.coefficients
    return model
