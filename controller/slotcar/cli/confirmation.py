"""Asking before something is done: a person at a terminal answers, a script says `--yes`."""

from __future__ import annotations

import sys

import typer

from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.output import INDENT, complain, hanging, under_way


def confirm(yes: bool, question: str) -> None:
    """Returns where `yes` was given, or where the person at the terminal says so.

    The answer is believed only where standard input and standard output are both terminals: else nobody has seen what
    is asked about, or nobody is there to answer.

    Raises:
        typer.BadParameter: nobody can be asked and there is no `--yes` (exit code 2). typer.Exit: the answer is no.
        typer.Abort: Ctrl-C, or the end of the input.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise typer.BadParameter(
            f"nothing was done: this asks first ({question}), and standard input and output are not both a terminal;"
            " say --yes to do it without being asked",
            param_hint="--yes",
        )
    under_way("")
    if not typer.confirm(hanging(question, INDENT), err=sys.stderr.isatty()):
        complain("nothing was done: the answer was no")
        raise typer.Exit(ExitCode.DECLINED)
