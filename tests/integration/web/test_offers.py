"""What a page offers goes by the verb that it does: whom a policy forbids it alone is not offered it, and is told why."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.book.rules.roles import Role
from tests.integration.api.conftest import GARNET
from tests.integration.web.conftest import Open, Site
from tests.integration.web.test_policies import button

DEVICE, HELD = "/devices/anl-7507-1", "/devices/lbnl-7507"
#: Verbs without which a page is not shown, and no page leads to it.
PAGES = {
    "timeline": "/boundaries", "plan": "/plan", "costs": "/costs", "approvals": "/approvals", "resources": "/links",
    "network": "/map", "connections": "/connections", "device_states": "/devices", "revisions": "/rollback",
    "audits": "/audits", "usage": "/usage", "events": "/log",
}  # fmt: skip
#: By verb, the page and the button that does it. `{}` stands for a held reservation's handle.
BUTTONS = {
    "hold": (DEVICE, "Hold it"), "release": (HELD, "Release it"), "difference": (DEVICE, "Read the device and compare"),
    "preview_rollback": ("/rollback", "Preview"), "enquire": ("/request", "What is free?"),
    "create": ("/request", "Reserve"), "commit": ("/reservations/{}", "Commit"),
    "extend": ("/reservations/{}", "Keep longer"), "cancel": ("/reservations/{}", "Cancel"),
}  # fmt: skip
#: By verb, the page and what stands there for whoever may do it alone.
PARTS = {
    "delegate": ("/reservations/{}", "Hand rights on it"), "withdraw": ("/reservations/{}", "Withdraw what bob may"),
    "share_give": ("/shares", "Share out"), "share_withdraw": ("/shares", "Withdraw the share hep"),
    "configurations": (DEVICE, f'href="{DEVICE}/wanted"'), "limits": ("/account", "Limits of hep"),
    "endpoints": ("/request", '<option value="anl-premium">'),
}  # fmt: skip
VERBS = sorted({*PAGES, *BUTTONS, *PARTS})
POLICIES = "".join(
    f'@id("no-{verb}") @refusal("not for {{who}}")\n'
    f'forbid (principal == Person::"no-{verb}", action == Action::"{verb}", resource);\n'
    for verb in VERBS
)
SITE = "communities: {lhc: {owners: [hep, cms], at_most: 30 Mbit/s, managers: [ann]}}\n"


@pytest.fixture
def site(open_site: Open, tmp_path: Path) -> Site:
    """With an operator for each verb that may not do it, a router that is held, and something handed on and shared out."""
    inventory = tmp_path / "garnet"
    shutil.copytree(GARNET, inventory)
    (inventory / "policies").mkdir()
    (inventory / "policies" / "verbs.cedar").write_text(POLICIES)
    (inventory / "policies" / "site.yml").write_text(SITE)
    site = open_site(inventory=inventory)
    tokens, now = site.desk.settings.state_dir / "tokens.json", datetime.now(UTC)
    for name in [f"no-{verb}" for verb in VERBS]:
        site.tokens[name] = create_token(tokens, name, Role.OPERATOR, "hep", now)
    create_token(tokens, "bob", Role.REQUESTER, "astro", now)
    return site


def test_what_a_policy_forbids_is_not_offered(site: Site) -> None:
    held = site.reserve("held", timedelta(minutes=30)).handle
    operator = site.signed_in("operator")
    assert operator.post(f"{HELD}/hold", data={"until": "now + 2 h", "reason": "new card"}).status_code == 303
    given = {"to": "bob", "may": ["commit"], "until": "now + 10 min"}
    assert operator.post(f"/reservations/{held}/delegate", data=given).status_code == 303
    assert operator.post("/shares/lhc/give", data={"name": "hep", "rate": "20 Mbit/s", "until": ""}).status_code == 303
    menu = operator.get("/account").text
    for verb in VERBS:
        page = _page_without(site.signed_in(f"no-{verb}"), verb, held)
        if verb in PAGES:
            link = f'href="{PAGES[verb]}"'
            assert link in menu, verb
            assert link not in page, verb
        elif verb in BUTTONS:
            address, words = BUTTONS[verb]
            assert "disabled" not in button(operator.get(address.format(held)).text, words), verb
            assert "disabled" in button(page, words), verb
            assert f"Not for no-{verb} (the policy no-{verb})." in page, verb
        else:
            address, words = PARTS[verb]
            assert words in operator.get(address.format(held)).text, verb
            assert words not in page, verb


def _page_without(client: httpx.Client, verb: str, held: str) -> str:
    """The page from which something is missing, which is shown all the same; of a page that is not shown the menu."""
    if verb in PAGES:
        assert client.get(PAGES[verb]).status_code == 403, verb
        return client.get("/account").text
    address = (BUTTONS.get(verb) or PARTS[verb])[0].format(held)
    answer = client.get(address)
    assert answer.status_code == 200, (verb, answer.text)
    return answer.text
