"""What the demo shows while it runs: a live line where there is a terminal, a line for each phase where there is none."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text


class Display:
    """`say` for what has happened; `watch` until an instant, with figures that change."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(
            highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty()
        )
        self._began = time.monotonic()

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open."""

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Text(f"{time.monotonic() - self._began:6.1f} s  {text}", style=style))

    def watch(self, title: str, until: float, figures: Callable[[], list[tuple[str, str]]]) -> None:
        """Waits until `until` (seconds since the epoch)."""
        self.say(title, "bold")
        if not self.console.is_terminal:
            time.sleep(max(0.0, until - time.time()))
            return
        with Live(console=self.console, transient=True, refresh_per_second=4) as live:
            while (left := until - time.time()) > 0:
                live.update(_table(title, left, figures()))
                time.sleep(min(0.25, left))


def _table(title: str, left_s: float, figures: list[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row(Text(f"        {title}", style="dim"), Text(f"{left_s:4.0f} s to go", style="cyan"))
    for name, value in figures:
        table.add_row(f"        {name}", Text(value, style="bold"))
    return table
