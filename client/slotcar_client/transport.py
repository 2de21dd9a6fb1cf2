"""The core that the synchronous and the asynchronous client share: what is sent when, and sent again, without I/O.

A verb is a conversation: a generator that yields requests and is sent their answers. `steps_of` puts the retries between
the two, and yields what is left to do by whoever has a connection and a clock: send a request, or wait.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from slotcar_client.wire.errors import NoAnswer, Problem, SlotcarError, Wrong, problem_of

T = TypeVar("T")
#: Gateways that answer so may have passed the request on.
_LOST = (502, 504)
_NOT_DONE = (429, 503)


@dataclass(frozen=True, slots=True)
class Request:
    """Attributes:
    body: JSON; None for none.
    repeatable: whether it may be sent again where nobody knows whether it arrived.
    answer_s: how long the answer may take, where that is longer than the client waits otherwise.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    answer_s: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is JSON, or text where the answer is none; names of headers are in small letters."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lost:
    """There was no answer. `sent`: the request may have arrived."""

    words: str
    sent: bool


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


Conversation = Generator[Request, Answer, T]
Steps = Generator[Request | Pause, Answer | Lost | None, T]


@dataclass(frozen=True, slots=True)
class Retries:
    """How often, and how long after a failure, something is tried again.

    Attributes:
        attempts: all of them, the first too.
        first_s: the wait after the first failure; each is twice the one before, less up to half of it by chance.
        longest_s: no wait is longer; what a server asks for by `Retry-After` neither.
    """

    attempts: int = 5
    first_s: float = 0.2
    longest_s: float = 10.0
    chance: Callable[[], float] = random.random

    def wait_s(self, attempt: int, retry_after: str = "") -> float:
        if retry_after.isascii() and retry_after.isdigit():
            return min(float(retry_after), self.longest_s)
        longest: float = min(self.longest_s, self.first_s * 2 ** (attempt - 1))
        return longest * (1 - self.chance() / 2)


def steps_of(conversation: Conversation[T], retries: Retries) -> Steps[T]:
    """What there is to do for a verb; its return value is the verb's.

    Raises:
        SlotcarError: what is left after all attempts, unless the verb knows better.
    """
    try:
        request = next(conversation)
        while True:
            try:
                answer = yield from _exchange(request, retries)
            except SlotcarError as error:
                request = conversation.throw(error)
            else:
                request = _read(conversation, answer)
    except StopIteration as done:
        value: T = done.value
        return value


def _read(conversation: Conversation[T], answer: Answer) -> Request:
    """What the verb asks next, from what it was answered.

    Raises:
        Wrong: the answer is JSON of another form than Slotcar's.
    """
    try:
        return conversation.send(answer)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        words = f"it answers {answer.status} with JSON that is not Slotcar's, or of another version ({error!r:.100})"
        raise Wrong(answer.status, {"detail": words}) from error


def _exchange(request: Request, retries: Retries) -> Steps[Answer]:
    """The good answer to one request; a redirect is none, as no controller answers so.

    Raises:
        NoAnswer, Problem.
    """
    maybe_done = False
    for attempt in range(1, retries.attempts + 1):
        got = yield request
        assert got is not None
        if isinstance(got, Answer) and got.status < 300:
            return got
        error = _error(got, maybe_done)
        retry_after = got.headers.get("retry-after", "") if isinstance(got, Answer) else ""
        lost = got.sent if isinstance(got, Lost) else got.status in _LOST
        again = isinstance(error, NoAnswer) or got.status in (*_LOST, *_NOT_DONE)  # type: ignore[union-attr]
        if not again or (lost and not request.repeatable) or attempt == retries.attempts:
            raise error
        maybe_done = maybe_done or lost
        yield Pause(retries.wait_s(attempt, retry_after))
    raise AssertionError("there is at least one attempt")


def _error(got: Answer | Lost, maybe_done: bool) -> NoAnswer | Problem:
    if isinstance(got, Lost):
        return NoAnswer(got.words, maybe_done or got.sent)
    return problem_of(got.status, got.body, maybe_done or got.status in _LOST)
