"""Chromium, driven by Playwright: Debian's own, no other is fetched. It is installed where that is possible without a
password; where one of them is missing, tests are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slotcar_lab import control, requirements
from slotcar_lab.errors import LabError
from tests.integration.conftest import database_url, ledger, migrated, server_url
from tests.integration.web.conftest import Site, network, open_site, site

__all__ = ["database_url", "ledger", "migrated", "network", "open_site", "server_url", "site"]
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
#: What axe looks for: WCAG 2.2 up to AA, and what it calls good practice.
_RULES = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
#: What a browser waits for at most, before a test says what it waited for.
PATIENCE_MS = 60_000


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Of this folder, whose files one process runs one after the other: Playwright keeps an event loop in this thread,
    beside which no other test can run one.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (requirements)")
    try:
        requirements.ensure_for("the tests in a browser", control.quiet)
    except LabError as error:
        pytest.skip(str(error))
    with playwright.sync_playwright() as started:
        # Without a sandbox: a container's root may not make one, and the pages are this checkout's.
        browser = started.chromium.launch(executable_path=requirements.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """One page of a signed-in browser; everything that it complains about is kept."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: self._note(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self._note(str(error)))

    def _note(self, words: str) -> None:
        self.complaints.append(words)

    def findings(self) -> list[str]:
        """What axe finds; by the debugger, as the page's own policy lets nothing inline run."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Runtime.evaluate", {"expression": AXE.read_text()})
        expression = (
            f"axe.run(document, {{runOnly: {_RULES}}}).then((found) => found.violations.map("
            "(one) => `${one.id}: ${one.nodes.length}, such as ${one.nodes[0].html.slice(0, 160)}`))"
        )
        answer = session.send(
            "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
        )
        values: list[str] = answer["result"]["value"]
        return values

    @property
    def width(self) -> int:
        """Of its content: more than the window's is scrolled sideways."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


#: Gives a tab of a new browser profile, signed in with the token of a role.
SignIn = Callable[..., Tab]


@pytest.fixture
def sign_in(chromium: Any, site: Site) -> Iterator[SignIn]:
    contexts: list[Any] = []

    def opened(role: str = "operator", **how: Any) -> Tab:
        context = chromium.new_context(base_url=site.base_url, **how)
        contexts.append(context)
        tab = Tab(context.new_page())
        tab.page.goto("/sign-in")
        tab.page.fill("input[name=token]", site.tokens[role])
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url(f"{site.base_url}/")
        return tab

    yield opened
    for context in contexts:
        context.close()
