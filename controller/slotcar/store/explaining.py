"""What the planner expects of statements, without running them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ClauseElement, Connection, Executable, Select, union_all
from sqlalchemy.ext.compiler import compiles


class _Explain(Executable, ClauseElement):
    inherit_cache = False

    def __init__(self, statement: ClauseElement) -> None:
        self.statement = statement


@compiles(_Explain)
def _explain(element: _Explain, compiler: Any, **how: Any) -> str:
    return f"EXPLAIN (FORMAT JSON) {compiler.process(element.statement, **how)}"


def expected_rows(connection: Connection, statements: Sequence[Select[Any]]) -> tuple[int, ...]:
    """How many rows each statement has by the planner's statistics, asked all at once.

    Good for a choice of ways and for nothing else: statistics are as old as the last ANALYZE. Nothing where the planner
    does not run them one by one: it leaves one out that has no rows, or gathers them from several processes.
    """
    if len(statements) < 2:
        return (0,) * len(statements)
    (plan,) = connection.execute(_Explain(union_all(*statements))).scalar_one()
    plans = plan["Plan"].get("Plans", ())
    return tuple(int(one["Plan Rows"]) for one in plans) if len(plans) == len(statements) else ()
