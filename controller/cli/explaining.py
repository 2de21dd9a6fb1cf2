"""`slotcar explain`: where the numbers of a reservation's configuration come from."""

from __future__ import annotations

import typer

from controller.cli.options import Inventory, OutputFormat, Which
from controller.cli.output import Format, coloured_diff, emit, hanging, print_table, stdout
from controller.cli.session import broker, caller, now
from controller.cli.tables import Column

COLUMNS = (Column("at"), Column("what"), Column("value"), Column("how", wraps=True))


def register(app: typer.Typer) -> None:
    app.command()(explain)


def explain(which: Which, inventory: Inventory = None, form: OutputFormat = Format.TABLE) -> None:
    """Say where each number of a reservation's configuration comes from: payload, headers, framing, bursts, headroom.

    Of the slot that is open or comes next, beside the reservations that are active then. Reads no router.
    """
    from controller.timebase import MICROSECOND, Window, iso
    from controller.timeline.shares import BackgroundShares
    from controller.views.numbers import explain as explained
    from controller.views.numbers import explanation_document

    moment = now()
    with broker(inventory) as opened:
        entry = opened.status(which, caller())
        start = max(moment, min((slot.start for slot in entry.reservation.slots if slot.end > moment), default=moment))
        live = opened.ledger.live_between(start, start + MICROSECOND)
        others = BackgroundShares(opened.network)(live, Window(start, start + MICROSECOND))
        entry = next((one for one in others if one.number == entry.number), entry)
        found = explained(entry, others, opened.network, moment)

    def table() -> None:
        stdout().print(f"{'/'.join(entry.reservation.key)} at {iso(found.at)}", markup=False)
        rows = [(one.place, one.what, f"{one.value:,} {one.unit}", one.formula) for one in found.numbers]
        print_table(COLUMNS, rows, "No number: this service is promised no rate.")
        for name, lines in found.lines.items():
            stdout().print(name, style="cyan", markup=False)
            coloured_diff(lines)
        for note in found.notes:
            stdout().print(hanging(f"note: {note}", 6), markup=False, soft_wrap=True)

    emit(explanation_document(entry, found), form, table)
