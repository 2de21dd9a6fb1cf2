"""`slotcar delegate`, `withdraw` and `delegations`: rights on one reservation in somebody else's hands (ADR 89)."""

from __future__ import annotations

from typing import Annotated

import typer

from slotcar.cli.entries import emit_entry
from slotcar.cli.lists import by_limit, emit_list, first_of
from slotcar.cli.options import IfVersion, Inventory, OutputFormat, Which, time_of
from slotcar.cli.output import Format, print_table
from slotcar.cli.session import now, sender


def register(app: typer.Typer) -> None:
    for command in (delegate, withdraw, delegations):
        app.command()(command)


def delegate(
    which: Which,
    to: Annotated[
        str, typer.Option("--to", help="a caller, as its `slotcar whoami` says: a token's name, or NAME@ISSUER")
    ],
    may: Annotated[
        list[str],
        typer.Option(
            "--may", help="see, commit, extend, modify, bind, progress or cancel; several with commas, or repeated"
        ),
    ],
    until: Annotated[str, typer.Option("--until", help="a time with its zone, or `now + 10 min`")],
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Hand rights on a reservation to somebody else until a time, in the place of those that it has of it.

    Each right lets the delegate see the reservation, too. A delegate hands nothing on. Quotas stay the owner's.
    """
    from slotcar.base.timebase import iso
    from slotcar_client.wire import verbs

    end = time_of("--until", until, now())
    with sender(inventory) as controller:
        handle, rights = controller.handle_of(which), [one.strip() for text in may for one in text.split(",")]
        emit_entry(controller.send(verbs.Delegate(handle, to, rights, iso(end) if end else "", if_version)), form)


def withdraw(
    which: Which,
    to: Annotated[str, typer.Argument(metavar="NAME", help="whose rights on it end", show_default=False)],
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Take back at once the rights on a reservation that somebody was handed."""
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        emit_entry(controller.send(verbs.Withdraw(controller.handle_of(which), to, if_version)), form)


def delegations(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """List what you were handed on others' reservations, and what of your own is in others' hands."""
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        listed = controller.items(verbs.Delegations(), limit + 1)
    shown, is_cut = first_of(listed, limit)
    rows = [
        (f"{one['owner']}/{one['name']}", one["to"], ", ".join(one["may"]), one["until"], one["given_by"])
        for one in shown
    ]
    heads = ("reservation", "to", "may", "until", "given by")
    more = by_limit(limit, "") if is_cut else None
    emit_list(shown, form, lambda: print_table(heads, rows, "No delegations."), more=more)
