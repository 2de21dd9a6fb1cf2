"""`slotcar enquire`: how much would fit, or could be added to a reservation, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.cli.options import Inventory, OutputFormat, complete_reservation
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.place import chosen_place
from slotcar.cli.reservation_options import takes_reservation
from slotcar.cli.session import caller, network_of, now, over_http, settings, verbs
from slotcar.reservation.written import NEED_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from slotcar.planning.enquiry import EnquiryAnswer, FreeRates

_USUAL = {"service": "ip-premium", "protocol": "tcp", "direction": "both", "start": "now"}


def register(app: typer.Typer) -> None:
    app.command()(enquire)


@takes_reservation(
    _USUAL,
    without=("name", "owner", "rate", "recurrence", "timezone", "if_unready", "share", *NEED_KEYS),
    optional=("source", "destination"),
)
def enquire(
    options: dict[str, object],
    add: Annotated[
        str | None,
        typer.Option(
            "--add",
            metavar="RESERVATION",
            help="show what could be added to this reservation (a handle, or OWNER/NAME) from now to its end",
            autocompletion=complete_reservation,
        ),
    ] = None,
    inventory: Inventory = None,
    offline: Annotated[bool, typer.Option("--offline", help="assume an empty ledger, and open none")] = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show the highest rate that would be admitted over a window, each way, and what is free over time."""
    if add is not None:
        _require_nothing_else(options, offline)
        with verbs(inventory) as opened:
            answer = opened.addable(add, caller(), now())
    else:
        _require_ends(options)
        answer = _enquired(options, inventory, offline)
    _show(answer, form)


def _require_nothing_else(options: Mapping[str, object], offline: bool) -> None:
    if offline:
        raise typer.BadParameter("an empty ledger has no reservation", param_hint="--offline")
    for key, value in options.items():
        if value != _USUAL.get(key):
            raise typer.BadParameter(
                "it cannot be combined with --add; it is taken from the reservation", param_hint=f"--add, --{key}"
            )


def _require_ends(options: Mapping[str, object]) -> None:
    for key in ("source", "destination"):
        if key not in options:
            raise typer.BadParameter("say it, or --add RESERVATION for one that there is", param_hint=f"--{key}")


def _enquired(options: dict[str, object], inventory: Path | None, offline: bool) -> EnquiryAnswer:
    if offline or chosen_place() is None:
        return _enquired_here(options, inventory, offline)
    with over_http(inventory) as opened:
        return opened.enquire_from_document(options)


def _enquired_here(options: dict[str, object], inventory: Path | None, offline: bool) -> EnquiryAnswer:
    from slotcar.cli.session import broker
    from slotcar.reservation import from_mapping

    moment = now()
    reservation = from_mapping(
        {"name": "enquiry", "owner": "enquiry", "rate": "1 bit/s", **options}, moment, "enquire"
    )
    chosen = settings(inventory=inventory)
    if not (offline or not chosen.has_ledger()):
        with broker(inventory) as opened:
            return opened.enquire(reservation, caller(), moment)
    from slotcar.admission import SlotTables, capacities
    from slotcar.planning.enquiry import ask_tables
    from slotcar.planning.routing import ways

    network = network_of(chosen)
    return ask_tables(reservation, ways(reservation, network, chosen.paths), network, SlotTables(capacities(network)))


def _show(answer: EnquiryAnswer, form: Format) -> None:
    from slotcar.planning.enquiry import enquiry_document

    emit(enquiry_document(answer), form, lambda: _print(answer))


def _print(answer: EnquiryAnswer) -> None:
    from slotcar.admission.resource_id import describe
    from slotcar.base.units import format_rate

    rows = [
        (
            one.direction.value,
            format_rate(one.rate_bps),
            describe(one.limited_by) if one.limited_by else "nothing",
            " > ".join(one.routers),
        )
        for one in answer.directions
    ]
    rate = "highest rate" if answer.adds_to is None else "can be added"
    print_table(("direction", rate, "limited by", "path"), rows, "nothing to say")
    listed = [(one.direction.value, one.free) for one in answer.directions]
    if len(listed) > 1:
        listed.append(("both ways", answer.together))
    if any(len(free.steps) > 1 for _, free in listed):
        _print_steps(listed)


def _print_steps(listed: list[tuple[str, FreeRates]]) -> None:
    """What is free over time: a line for each part, and one of each way."""
    from slotcar.base.timebase import iso
    from slotcar.base.units import format_rate

    rows = [
        (name, iso(step.window.start), iso(step.window.end), format_rate(step.rate_bps))
        for name, free in listed
        for step in free.steps
    ]
    print_table(("free", "from", "until", "rate"), rows, "nothing is free")
    if any(free.rounded for _, free in listed):
        stdout().print("rounded: at times more is free than this says; ask for a shorter window", style="dim")
