"""Prints docs/reference/events.md: every kind of event of the log, out of their classes.

Usage: `python tools/event_table.py`. `make generate` writes it; a test compares it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import MISSING
from itertools import groupby

from slotcar_client.wire.events import KINDS, Detail, Kind, layout_of, sentence_of

INTRODUCTION = """\
# Events

The log has an event for each transition and each push, kept for ever: `slotcar events`,
[`GET /v1/events`](api.md#follow-the-log) and [webhooks](webhooks.md) give them. An event is of a reservation, of a device
or of the controller. Operators and auditors see all of them. The owner of a reservation sees its events, and of their
details only those in **bold**; `makes_room_for` also, where the other reservation is its own. Details in (brackets) are
left out where there is nothing to say.

What is in the log stays as it was written. An event of an earlier version may lack a detail, or have one more.

This page is written by `make generate`, out of `slotcar_client.wire.events`: a new kind of event is a class there.\
"""


def page() -> Iterator[str]:
    yield INTRODUCTION
    for family, kinds in groupby(sorted(KINDS.values(), key=_family), key=_family):
        yield f"\n## `{family}.`\n\n| kind | of | what | details |\n|---|---|---|---|"
        for one in kinds:
            yield f"| `{one.kind}` | {one.of} | {sentence_of(one)} | {_details(layout_of(one))} |"


def _family(kind: type[Kind]) -> str:
    return kind.kind.partition(".")[0]


def _details(details: Iterable[Detail]) -> str:
    return ", ".join(_named(one) for one in details)


def _named(detail: Detail) -> str:
    name = f"**`{detail.key}`**" if detail.owners else f"`{detail.key}`"
    return name if detail.default is MISSING else f"({name})"


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
