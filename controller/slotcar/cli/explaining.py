"""`slotcar explain`: where the numbers of a reservation's configuration come from."""

from __future__ import annotations

import typer

from slotcar.cli.options import Inventory, OutputFormat, Which
from slotcar.cli.output import Format, coloured_diff, emit, hanging, stdout
from slotcar.cli.session import caller, desk, now, require_local_ledger


def register(app: typer.Typer) -> None:
    app.command()(explain)


def explain(which: Which, inventory: Inventory = None, form: OutputFormat = Format.TABLE) -> None:
    """Say where each number of a reservation's configuration comes from: payload, headers, framing, bursts, headroom.

    It explains the slot that is open or comes next, beside the reservations active then. No router is read.
    """
    from slotcar.base.timebase import MICROSECOND, Window, iso
    from slotcar.book.shares import BackgroundShares
    from slotcar.desk.entries import Entries
    from slotcar.views.numbers import explain as explained
    from slotcar.views.numbers import explanation_document

    require_local_ledger("numbers are explained")
    moment = now()
    with desk(inventory) as opened:
        entry = Entries(opened).status(which, caller())
        start = max(moment, min((slot.start for slot in entry.reservation.slots if slot.end > moment), default=moment))
        live = opened.ledger.live_between(start, start + MICROSECOND)
        others = BackgroundShares(opened.network)(live, Window(start, start + MICROSECOND))
        entry = next((one for one in others if one.number == entry.number), entry)
        explanation = explained(entry, others, opened.network, moment)

    def table() -> None:
        stdout().print(f"{'/'.join(entry.reservation.key)} at {iso(explanation.at)}")
        for one in explanation.numbers:
            where = f" at {one.place}" if one.place else ""
            stdout().print(f"{one.what}{where}: {one.value:,} {one.unit}", soft_wrap=True)
            if one.formula:
                stdout().print(hanging(f"    = {one.formula}", 6), soft_wrap=True)
        if not explanation.numbers:
            stdout().print("No number: this service is promised no rate.")
        for name, lines in explanation.lines.items():
            stdout().print(name, style="cyan")
            coloured_diff(lines)
        for note in explanation.notes:
            stdout().print(hanging(f"note: {note}", 6), soft_wrap=True)

    emit(explanation_document(entry, explanation), form, table)
