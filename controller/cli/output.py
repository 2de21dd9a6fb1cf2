"""How the CLI speaks: data on stdout in the asked format, progress and errors on stderr, colour on terminals only."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from controller.cli.tables import Column, Row, fits, table_lines
from controller.problems import printable

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def stdout() -> Console:
    """Rich honours NO_COLOR and a pipe by itself; a pipe gets wide lines so that nothing is cut."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=not terminal, width=None if terminal else 200)


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


#: Terminal codes that JSON does not escape by itself, and marks that turn the direction of writing.
_UNSHOWN = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def to_json(data: Any, indent: int | None = None) -> str:
    """JSON that a terminal can show: what would steer it is escaped."""
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def to_yaml(data: Any) -> str:
    """YAML that a terminal can show, with other letters as they are unless there is something to escape."""
    import yaml

    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    return yaml.safe_dump(data, sort_keys=False) if _UNSHOWN.search(text) else text


def emit(data: Any, form: Format, table: Callable[[], None]) -> None:
    """`data` as JSON or YAML, or whatever `table` prints."""
    if form is Format.TABLE:
        table()
    elif form is Format.JSON:
        sys.stdout.write(to_json(data, indent=2) + "\n")
    else:
        sys.stdout.write(to_yaml(data))


def print_table(
    columns: Sequence[str | Column],
    rows: Iterable[Row],
    empty: str,
    *,
    narrow: tuple[Sequence[Column], Sequence[Row]] | None = None,
) -> None:
    """A table without a frame; `empty` where there are no rows.

    On a terminal it is no wider than that, as far as its columns can be left out or wrapped (a column that is a text
    wraps); `narrow` has columns and rows of fewer words, for where the whole ones do not fit.
    """
    from rich.text import Text

    parts = [one if isinstance(one, Column) else Column(one, wraps=True) for one in columns]
    listed = [[printable(cell) for cell in row] for row in rows]
    console = stdout()
    if not listed:
        console.print(empty)
        return
    width = console.width if sys.stdout.isatty() else None
    if width is not None and narrow is not None and not fits(parts, listed, width):
        parts, listed = list(narrow[0]), [[printable(cell) for cell in row] for row in narrow[1]]
    header, *lines = table_lines(parts, listed, width)
    console.print(Text(header, style="bold" if width else ""), soft_wrap=True)
    sys.stdout.writelines(f"{line}\n" for line in lines)


def hanging(text: str, indent: int) -> str:
    """A long text in lines as wide as the terminal, those after the first indented; a pipe gets it as it is."""
    if not sys.stdout.isatty():
        return text
    width = max(stdout().width, 2 * indent)
    lines = textwrap.wrap(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) or text


def progress(message: str) -> None:
    """A line about what is going on, for a person at a terminal only."""
    if sys.stderr.isatty():
        stderr().print(printable(message), style="dim", markup=False)


def complain(message: str) -> None:
    """An error for the person; it may tell what a file, a device or another controller said."""
    sys.stderr.write("".join(f"{printable(line)}\n" for line in message.split("\n")))


def coloured_diff(lines: Iterable[str], indent: str = "    ") -> None:
    """A unified diff in git's colours."""
    from rich.text import Text

    styles = {"+": "green", "-": "red", "@": "cyan"}
    console = stdout()
    for line in lines:
        console.print(Text(indent + printable(line), style=styles.get(line[:1], "")))
