"""What becomes of the routers at the boundaries of a plan, as a terminal shows it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from slotcar.base.problems import printable
from slotcar.base.timebase import iso
from slotcar.cli.output import coloured_diff, hanging, stdout
from slotcar.planning.in_the_way import looked_words_of, sentences_of
from slotcar.planning.plan_causes import Cause, boundary_words, causes_of
from slotcar.views.approximations import sentences

if TYPE_CHECKING:
    from slotcar.network.model import Network
    from slotcar.planning.plan import Plan
    from slotcar.views.configurations import Boundary, DeviceDiff

AnyBoundary = TypeVar("AnyBoundary")
#: Where a line goes on that is longer than the terminal is wide.
CONTINUED_AT = 6
#: Of boundaries with the same changes, so many are named beside the first.
INSTANTS_SHOWN = 3


def print_boundaries(plan: Plan, network: Network, *, diff: bool, commands: bool) -> None:
    """Prints the boundaries of a plan: without `diff` and `commands`, how many lines each router gets and loses."""
    console = stdout()
    causes = causes_of(plan)
    for same in folded(plan.boundaries, changes_of):
        _print_heading(plan, causes, [one.at for one in same])
        width = max(len(one.device) for one in same[0].devices)
        for device in same[0].devices:
            words = "" if diff or commands else f"  {_counts(device.diff)}"
            console.print(Text(f"  {device.device:<{width}}{words}", style="cyan"))
            if diff:
                coloured_diff(device.diff)
            if commands:
                _print_commands(device, network)
    _print_rest(plan)
    if plan.boundaries and not (diff or commands):
        words = (
            "--diff shows the lines, --commands what the routers are told, `slotcar explain` where a number comes from"
        )
        console.print(Text(f"\n{hanging(words, 2)}", style="dim"), soft_wrap=True)


def print_documents(plan: Plan, boundaries: Sequence[Mapping[str, Any]], *, diff: bool) -> None:
    """Prints a plan that another machine made; `boundaries` are those of its document."""
    console = stdout()
    causes = causes_of(plan)
    for same in folded(boundaries, _documented_changes):
        _print_heading(plan, causes, [datetime.fromisoformat(one["at"]) for one in same])
        width = max(len(one["device"]) for one in same[0]["devices"])
        for device in same[0]["devices"]:
            words = "" if diff else f"  {_counts(device['diff'])}"
            console.print(Text(f"  {device['device']:<{width}}{words}", style="cyan"))
            if diff:
                coloured_diff(device["diff"])
            if device["lines_left_out"]:
                console.print(f"    and {device['lines_left_out']} more lines, not shown", style="dim")
    _print_rest(plan)


def _print_rest(plan: Plan) -> None:
    """How many boundaries are not shown, and how they are; and what routers approximate."""
    if plan.boundaries_left_out:
        how = f": `slotcar plan --from {iso(plan.next_at)}` shows them" if plan.next_at else ""
        stdout().print(
            f"\nand {plan.boundaries_left_out:,} more boundaries, not shown{how}", style="dim", soft_wrap=True
        )
    if plan.approximations:
        stdout().print(Text("\nApproximations", style="bold"))
    for line in sentences(plan.approximations):
        stdout().print(Text(hanging(f"  {printable(line)}", CONTINUED_AT), style="yellow"), soft_wrap=True)
    _print_looks(plan)


def _print_looks(plan: Plan) -> None:
    if plan.in_the_way:
        stdout().print(Text("\nIn the way on routers", style="bold"))
    for line, one in zip(sentences_of(plan), plan.in_the_way, strict=True):
        style = "bold red" if one.certain else "yellow"
        stdout().print(Text(hanging(f"  {printable(line)}", CONTINUED_AT), style=style), soft_wrap=True)
    if words := looked_words_of(plan):
        stdout().print(Text(f"\n{hanging(printable(words), 2)}", style="dim"), soft_wrap=True)


def folded(boundaries: Iterable[AnyBoundary], changes: Callable[[AnyBoundary], Hashable]) -> list[list[AnyBoundary]]:
    """Boundaries with the same changes of the same routers together, in the order of their first."""
    groups: dict[Hashable, list[AnyBoundary]] = {}
    for one in boundaries:
        groups.setdefault(changes(one), []).append(one)
    return list(groups.values())


def changes_of(boundary: Boundary) -> Hashable:
    return tuple((device.device, device.diff) for device in boundary.devices)


def _documented_changes(boundary: Mapping[str, Any]) -> Hashable:
    return tuple((one["device"], *one["diff"], one["lines_left_out"]) for one in boundary["devices"])


def _print_heading(plan: Plan, causes: Mapping[datetime, list[Cause]], instants: Sequence[datetime]) -> None:
    """Of boundaries with the same changes: when the first is, why, and when the others are."""
    stdout().print()
    first, *others = (boundary_words(at, plan, causes) for at in instants)
    lines = ["at {} ({})".format(*first)]
    more = ["{} ({})".format(*one) for one in others]
    if more:
        listed = more if len(more) <= INSTANTS_SHOWN else [more[0], "...", more[-1]]
        lines.append(f"and {len(more)} more with the same changes: {', '.join(listed)}")
    for line in lines:
        stdout().print(Text(hanging(line, CONTINUED_AT), style="bold"), soft_wrap=True)


def _counts(diff: Sequence[str]) -> str:
    come, go = (sum(line.startswith(sign) for line in diff) for sign in "+-")
    return f"{come} lines come, {go} go"


def _print_commands(one: DeviceDiff, network: Network) -> None:
    from slotcar.views.commands import commands_of, lapses_in

    commands = commands_of(one, network.devices[one.device])
    digits = len(str(len(commands)))
    for number, line in enumerate(commands, 1):
        stdout(verbatim=True).print(Text(f"    {number:>{digits}}  {printable(line)}"), soft_wrap=True)
    if lapses := lapses_in(commands):
        words = ", ".join(f"what {one.taken_out} takes out is back with {one.back}" for one in lapses)
        stdout().print(Text(hanging(f"    meanwhile: {words}", CONTINUED_AT), style="yellow"), soft_wrap=True)
