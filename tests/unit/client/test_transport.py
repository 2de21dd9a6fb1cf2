"""What is sent again, and what an answer is; without a controller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from slotcar_client import calls
from slotcar_client.transport import Answer, Lost, Pause, Request, Retries, steps_of
from slotcar_client.wire.errors import NoAnswer, SlotcarError, Unavailable, Wrong

RETRIES = Retries(attempts=4, first_s=1.0, longest_s=5.0, chance=lambda: 0.0)
ANYBODY = Answer(200, {"name": "cms"})


def outcome(answers: Sequence[Answer | Lost], retries: Retries = RETRIES) -> tuple[Any, list[float]]:
    """What `whoami` gives or raises where these are the answers, and the pauses on the way."""
    steps, left, pauses = steps_of(calls.whoami(), retries), list(answers), []
    got: Answer | Lost | None = None
    try:
        while True:
            step = steps.send(got)
            if isinstance(step, Pause):
                pauses.append(step.seconds)
            else:
                assert isinstance(step, Request)
                got = left.pop(0)
    except StopIteration as done:
        return done.value, pauses
    except SlotcarError as error:
        return error, pauses


def test_pauses_grow_and_are_as_long_as_the_server_asks() -> None:
    lost = Lost("away", sent=True)
    assert outcome([lost, lost, lost, ANYBODY]) == (ANYBODY.body, [1.0, 2.0, 4.0])
    busy = Answer(503, {}, {"retry-after": "3"})
    assert outcome([busy, Answer(503, {}, {"retry-after": "3600"}), ANYBODY]) == (ANYBODY.body, [3.0, 5.0])
    halved = Retries(attempts=2, first_s=1.0, chance=lambda: 1.0)
    assert outcome([lost, ANYBODY], halved)[1] == [0.5]


def test_the_last_attempt_says_whether_one_may_have_been_done() -> None:
    error, pauses = outcome([Lost("away", sent=True), *[Lost("refused", sent=False)] * 3])
    assert isinstance(error, NoAnswer)
    assert (error.maybe_done, len(pauses)) == (True, 3)
    error, _ = outcome([Answer(503, {"detail": "the database does not answer"})] * 4)
    assert isinstance(error, Unavailable)
    assert (str(error), error.maybe_done) == ("the database does not answer", False)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(301, ""), "it answers 301, and not as Slotcar does"),
        (Answer(200, "<html>Sign in</html>"), "it answers 200 without JSON, and so not as Slotcar does"),
        (Answer(400, ["no", "problem"]), "it answers 400, and not as Slotcar does"),
    ],
)
def test_what_is_no_controller_is_said_to_be_none(answer: Answer, words: str) -> None:
    error, pauses = outcome([answer])
    assert isinstance(error, Wrong)
    assert (str(error), pauses) == (words, [])
