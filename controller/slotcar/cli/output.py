"""How the CLI speaks: data on stdout in the asked format, progress and errors on stderr, colour on terminals only."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from slotcar.base.problems import printable
from slotcar.cli.tables import Column, Row, fits, table_lines
from slotcar.cli.zones import in_readers_zone

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


#: Rich changes nothing that it prints.
_AS_IT_IS: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
#: What `--verbose` or `-v` says, anywhere in a command.
_verbose = False


def be_verbose(wanted: bool) -> None:
    global _verbose
    _verbose = wanted


def others_short() -> str | None:
    """The words in which `Refused.explain` counts the shortfalls besides the tightest; None where all are shown."""
    return None if _verbose else "and {} more; --verbose shows all"


def stdout(*, verbatim: bool = False) -> Console:
    """Rich honours NO_COLOR and a pipe by itself; a pipe gets wide lines so that nothing is cut.

    What is printed stays as it is: with Rich's markup a text in square brackets would be a style, and with its emoji a part
    of a fingerprint or an IPv6 address, such as `:cd:`, a picture.

    `verbatim`: for lines of routers, in which no instant is put into the reader's zone.
    """
    from rich.console import Console

    from slotcar.cli.console import ReadersConsole

    terminal = sys.stdout.isatty()
    kind = Console if verbatim else ReadersConsole
    return kind(**_AS_IT_IS, soft_wrap=not terminal, width=None if terminal else 200)


def stderr() -> Console:
    from slotcar.cli.console import ReadersConsole

    return ReadersConsole(stderr=True, **_AS_IT_IS, soft_wrap=True)


def shown(text: str) -> str:
    """A text as a person is shown it: in printable characters, its instants in the reader's zone."""
    return in_readers_zone(printable(text))


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
    listed = [[shown(cell) for cell in row] for row in rows]
    console = stdout()
    if not listed:
        console.print(empty)
        return
    width = console.width if sys.stdout.isatty() else None
    if width is not None and narrow is not None and not fits(parts, listed, width):
        parts, listed = list(narrow[0]), [[shown(cell) for cell in row] for row in narrow[1]]
    header, *lines = table_lines(parts, listed, width)
    console.print(Text(header, style="bold" if width else ""), soft_wrap=True)
    sys.stdout.writelines(f"{line}\n" for line in lines)


#: By what a line that was too long for a terminal goes on.
INDENT = 4


def hanging(text: str, indent: int) -> str:
    """A long text in lines as wide as the terminal, those after the first indented; a pipe gets it in one."""
    return _wrapped_at_terminal(in_readers_zone(text), indent)


def _wrapped_at_terminal(text: str, indent: int) -> str:
    return _wrapped(text, indent, stdout().width) if sys.stdout.isatty() else text


def _wrapped(text: str, indent: int, columns: int) -> str:
    width = max(columns, 2 * indent)
    lines = textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False,
        replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip
    return "\n".join(lines) or text


#: What takes longer is said to go on, first after so long, and then every time that so long has passed.
FIRST_WORD_S, NEXT_WORD_S = 2.0, 5.0


class _UnderWay:
    """What a command was last said to be about, and since when; nothing while it waits for a person."""

    def __init__(self) -> None:
        self.message = ""
        self.since_s = 0.0
        self.lines = 0

    def begin(self, message: str) -> None:
        self.message, self.since_s, self.lines = message, time.monotonic(), 0

    def overdue(self, now_s: float) -> str:
        """The line that is due, such as `reading the devices: 7 s`; empty where none is."""
        took_s = now_s - self.since_s
        if not self.message or took_s < FIRST_WORD_S + self.lines * NEXT_WORD_S:
            return ""
        self.lines += 1
        return f"{self.message}: {took_s:.0f} s"


_under_way = _UnderWay()


def under_way(message: str) -> None:
    """Names the work that begins now. It is printed only where the work takes long; empty while a person is waited for."""
    _under_way.begin(message)


def progress(message: str) -> None:
    """A line about what is going on, for a person at a terminal only."""
    under_way(message)
    if sys.stderr.isatty():
        console = stderr()
        console.print(_wrapped(shown(message), INDENT, console.width), style="dim")


@contextmanager
def long_work_reported() -> Iterator[None]:
    """While it lasts, what takes more than two seconds is said to go on, at a terminal."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            if line := _under_way.overdue(time.monotonic()):
                stderr().print(printable(line), style="dim")

    if not sys.stderr.isatty():
        yield
        return
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def complain(message: str) -> None:
    """An error for the person; it may tell what a file, a device or another controller said."""
    sys.stderr.write(f"{at_terminal(message)}\n")


def at_terminal(message: str) -> str:
    """A message of one or more lines as standard error shows it: what steers is taken out, and long lines are broken."""
    lines = [shown(line) for line in message.split("\n")]
    if sys.stderr.isatty():
        columns = stderr().width
        lines = [_wrapped(line, INDENT, columns) if len(line) > columns else line for line in lines]
    return "\n".join(lines)


def coloured_diff(lines: Iterable[str], indent: str = "    ") -> None:
    """A unified diff in git's colours."""
    from rich.text import Text

    styles = {"+": "green", "-": "red", "@": "cyan"}
    console = stdout(verbatim=True)
    for line in lines:
        text = _wrapped_at_terminal(indent + printable(line), len(indent) + INDENT)
        console.print(Text(text, style=styles.get(line[:1], "")), soft_wrap=True)
