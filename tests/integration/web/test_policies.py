"""The page offers what policies permit, verb by verb, says why not otherwise, and has the policies in words."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from pathlib import Path

from tests.integration.api.conftest import GARNET
from tests.integration.web.conftest import Open

KEPT = """
@id("what-is-held-is-kept")
@refusal("{who} lets a hold run out")
forbid (principal, action == Action::"cancel", resource);

@id("duty-reads-no-log")
forbid (principal in Group::"duty", action in [Action::"events", Action::"timeline"], resource);

@id("duty-approves")
permit (principal in Group::"duty", action in [Action::"approve", Action::"overview", Action::"see"], resource);
"""


def button(page: str, words: str) -> str:
    """The tag of a button."""
    return next(tag for tag, text in re.findall(r"(<button[^>]*>)([^<]*)</button>", page) if text == words)


def test_only_what_policies_permit_is_offered(open_site: Open, tmp_path: Path) -> None:
    inventory = tmp_path / "garnet"
    shutil.copytree(GARNET, inventory)
    (inventory / "policies").mkdir()
    (inventory / "policies" / "kept.cedar").write_text(KEPT)
    (inventory / "policies" / "site.yml").write_text("groups: {duty: [requester]}\n")
    site = open_site(inventory=inventory)
    held, waits = (
        site.reserve("held", timedelta(minutes=5)),
        site.reserve("large", rate="21 Mbit/s", destination="lbnl-premium:9"),
    )
    requester, operator = site.signed_in("requester"), site.signed_in("operator")
    page = requester.get(f"/reservations/{held.handle}").text
    assert "disabled" not in button(page, "Commit")
    assert "disabled" in button(page, "Cancel")
    assert "Requester lets a hold run out (the policy what-is-held-is-kept)." in page
    assert "disabled" in button(operator.get(f"/reservations/{held.handle}").text, "Cancel")
    page = requester.get(f"/approvals/{waits.handle}").text
    assert "disabled" not in button(page, "Approve")
    assert "disabled" in button(page, "Reject")
    assert "Only an operator may approve or reject; you are a requester." in page
    for address in ("/log", "/boundaries"):
        assert f'href="{address}"' in operator.get("/").text
        assert f'href="{address}"' not in requester.get("/").text
        assert requester.get(address).status_code == 403
    assert "boundar" not in requester.get("/home/now").text
    account = requester.get("/account").text
    assert re.search(r"Cancel[^<]*</th><td>no: Requester lets a hold run out [^<]*</td>", account)
    policies = operator.get("/policies").text
    assert "<td>Nobody may cancel.<details>" in policies
    assert "Members of the group duty may approve, see the whole controller and see reservations." in policies
    assert "<li>its rate is above the rate that needs no approval</li>" in policies
    assert "context.rate_bps &gt; context.gate.rate_bps" in policies, "beneath it in Cedar"
    assert "NAME lets a hold run out" in policies
    assert "Group duty</dt><dd>requester" in policies
