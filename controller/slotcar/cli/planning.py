"""`plan` and `apply`: files against the ledger."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.options import Devices, Files, Inventory, OutputFormat, Yes, time_of
from slotcar.cli.output import Format, complain, emit, hanging, long_work_reported, others_short, progress, stdout
from slotcar.cli.place import Declined, chosen_place
from slotcar.cli.readiness import check_devices
from slotcar.cli.session import AnyDesk, FarDesk, NearDesk, caller, desk, network_of, now, sender, settings

if TYPE_CHECKING:
    from datetime import datetime

    from slotcar.network.model import Network
    from slotcar.planning.plan import Plan
    from slotcar.planning.step import PlanStep
    from slotcar_client.wire import documents

SetName = Annotated[
    str | None,
    typer.Option("--set", help="name of the set of these files; by default the folder's or file's name"),
]
Owners = Annotated[
    list[str] | None,
    typer.Option(
        "--owner", help="also cancel this owner's reservations that are no longer in the set; may be repeated"
    ),
]


class PlanFormat(StrEnum):
    """As `Format`, and as the comment of a merge request."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


STYLES = {"create": "green", "change": "yellow", "cancel": "red", "no-op": "dim"}
#: Where a line of a plan goes on that is longer than the terminal is wide.
CONTINUED_AT = 6


def register(app: typer.Typer) -> None:
    app.command()(check)
    app.command()(plan)
    app.command()(apply)


