"""The page of costs: what each source would take, and what nobody measured."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from slotcar.base.timebase import iso
from tests.integration.web.conftest import Site

ENDS = {"source": "anl-premium", "destination": "lbnl-premium"}


def rows(page: str) -> dict[str, str]:
    """By source, the words of its row of the first table."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    texts = [re.sub(r"<[^>]+>", " ", row).split() for row in body.split("</tr>") if row.strip()]
    return {words[0]: " ".join(words[1:]) for words in texts}


def test_a_destination_shows_what_each_source_would_take(site: Site) -> None:
    operator = site.signed_in("operator")
    end = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
    times = {"start": iso(end - timedelta(seconds=10)), "end": iso(end)}
    api = site.client()
    headers = {"Authorization": f"Bearer {site.tokens['operator']}"}
    for _ in range(3):
        assert (
            api.post("/v1/transfers", json={**ENDS, "volume": "100 MB", **times}, headers=headers).status_code == 201
        )
    page = operator.get("/costs", params={"destination": ENDS["destination"], "volume": "1 GB"})
    assert page.status_code == 200
    assert "1 GB to lbnl-premium" in page.text
    shown = rows(page.text)
    assert shown[ENDS["source"]].startswith("100 s 100 s to 100 s")
    assert "3 transfers, between hosts" in shown[ENDS["source"]]
    assert "3 transfers, between domains" in shown["anl-sink"]
    assert shown["lbnl-competing"].startswith("unknown")
    assert "no transfer without a reservation and no probe from lbnl-competing to lbnl-premium" in page.text


def test_a_wrong_destination_or_volume_is_said(site: Site) -> None:
    operator = site.signed_in("operator")
    wrong = operator.get("/costs", params={"destination": "nowhere", "volume": "much"})
    assert wrong.status_code == 422
    assert "nowhere" in wrong.text
