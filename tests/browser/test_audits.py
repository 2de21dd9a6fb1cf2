"""The page of audits, as wide as a telephone and as a desk, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import SignIn
from tests.browser.test_pages import LOOKS
from tests.integration.web.conftest import Site
from tests.integration.web.test_audits import ASKED_FOR, SLS, hand_in, network

__all__ = ["network"]
pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_audits_can_be_read_by_everybody(site: Site, sign_in: SignIn, width: int, scheme: str, tmp_path: Path) -> None:
    hand_in(site, 31_000)
    tab = sign_in("operator", viewport={"width": width, "height": 900}, color_scheme=scheme)
    when = f"from={ASKED_FOR['from']}&until={ASKED_FOR['until']}"
    for name, address in {"all": f"/audits?{when}", "one": f"/audits?sls={SLS}"}.items():
        tab.page.goto(address)
        assert tab.page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True)
        assert tab.findings() == [], address
        assert tab.width <= width, address
        assert tab.complaints == [], address
