"""Pages are made in threads of their own, so many at a time, each within a time: the API waits for none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog
from starlette.exceptions import HTTPException

T = TypeVar("T")
log = structlog.get_logger("slotcar.web")
#: Pages that are made at a time; the others wait, within their own time.
AT_A_TIME = 32


class PageThreads:
    """The threads of one application."""

    def __init__(self, at_a_time: int = AT_A_TIME) -> None:
        self._executor = ThreadPoolExecutor(at_a_time, thread_name_prefix="slotcar-page")

    async def run(self, make: Callable[[], T], most_s: float, what: str) -> T:
        """What `make` gives. Where it takes longer than `most_s`, it goes on alone, and its thread is one fewer until then.

        Raises:
            HTTPException: 503, it took longer, or waited so long for a thread.
        """
        going_on = self._executor.submit(make)
        done, _ = await asyncio.wait([asyncio.wrap_future(going_on)], timeout=most_s)
        for one in done:
            return one.result()
        if going_on.cancel():
            raise HTTPException(503, "too many pages are being made: try again later")
        log.warning("a page takes too long", page=what, seconds=most_s)
        raise HTTPException(
            503, f"it takes longer than {most_s:g} s, and may yet be done: look before you ask for it again"
        )
