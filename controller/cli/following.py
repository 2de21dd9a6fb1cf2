"""`slotcar events --follow`: the API's stream of events on standard output."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from controller.cli.output import Format, complain, to_json, to_yaml
from controller.cli.remote import NoAnswer, Remote
from controller.problems import printable

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 10.0
#: A silent number at the head of the stream, from which a reader goes on who got no event of it.
_FROM = "events after "


def follow_events(remote: Remote, after: int | None, asked: Mapping[str, str | Sequence[str]], form: Format) -> None:
    """Until Ctrl-C. A stream that breaks is taken up where it broke.

    Raises:
        Declined: the controller does not let the caller, or knows no such reservation or device.
    """
    wanted = {key: value for key, value in asked.items() if value}
    wait_s = FIRST_WAIT_S
    try:
        while True:
            try:
                with remote.events(after, wanted) as lines:
                    for number, event in events_in(lines):
                        after, wait_s = number, FIRST_WAIT_S
                        if event is not None:
                            _print(event, form)
                words = f"the controller at {remote.address} has ended the stream"
            except NoAnswer as error:
                words = str(error)
            complain(f"{words}; trying again")
            time.sleep(wait_s)
            wait_s = min(LONGEST_WAIT_S, wait_s * 2)
    except KeyboardInterrupt:
        return


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


def cells(event: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """An event as a row."""
    details = event["details"]
    return (
        str(event["sequence"]),
        event["at"],
        event["kind"],
        event["device"] or f"{details.get('owner', '')}/{details.get('name', '')}".strip("/"),
        str(details.get("message") or details.get("revision") or details.get("actor") or ""),
    )


def _print(event: Mapping[str, Any], form: Format) -> None:
    if form is Format.TABLE:
        text = printable("  ".join(cells(event)).rstrip())
    elif form is Format.JSON:
        text = to_json(event)
    else:
        text = "---\n" + to_yaml(dict(event)).rstrip()
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
