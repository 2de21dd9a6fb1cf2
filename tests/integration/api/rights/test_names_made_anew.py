"""A token that is made anew under the name of another is somebody else, and takes over nothing that it was handed."""

from __future__ import annotations

from pathlib import Path

from slotcar.auth.tokens import revoke_token
from slotcar.book.rules.roles import Role
from tests.integration.api.conftest import As, at, created

ANY = {"If-Match": "*"}


def test_it_does_not_take_over_the_delegations_of_the_old_one(as_: As, tmp_path: Path) -> None:
    owner, old = as_("cms", Role.REQUESTER), as_("agent", Role.REQUESTER, "astro")
    entry = created(owner, "run")
    handed = {"to": "agent", "may": ["bind"], "until": "now + 1 h"}
    owner.post(at(entry, "delegate"), json=handed, headers=ANY).raise_for_status()
    assert old.post(at(entry, "bind"), json={"source_port": 7}, headers=ANY).status_code == 200
    revoke_token(tmp_path / "tokens.json", "agent")
    new = as_("agent", Role.REQUESTER, "astro")
    assert old.get("/v1/whoami").status_code == 401
    assert new.get(at(entry)).status_code == 404
    assert new.post(at(entry, "bind"), json={"source_port": 8}, headers=ANY).status_code == 404
    assert new.get("/v1/delegations").json()["items"] == []
    assert new.get("/v1/whoami").json()["delegations"] == []
    owner.post(at(entry, "delegate"), json=handed, headers=ANY).raise_for_status()
    assert new.post(at(entry, "bind"), json={"source_port": 8}, headers=ANY).status_code == 200, (
        "handed to the new one"
    )
