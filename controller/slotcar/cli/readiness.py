"""`slotcar check --devices`: what stands in the way of a first push."""

from __future__ import annotations

from pathlib import Path

import typer

from slotcar.base.problems import printable
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.output import Format, emit, long_work_reported, print_table, progress, stdout
from slotcar.cli.session import network_of, now, require_local_ledger, settings


def check_devices(inventory: Path | None, device: list[str] | None, form: Format) -> None:
    """
    Raises:
        typer.Exit: something stands in the way (1).
    """
    from slotcar.recovery.readiness import readiness, readiness_document
    from slotcar.wiring import pusher_for

    require_local_ledger("devices are checked")
    chosen = settings(inventory=inventory)
    network = network_of(chosen)
    progress("reading the devices")
    with long_work_reported():
        document = readiness_document(readiness(network, pusher_for(network, chosen, None), now(), chosen, device))
    rows = [
        (printable(one["subject"]), one["what"], one["result"], printable(one["message"]))
        for one in document["findings"]
    ]
    emit(document, form, lambda: print_table(("of", "check", "result", "what it says"), rows, ""))
    if not document["ready"]:
        raise typer.Exit(ExitCode.ERROR)
    if form is Format.TABLE:
        stdout().print("Nothing stands in the way of a push. Next: slotcar serve, and slotcar adopt.")
