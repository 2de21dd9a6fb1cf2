"""`slotcar audit`: whether SLSs were kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.options import OutputFormat, Since, Until, window_of
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.session import now, sender
from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar.base.timebase import Window

Document = Mapping[str, Any]
STEPS = ("hour", "day")
_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


def register(app: typer.Typer) -> None:
    app.command()(audit)


def audit(
    sls: Annotated[str | None, typer.Argument(metavar="[SLS]", help="only this one")] = None,
    service: Annotated[str | None, typer.Option("--service", help="only of this class")] = None,
    step: Annotated[str | None, typer.Option("--step", help=f"by {' or '.join(STEPS)}")] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="MONTH", help="a month's report in Markdown, such as 2027-03")
    ] = None,
    since: Since = None,
    until: Until = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show whether SLSs were kept, broken, or whether that is unknown, each hour or day, as probes and routers have it.

    Each figure stands with what it may be off by. Without a time it is the last day; what nobody measured is unknown.
    """
    from slotcar.base.timebase import iso
    from slotcar_client.wire import verbs

    if step is not None and step not in STEPS:
        raise typer.BadParameter(f"{step!r} is no step; say {' or '.join(STEPS)}", param_hint="--step")
    if report is not None and (since, until, step) != (None, None, None):
        raise typer.BadParameter(
            "it is of a whole month, by days; leave --from, --until and --step out", param_hint="--report"
        )
    window = _month(report) if report else window_of(since, until, now())
    by: Any = "day" if report else step
    with sender() as controller:
        data = controller.send(verbs.Audits(sls, service, iso(window.start), iso(window.end), by))
    emit(data, form, lambda: _print_report(data, report) if report else _print(data))


def _month(text: str) -> Window:
    from datetime import UTC, datetime

    from slotcar.views.usage import month_at

    match = _MONTH.fullmatch(text)
    if match is None or int(match[1]) < 1:
        raise typer.BadParameter(f"{text!r} is no month; say one such as 2027-03", param_hint="--report")
    month = month_at(datetime(int(match[1]), int(match[2]), 1, tzinfo=UTC))
    if month.start > now():
        raise typer.BadParameter(f"{text} has not begun: nothing can be known of it yet", param_hint="--report")
    return month


def _print_report(data: Document, month: str) -> None:
    from slotcar.measuring.audits.report import report_markdown

    typer.echo(report_markdown(data, month), nl=False)  # type: ignore[arg-type]


def _print(data: Document) -> None:
    from slotcar.measuring.audits.words import agreed_words

    for one in data["items"]:
        stdout().print(f"{one['sls']} ({one['service']}): {agreed_words(one)}", style="cyan")
        if one["nothing"]:
            stdout().print(f"  nothing to audit: {one['nothing']}")
            continue
        print_table(COLUMNS, _rows(one["items"]), "It promised nothing in this time.")
        stdout().print(f"  {one['kept']} kept, {one['broken']} broken, {one['unknown']} unknown")
    if not data["items"]:
        stdout().print("No SLS of the inventory is of this class.")


COLUMNS = (
    Column("time"), Column("from, to", leave_out=3), Column("is"), Column("delay"), Column("variation"), Column("loss"),
    Column("at routers", leave_out=2), Column("packets", leave_out=1), Column("why unknown", leave_out=4, wraps=True),
)  # fmt: skip


def _rows(items: Sequence[Document]) -> list[Sequence[str]]:
    """One row where the same is to be said of one hour or day and of the next."""
    runs: list[tuple[str, str, Sequence[str]]] = []
    for item in items:
        cells = _cells(item)
        if runs and runs[-1][1:] == (item["start"], cells):
            runs[-1] = (runs[-1][0], item["end"], cells)
        else:
            runs.append((item["start"], item["end"], cells))
    return [(f"{start} to {end}", *cells) for start, end, cells in runs]


def _cells(item: Document) -> Sequence[str]:
    """All but its time."""
    from slotcar.measuring.audits.words import FIGURES, figure_words, reasons_of

    ends = f"{item['source']}, {item['destination']}" if item["source"] else ""
    figures = [figure_words(item[name]) for name in FIGURES]
    reasons = "; ".join(dict.fromkeys(reasons_of(item).values()))  # type: ignore[arg-type]
    return ends, item["verdict"], *figures, str(item["sent_packets"]), reasons
