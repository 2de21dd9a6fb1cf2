"""What becomes of the routers at the boundaries of a plan, as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from slotcar.cli.output import coloured_diff, hanging, stdout
from slotcar.problems import printable
from slotcar.timebase import iso
from slotcar.views.approximations import sentences

if TYPE_CHECKING:
    from slotcar.network.model import Network
    from slotcar.planning.plan import Plan
    from slotcar.views.configurations import Boundary, DeviceDiff

#: Where a line goes on that is longer than the terminal is wide.
CONTINUED_AT = 6
#: Of boundaries with the same changes, so many are named beside the first.
INSTANTS_SHOWN = 3


def print_boundaries(plan: Plan, network: Network, *, diff: bool, commands: bool) -> None:
    """Prints the boundaries of a plan: without `diff` and `commands`, how many lines each router gets and loses."""
    console = stdout()
    for same in folded(plan.boundaries):
        console.print()
        for line in _headings(plan, [one.at for one in same]):
            console.print(Text(hanging(line, CONTINUED_AT), style="bold"), soft_wrap=True)
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
    for boundary in boundaries:
        console.print(Text(f"\nat {boundary['at']}", style="bold"))
        for device in boundary["devices"]:
            words = "" if diff else f"  {_counts(device['diff'])}"
            console.print(Text(f"  {device['device']}{words}", style="cyan"))
            if diff:
                coloured_diff(device["diff"])
            if device["lines_left_out"]:
                console.print(f"    and {device['lines_left_out']} more lines, not shown", style="dim")
    _print_rest(plan)


def _print_rest(plan: Plan) -> None:
    """How many boundaries are not shown, and what routers approximate."""
    if plan.boundaries_left_out:
        stdout().print(f"\nand {plan.boundaries_left_out} more boundaries, not shown", style="dim")
    if plan.approximations:
        stdout().print(Text("\nApproximations", style="bold"))
    for line in sentences(plan.approximations):
        stdout().print(Text(hanging(f"  {printable(line)}", CONTINUED_AT), style="yellow"), soft_wrap=True)


def folded(boundaries: Sequence[Boundary]) -> list[list[Boundary]]:
    """Boundaries with the same changes of the same routers together, in the order of their first."""
    groups: dict[tuple[tuple[str, tuple[str, ...]], ...], list[Boundary]] = {}
    for one in boundaries:
        groups.setdefault(tuple((device.device, device.diff) for device in one.devices), []).append(one)
    return list(groups.values())


def _headings(plan: Plan, instants: Sequence[datetime]) -> Iterator[str]:
    yield f"at {_instant(plan, instants[0])}"
    more = [_instant(plan, at) for at in instants[1:]]
    if more:
        listed = more if len(more) <= INSTANTS_SHOWN else [more[0], "...", more[-1]]
        yield f"and {len(more)} more with the same changes: {', '.join(listed)}"


def _instant(plan: Plan, at: datetime) -> str:
    names = ", ".join(_names(plan, at))
    when = "once, with the apply" if at == plan.made_at else iso(at)
    return printable(f"{when} ({names})" if names else when)


def _names(plan: Plan, at: datetime) -> Iterator[str]:
    """The names of the plan's reservations that begin, change or end at a boundary."""
    for step in plan.steps:
        reservation = step.reservation
        if reservation is None or step.refusal or step.action.value == "cancel":
            continue
        windows = reservation.windows
        for number, window in enumerate(windows, 1):
            of = f" {number} of {len(windows)}" if len(windows) > 1 else ""
            for sign, edge in (("+", window.start), ("-", window.end)):
                if edge == at:
                    yield f"{sign}{'/'.join(reservation.key)}{of}"


def _counts(diff: Sequence[str]) -> str:
    come, go = (sum(line.startswith(sign) for line in diff) for sign in "+-")
    return f"{come} lines come, {go} go"


def _print_commands(one: DeviceDiff, network: Network) -> None:
    from slotcar.views.commands import commands_of, lapses_in

    commands = commands_of(one, network.devices[one.device])
    digits = len(str(len(commands)))
    for number, line in enumerate(commands, 1):
        stdout().print(Text(f"    {number:>{digits}}  {printable(line)}"), soft_wrap=True)
    if lapses := lapses_in(commands):
        words = ", ".join(f"what {one.taken_out} takes out is back with {one.back}" for one in lapses)
        stdout().print(Text(hanging(f"    meanwhile: {words}", CONTINUED_AT), style="yellow"), soft_wrap=True)
