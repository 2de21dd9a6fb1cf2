"""`slotcar events --follow`: the API's stream of events on standard output."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slotcar.cli.event_lines import PushLines, cells
from slotcar.cli.output import Format, complain, shown, to_json, to_yaml

if TYPE_CHECKING:
    from slotcar_client import Slotcar

#: A push has said all that it says where nothing more comes for so long.
QUIET_S = 1.0


def follow_events(
    slotcar: Slotcar, after: int | None, filters: Mapping[str, Any], form: Format, *, long: bool = False
) -> None:
    """Prints events until Ctrl-C. A stream that breaks is taken up where it broke.

    Raises:
        Problem: the controller does not let the caller, or knows no such reservation or device.
    """
    printer, troubles = Printer(slotcar, form, long=long), Troubles()
    try:
        for event in slotcar.watch(after=after, on_trouble=troubles.tell, **filters):
            troubles.over()
            printer.add(event)
    except KeyboardInterrupt:
        printer.flush()


class Troubles:
    """Why there are no events for now, each said once until one comes."""

    def __init__(self) -> None:
        self._messages: set[str] = set()

    def tell(self, words: str) -> None:
        if words not in self._messages:
            self._messages.add(words)
            complain(words)

    def over(self) -> None:
        self._messages.clear()


class Printer:
    """Events on standard output as they come. The line of a push waits a moment for what its other devices say."""

    def __init__(self, slotcar: Slotcar, form: Format, *, long: bool) -> None:
        self._slotcar = slotcar
        self._form = form
        self._long = long
        self._pushes = PushLines(self._names_at)
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def add(self, event: Mapping[str, Any]) -> None:
        if self._form is Format.JSON:
            _write([to_json(event)])
        elif self._form is Format.YAML:
            _write(["---\n" + to_yaml(dict(event)).rstrip()])
        elif self._long:
            _write([shown("  ".join(cells(event, long=True)).rstrip())])
        else:
            with self._lock:
                _write(map(shown, self._pushes.add(event)))
            self._wait()

    def flush(self) -> None:
        with self._lock:
            _write(map(shown, self._pushes.flush()))

    def _wait(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = threading.Timer(QUIET_S, self.flush)
        self._timer.daemon = True
        self._timer.start()

    def _names_at(self, boundary: str) -> str:
        from slotcar.cli.listing import names
        from slotcar_client import SlotcarError

        try:
            items = self._slotcar.timeline(since=boundary, until=boundary, limit=1)
        except SlotcarError:
            return ""
        return names(items[0]) if items else ""


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
