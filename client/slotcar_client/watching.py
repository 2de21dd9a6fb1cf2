"""Following events without a gap: by the stream while it can be had, by asking for pages while it cannot. Without I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from slotcar_client.calls import events
from slotcar_client.transport import Conversation
from slotcar_client.wire.documents import Event
from slotcar_client.wire.errors import problem_of

STREAM = "/v1/events/stream"
#: A stream says something at least every 15 s; one that says nothing for so long is behind a proxy that keeps it.
SILENCE_S = 40.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 10.0
PAGE = 1000
#: With these, and a problem as the answer, asking again does not help.
_FINAL = (400, 401, 403, 404, 409, 421, 422)
#: The head of a stream: by it a reader goes on who got no event of it.
_FROM = "events after "


@dataclass(slots=True)
class Watching:
    """Where a reader stands in the log.

    Attributes:
        wanted: the filters, as the API names them.
        after: the number of the last event that was seen; None before the first answer, where it begins with what comes.
        tell: gets a sentence for people where a stream ends, or says that something is not as it should be.
    """

    wanted: Mapping[str, Any] = field(default_factory=dict)
    after: int | None = None
    tell: Callable[[str], None] = lambda _words: None
    _wait_s: float = FIRST_WAIT_S

    @property
    def headers(self) -> dict[str, str]:
        resumed = {} if self.after is None else {"Last-Event-ID": str(self.after)}
        return {"Accept": "text/event-stream", **resumed}

    def answered(self, status: int, content_type: str, body: bytes) -> bool:
        """Whether the answer is a stream; `body` of an answer that is none.

        Raises:
            Problem: it never will be one.
        """
        if status == 200 and content_type.startswith("text/event-stream"):
            return True
        if status in _FINAL and content_type.startswith("application/problem+json"):
            raise problem_of(status, _json(body))
        self.broken(f"answers {status} to who wants a stream")
        return False

    def broken(self, words: str) -> None:
        """The stream is over, or was never one."""
        self.tell(f"the controller {words}; trying again")

    def heard(self, line: str) -> Event | None:
        """A line of the stream; the event, where it is one that was not seen yet."""
        self._wait_s = FIRST_WAIT_S
        key, _, value = line.partition(":")
        words = value.strip()
        if key == "" and words.startswith(_FROM):
            number = words.removeprefix(_FROM)
            self.after = max(self.after or 0, int(number) if number.isascii() and number.isdigit() else 0)
        elif key == "" and words:
            self.tell(words)
        if key != "data":
            return None
        event = _json(words)
        if isinstance(event, dict) and isinstance(event.get("sequence"), int):
            return self._new(cast("Event", event))
        self.tell("the controller sends what is no event")
        return None

    def poll(self) -> Conversation[list[Event]]:
        """A page of what came since; none to begin with, where it only says from where on."""
        if self.after is None:
            last = yield from events(newest=True, limit=1)
            self.after = last[0]["sequence"] if last else 0
            return []
        query = dict(self.wanted)
        page = yield from events(kinds=query.pop("kind", ()), **query, after=self.after, limit=PAGE)
        return [one for one in page if self._new(one)]

    def wait_s(self) -> float:
        """How long to wait before the stream is tried again."""
        wait = self._wait_s
        self._wait_s = min(LONGEST_WAIT_S, wait * 2)
        return wait

    def _new(self, event: Event) -> Event | None:
        if self.after is not None and event["sequence"] <= self.after:
            return None
        self.after = event["sequence"]
        return event


def _json(text: str | bytes) -> Any:
    """None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def wanted(
    reservation: str | None, kinds: Iterable[str], owner: str | None, name: str | None, label: str | None,
    device: str | None,
) -> dict[str, Any]:  # fmt: skip
    """The filters of a stream, as the API names them."""
    given = {
        "reservation": reservation, "kind": list(kinds), "owner": owner, "name": name, "label": label, "device": device,
    }  # fmt: skip
    return {key: one for key, one in given.items() if one}
