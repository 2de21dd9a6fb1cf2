"""Groups on the command line: `slotcar reserve FILE`, and what `status`, `cancel` and others do with a group's handle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.base.problems import printable
from slotcar.cli.confirmation import confirm
from slotcar.cli.lists import by_limit, emit_list, first_of
from slotcar.cli.options import Inventory, OutputFormat, parsed
from slotcar.cli.output import Format, emit, hanging, print_table, stdout
from slotcar.cli.session import caller, now, verbs

if TYPE_CHECKING:
    from slotcar.book.model import Entry
    from slotcar.store.group_queries import GroupFilter

#: Where the values begin.
VALUES_AT = 11


def register(app: typer.Typer) -> None:
    app.command()(reserve)


def is_group(which: str) -> bool:
    """Whether it is a group's handle."""
    return which.startswith("g-") and "/" not in which


def reserve(
    file: Annotated[Path, typer.Argument(help="a reservation file with groups", show_default=False)],
    hold: Annotated[
        str | None,
        typer.Option("--hold", help="only hold them, for this long; a hold that is not committed ends then"),
    ] = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Reserve the groups of a file, all of them or none (exit code 3). Unlike `apply`, it changes and cancels none."""
    from slotcar.base.units import parse_duration
    from slotcar.reservation import read_files
    from slotcar.views.documents import group_document

    moment = now()
    read = read_files([file], moment)
    if read.entry_documents or not read.group_documents:
        raise typer.BadParameter(
            f"{file} holds single reservations, or no group: say `slotcar apply`", param_hint="FILE"
        )
    hold_for = parsed("--hold", parse_duration, hold) if hold else None
    with verbs(inventory) as opened:
        created = opened.create_groups_from_documents(read.group_documents, moment, hold_for, caller())
        groups = [opened.with_slots(members, caller(), now()) for members in created]

    def print_all() -> None:
        for one in groups:
            print_group(one)

    emit([group_document(one) for one in groups], form, print_all)


def show(which: str, inventory: Path | None, form: Format) -> None:
    with verbs(inventory) as opened:
        members = opened.with_slots(opened.group(which, caller()), caller(), now())
    _emit(members, form)


def change(
    verb: str, which: str, inventory: Path | None, form: Format, *, yes: bool = True, reason: str = "",
    if_version: int | None = None,
) -> None:  # fmt: skip
    """`verb`: cancel, commit, approve or reject; asks first unless `yes`. Approves exactly what it shows."""
    from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, RejectGroup, version_of

    changes = {"cancel": CancelGroup, "commit": CommitGroup, "approve": ApproveGroup, "reject": RejectGroup}
    with verbs(inventory) as opened:
        version, approves = if_version, verb == "approve"
        if version is None if approves else not yes:
            members = opened.with_slots(opened.group(which, caller()), caller(), now())
            print_group(members, err=True)
            version = version_of(members) if approves else version
            confirm(yes, f"{verb.capitalize()} this group?")
        members = opened.on_group(changes[verb], which, caller(), now(), reason, version)
        _emit(opened.with_slots(members, caller(), now()), form)


def _emit(members: Sequence[Entry], form: Format) -> None:
    from slotcar.views.documents import group_document

    emit(group_document(members), form, lambda: print_group(members))


def show_list(wanted: GroupFilter, inventory: Path | None, form: Format) -> None:
    """The groups that are asked for, a line each; `wanted` asks for one more than are shown."""
    from slotcar.cli.listing import GROUPS, group_row
    from slotcar.views.documents import group_document

    limit = wanted.limit - 1
    with verbs(inventory) as opened:
        groups, is_cut = first_of(opened.groups(wanted, caller()), limit)
        documents = [group_document(opened.with_slots(members, caller(), now())) for members in groups]
    more = by_limit(limit, "asking for less, by --owner, --from or --until,") if is_cut else None
    rows = [group_row(one) for one in documents]
    emit_list(documents, form, lambda: print_table(GROUPS, rows, "No groups."), more=more)


def print_group(members: Sequence[Entry], *, err: bool = False) -> None:
    """The group's state, and a line for each member."""
    from slotcar.cli.listing import state_words
    from slotcar.cli.output import stderr
    from slotcar.planning.plan_lines import summary
    from slotcar.views.documents import group_document, member_name

    console, document = stderr() if err else stdout(), group_document(members)
    console.print(f"{document['owner']}/{document['name']}  {document['handle']}", style="bold")
    until = f" until {document['hold_until']}" if document["hold_until"] else ""
    slot = document["slot_state"]
    on_routers = f", {slot.replace('-', ' ')}" if slot and slot != document["state"] else ""
    lines = [f"state    {document['state']}{on_routers}{until}", f"window   {document['start']} to {document['end']}"]
    for entry in members:
        together = entry.reservation.together
        failure = f", on failure {together.on_failure.value}" if together else ""
        words = f"{member_name(entry)}  {entry.handle}  {state_words(entry)}  {summary(entry.reservation)}{failure}"
        lines.append(f"member   {words}")
        if entry.slot and entry.slot.why:
            lines.append(f"         {entry.slot.why}")
    for line in lines:
        console.print(hanging(f"  {printable(line)}", VALUES_AT), markup=False, soft_wrap=True)
