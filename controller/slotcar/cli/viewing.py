"""Looking: the timeline, the configurations that are wanted, the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.base.problems import printable
from slotcar.base.timebase import iso
from slotcar.cli.lists import emit_list, first_of
from slotcar.cli.options import (
    At,
    Device,
    Devices,
    Inventory,
    Newest,
    OfLabel,
    OfName,
    OfOwner,
    OfReservation,
    OutputFormat,
    Since,
    Until,
    parsed,
    time_of,
)
from slotcar.cli.output import Format, complain, emit, print_table, stdout
from slotcar.cli.remote import Api, TokenFile, remote
from slotcar.cli.session import network_of, now, sender, settings

if TYPE_CHECKING:
    from slotcar.platforms.model import Configuration


def register(app: typer.Typer) -> None:
    for command in (timeline, render, events):
        app.command()(command)


def timeline(
    since: Since = None,
    until: Until = None,
    hours: Annotated[
        float, typer.Option("--hours", min=0.01, max=24 * 366, help="how far ahead, without --until")
    ] = 24.0,
    device: Devices = None,
    reservation: OfReservation = None,
    owner: OfOwner = None,
    name: OfName = None,
    label: OfLabel = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """List slot boundaries from an hour ago on: what starts and ends when, and how far each device is with it."""
    from slotcar.cli.listing import BOUNDARIES, boundary_row
    from slotcar.views.timeline import LOOK_BACK
    from slotcar_client.wire import verbs

    moment = now()
    begin = time_of("--from", since, moment) or moment - LOOK_BACK
    end = time_of("--until", until, moment) or moment + timedelta(hours=hours)
    if end < begin:
        raise typer.BadParameter("is before --from", param_hint="--until")
    verb = verbs.Timeline(
        iso(begin), iso(end), device=device, reservation=reservation, owner=owner, name=name, label=label
    )  # fmt: skip
    with sender(inventory) as controller:
        listed = controller.items(verb, limit + 1, "since")
    data, is_cut = first_of(listed, limit)
    rows = [boundary_row(item, moment) for item in data]
    narrow = [boundary_row(item, moment, narrow=True) for item in data]
    emit_list(
        data,
        form,
        lambda: print_table(BOUNDARIES, rows, "No slot begins or ends in that time.", narrow=(BOUNDARIES, narrow)),
        more=f"--from {listed[limit]['at']}" if is_cut else None,
    )


def render(
    files: Annotated[
        list[Path] | None, typer.Argument(help="reservation files: render these, without a ledger", show_default=False)
    ] = None,
    at: At = "now",
    device: Devices = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Print the configuration that devices are to have at a time: the text that a push compares them with.

    Without FILES it reads the ledger. With FILES it needs no server and no database: it takes their reservations as
    admitted on an empty ledger. Each gets the path and the rates that the controller would choose. Refused ones are
    reported, and rendered as requested.
    """
    from slotcar.reservation import parse_time
    from slotcar.views.documents import configurations_document
    from slotcar_client.wire import verbs

    moment = now()
    instant = parsed("--at", lambda text: parse_time(text, moment), at)
    if files:
        listed: Sequence[Mapping[str, Any]] = configurations_document(
            _rendered(files, inventory, device, moment, instant), instant
        )
    else:
        with sender(inventory) as controller:
            listed = controller.send(verbs.Configurations(iso(instant), device))["items"]
    emit(listed, form, lambda: _print(listed))


def _rendered(
    files: list[Path], inventory: Path | None, device: list[str] | None, moment: datetime, instant: datetime
) -> dict[str, Configuration]:
    from slotcar.planning.offline import admitted_entries
    from slotcar.planning.source import read_source
    from slotcar.planning.terms import policy_of
    from slotcar.views.configurations import configurations_at

    chosen = settings(inventory=inventory)
    network = network_of(chosen)
    source = read_source(files, moment, network, most_paths=chosen.paths)
    assumed = admitted_entries(source, network, policy_of(chosen, network), moment, chosen.paths)
    for note in assumed.notes:
        complain(f"note: {note}")
    return configurations_at(assumed.entries, network, instant, device)


def _print(listed: Sequence[Mapping[str, Any]]) -> None:
    for one in listed:
        stdout().print(f"# {one['device']} ({one['platform']})", style="bold cyan")
        for line in one["lines"]:
            stdout(verbatim=True).print(printable(line), soft_wrap=True)


def events(
    after: Annotated[
        int | None,
        typer.Option(
            "--after", min=0, help="events after this number (with --newest: before it); by default the last ones"
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    reservation: OfReservation = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="only kinds that begin with this, such as `push.`; may be repeated"),
    ] = None,
    device: Device = None,
    owner: OfOwner = None,
    name: OfName = None,
    label: OfLabel = None,
    since: Since = None,
    until: Until = None,
    newest: Newest = False,
    long: Annotated[bool, typer.Option("--long", help="show each event by itself, with its revision")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="print new events as they come, until Ctrl-C; uses the API")
    ] = False,
    api: Api = None,
    token_file: TokenFile = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show the audit log: every transition and every push, in order. --follow prints one line for each push."""
    from slotcar.cli.event_lines import COLUMNS, NARROW, cells, narrow_cells
    from slotcar.cli.following import follow_events
    from slotcar_client.wire import verbs

    if follow:
        if newest or since or until:
            raise typer.BadParameter("goes on from now, or from --after", param_hint="--follow")
        filters = {
            "which": reservation, "device": device, "owner": owner, "name": name, "label": label,
            "kinds": tuple(kind or ()),
        }  # fmt: skip
        with remote(api, token_file) as slotcar:
            follow_events(slotcar, after, filters, form, long=long)
        return
    moment = now()
    begin, end = (time_of(option, text, moment) for option, text in (("--from", since), ("--until", until)))
    last_ones = after is None and begin is None and not newest
    verb = verbs.Events(
        kind, reservation, device, owner, name, label, iso(begin) if begin else None, iso(end) if end else None,
        newest or last_ones, after or 0,
    )  # fmt: skip
    with sender(inventory) as controller:
        listed, is_cut = first_of(controller.items(verb, limit + 1), limit)
    data = listed[::-1] if last_ones else listed
    edge = data[0 if last_ones else -1]["sequence"] if data else 0
    more = f"--newest --after {edge}" if last_ones or newest else f"--after {edge}"
    rows = [cells(one, long=long) for one in data]
    narrow = None if long else (NARROW, [narrow_cells(one) for one in data])
    emit_list(
        data, form, lambda: print_table(COLUMNS, rows, "No events.", narrow=narrow),
        more=more if is_cut else None, which="last" if last_ones else "first",
    )  # fmt: skip
