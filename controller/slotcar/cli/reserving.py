"""One reservation at a time: create, modify, bind, commit, extend, cancel, approve, reject, status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.cli import grouping
from slotcar.cli.confirmation import confirm
from slotcar.cli.entries import emit_entry, print_entry
from slotcar.cli.lists import by_limit, emit_list, first_of
from slotcar.cli.options import (
    IfVersion,
    Inventory,
    MaybeWhich,
    Newest,
    OfLabel,
    OfName,
    OfOwner,
    OutputFormat,
    Since,
    Until,
    Which,
    Yes,
    parsed,
    time_of,
)
from slotcar.cli.output import Format, print_table
from slotcar.cli.place import chosen_place
from slotcar.cli.remote import Api, TokenFile, remote
from slotcar.cli.reservation_options import takes_reservation
from slotcar.cli.session import AnyDesk, now, sender

if TYPE_CHECKING:
    from pathlib import Path

    from slotcar_client.wire import documents


def register(app: typer.Typer) -> None:
    for command in (create, modify, bind, commit, extend, cancel, approve, reject, status):
        app.command()(command)


@takes_reservation({"protocol": "tcp", "start": "now"}, optional=("owner", "service"))
def create(
    data: dict[str, object],
    hold: Annotated[
        str | None,
        typer.Option(
            "--hold", help="only hold it, for this long (`default`: 15 min); a hold that is not committed ends then"
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="a repeat with this key returns the first result")
    ] = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Reserve bandwidth. A request is admitted as a whole, or refused with numbers (exit code 3).

    Without --service and --profile it is ip-premium.
    """
    if not data.get("profile"):
        data = {"service": "ip-premium"} | data
    from slotcar.base.units import parse_duration
    from slotcar.reservation import from_mapping
    from slotcar_client.wire import verbs

    if chosen_place() is None:  # a controller knows whose the reservation is, where nobody says it
        from_mapping(data, now())
    if hold not in (None, "default"):
        parsed("--hold", parse_duration, hold or "")
    with sender(inventory) as controller:
        held = f"{controller.send(verbs.Limits())['hold_s']} s" if hold == "default" else hold
        emit_entry(controller.send(verbs.Create(data, held, idempotency_key)), form)


def modify(
    which: Which,
    rate: Annotated[
        str | None, typer.Option("--rate", "-r", help="new payload rate, in each reserved direction")
    ] = None,
    forward_rate: Annotated[
        str | None, typer.Option("--forward-rate", help="new payload rate in the forward direction")
    ] = None,
    reverse_rate: Annotated[
        str | None, typer.Option("--reverse-rate", help="new payload rate in the reverse direction")
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="new start")] = None,
    end: Annotated[str | None, typer.Option("--end", help="new end (or use --duration)")] = None,
    duration: Annotated[
        str | None, typer.Option("--duration", help="new length, such as `2 h` or `PT90M` (or use --end)")
    ] = None,
    remaining: Annotated[
        str | None,
        typer.Option("--remaining", help="how much of a volume is still to be moved, such as `1.2 TB`; `0 B` ends it"),
    ] = None,
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Change a rate or a window, or report how much of a volume remains.

    If the change is refused, the reservation stays as it was (exit code 3).
    """
    from slotcar.base.timebase import iso
    from slotcar.base.units import parse_any_bps, parse_duration, parse_rate_bps, parse_remaining_bytes
    from slotcar.planning.errors import NotPossible
    from slotcar_client.wire import verbs

    moment = now()
    for option, text, parse in (
        ("--rate", rate, parse_rate_bps), ("--forward-rate", forward_rate, parse_any_bps),
        ("--reverse-rate", reverse_rate, parse_any_bps), ("--duration", duration, parse_duration),
        ("--remaining", remaining, parse_remaining_bytes),
    ):  # fmt: skip
        if text:
            parsed(option, parse, text)
    begin, until = (time_of(option, text, moment) for option, text in (("--start", start), ("--end", end)))
    rates: verbs.Rates = {"forward": forward_rate or None, "reverse": reverse_rate or None}
    each_way = rates if any(rates.values()) else None
    if remaining and (rate or each_way or begin or until or duration):
        raise typer.BadParameter("it goes with no other change", param_hint="--remaining")
    if remaining and if_version is not None:
        raise NotPossible("a report of progress is of what the reservation is now: leave --if-version out")
    if rate and each_way:
        raise NotPossible("say one rate, or one for each way, not both")
    with sender(inventory) as controller:
        if remaining:
            emit_entry(controller.send(verbs.Progress(controller.handle_of(which), remaining)), form)
            return
        handle, version = _version_of(which, if_version, controller)
        change = verbs.Modify(
            handle, version, rate or each_way, iso(begin) if begin else None, iso(until) if until else None,
            duration or None,
        )  # fmt: skip
        emit_entry(controller.send(change), form)


def _version_of(which: str, version: int | None, controller: AnyDesk) -> tuple[str, int]:
    """The handle, and of which version a change is: of what the reservation is now, where none is said."""
    from slotcar_client.wire import verbs

    handle = controller.handle_of(which)
    return handle, controller.send(verbs.Status(handle))["version"] if version is None else version


def bind(
    which: Which,
    source_port: Annotated[int | None, typer.Option("--source-port", min=1, max=65535)] = None,
    destination_port: Annotated[int | None, typer.Option("--destination-port", min=1, max=65535)] = None,
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Set the ports of a reservation that were not known when it was created."""
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        handle, version = _version_of(which, if_version, controller)
        emit_entry(controller.send(verbs.Bind(handle, version, source_port, destination_port)), form)


