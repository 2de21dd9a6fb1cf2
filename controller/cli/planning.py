"""`plan` and `apply`: files against the ledger."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.cli.confirmation import confirm
from controller.cli.exit_codes import ExitCode
from controller.cli.options import Files, Inventory, OutputFormat, Yes
from controller.cli.output import Format, emit, hanging, progress, stdout
from controller.cli.session import broker, caller, network_of, now, settings
from controller.problems import printable

if TYPE_CHECKING:
    from controller.network.model import Network
    from controller.planning.plan import Applied, Plan
    from controller.planning.step import PlanStep

SetName = Annotated[
    str | None,
    typer.Option("--set", help="name of the set that these files are; by default the folder's or file's name"),
]
Owners = Annotated[
    list[str] | None,
    typer.Option("--owner", help="also cancel what this owner no longer has in the set; may be repeated"),
]

SIGNS = {"create": ("+", "green"), "change": ("~", "yellow"), "cancel": ("-", "red"), "no-op": (" ", "dim")}
#: Where a line of a plan goes on that is longer than the terminal is wide.
CONTINUED_AT = 6


def register(app: typer.Typer) -> None:
    app.command()(plan)
    app.command()(apply)


def plan(
    files: Files,
    inventory: Inventory = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="write the plan for `slotcar apply`")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="plan against an empty ledger, open none")] = False,
    set_name: SetName = None,
    owner: Owners = None,
    diff: Annotated[bool, typer.Option("--diff", help="with the lines of each router that come and go")] = False,
    commands: Annotated[
        bool, typer.Option("--commands", help="with what each router is told, in order, and what lapses meanwhile")
    ] = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show what applying FILES would do: admissions, refusals, and what becomes of each router at each boundary.

    Exits with 3 if anything is refused. Without a ledger yet, or with --offline, nothing but the inventory and the
    files is needed.
    """
    from controller.planning.plan_file import plan_document, write_plan

    made, network = _make(files, inventory, offline, set_name, owner or [])
    if output:
        write_plan(made, output)
    document = _with_commands(plan_document(made), made, network) if commands else plan_document(made)
    emit(document, form, lambda: print_plan(made, network, diff=diff, commands=commands))
    if form is Format.TABLE and not made.refused and not made.changes_nothing and made.sequence is not None:
        what = output or " ".join(map(str, files))
        stdout().print(f"Next: slotcar apply {what}", style="dim", markup=False, soft_wrap=True)
    if made.refused:
        raise typer.Exit(ExitCode.REFUSED)


def _with_commands(document: dict[str, Any], made: Plan, network: Network) -> dict[str, Any]:
    from controller.views.commands import commands_of, lapses_in

    for boundary, shown in zip(made.boundaries, document["boundaries"], strict=True):
        for one, device in zip(boundary.devices, shown["devices"], strict=True):
            device["commands"] = list(commands_of(one, network.devices[one.device]))
            device["lapses"] = [lapse._asdict() for lapse in lapses_in(device["commands"])]
    return document


def _make(
    files: list[Path], inventory: Path | None, offline: bool, set_name: str | None, owners: list[str]
) -> tuple[Plan, Network]:
    from controller.planning.offline import plan_offline
    from controller.planning.source import read_source

    chosen = settings(inventory=inventory)
    moment = now()
    if offline or not chosen.has_ledger():
        network = network_of(chosen)
        source = read_source(files, moment, network, set_name, owners)
        return plan_offline(source, network, chosen, moment, no_ledger_yet=not offline), network
    with broker(inventory) as opened:
        source = read_source(files, moment, opened.network, set_name, owners)
        progress("planning")
        return opened.plan(source, caller(), moment), opened.network


