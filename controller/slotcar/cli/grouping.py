"""Groups on the command line: `slotcar reserve FILE`, and what `status`, `cancel` and others do with a group's handle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.base.problems import printable
from slotcar.cli.confirmation import confirm
from slotcar.cli.entries import VALUES_AT
from slotcar.cli.lists import by_limit, emit_list, first_of
from slotcar.cli.options import Inventory, OutputFormat, parsed
from slotcar.cli.output import Format, emit, hanging, print_table, stdout
from slotcar.cli.session import now, sender

if TYPE_CHECKING:
    from slotcar_client.wire import documents
    from slotcar_client.wire.verbs import GroupList, Verb


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
    from slotcar_client.wire import verbs

    read = read_files([file], now())
    if read.entry_documents or not read.group_documents:
        raise typer.BadParameter(
            f"{file} holds single reservations, or no group: say `slotcar apply`", param_hint="FILE"
        )
    if hold:
        parsed("--hold", parse_duration, hold)
    with sender(inventory) as controller:
        groups = controller.send(verbs.GroupCreateAll(read.group_documents, hold or None))["items"]

    def print_all() -> None:
        for one in groups:
            print_group(one)

    emit(groups, form, print_all)


def show(which: str, inventory: Path | None, form: Format) -> None:
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        _emit(controller.send(verbs.Group(which)), form)


def change(
    verb: str, which: str, inventory: Path | None, form: Format, *, yes: bool = True, reason: str = "",
    if_version: int | None = None,
) -> None:  # fmt: skip
    """`verb`: cancel, commit, approve or reject; asks first unless `yes`. Approves exactly what it shows."""
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        version, approves = if_version, verb == "approve"
        if version is None if approves else not yes:
            group = controller.send(verbs.Group(which))
            print_group(group, err=True)
            version = group["version"] if approves else version
            confirm(yes, f"{verb.capitalize()} this group?")
        changes: dict[str, Callable[[], Verb[documents.Group]]] = {
            "cancel": lambda: verbs.GroupCancel(which, reason, version),
            "commit": lambda: verbs.GroupCommit(which, version),
            "approve": lambda: verbs.GroupApprove(which, version or 0),
            "reject": lambda: verbs.GroupReject(which, reason, version),
        }
        _emit(controller.send(changes[verb]()), form)


def _emit(group: documents.Group, form: Format) -> None:
    emit(group, form, lambda: print_group(group))


def show_list(verb: GroupList, limit: int, inventory: Path | None, form: Format) -> None:
    """The first `limit` groups that are asked for, a line each."""
    from slotcar.cli.listing import GROUPS, group_row

    with sender(inventory) as controller:
        groups, is_cut = first_of(controller.items(verb, limit + 1), limit)
    more = by_limit(limit, "asking for less, by --owner, --from or --until,") if is_cut else None
    rows = [group_row(one) for one in groups]
    emit_list(groups, form, lambda: print_table(GROUPS, rows, "No groups."), more=more)


def print_group(group: Mapping[str, Any], *, err: bool = False) -> None:
    """The group's state, and a line for each member."""
    from slotcar.cli.listing import slot_of, state_words
    from slotcar.cli.output import stderr
    from slotcar.planning.plan_lines import summary
    from slotcar.views.documents import reservation_of

    console = stderr() if err else stdout()
    console.print(f"{group['owner']}/{group['name']}  {group['handle']}", style="bold")
    until = f" until {group['hold_until']}" if group["hold_until"] else ""
    slot = group["slot_state"]
    on_routers = f", {slot.replace('-', ' ')}" if slot and slot != group["state"] else ""
    lines = [f"state    {group['state']}{on_routers}{until}", f"window   {group['start']} to {group['end']}"]
    for member in group["members"]:
        what = f"{summary(reservation_of(member['reservation']))}, on failure {member['on_failure']}"
        lines.append(f"member   {member['member']}  {member['handle']}  {state_words(member)}  {what}")
        if (member_slot := slot_of(member)) and member_slot["why"]:
            lines.append(f"         {member_slot['why']}")
    for line in lines:
        console.print(hanging(f"  {printable(line)}", VALUES_AT), soft_wrap=True)
