"""The first paint in Chromium: of a browser that has seen nothing of this controller, over loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI

from benchmarks.common import Figure, Say
from slotcar_lab import requirements

#: Visits of each kind of page, each with an empty cache; the first one is not counted.
VISITS = 11
LONGEST_S = 30.0
PROMISED, MOST_MS = "promised at 100k", 400.0
PAGES = ("first page", "list of what is live", "one boundary", "a link's month", "map")
_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)[0]"


def measure(app: FastAPI, pages: Mapping[str, Sequence[str]], name: str, say: Say) -> Iterator[Figure]:
    """Milliseconds from the start of a visit to its first text or picture, as the browser itself says them; nothing where
    there is no Playwright or no Chromium.

    Args:
        pages: addresses by title.
    """
    try:
        from playwright.sync_api import sync_playwright  # only the tests' requirements have it
    except ImportError:
        return
    if (program := requirements.which("chromium")) is None:
        return
    with served(app) as base_url, sync_playwright() as started:
        # Without a sandbox: a container's root may not make one, and the pages are this checkout's.
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for title in PAGES:
            say(f"{name}: first paint, {title}")
            times_ms = [_visit(browser, base_url + pages[title][n % len(pages[title])]) for n in range(VISITS)][1:]
            for percent in (50, 95):
                figure = f"first paint in Chromium, {title}, {name}: p{percent}"
                value_ms = float(np.percentile(times_ms, percent))
                yield Figure(figure, value_ms, "ms", PROMISED, MOST_MS, lower_is_better=True)
        browser.close()


def _visit(browser: Any, address: str) -> float:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address, wait_until="domcontentloaded")
    # Asked from here: a page's own waiting would be a script made of text, which our pages forbid.
    until = time.monotonic() + LONGEST_S
    while (first_paint_ms := page.evaluate(_FIRST_PAINT)) is None:
        if time.monotonic() > until:
            raise RuntimeError(f"{address} has painted nothing after {LONGEST_S:g} s")
        time.sleep(0.01)
    context.close()
    return float(first_paint_ms)


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The application on a port of loopback; gives its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
