"""A plan as a comment of a merge request: Markdown as GitHub and GitLab show it, bounded in size. Pure.

What users wrote stands in code alone, fenced by more backticks than it has: no name or label becomes a link, a mention, an
image or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any
from urllib.parse import quote

from slotcar.base.problems import printable
from slotcar.base.timebase import iso
from slotcar.planning.in_the_way import looked_words_of, sentences_of
from slotcar.planning.plan import Plan
from slotcar.planning.plan_causes import Cause, boundary_words, causes_of
from slotcar.planning.plan_lines import What, changes_first, step_lines
from slotcar.views.approximations import sentences

#: GitHub takes 65,536 characters; a forge adds some of its own to what an application sends.
MOST_CHARS = 60_000
#: Parts of it that refusals, other reservations, the table of routers and what these approximate may each take: some of
#: the diffs are always shown.
PART_OF_STEPS, PART_OF_TABLE, PART_OF_NOTES = 0.25, 0.15, 0.15
#: Of boundaries with the same changes, so many are named.
INSTANTS_SHOWN = 3
#: For what closes the comment.
RESERVED_CHARS = 1_000

Boundaries = Sequence[Mapping[str, Any]]


def marker(set_name: str) -> str:
    """The first line of a set's comment, by which it is found again and edited; not shown."""
    return f"<!-- slotcar-plan {quote(set_name, safe='')[:200]} -->"


