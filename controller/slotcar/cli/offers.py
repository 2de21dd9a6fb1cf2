"""Who asks, and what may be asked for: whoami, endpoints, services, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.options import OutputFormat
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.place import chosen_place
from slotcar.cli.session import caller, sender, settings
from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar_client.wire import documents

Document = Mapping[str, Any]


def register(app: typer.Typer) -> None:
    for command in (whoami, endpoints, services, limits):
        app.command()(command)


def whoami(form: OutputFormat = Format.TABLE) -> None:
    """Show who you are to the controller, by which proof, your role and owner; on its own machine, an operator."""
    from slotcar.cli.local_socket import answering_socket
    from slotcar_client.wire import verbs

    place = chosen_place()
    data: documents.Caller
    if place is None and answering_socket(settings()) is None:  # no ledger is opened for it
        who = caller()
        data = {
            "name": who.name,
            "role": who.role.value,
            "owner": None,
            "expires_at": None,
            "proof": who.proof,
            "scopes": [],
            "delegations": [],
        }
    else:
        with sender() as controller:
            data = controller.send(verbs.Whoami())
    owner = f" for owner {data['owner']}" if data["owner"] else ""
    until = f", until {data['expires_at']}" if data["expires_at"] else ""
    where = f"at {place.api}" if place else "at this machine's ledger"
    words = f"{data['name']}: {data['role']}{owner} {where}{until}\nby {data['proof']}"
    if data["scopes"]:
        words += f"\nfor {', '.join(data['scopes'])} alone"
    for one in data["delegations"]:
        words += (
            f"\nmay {', '.join(one['may'])} {one['owner']}/{one['name']} until {one['until']}, by {one['given_by']}"
        )
    emit(data, form, lambda: stdout().print(words))


def endpoints(form: OutputFormat = Format.TABLE) -> None:
    """List what can be a source or a destination: end systems by name, and networks whose addresses can be used."""
    from slotcar_client.wire import verbs

    with sender() as controller:
        data = controller.send(verbs.Endpoints())
    rows = [(one["name"], one["address"], one["domain"]) for one in data["hosts"]]
    rows += [("", one["prefix"], one["domain"]) for one in data["networks"]]
    emit(data, form, lambda: print_table(("endpoint", "address", "domain"), rows, "No endpoints."))


def services(form: OutputFormat = Format.TABLE) -> None:
    """List the services with their code points; those that are not reserved promise no rate."""
    from slotcar.views.offers import services_document
    from slotcar_client.wire import verbs

    if chosen_place() is None:  # no ledger is opened for it
        listed = services_document()["items"]
    else:
        with sender() as controller:
            listed = controller.send(verbs.Services())["items"]
    rows = [
        (one["service"], "yes" if one["reserved"] else "no", one["phb"], " ".join(map(str, one["dscps"])), one["treatment"])
        for one in listed
    ]  # fmt: skip
    columns = (Column("service"), Column("reserved"), Column("PHB"), Column("DSCP"), Column("treatment", wraps=True))
    emit(listed, form, lambda: print_table(columns, rows, "No services."))


def limits(
    owner: Annotated[str | None, typer.Option("--owner", help="the quotas of this owner; by default your own")] = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show the operator's limits: horizon, holds, approval gate, and how much of its quotas an owner uses."""
    from slotcar_client.wire import verbs

    with sender() as controller:
        data = controller.send(verbs.Limits(owner))
    emit(data, form, lambda: print_table(("limit", "value"), _rows(data), ""))


def _rows(data: Document) -> list[tuple[str, str]]:
    from datetime import timedelta

    from slotcar.base.units import format_bytes, format_duration, format_rate

    def length(key: str) -> str:
        return "none" if data[key] is None else format_duration(timedelta(seconds=data[key]))

    gate = data["approval_rate_bps"]
    rows = [
        ("owner", data["owner"]),
        ("reservations end within", length("horizon_s")),
        ("a hold lasts", f"{length('hold_s')}, at most {length('longest_hold_s')}"),
        ("approved by an operator above", "none" if gate is None else format_rate(gate)),
        ("or where slots are longer than", length("approval_duration_s")),
        ("windows of one request", str(data["max_windows"])),
        ("webhooks go to", ", ".join(data["webhook_hosts"]) or "no host"),
    ]
    for one in data["quotas"]:
        words = (lambda bits: format_bytes(-(-bits // 8))) if one["what"] == "volume" else str
        of = "" if one["limit"] is None else f" of {words(one['limit'])}"
        rows.append((f"{one['what']} in use", f"{words(one['in_use'])}{of}"))
    return rows