def commit(
    which: Which, if_version: IfVersion = None, inventory: Inventory = None, form: OutputFormat = Format.TABLE
) -> None:
    """Commit a hold, so that it no longer expires."""
    from slotcar_client.wire import verbs

    if grouping.is_group(which):
        grouping.change("commit", which, inventory, form, if_version=if_version)
        return
    with sender(inventory) as controller:
        emit_entry(controller.send(verbs.Commit(controller.handle_of(which), if_version)), form)


def extend(
    which: Which,
    by: Annotated[str, typer.Option("--by", help="how long from now, such as `15 min`")] = "15 min",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Extend a hold."""
    from slotcar.base.units import parse_duration
    from slotcar_client.wire import verbs

    parsed("--by", parse_duration, by)
    with sender(inventory) as controller:
        emit_entry(controller.send(verbs.Extend(controller.handle_of(which), by, if_version)), form)


Reason = Annotated[str, typer.Option("--reason", help="for the audit log")]


def cancel(
    which: Which,
    reason: Reason = "",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Cancel a reservation now; its routers follow at once. Asks first."""
    from slotcar.planning.plan_lines import summary
    from slotcar.views.documents import reservation_of
    from slotcar_client.wire import verbs

    if grouping.is_group(which):
        grouping.change("cancel", which, inventory, form, yes=yes, reason=reason, if_version=if_version)
        return
    with sender(inventory) as controller:
        entry = controller.send(verbs.Status(controller.handle_of(which)))
        reservation = reservation_of(entry["reservation"])
        confirm(yes, f"Cancel {'/'.join(reservation.key)} ({entry['state']}, {summary(reservation)})?")
        emit_entry(controller.send(verbs.Cancel(entry["handle"], reason, if_version)), form)


def approve(
    which: Which,
    if_version: IfVersion = None,
    yes: Yes = False,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Approve a reservation that waits for approval, or a change of one: exactly what is shown."""
    from slotcar_client.wire import verbs

    if grouping.is_group(which):
        grouping.change("approve", which, inventory, form, yes=yes, if_version=if_version)
        return
    with sender(inventory) as controller:
        handle, version = controller.handle_of(which), if_version
        if version is None:
            entry = controller.send(verbs.Status(handle))
            print_entry(entry, err=True)
            version = entry["version"]
            confirm(yes, "Approve this?")
        emit_entry(controller.send(verbs.Approve(handle, version)), form)


def reject(
    which: Which,
    reason: Reason = "",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Reject a reservation that waits for approval, or a change of one; a rejected change leaves it as it is."""
    from slotcar_client.wire import verbs

    if grouping.is_group(which):
        grouping.change("reject", which, inventory, form, reason=reason, if_version=if_version)
        return
    with sender(inventory) as controller:
        emit_entry(controller.send(verbs.Reject(controller.handle_of(which), reason, if_version)), form)


def status(
    which: MaybeWhich = None,
    owner: OfOwner = None,
    name: OfName = None,
    label: OfLabel = None,
    since: Since = None,
    until: Until = None,
    newest: Newest = False,
    every: Annotated[bool, typer.Option("--all", "-a", help="also those that have ended")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    groups: Annotated[bool, typer.Option("--groups", "-g", help="list groups and not their members")] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", "-w", help="show the controller, its next boundary and its devices, until Ctrl-C"),
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.2, max=3600, help="seconds between two updates of --watch")
    ] = 1.0,
    api: Api = None,
    token_file: TokenFile = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show one reservation with its path, or a list of the live ones; with --watch, the controller's status."""
    if watch:
        _watch(which, form, api, token_file, interval)
        return
    if which and grouping.is_group(which):
        grouping.show(which, inventory, form)
        return
    from slotcar.base.timebase import iso
    from slotcar.book.model import OCCUPYING
    from slotcar_client.wire import verbs

    if groups and (which or name or label):
        raise typer.BadParameter("groups are listed by owner, state and time: leave out what else is asked for")
    if which:
        with sender(inventory) as controller:
            emit_entry(controller.send(verbs.Status(controller.handle_of(which))), form)
        return
    states = None if every else sorted(OCCUPYING)
    instants = (time_of(option, text, now()) for option, text in (("--from", since), ("--until", until)))
    begin, end = (iso(one) if one else None for one in instants)
    if groups:
        grouping.show_list(verbs.GroupList(owner, states, begin, end, newest), limit, inventory, form)
        return
    with sender(inventory) as controller:
        listed = controller.items(verbs.List(owner, name, states, label, begin, end, newest=newest), limit + 1)
    entries, is_cut = first_of(listed, limit)
    more = by_limit(limit, "asking for less, by --owner, --name, --label, --from or --until,") if is_cut else None
    emit_list(entries, form, lambda: _print_list(entries), more=more)


def _watch(which: str | None, form: Format, api: str | None, token_file: Path | None, interval_s: float) -> None:
    from slotcar.cli.watching import watch

    if form is not Format.TABLE:
        raise typer.BadParameter("--watch draws for people: programs ask the API, GET /v1/controller", param_hint="-f")
    if which is not None:
        words = f"it shows the controller, not a reservation: say `slotcar timeline --reservation {which}`"
        raise typer.BadParameter(words, param_hint="--watch")
    with remote(api, token_file, attempts=1) as slotcar:
        watch(slotcar, interval_s)


def _print_list(entries: Sequence[documents.Entry]) -> None:
    from slotcar.cli.listing import RESERVATIONS, reservation_row

    moment = now()
    print_table(RESERVATIONS, [reservation_row(entry, moment) for entry in entries], "No reservations.")
