"""HiGHS finds the same least cost by both of its methods."""

from __future__ import annotations

import numpy as np
import pytest

from slotcar.admission import highs
from slotcar.admission.highs import HighsSolver
from slotcar.admission.program import LinearProgram

BLOCKS, VOLUMES = 40, 12


def program(least: float) -> LinearProgram:
    """Volumes that each want so much of blocks that all share, and that cost more the later they are."""
    random = np.random.default_rng(7)
    columns = np.arange(VOLUMES * BLOCKS).reshape(VOLUMES, BLOCKS)
    rows = [*columns, *columns.T]
    coefficients = [np.full(BLOCKS, -1.0)] * VOLUMES + [np.ones(VOLUMES)] * BLOCKS
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    return LinearProgram(
        cost=np.tile(np.arange(BLOCKS, dtype=np.float64), VOLUMES) + random.random(VOLUMES * BLOCKS),
        upper=np.full(VOLUMES * BLOCKS, 3.0),
        starts=starts,
        columns=np.concatenate(rows),
        coefficients=np.concatenate(coefficients),
        bounds=np.concatenate((np.full(VOLUMES, -least), np.full(BLOCKS, 10.0))),
    )


@pytest.fixture(params=[0, 1_000_000], ids=["interior point", "simplex"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> HighsSolver:
    monkeypatch.setattr(highs, "INTERIOR_POINT_FROM", request.param)
    return HighsSolver(most_s=300)


def test_it_is_the_least_cost_at_a_vertex(solver: HighsSolver) -> None:
    wanted = program(20.0)
    values = np.array(solver.solve(wanted))
    assert wanted.cost @ values == pytest.approx(2806.613, abs=0.001)
    assert sum(row @ values[list(columns)] <= bound + 1e-6 for columns, row, bound in (
        (tuple(terms), np.array(list(terms.values())), bound) for terms, bound in wanted.rows
    )) == len(wanted.bounds)  # fmt: skip
    # A vertex: no more values lie between their bounds than there are rows.
    assert np.count_nonzero((values > 1e-6) & (values < 3.0 - 1e-6)) <= len(wanted.bounds)


def test_where_no_values_meet_all_bounds_there_are_none(solver: HighsSolver) -> None:
    assert solver.solve(program(34.0)) is None
