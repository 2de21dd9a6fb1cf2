"""Pages that take too long: each is answered in its time, and others go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from slotcar.web.page_threads import PageThreads
from tests.support.patience import PATIENCE_S

MOST_S = 1000.0


class Loop(asyncio.SelectorEventLoop):
    """Its time passes when a test says so."""

    passed_s = 0.0

    def time(self) -> float:
        return self.passed_s


def run(test: Callable[[Loop], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, Loop)
        runner.run(test(loop))


class Endless:
    """A page that is made until `end` is set."""

    def __init__(self) -> None:
        self.began, self.end = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.began.set()
        self.end.wait(PATIENCE_S)


@pytest.fixture
def endless() -> Iterator[Endless]:
    page = Endless()
    yield page
    page.end.set()


async def refused(task: asyncio.Task[Any], loop: Loop) -> str:
    """What a page is told when its time has passed."""
    loop.passed_s += 2 * MOST_S
    with pytest.raises(HTTPException) as error:
        await task
    assert error.value.status_code == 503
    return str(error.value.detail)


def test_a_page_that_takes_too_long_is_answered_and_goes_on_alone(endless: Endless) -> None:
    async def both(loop: Loop) -> None:
        threads = PageThreads(2)
        slow = asyncio.create_task(threads.run(endless, MOST_S, "GET /slow"))
        await asyncio.to_thread(endless.began.wait, PATIENCE_S)
        assert await threads.run(lambda: "made", MOST_S, "GET /") == "made"
        assert "longer than 1000 s, and may yet be done" in await refused(slow, loop)

    run(both)


def test_a_page_that_finds_no_thread_in_its_time_is_not_made_later(endless: Endless) -> None:
    async def waits(loop: Loop) -> None:
        threads, pages = PageThreads(1), []
        slow = asyncio.create_task(threads.run(endless, MOST_S, "GET /slow"))
        await asyncio.to_thread(endless.began.wait, PATIENCE_S)
        after = asyncio.create_task(threads.run(lambda: pages.append("late"), MOST_S, "GET /"))
        await asyncio.sleep(0)
        assert "longer than" in await refused(slow, loop)
        assert "too many pages are being made" in await refused(after, loop)
        endless.end.set()
        assert await threads.run(lambda: "made", MOST_S, "GET /") == "made"
        assert pages == []

    run(waits)


def test_what_a_page_raises_is_raised() -> None:
    def fails() -> None:
        raise KeyError("reason")

    async def raises(_loop: Loop) -> None:
        with pytest.raises(KeyError, match="reason"):
            await PageThreads(1).run(fails, MOST_S, "GET /")

    run(raises)