def plan_markdown(plan: Plan, boundaries: Boundaries, most_chars: int = MOST_CHARS) -> str:
    """The comment, with a line feed at its end.

    Args:
        boundaries: as the plan's document has them.
    """
    text = _Bounded(most_chars - RESERVED_CHARS)
    most_of_steps, most_of_table = (int(text.remaining_chars * part) for part in (PART_OF_STEPS, PART_OF_TABLE))
    text.add(marker(plan.set_name))
    text.add(f"### Slotcar: {_headline(plan)}")
    most_of_notes = int(text.remaining_chars * PART_OF_NOTES)
    hindering, cut_hindering = _listed(
        "In the way on routers", "things in the way", sentences_of(plan), most_of_notes // 2
    )
    notes, cut_notes = _listed("Approximations", "approximations", sentences(plan.approximations), most_of_notes // 2)
    notes, cut_notes = [*hindering, *notes], [*cut_hindering, *cut_notes]
    text.remaining_chars -= sum(len(part) + 2 for part in notes)
    cut = [*_steps(plan, text, most_of_steps), *_routers(boundaries, plan, text, most_of_table), *cut_notes]
    return "\n\n".join([*text.parts, *notes, *_closing(plan, cut)]) + "\n"


class _Bounded:
    """Parts of a text, with as many characters left as it may still have."""

    def __init__(self, remaining_chars: int) -> None:
        self.parts: list[str] = []
        self.remaining_chars = remaining_chars

    def add(self, part: str) -> bool:
        """False, and not added, where it is too long."""
        fits = len(part) + 2 <= self.remaining_chars
        if fits:
            self.parts.append(part)
            self.remaining_chars -= len(part) + 2
        return fits


def _headline(plan: Plan) -> str:
    return "nothing changes" if plan.changes_nothing else plan.summary.removeprefix("Plan: ").rstrip(".")


def _steps(plan: Plan, text: _Bounded, most_chars: int) -> Iterator[str]:
    """The refusals, then what changes, and how many stay as they are; gives what was cut."""
    changes, same = changes_first(plan.steps)
    refused = [list(step_lines(step)) for step in changes if step.refusal]
    if refused:
        text.add("**Refused**, so none of it is applied. Below each is what is short and what would fit.")
    others = [list(step_lines(step)) for step in changes if not step.refusal]
    for listed, name in ((refused, "refusals"), (others, "changes")):
        blocks, remaining_chars = [], most_chars
        for lines in listed:
            words = [line.text if line.what in (What.STEP, What.REFUSED) else f"    {line.text}" for line in lines]
            remaining_chars -= sum(len(one) + 1 for one in words)
            if remaining_chars < 0:
                break
            blocks.append("\n".join(words))
        if blocks and not text.add(_fenced("\n".join(blocks), "diff")):
            blocks = []
        if len(blocks) < len(listed):
            yield f"{len(listed) - len(blocks):,} of {len(listed):,} {name}"
    if same:
        text.add(f"{len(same):,} unchanged. `slotcar plan --all FILES` lists {'them' if len(same) > 1 else 'it'}.")


def _routers(boundaries: Boundaries, plan: Plan, text: _Bounded, most_chars: int) -> Iterator[str]:
    """The table of changes per boundary and router, then the diffs, folded; gives what was cut."""
    causes = causes_of(plan)
    same = [(*_when(instants, plan, causes), devices) for instants, devices in _grouped(boundaries)]
    rows = [
        f"| {'' if number else when} | {'' if number else _code(why, cell=True)} | {_code(one['device'], cell=True)}"
        f" | {' | '.join(map(str, _counts(one)))} |"
        for when, why, devices in same
        for number, one in enumerate(devices)
    ]
    if rows:
        table_rows = _first(rows, most_chars)
        head = ["| at | why | router | lines that come | that go |", "|---|---|---|---:|---:|"]
        if not text.add("\n".join([*head, *table_rows])):
            table_rows = []
        if len(table_rows) < len(rows):
            yield f"{len(rows) - len(table_rows):,} of {len(rows):,} rows of the table"
    diffs = [_diff(when, one) for when, _, devices in same for one in devices]
    left_out = sum(not text.add(one) for one in diffs)
    if left_out:
        yield f"{left_out:,} of {len(diffs):,} diffs"
    if plan.boundaries_left_out:
        how = f" (`slotcar plan --from {iso(plan.next_at)} FILES` shows them)" if plan.next_at else ""
        yield f"{plan.boundaries_left_out:,} more boundaries{how}"


def _listed(title: str, what: str, entries: Sequence[str], most_chars: int) -> tuple[list[str], list[str]]:
    """The parts that list sentences about the routers; and what was cut."""
    lines = [printable(line) for line in entries]
    shown = _first(lines, most_chars)
    parts = [f"**{title}**", _fenced("\n".join(shown), "text")] if shown else []
    left_out = len(lines) - len(shown)
    return parts, [f"{left_out:,} of {len(lines):,} {what}"] if left_out else []


def _first(rows: Sequence[str], most_chars: int) -> list[str]:
    first_rows: list[str] = []
    for row in rows:
        most_chars -= len(row) + 1
        if most_chars < 0:
            break
        first_rows.append(row)
    return first_rows


def _grouped(boundaries: Boundaries) -> list[tuple[list[str], Sequence[Mapping[str, Any]]]]:
    """Boundaries with the same changes of the same routers together, in the order of their first."""
    groups: dict[tuple[tuple[str, tuple[str, ...]], ...], tuple[list[str], Sequence[Mapping[str, Any]]]] = {}
    for one in boundaries:
        key = tuple((device["device"], tuple(device["diff"])) for device in one["devices"])
        groups.setdefault(key, ([], one["devices"]))[0].append(one["at"])
    return list(groups.values())


def _when(instants: Sequence[str], plan: Plan, causes: Mapping[datetime, list[Cause]]) -> tuple[str, str]:
    """When boundaries with the same changes are, and why the first of them is."""
    words = [boundary_words(datetime.fromisoformat(at), plan, causes) for at in instants[:INSTANTS_SHOWN]]
    more = len(instants) - len(words)
    return ", ".join(when for when, _ in words) + (f" and {more} more" if more else ""), words[0][1]


def _counts(device: Mapping[str, Any]) -> tuple[int, int]:
    come, go = (sum(line.startswith(sign) for line in device["diff"]) for sign in "+-")
    return come, go


def _diff(when: str, device: Mapping[str, Any]) -> str:
    come, go = _counts(device)
    title = f"<code>{escape(printable(device['device']))}</code> at {when}: {come} lines come, {go} go"
    lines = [printable(line) for line in device["diff"]]
    parts = [f"<details><summary>{title}</summary>", _fenced("\n".join(lines), "diff")]
    if device["lines_left_out"]:
        parts.append(_fenced(f"and {device['lines_left_out']} more lines", "text"))
    return "\n\n".join([*parts, "</details>"])


def _closing(plan: Plan, cut: Sequence[str]) -> Iterator[str]:
    if cut:
        yield (
            f"**Not shown here**: {'; '.join(cut)}."
            " `slotcar plan --diff FILES` shows more, `slotcar plan -o plan.json FILES` writes all of it."
        )
    if words := looked_words_of(plan):
        yield printable(words)
    ledger = "an empty ledger" if plan.sequence is None else f"the ledger at sequence {plan.sequence}"
    yield f"Planned {iso(plan.made_at)} against {ledger} and inventory `{plan.network_digest[:19]}`."


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str, *, cell: bool = False) -> str:
    """A code span. In a cell of a table a bar ends the cell, in code too, unless it is escaped."""
    content = printable(text)
    fence = "`" * (_longest_run(content) + 1)
    space = " " if "`" in content else ""
    span = f"{fence}{space}{content}{space}{fence}"
    return span.replace("|", "\\|") if cell else span


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
