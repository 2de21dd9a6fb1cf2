"""`slotcar adopt`: an operator's word that Slotcar may manage a device (ADR 27)."""

from __future__ import annotations

from typing import Annotated

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.devices import print_comparison
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.options import Inventory, OutputFormat, Yes, complete_device
from slotcar.cli.output import Format, emit, progress, stdout
from slotcar.cli.session import actor, caller, desk, now, require_local_ledger


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
    from slotcar.desk.routers import Routers
    from slotcar.recovery.comparison import comparison_document
    from slotcar.rollout.adoption import managed_devices
    from slotcar.rollout.archive import Archive
    from slotcar.views.devices import named_devices
    from slotcar_client.wire.events import DeviceAdopted

    if device and every:
        raise typer.BadParameter("say either the routers' names, or --all", param_hint="--all")
    require_local_ledger("devices are adopted")
    with desk(inventory) as opened:
        managed = managed_devices(opened.ledger, Archive(opened.settings.state_dir))
        new = [name for name in named_devices(opened.network, device) if name not in managed]
        if not new:
            emit({"adopted": []}, form, lambda: stdout().print("Slotcar manages all of these already."))
            return
        if yes and not (device or every):
            raise typer.BadParameter(
                f"without a name it would be all that were never managed, unasked: {', '.join(new)}; nothing was done."
                f" Say --all --yes for all of them, or name those that are meant: slotcar adopt {new[0]} --yes",
                param_hint="--yes",
            )
        progress("reading the devices")
        comparison = Routers(opened).compare(new, caller(), now())
        document = comparison_document(comparison)
        if form is Format.TABLE:
            print_comparison(document)
        new = sorted([*(one.device for one in comparison.diffs), *comparison.equal])
        if new:
            confirm(yes, f"Let Slotcar manage {', '.join(new)}?")
        for name in new:
            opened.ledger.record(DeviceAdopted(actor=actor()), now(), device=name)
    words = (
        f"Adopted: {', '.join(new)}.\nThe controller that leads pushes this now; see `slotcar status --watch`."
        if new
        else "Nothing was adopted."
    )
    emit({"adopted": new, **document}, form, lambda: stdout().print(words))
    if comparison.failures:
        raise typer.Exit(ExitCode.ERROR)
