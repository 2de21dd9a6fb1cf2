"""`slotcar events --follow`: the API's stream of events on standard output."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from controller.cli.event_lines import PushLines, cells
from controller.cli.output import Format, complain, to_json, to_yaml
from controller.cli.remote import Declined, NoAnswer, Remote
from controller.problems import printable

#: A push has said all that it says where nothing more comes for so long.
QUIET_S = 1.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 10.0
#: A silent number at the head of the stream, from which a reader goes on who got no event of it.
_FROM = "events after "


def follow_events(
    remote: Remote, after: int | None, asked: Mapping[str, str | Sequence[str]], form: Format, *, long: bool = False
) -> None:
    """Until Ctrl-C. A stream that breaks is taken up where it broke.

    Raises:
        Declined: the controller does not let the caller, or knows no such reservation or device.
    """
    wanted = {key: value for key, value in asked.items() if value}
    wait_s = FIRST_WAIT_S
    printer = Printer(remote, form, long=long)
    try:
        while True:
            try:
                with remote.events(after, wanted) as lines:
                    for number, event in events_in(lines):
                        after, wait_s = number, FIRST_WAIT_S
                        if event is not None:
                            printer.add(event)
                words = f"the controller at {remote.address} has ended the stream"
            except NoAnswer as error:
                words = str(error)
            complain(f"{words}; trying again")
            time.sleep(wait_s)
            wait_s = min(LONGEST_WAIT_S, wait_s * 2)
    except KeyboardInterrupt:
        printer.flush()


def events_in(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Each event with its number, out of the lines of a stream; the number that the stream begins after, without one."""
    for line in lines:
        key, _, value = line.partition(":")
        words = value.strip()
        if key == "data":
            event = json.loads(words)
            yield event["sequence"], event
        elif key == "" and words.startswith(_FROM):
            yield int(words.removeprefix(_FROM)), None
        elif key == "" and words:
            complain(words)


class Printer:
    """Events on standard output as they come. The line of a push waits a moment for what its other devices say."""

    def __init__(self, remote: Remote, form: Format, *, long: bool) -> None:
        self._remote = remote
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
            _write([printable("  ".join(cells(event, long=True)).rstrip())])
        else:
            with self._lock:
                _write(map(printable, self._pushes.add(event)))
            self._wait()

    def flush(self) -> None:
        with self._lock:
            _write(map(printable, self._pushes.flush()))

    def _wait(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = threading.Timer(QUIET_S, self.flush)
        self._timer.daemon = True
        self._timer.start()

    def _names_at(self, boundary: str) -> str:
        from controller.cli.watching import names

        try:
            items = self._remote.get("/v1/timeline", **{"from": boundary, "until": boundary, "limit": 1})["items"]
        except (NoAnswer, Declined):
            return ""
        return names(items[0]) if items else ""


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
