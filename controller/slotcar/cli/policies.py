"""Policies of an inventory, tried."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.options import Inventory, OutputFormat
from slotcar.cli.output import Format, emit, print_table
from slotcar.cli.session import settings
from slotcar.cli.strict import App

policy = App(help="Policies of an inventory: who may do what.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(policy, name="policy")


@policy.command(name="test")
def policy_test(
    file: Annotated[Path, typer.Argument(help="a YAML list of cases", show_default=False)],
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Ask the policies of the inventory, with those that ship, what is in a file of cases; no controller is asked.

    A case has `who`, `role`, `verb` and `expect` (`permit` or `forbid`), and may have `owner` and `of`. Ends with 1 where
    one is not as expected."""
    from slotcar.base.located_yaml import load, read_text
    from slotcar.policy.cases import FORBID, PERMIT, cases_of, outcome_of
    from slotcar.policy.site import site_of

    site = site_of(settings(inventory=inventory).inventory)
    outcomes = [outcome_of(case, site) for case in cases_of(load(read_text(file), str(file)))]
    data: list[dict[str, Any]] = [
        {
            "line": one.case.line,
            "who": one.case.who,
            "verb": one.case.verb,
            "of": one.case.of,
            "answer": PERMIT if one.permitted else FORBID,
            "as_expected": one.is_as_expected,
            "reason": one.reason,
        }
        for one in outcomes
    ]
    rows = [
        (
            str(d["line"]),
            d["who"],
            d["verb"],
            d["of"] or "",
            d["answer"],
            "yes" if d["as_expected"] else "NO",
            d["reason"],
        )
        for d in data
    ]
    heads = ("line", "who", "verb", "of", "answer", "as expected", "by, or why not")
    emit(data, form, lambda: print_table(heads, rows, "No cases."))
    if not all(one.is_as_expected for one in outcomes):
        raise typer.Exit(ExitCode.ERROR)
