"""`slotcar explain`: where the numbers of a reservation's configuration come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from slotcar.base.problems import printable
from slotcar.cli.options import Inventory, OutputFormat, Which
from slotcar.cli.output import Format, coloured_diff, emit, hanging, stdout
from slotcar.cli.session import sender

if TYPE_CHECKING:
    from slotcar_client.wire import documents


def register(app: typer.Typer) -> None:
    app.command()(explain)


def explain(which: Which, inventory: Inventory = None, form: OutputFormat = Format.TABLE) -> None:
    """Say where each number of a reservation's configuration comes from: payload, headers, framing, bursts, headroom.

    It explains the slot that is open or comes next, beside the reservations active then. No router is read. What changes on
    routers is for whoever may see their configurations.
    """
    from slotcar_client.wire.verbs import Explain

    with sender(inventory) as controller:
        explanation = controller.send(Explain(controller.handle_of(which)))
    emit(explanation, form, lambda: _print(explanation))


def _print(explanation: documents.Explanation) -> None:
    console = stdout()
    console.print(f"{printable(explanation['name'])} at {explanation['at']}")
    for number in explanation["numbers"]:
        where = f" at {printable(number['place'])}" if number["place"] else ""
        console.print(f"{number['what']}{where}: {number['value']:,} {number['unit']}", soft_wrap=True)
        if number["formula"]:
            console.print(hanging(f"    = {number['formula']}", 6), soft_wrap=True)
    if not explanation["numbers"]:
        console.print("No number: this service is promised no rate.")
    for device in explanation["devices"]:
        console.print(printable(device["device"]), style="cyan")
        coloured_diff(device["diff"])
    for note in explanation["notes"]:
        console.print(hanging(f"note: {note}", 6), soft_wrap=True)
