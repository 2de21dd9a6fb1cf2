"""`slotcar adopt`: an operator's word that Slotcar may manage a device (ADR 27)."""

from __future__ import annotations

from typing import Annotated

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.devices import comparison_of, print_comparison
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.options import Inventory, OutputFormat, Yes, complete_device
from slotcar.cli.output import Format, emit, stdout
from slotcar.cli.session import AnyDesk, sender


def register(app: typer.Typer) -> None:
    app.command()(adopt)


def adopt(
    device: Annotated[
        list[str] | None,
        typer.Argument(
            autocompletion=complete_device, show_default=False, help="by default all that were never managed"
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="all that were never managed; --yes needs this option or their names")
    ] = False,
    inventory: Inventory = None,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Let Slotcar manage routers that it has never managed: reads them, shows what they would get, and asks.

    Until then the controller pushes nothing to such a router, and reservations that cross it are active nowhere. It pushes
    to the router as soon as it leads after this.
    """
    from slotcar_client.wire.verbs import Adopt

    if device and every:
        raise typer.BadParameter("say either the routers' names, or --all", param_hint="--all")
    with sender(inventory) as controller:
        new = _never_managed(device, controller)
        if not new:
            emit({"adopted": []}, form, lambda: stdout().print("Slotcar manages all of these already."))
            return
        if yes and not (device or every):
            raise typer.BadParameter(
                f"without a name it would be all that were never managed, unasked: {', '.join(new)}; nothing was done."
                f" Say --all --yes for all of them, or name those that are meant: slotcar adopt {new[0]} --yes",
                param_hint="--yes",
            )
        comparison = comparison_of(new, controller)
        if form is Format.TABLE:
            print_comparison(comparison)
        answering = sorted([*(one["device"] for one in comparison["different"]), *comparison["equal"]])
        if answering:
            confirm(yes, f"Let Slotcar manage {', '.join(answering)}?")
        for name in answering:
            controller.send(Adopt(name))
    words = (
        f"Adopted: {', '.join(answering)}.\nThe controller that leads pushes this now; see `slotcar status --watch`."
        if answering
        else "Nothing was adopted."
    )
    emit({"adopted": answering, **comparison}, form, lambda: stdout().print(words))
    if comparison["failed"]:
        raise typer.Exit(ExitCode.ERROR)


def _never_managed(device: list[str] | None, controller: AnyDesk) -> list[str]:
    """Of these routers, of all where none is named. One that the inventory has not is left for the comparison to refuse."""
    from slotcar_client.wire.verbs import DeviceStates

    managed = {one["device"]: one["managed"] for one in controller.send(DeviceStates())["items"]}
    return [name for name in sorted(set(device or managed)) if not managed.get(name)]
