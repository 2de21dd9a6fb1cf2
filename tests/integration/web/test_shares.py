"""The page of shares: a manager shares out what its community has, a member sees its own, others nothing."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from slotcar.auth.tokens import create_token
from slotcar.book.rules.roles import Role
from tests.integration.api.conftest import GARNET
from tests.integration.web.conftest import Open

SITE = "communities: {lhc: {owners: [hep, cms], at_most: 30 Mbit/s, managers: [ann]}}\n"


def test_a_manager_shares_out_and_a_member_sees_it(open_site: Open, tmp_path: Path) -> None:
    inventory = tmp_path / "garnet"
    shutil.copytree(GARNET, inventory)
    (inventory / "policies").mkdir()
    (inventory / "policies" / "site.yml").write_text(SITE)
    site = open_site(inventory=inventory)
    tokens, now = site.desk.settings.state_dir / "tokens.json", datetime.now(UTC)
    for name, owner in (("ann", "noc"), ("eve", "astro")):
        site.tokens[name] = create_token(tokens, name, Role.REQUESTER, owner, now)
    ann, member, eve = (site.signed_in(name) for name in ("ann", "requester", "eve"))
    assert "no community" in eve.get("/shares").text
    assert "/shares" not in eve.get("/account").text
    assert "You share out what the community lhc has" in ann.get("/account").text
    form = {"name": "hep", "rate": "20 Mbit/s", "until": ""}
    assert member.post("/shares/lhc/give", data=form).status_code == 403
    assert ann.post("/shares/lhc/give", data={**form, "rate": "40 Mbit/s"}).status_code == 422
    assert ann.post("/shares/lhc/give", data=form).status_code == 303
    night = {**form, "hours": "22-5", "services": ["ip-premium"]}
    assert ann.post("/shares/lhc/give", data={**form, "hours": "22-25"}).status_code == 422
    assert ann.post("/shares/lhc/give", data={**night, "name": "cms"}).status_code == 303
    assert "hours 0-5, 22-23; ip-premium" in ann.get("/shares").text
    page = member.get("/shares").text
    assert "together at most 30 Mbit/s" in page
    assert "20 Mbit/s" in page
    assert "Share out" not in page
    assert "Share out" in ann.get("/shares").text
    assert ann.post("/shares/lhc/withdraw", data={"name": "hep"}).status_code == 303
    assert "20 Mbit/s" not in member.get("/shares").text
