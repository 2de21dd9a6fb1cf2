"""Lists that may leave something out: JSON and YAML say so in a field, a table in its last line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from slotcar.cli.answering import answered_by
from slotcar.cli.output import Format, emit, hanging, stdout

T = TypeVar("T")
#: What `--limit` may be at most.
MOST = 10_000
INDENT = 2


def first_of(listed: Sequence[T], limit: int) -> tuple[Sequence[T], bool]:
    """What is shown of a list of which one more was asked for than that, and whether more follows."""
    return listed[:limit], len(listed) > limit


def by_limit(limit: int, narrower: str) -> str:
    """The options that show more of a list which does not go on page by page; `narrower`: those that ask for less of it."""
    return f"--limit {min(limit * 10, MOST)}" if limit < MOST else narrower


def emit_list(
    items: Sequence[Any], form: Format, table: Callable[[], None], *, more: str | None, which: str = "first"
) -> None:
    """A list as a document, `{"items": [...], "next": ..., "answered_by": ...}`, or as whatever `table` prints.

    Args:
        more: the options that show what is left out; None where nothing is.
        which: of all that there are, these are shown.
    """

    def whole() -> None:
        table()
        if more is not None:
            words = f"{len(items):,} shown, the {which}; there are more: {more} shows them."
            stdout().print(hanging(words, INDENT), style="dim", soft_wrap=True)

    emit({"items": list(items), "next": more, "answered_by": answered_by()}, form, whole)
