"""`slotcar enquire`: how much would fit, or could be added to a reservation, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.options import Inventory, OutputFormat, complete_reservation
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.place import chosen_place
from slotcar.cli.reservation_options import takes_reservation
from slotcar.cli.session import network_of, now, sender, settings
from slotcar.reservation.written import NEED_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from slotcar_client.wire import documents

_USUAL = {"service": "ip-premium", "protocol": "tcp", "direction": "both", "start": "now"}
#: What is asked of a multicast group instead.
_TO_GROUPS = {"protocol": "udp", "direction": "forward"}


def register(app: typer.Typer) -> None:
    app.command()(enquire)


@takes_reservation(
    _USUAL,
    without=("name", "owner", "profile", "rate", "recurrence", "timezone", "if_unready", "share", *NEED_KEYS),
    optional=("source", "destination"),
)
def enquire(
    options: dict[str, object],
    context: typer.Context,
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
    from slotcar_client.wire import verbs

    if add is not None:
        _require_nothing_else(options, offline)
        with sender(inventory) as controller:
            answer = controller.send(verbs.Addable(controller.handle_of(add)))
    else:
        _require_ends(options)
        answer = _enquired({**options, **_usual_to_group(options, context)}, inventory, offline)
    emit(answer, form, lambda: _print(answer))


def _usual_to_group(options: Mapping[str, object], context: typer.Context) -> Mapping[str, str]:
    """What is asked of a multicast group, where the command line says nothing else."""
    if "receivers" not in options:
        return {}
    sources = {key: context.get_parameter_source(key) for key in _TO_GROUPS}
    return {key: _TO_GROUPS[key] for key, source in sources.items() if source is not None and source.name == "DEFAULT"}


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


def _enquired(options: Mapping[str, Any], inventory: Path | None, offline: bool) -> documents.Enquiry:
    from slotcar_client.wire import verbs

    if offline or (chosen_place() is None and not settings(inventory=inventory).has_ledger()):
        return _on_an_empty_ledger(options, inventory)
    with sender(inventory) as controller:
        return controller.send(verbs.Enquire(options))


def _on_an_empty_ledger(options: Mapping[str, Any], inventory: Path | None) -> documents.Enquiry:
    from slotcar.admission import SlotTables, capacities
    from slotcar.planning.enquiry import ask_tables, enquiry_document
    from slotcar.planning.routing import ways
    from slotcar.reservation import from_mapping

    usual = {"name": "enquiry", "owner": "enquiry", "rate": "1 bit/s"}
    reservation = from_mapping({**usual, **options}, now(), "enquire")
    chosen = settings(inventory=inventory)
    network = network_of(chosen)
    choices, tables = ways(reservation, network, chosen.paths), SlotTables(capacities(network))
    return enquiry_document(ask_tables(reservation, choices, network, tables))


def _print(answer: documents.Enquiry) -> None:
    from slotcar.admission.resource_id import ResourceId, describe
    from slotcar.base.units import format_rate

    rows = [
        (
            one["direction"],
            format_rate(one["highest_rate_bps"]),
            describe(ResourceId.parse(one["limited_by"]))
            if one["limited_by"]
            else "a domain behind"
            if one["is_limited_behind"]
            else "nothing",
            " > ".join(one["routers"]),
        )
        for one in answer["directions"]
    ]
    rate = "highest rate" if answer["adds_to"] is None else "can be added"
    print_table(("direction", rate, "limited by", "path"), rows, "nothing to say")
    if answer["unknown_beyond"]:
        stdout().print(
            f"unknown beyond {', '.join(answer['unknown_beyond'])}: what is behind does not say what it has"
        )
    listed: list[tuple[str, documents.Free]] = [(one["direction"], one) for one in answer["directions"]]
    if len(listed) > 1:
        listed.append(("both ways", answer))
    if any(len(free["steps"]) > 1 for _, free in listed):
        _print_steps(listed)


def _print_steps(listed: Sequence[tuple[str, documents.Free]]) -> None:
    """What is free over time: a line for each part, and one of each way."""
    from slotcar.base.units import format_rate

    rows = [
        (name, step["start"], step["end"], format_rate(step["rate_bps"]))
        for name, free in listed
        for step in free["steps"]
    ]
    print_table(("free", "from", "until", "rate"), rows, "nothing is free")
    if any(free["rounded"] for _, free in listed):
        stdout().print("rounded: at times more is free than this says; ask for a shorter window", style="dim")
