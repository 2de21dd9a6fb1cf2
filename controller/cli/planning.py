"""`plan` and `apply`: files against the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.cli.confirmation import confirm
from controller.cli.exit_codes import ExitCode
from controller.cli.options import Files, Inventory, OutputFormat, Yes
from controller.cli.output import Format, coloured_diff, emit, hanging, stdout
from controller.cli.remote import chosen_place
from controller.cli.session import broker, caller, network_of, now, over_http, settings
from controller.problems import printable

if TYPE_CHECKING:
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
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show what applying FILES would do: admissions, refusals, and each device's diff at each boundary.

    Exits with 3 if anything is refused. Without a ledger yet, or with --offline, nothing but the inventory and the
    files is needed.
    """
    from controller.planning.plan_file import plan_document, write_document

    if chosen_place() is not None and not offline:
        with over_http(inventory) as far:
            document = far.plan_files(files, set_name, owner or [], now())
            made = far.shown(document)
    else:
        made = _make(files, inventory, offline, set_name, owner or [])
        document = plan_document(made)
    if output:
        write_document(document, output)
    emit(document, form, lambda: print_plan(made, document["boundaries"]))
    if made.refused:
        raise typer.Exit(ExitCode.REFUSED)


def _make(files: list[Path], inventory: Path | None, offline: bool, set_name: str | None, owners: list[str]) -> Plan:
    from controller.planning.offline import plan_offline
    from controller.planning.source import read_source

    chosen = settings(inventory=inventory)
    moment = now()
    if offline or not chosen.has_ledger():
        network = network_of(chosen)
        source = read_source(files, moment, network, set_name, owners)
        return plan_offline(source, network, chosen, moment, no_ledger_yet=not offline)
    with broker(inventory) as opened:
        return opened.plan(read_source(files, moment, opened.network, set_name, owners), caller(), moment)


def apply(
    files: Files,
    inventory: Inventory = None,
    set_name: SetName = None,
    owner: Owners = None,
    yes: Yes = False,
) -> None:
    """Apply reservation FILES, or exactly the plan in a file that `slotcar plan -o` wrote.

    All or nothing: if anything is refused, nothing is applied (exit code 3). Asks before it applies files; a plan's file
    is applied without a question, because it holds no more than was shown when it was made.
    """
    from controller.planning.plan_file import plan_document, read_plan
    from controller.planning.source import read_source

    if chosen_place() is not None:
        _apply_there(files, inventory, set_name, owner or [], yes)
        return
    with broker(inventory) as opened:
        made = read_plan(files)
        if made is None:
            moment = now()
            source = read_source(files, moment, opened.network, set_name, owner or [])
            made = opened.plan(source, caller(), moment)
            if not _confirmed(made, plan_document(made)["boundaries"], yes):
                return
        result = opened.apply(made, caller(), now())
    _print_applied(result)


def _apply_there(
    files: list[Path], inventory: Path | None, set_name: str | None, owners: list[str], yes: bool
) -> None:
    from controller.planning.plan_file import plan_in_file

    with over_http(inventory) as far:
        document = plan_in_file(files)
        if document is None:
            document = far.plan_files(files, set_name, owners, now())
            if not _confirmed(far.shown(document), document["boundaries"], yes):
                return
        result = far.apply_document(document)
    _print_applied(result)


def _confirmed(made: Plan, boundaries: Sequence[Mapping[str, Any]], yes: bool) -> bool:
    """Shows a plan and asks; False where there is nothing to do.

    Raises:
        typer.Exit: it holds a refusal, or the answer is no.
    """
    print_plan(made, boundaries)
    if made.changes_nothing:
        return False
    if made.refused:
        raise typer.Exit(ExitCode.REFUSED)
    confirm(yes, "Apply this?")
    return True


def _print_applied(result: Applied) -> None:
    for entry in result.entries:
        reservation = entry.reservation
        waits = "; its change waits for approval" if entry.proposed else ""
        stdout().print(f"{reservation.owner}/{reservation.name}  {entry.handle}  {entry.state.value}{waits}")
    stdout().print(
        f"Applied: {result.created} created, {result.changed} changed, {result.cancelled} cancelled.", style="bold"
    )


def print_plan(made: Plan, boundaries: Sequence[Mapping[str, Any]]) -> None:
    """As Terraform shows it: each fate with its reasons, then what the devices would be told, then one line."""
    console = stdout()
    for step in made.steps:
        _print_step(step)
    for boundary in boundaries:
        console.print(f"\nat {boundary['at']}", style="bold")
        for device in boundary["devices"]:
            console.print(f"  {device['device']}", style="cyan")
            coloured_diff(device["diff"])
            if device["lines_left_out"]:
                console.print(f"    and {device['lines_left_out']} more lines, not shown", style="dim")
            for note in device["approximations"]:
                console.print(f"    approximated: {note}", style="yellow", markup=False)
    if made.boundaries_left_out:
        console.print(f"\nand {made.boundaries_left_out} more boundaries, not shown", style="dim")
    console.print(f"\n{made.summary}", style="bold")


def _print_step(step: PlanStep) -> None:
    from rich.text import Text

    from controller.planning.step import Action
    from controller.views.explain import difference_sentence, profile_lines, refusal_sentences

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
    if step.action in (Action.CREATE, Action.CHANGE):
        for line in profile_lines(reservation):
            console.print(Text(f"    {line}", style=style))
    for difference in step.differences:
        words = difference_sentence(difference.key, difference.before, difference.after)
        console.print(Text(f"    {printable(words)}", style=style))


def summary(reservation: object) -> str:
    """One line that a person recognises a reservation by."""
    from controller.reservation.model import Reservation
    from controller.timebase import iso
    from controller.views.explain import need_words, rate_words

    assert isinstance(reservation, Reservation)
    flow = (
        f"{reservation.service.value} {reservation.protocol.value}"
        f" {reservation.source} to {reservation.destination} ({reservation.direction.value})"
    )
    if reservation.need is not None:
        return f"{need_words(reservation.need)}: {flow}"
    times = len(reservation.windows)
    first = reservation.windows[0]
    repeated = f", {times} times until {iso(reservation.end)}" if times > 1 else ""
    return f"{rate_words(reservation)} {flow}, {iso(first.start)} to {iso(first.end)}{repeated}"
