"""Commands that refuse an empty text where a value belongs.

`--device ""` is what a script says whose variable is not set. An empty filter would mean everything, an empty path the
current folder, and an empty `--context` another controller than was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

#: Options whose empty text means nothing more than being left out.
MAY_BE_EMPTY = frozenset({"reason"})


class StrictCommand(TyperCommand):
    """A command none of whose options and arguments may be given as an empty text."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        refuse_empty_texts(self, ctx, args)
        return super().parse_args(ctx, args)


class StrictGroup(TyperGroup):
    """Commands whose common options, such as --context, may not be given as an empty text either."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        refuse_empty_texts(self, ctx, args)
        return super().parse_args(ctx, args)


def refuse_empty_texts(command: TyperCommand | TyperGroup, ctx: Any, args: Sequence[str]) -> None:
    """
    Raises:
        typer.BadParameter: an option or an argument is empty; it is named.
    """
    if ctx.resilient_parsing:  # a shell completes what is not whole yet
        return
    values, _, order = command.make_parser(ctx).parse_args(args=list(args))
    for parameter in order:
        value = values.get(parameter.name)
        empty = "" in value if isinstance(value, list | tuple) else value == ""
        if empty and parameter.name not in MAY_BE_EMPTY:
            hint = next((one for one in parameter.opts if one.startswith("--")), (parameter.name or "").upper())
            raise typer.BadParameter("is empty: say a value, or leave it out", ctx=ctx, param_hint=hint)


class App(typer.Typer):
    """A Typer application of strict commands."""

    def command(self, *arguments: Any, **options: Any) -> Callable[..., Any]:
        return super().command(*arguments, **{"cls": StrictCommand, **options})
