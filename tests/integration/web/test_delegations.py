"""A reservation's page: who else may do something with it; an owner hands rights on and takes them back there."""

from __future__ import annotations

from datetime import timedelta

from slotcar.auth.tokens import create_token
from slotcar.book.rules.roles import Role
from tests.integration.web.conftest import Open
from tests.integration.web.test_policies import button


def test_an_owner_hands_rights_on_and_withdraws_them(open_site: Open) -> None:
    site = open_site()
    held = site.reserve("held", timedelta(minutes=30))
    folder = site.desk.settings.state_dir
    site.tokens["bob"] = create_token(folder / "tokens.json", "bob", Role.REQUESTER, "astro", held.created_at)
    owner, bob, auditor = (site.signed_in(name) for name in ("requester", "bob", "auditor"))
    page = f"/reservations/{held.handle}"
    assert bob.get(page).status_code == 404
    assert "Hand rights on it" not in auditor.get(page).text
    assert "Hand rights on it" in owner.get(page).text
    wrong = owner.post(f"{page}/delegate", data={"to": "bob", "may": "modify", "until": "2001-01-01 10:00"})
    assert wrong.status_code == 422
    form = {"to": "bob", "may": ["commit"], "until": "now + 10 min"}
    assert owner.post(f"{page}/delegate", data=form).status_code == 303
    assert "<td>commit</td>" in owner.get(page).text
    assert held.handle in bob.get("/account").text
    seen_by_bob = bob.get(page).text
    assert "disabled" not in button(seen_by_bob, "Commit")
    assert "disabled" in button(seen_by_bob, "Cancel")
    assert "Hand rights on it" not in seen_by_bob
    assert "Withdraw" not in seen_by_bob
    assert "history-title" not in seen_by_bob
    assert "history-title" in owner.get(page).text
    assert bob.post(f"{page}/commit", data={"version": "2"}).status_code == 303
    assert owner.post(f"{page}/withdraw", data={"to": "bob"}).status_code == 303
    assert bob.get(page).status_code == 404
    assert owner.post(f"{page}/withdraw", data={"to": "bob"}).status_code == 409