def apply(
    files: Files,
    inventory: Inventory = None,
    set_name: SetName = None,
    owner: Owners = None,
    diff: Annotated[bool, typer.Option("--diff", help="show the lines of each router that come and go")] = False,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Apply reservation FILES, or exactly the plan in a file that `slotcar plan -o` wrote.

    All or nothing: if anything is refused, nothing is applied (exit code 3). Asks before it applies files; a plan's file
    is applied without a question, because it holds no more than was shown when it was made.
    """
    from controller.planning.plan_file import plan_document, read_plan
    from controller.planning.source import read_source
    from controller.views.documents import entry_document

    with broker(inventory) as opened:
        made, idle = read_plan(files), False
        if made is None:
            moment = now()
            source = read_source(files, moment, opened.network, set_name, owner or [])
            made = opened.plan(source, caller(), moment)
            if form is Format.TABLE or made.refused:
                emit(plan_document(made), form, partial(print_plan, made, opened.network, diff=diff))
            if made.refused:
                raise typer.Exit(ExitCode.REFUSED)
            idle = made.changes_nothing
            if not idle:
                confirm(yes, "Apply this?")
        result = None if idle else opened.apply(made, caller(), now())
    counts = (result.created, result.changed, result.cancelled) if result else (0, 0, 0)
    entries = result.entries if result else ()
    document = dict(zip(("created", "changed", "cancelled"), counts, strict=True))
    emit({**document, "entries": [entry_document(one) for one in entries]}, form, partial(_print_applied, result))


def _print_applied(result: Applied | None) -> None:
    if result is None:
        return
    for entry in result.entries:
        reservation = entry.reservation
        waits = "; its change waits for approval" if entry.proposed else ""
        stdout().print(f"{reservation.owner}/{reservation.name}  {entry.handle}  {entry.state.value}{waits}")
    stdout().print(
        f"Applied: {result.created} created, {result.changed} changed, {result.cancelled} cancelled.", style="bold"
    )


def print_plan(made: Plan, network: Network, *, diff: bool = False, commands: bool = False) -> None:
    """As Terraform shows it: each fate with its reasons, then what the devices would be told, then one line."""
    from controller.cli.plan_words import print_boundaries

    for step in made.steps:
        _print_step(step)
    print_boundaries(made, network, diff=diff, commands=commands)
    stdout().print(f"\n{made.summary}", style="bold")


def _print_step(step: PlanStep) -> None:
    from rich.text import Text

    from controller.views.explain import difference_sentence, refusal_sentences
    from controller.views.numbers import burst_warning

    console = stdout()
    owner, name = step.key
    reservation = step.reservation or (step.entry.reservation if step.entry else None)
    assert reservation is not None
    if step.refusal:
        for line in refusal_sentences(reservation, step.refusal):
            marked = ("! " if not line.startswith(" ") else "  ") + line
            console.print(Text(hanging(marked, CONTINUED_AT), style="bold red"), soft_wrap=True)
        return
    sign, style = SIGNS[step.action.value]
    note = f"  ({step.note})" if step.note else ""
    asked = hanging(printable(f"{sign} {owner}/{name}  {summary(reservation)}{note}"), CONTINUED_AT)
    console.print(Text(asked, style=style), soft_wrap=True)
    for difference in step.differences:
        words = difference_sentence(difference.key, difference.before, difference.after)
        console.print(Text(f"    {printable(words)}", style=style))
    if step.action.value in ("create", "change") and (warning := burst_warning(reservation)):
        console.print(Text(hanging(f"    note: {warning}", CONTINUED_AT), style="yellow"), soft_wrap=True)


def summary(reservation: object) -> str:
    """One line that a person recognises a reservation by."""
    from controller.reservation.model import Reservation
    from controller.timebase import iso
    from controller.views.explain import rate_words

    assert isinstance(reservation, Reservation)
    times = len(reservation.windows)
    first = reservation.windows[0]
    repeated = f", {times} times until {iso(reservation.end)}" if times > 1 else ""
    return (
        f"{rate_words(reservation)} {reservation.service.value} {reservation.protocol.value}"
        f" {reservation.source} to {reservation.destination} ({reservation.direction.value}),"
        f" {iso(first.start)} to {iso(first.end)}{repeated}"
    )
