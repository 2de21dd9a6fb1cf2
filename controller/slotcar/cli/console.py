"""Rich's console for people: what it prints has instants in the reader's zone."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from slotcar.cli.zones import in_readers_zone


class ReadersConsole(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(_shown(one) for one in objects), **options)


def _shown(printed: Any) -> Any:
    """A text with styles of its parts stays as it is: nothing here gives one an instant."""
    if isinstance(printed, str):
        return in_readers_zone(printed)
    if isinstance(printed, Text) and not printed.spans:
        shown = printed.copy()
        shown.plain = in_readers_zone(printed.plain)
        return shown
    return printed
