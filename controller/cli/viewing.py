"""Looking: the timeline, the configurations that are wanted, the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controller.cli.options import At, Devices, Inventory, OutputFormat, parsed
from controller.cli.output import Format, emit, print_table, stdout
from controller.cli.session import broker, caller, network_of, now, settings

if TYPE_CHECKING:
    from controller.render.model import Configuration


def register(app: typer.Typer) -> None:
    for command in (timeline, render, events):
        app.command()(command)


def timeline(
    hours: Annotated[float, typer.Option("--hours", min=0.01, max=24 * 366, help="how far ahead")] = 24.0,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Slot boundaries ahead: what starts and ends when."""
    from datetime import timedelta

    from controller.timebase import iso
    from controller.verbs.documents import timeline_document

    moment = now()
    with broker(inventory) as opened:
        items = opened.timeline(moment, moment + timedelta(hours=hours), caller(), limit)
    rows = [
        (
            iso(item.at),
            ", ".join([f"+{name}" for name in item.starting] + [f"-{name}" for name in item.ending]),
            str(item.active),
        )
        for item in items
    ]
    emit(
        [timeline_document(item) for item in items],
        form,
        lambda: print_table(
            ("at", "starts (+) and ends (-)", "active then"), rows, "No slot begins or ends in that time."
        ),
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
    """The configuration that devices are to have at a time: the bytes that a push compares with.

    With FILES everything in them counts as admitted, and no server or database is needed; without, the ledger is read.
    """
    from controller.reservation import parse_time
    from controller.timebase import iso
    from controller.verbs.configurations import configurations_at
    from controller.verbs.offline import entries_of

    moment = now()
    instant = parsed("--at", lambda text: parse_time(text, moment), at)
    if files:
        from controller.verbs.source import read_source

        network = network_of(settings(inventory=inventory))
        entries = entries_of(read_source(files, moment, network).reservations, network, moment)
        found = configurations_at(entries, network, instant, device)
    else:
        with broker(inventory) as opened:
            found = opened.configurations(instant, caller(), device)
    data = [
        {"device": name, "platform": one.platform.value, "at": iso(instant), "lines": list(one.lines)}
        for name, one in found.items()
    ]
    emit(data, form, lambda: _print(found))


def _print(found: dict[str, Configuration]) -> None:
    for name, one in found.items():
        stdout().print(f"# {name} ({one.platform.value})", style="bold cyan", markup=False)
        for line in one.lines:
            stdout().print(line, markup=False, soft_wrap=True)


def events(
    after: Annotated[
        int | None, typer.Option("--after", min=0, help="from the one after this number on; the last ones by default")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    reservation: Annotated[str | None, typer.Option("--reservation", help="a handle, or OWNER/NAME")] = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """The audit log: every transition and every push, in order."""
    from controller.timebase import iso
    from controller.verbs.documents import event_document

    with broker(inventory) as opened:
        handle = opened.status(reservation, caller()).handle if reservation else None
        found = opened.ledger.events(after, limit, handle)
    rows = [
        (
            str(event.sequence),
            iso(event.at),
            event.kind,
            event.device or f"{event.details.get('owner', '')}/{event.details.get('name', '')}".strip("/"),
            str(event.details.get("message") or event.details.get("revision") or event.details.get("actor") or ""),
        )
        for event in found
    ]
    emit(
        [event_document(event) for event in found],
        form,
        lambda: print_table(("event", "at", "what", "of", "details"), rows, "No events."),
    )