def check(
    files: Annotated[
        list[Path] | None, typer.Argument(help="reservation files, or folders of them", show_default=False)
    ] = None,
    devices: Annotated[
        bool,
        typer.Option("--devices", help="check what a first push needs: inventory, routers' answers, rights, clocks"),
    ] = False,
    device: Devices = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Check reservation FILES by themselves: every mistake, with its file, line and key. Or, with --devices, check routers.

    FILES need no inventory, no ledger and no controller: for editors and pre-commit. Whether there is room, `slotcar plan`
    says. --devices logs in to the routers, reads them and changes nothing; it ends with 1 where something stands in the way
    of a first push.
    """
    from slotcar.reservation import read_files
    from slotcar.views.foreseen import foreseen_of_itself

    if devices or device:
        if files:
            raise typer.BadParameter("check either files or, with --devices, routers", param_hint="--devices")
        check_devices(inventory, device, form)
        return
    if not files:
        raise typer.BadParameter("say reservation files, or --devices to check routers", param_hint="FILES")
    if inventory is not None or form is not Format.TABLE:
        raise typer.BadParameter("--inventory and --format go with --devices", param_hint="--devices")

    reservations = read_files(files, now()).reservations
    for one in reservations:
        for words in foreseen_of_itself(one):
            stdout().print(hanging(f"{one.owner}/{one.name}: {words}", CONTINUED_AT), style="yellow", soft_wrap=True)
    count = len(reservations)
    stdout().print(f"{count} reservation{'' if count == 1 else 's'}, without a mistake.")


def plan(
    files: Files,
    inventory: Inventory = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="write the plan for `slotcar apply`")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="plan against an empty ledger, and open none")] = False,
    set_name: SetName = None,
    owner: Owners = None,
    diff: Annotated[bool, typer.Option("--diff", help="show the lines added and removed on each router")] = False,
    commands: Annotated[
        bool,
        typer.Option(
            "--commands",
            help="also show each router's commands in order, and what they take out of force for a moment",
        ),
    ] = False,
    unchanged: Annotated[bool, typer.Option("--all", help="also list the reservations that stay as they are")] = False,
    devices: Annotated[
        bool, typer.Option("--devices", help="read the routers first, for what is in the way there; changes nothing")
    ] = False,
    start: Annotated[
        str | None, typer.Option("--from", help="show the boundaries from this time on: 24 of them are shown")
    ] = None,
    form: Annotated[
        PlanFormat,
        typer.Option("--format", help="how to print it; markdown is for a comment in a merge request"),
    ] = PlanFormat.TABLE,
) -> None:
    """Show what applying FILES would do: admissions, refusals, and what changes on each router at each boundary.

    What stays as it is is counted, and listed with --all. What others configured on routers that is in the way of Slotcar's
    lines, or leaves them without effect, is said as it was when they were last read; with --devices, as it is.
    Exits with 3 if anything is refused. Without a ledger yet, or with --offline, nothing but the inventory and the
    files is needed.
    """
    from slotcar.planning.plan_file import plan_document, write_document
    from slotcar.planning.plan_markdown import plan_markdown

    network, show_from = None, time_of("--from", start, now())
    if chosen_place() is not None and not offline:
        if commands:
            raise Declined("--commands needs the routers' platforms: say it where the controller runs, or --offline")
        if devices:
            raise Declined(
                "the controller reads the routers by itself: its plan says when; say --devices where it runs"
            )
        with sender(inventory) as controller:
            document, new_plan = _planned_there(controller, files, set_name, owner or [], show_from=show_from)
    else:
        new_plan, network = _make(files, inventory, offline, set_name, owner or [], show_from)
        new_plan = _looked_at(new_plan, network, inventory, read=devices)
        document = dict(plan_document(new_plan))
    if output:
        write_document(document, output)
    if commands and network is not None:
        document = _with_commands(document, new_plan, network)
    if form is PlanFormat.MARKDOWN:
        sys.stdout.write(plan_markdown(new_plan, document["boundaries"]))
    else:
        print_table = partial(
            print_plan, new_plan, document["boundaries"], network, diff=diff, commands=commands, unchanged=unchanged
        )
        emit(document, Format(form.value), print_table)
    if (
        form is PlanFormat.TABLE
        and not new_plan.refused
        and not new_plan.changes_nothing
        and new_plan.sequence is not None
    ):
        what = output or " ".join(map(str, files))
        stdout().print(f"Next: slotcar apply {what}", style="dim", soft_wrap=True)
    if new_plan.refused:
        raise typer.Exit(ExitCode.REFUSED)


def _with_commands(document: dict[str, Any], new_plan: Plan, network: Network) -> dict[str, Any]:
    from slotcar.views.commands import commands_of, lapses_in

    for boundary, boundary_document in zip(new_plan.boundaries, document["boundaries"], strict=True):
        for one, device in zip(boundary.devices, boundary_document["devices"], strict=True):
            device["commands"] = list(commands_of(one, network.devices[one.device]))
            device["lapses"] = [lapse._asdict() for lapse in lapses_in(device["commands"])]
    return document


def _make(
    files: list[Path], inventory: Path | None, offline: bool, set_name: str | None, owners: list[str],
    show_from: datetime | None,
) -> tuple[Plan, Network]:  # fmt: skip
    from slotcar.desk.files import ReservationFiles
    from slotcar.planning.offline import plan_offline
    from slotcar.planning.source import read_source
    from slotcar.planning.terms import policy_of

    chosen = settings(inventory=inventory)
    moment = now()
    if offline or not chosen.has_ledger():
        network = network_of(chosen)
        source = read_source(files, moment, network, set_name, owners, chosen.paths)
        policy = policy_of(chosen, network)
        new_plan = plan_offline(
            source, network, policy, moment, most_paths=chosen.paths, no_ledger_yet=not offline, show_from=show_from
        )
        return new_plan, network
    with desk(inventory) as opened:
        source = read_source(files, moment, opened.network, set_name, owners, opened.settings.paths)
        progress("planning")
        return ReservationFiles(opened).plan(source, caller(), moment, show_from), opened.network


def _looked_at(new_plan: Plan, network: Network, inventory: Path | None, *, read: bool) -> Plan:
    """The plan, with what is in the way on routers as they were last read, or as they are."""
    from slotcar.planning.in_the_way import looked_at, routers_of
    from slotcar.rollout.looks import Looks
    from slotcar.wiring import pusher_for

    chosen = settings(inventory=inventory)
    looks = Looks(chosen.state_dir)
    names = routers_of(new_plan, network)
    if not read or not names:
        return looked_at(new_plan, network, looks.of)
    progress("reading the devices")
    with long_work_reported():
        failures = pusher_for(network, chosen, None).read(names).failures
    for failure in failures.values():
        complain(f"{failure.device}: {failure.message}")
    return looked_at(new_plan, network, lambda device: None if device.name in failures else looks.of(device))


def apply(
    files: Files,
    inventory: Inventory = None,
    set_name: SetName = None,
    owner: Owners = None,
    diff: Annotated[bool, typer.Option("--diff", help="show the lines added and removed on each router")] = False,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Apply reservation FILES, or exactly the plan in a file that `slotcar plan -o` wrote.

    All or nothing: if anything is refused, nothing is applied (exit code 3). Asks before it applies files; a plan's file
    is applied without a question, because it holds no more than was shown when it was made.
    """
    from slotcar.planning.plan_file import contents_of, plan_in, read_plan
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        contents = contents_of(files)
        document = plan_in(contents)
        if document is None:
            document, new_plan, network = _planned(controller, files, set_name, owner or [], contents)
            if not _confirmed(new_plan, document, network, form, diff=diff, yes=yes):
                nothing: dict[str, Any] = {"created": 0, "changed": 0, "cancelled": 0, "entries": []}
                emit(nothing, form, lambda: None)
                return
        elif isinstance(controller, NearDesk):
            read_plan(contents)  # what is wrong with it is said of the file
        applied = controller.send(verbs.Apply(document))
    emit(applied, form, lambda: _print_applied(applied))


def _planned(
    controller: AnyDesk, files: list[Path], set_name: str | None, owners: list[str], contents: Mapping[Path, bytes]
) -> tuple[dict[str, Any], Plan, Network | None]:
    """The document of a plan, and the plan to be shown; here with the network."""
    from slotcar.desk.files import ReservationFiles
    from slotcar.planning.plan_file import plan_document
    from slotcar.planning.source import read_source

    if not isinstance(controller, NearDesk):
        return *_planned_there(controller, files, set_name, owners, contents), None
    opened, moment = controller.desk, now()
    source = read_source(files, moment, opened.network, set_name, owners, opened.settings.paths, contents)
    new_plan = ReservationFiles(opened).plan(source, caller(), moment)
    return dict(plan_document(new_plan)), new_plan, opened.network


def _planned_there(
    controller: AnyDesk, files: list[Path], set_name: str | None, owners: list[str],
    contents: Mapping[Path, bytes] | None = None, show_from: datetime | None = None,
) -> tuple[dict[str, Any], Plan]:  # fmt: skip
    """The document of a plan of reservation files, which are read and checked here and planned by a controller, and the
    plan to be shown; of what it cancels the controller is asked.

    Raises:
        InvalidInput: anything in any file is wrong.
    """
    from slotcar.planning.plan_page import PageStart
    from slotcar.planning.shown_plan import shown_plan
    from slotcar.planning.source import default_set_name
    from slotcar.reservation import read_files
    from slotcar.views.documents import reservation_of
    from slotcar_client.wire.verbs import Status

    assert isinstance(controller, FarDesk)
    read = read_files(files, now(), contents=contents or {})
    file: dict[str, Any] = {"version": 1, "reservations": read.entry_documents}
    if read.group_documents:
        file["together"] = read.group_documents
    start = str(PageStart(show_from)) if show_from else None
    name = set_name or default_set_name(files)
    document: dict[str, Any] = dict(controller.slotcar.plan(file, set_name=name, owners=sorted(owners), start=start))
    handles = [step["handle"] for step in document["steps"] if step["action"] == "cancel"]
    cancelled = {one: reservation_of(controller.send(Status(one))["reservation"]) for one in handles}
    return document, shown_plan(document, cancelled)


def _confirmed(
    new_plan: Plan, document: Mapping[str, Any], network: Network | None, form: Format, *, diff: bool, yes: bool
) -> bool:
    """Shows a plan and asks; False where there is nothing to do.

    Raises:
        typer.Exit: it holds a refusal, or the answer is no.
    """
    if form is Format.TABLE or new_plan.refused:
        emit(document, form, partial(print_plan, new_plan, document["boundaries"], network, diff=diff))
    if new_plan.refused:
        raise typer.Exit(ExitCode.REFUSED)
    if new_plan.changes_nothing:
        return False
    confirm(yes, "Apply this?")
    return True


def _print_applied(applied: documents.Applied) -> None:
    from slotcar.views.documents import reservation_of
    from slotcar.views.explain import clock_note

    for entry in applied["entries"]:
        reservation = reservation_of(entry["reservation"])
        waits = "; its change waits for approval" if entry["proposed"] else ""
        note = f"; {words}" if (words := clock_note(reservation)) else ""
        line = f"{reservation.owner}/{reservation.name}  {entry['handle']}  {entry['state']}{waits}{note}"
        stdout().print(hanging(line, CONTINUED_AT), soft_wrap=True)
    counts = ", ".join(f"{applied[what]} {what}" for what in ("created", "changed", "cancelled"))
    stdout().print(f"Applied: {counts}.", style="bold")


def print_plan(
    new_plan: Plan,
    boundaries: Sequence[Mapping[str, Any]],
    network: Network | None,
    *,
    diff: bool = False,
    commands: bool = False,
    unchanged: bool = False,
) -> None:
    """As Terraform shows it: each change with its reasons, then what the devices would be sent, then one line.

    Args:
        unchanged: also lists what stays as it is.
        boundaries: as the plan's document has them; all that is known where another machine made it.
        network: None where another machine made it.
    """
    from slotcar.cli.plan_words import print_boundaries, print_documents
    from slotcar.planning.plan_lines import changes_first, unchanged_words

    changes, same = changes_first(new_plan.steps)
    for step in (*changes, *(same if unchanged else ())):
        _print_step(step)
    if same and not unchanged:
        stdout().print(unchanged_words(len(same)), style="dim")
    if network is None:
        print_documents(new_plan, boundaries, diff=diff)
    else:
        print_boundaries(new_plan, network, diff=diff, commands=commands)
    stdout().print(f"\n{new_plan.summary}", style="bold")


def _print_step(step: PlanStep) -> None:
    from rich.text import Text

    from slotcar.planning.plan_lines import What, step_lines

    styles = {What.REFUSED: "bold red", What.WOULD_FIT: "bold red", What.NOTE: "yellow"}
    for what, line in step_lines(step, others_short()):
        indent = {What.DETAIL: "    ", What.NOTE: "    ", What.WOULD_FIT: "    "}.get(what, "")
        words = indent + line if what is What.DETAIL else hanging(indent + line, CONTINUED_AT)
        stdout().print(Text(words, style=styles.get(what, STYLES[step.action.value])), soft_wrap=True)
