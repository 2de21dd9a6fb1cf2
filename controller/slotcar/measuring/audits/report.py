"""A month's audit of an SLS in Markdown, to hand to the neighbour. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slotcar.base.units import format_rate
from slotcar.measuring.audits.words import FIGURES, agreed_words, figure_words, reasons_of
from slotcar_client.wire import documents

JUDGED = """\
## How it is judged

Probes of STAMP (RFC 8762) travel in the class, at a steady pace. Delay is one-way (RFC 7679), of the packets that arrived;
variation is that between consecutive packets (RFC 3393); what takes longer than 3 s is lost (RFC 7680). Days are UTC's.

- *kept*: with all that the figure may be off by it is within what was agreed, and at least half of the time was measured;
- *broken*: without all that it may be off by it is beyond it;
- *unknown*: neither can be said. What nobody measured is unknown.

What a delay may be off by is what both clocks may be; a share of n packets is known to one of them."""


COLUMNS = (
    "day", "from, to", "is", "delay", "variation", "loss", "dropped by routers", "packets", "most lost in a row",
    "measured",
)  # fmt: skip


def report_markdown(audits: documents.Audits, month: str) -> str:
    """All SLSs of an audit by days, one after the other; `month`: as `2027-03`."""
    parts = [part for one in audits["items"] for part in _sls(one, month)]
    return "\n\n".join([*parts, JUDGED]) + "\n"


def _sls(one: documents.SlsAudit, month: str) -> Iterator[str]:
    yield f"# {one['sls']} in {month}"
    yield (
        f"What {one['downstream']} promises to {one['upstream']}: {one['service']}, {format_rate(one['rate_bps'])};"
        f" {agreed_words(one)}{'; ' + one['schedule'] if one['schedule'] else ''}."
    )
    if one["nothing"]:
        yield f"There is nothing to audit: {one['nothing']}."
        return
    yield f"**{one['kept']} days kept, {one['broken']} broken, {one['unknown']} unknown.**"
    yield "\n".join(_table(one["items"]))
    reasons = list(_reasons(one["items"]))
    if reasons:
        yield "## What is not known, and why"
        yield "\n".join(reasons)


def _table(items: list[documents.AuditItem]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    for one in items:
        figures = [_marked(one[name]) for name in FIGURES]  # type: ignore[literal-required]
        ends = f"{one['source']} → {one['destination']}" if one["source"] else "-"
        measured = f"{one['measured_s'] * 100 // one['due_s']} %" if one["due_s"] else "-"
        cells = [one["start"][:10], ends, _verdict(one["verdict"]), *figures, str(one["sent_packets"])]
        yield f"| {' | '.join([*cells, str(one['longest_loss']), measured])} |"


def _verdict(verdict: str) -> str:
    return "**broken**" if verdict == "broken" else verdict


def _marked(figure: documents.AuditFigure | None) -> str:
    """The one that breaks it stands out."""
    words = figure_words(figure)
    return f"**{words}**" if figure and figure["verdict"] == "broken" else words


def _reasons(items: list[documents.AuditItem]) -> Iterator[str]:
    """Days in a row with the same reasons together."""
    groups: list[tuple[str, list[str]]] = []
    for one in items:
        words = "; ".join(_by_reason(reasons_of(one)))
        if not words:
            continue
        if groups and groups[-1][0] == words:
            groups[-1][1].append(one["start"][:10])
        else:
            groups.append((words, [one["start"][:10]]))
    for words, days in groups:
        yield f"- {days[0]}{' to ' + days[-1] if len(days) > 1 else ''}: {words}"


def _by_reason(reasons: dict[str, str]) -> Iterator[str]:
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name, one in reasons.items() if one == reason]
        yield f"{', '.join(names)}: {reason}"
