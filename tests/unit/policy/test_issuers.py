"""`issuers.yml`: each honest mistake gets a sentence with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.base.problems import InvalidInput
from slotcar.policy.caller import Role
from slotcar.policy.issuers import Issuer
from slotcar.policy.issuers_file import read_issuers
from slotcar.policy.site import site_of

GOOD: dict[str, Any] = {
    "name": "home", "issuer": "https://login.example.net/realms/physics", "audience": "https://slotcar.example.net",
    "role": "requester",
}  # fmt: skip


def issuers(folder: Path, *entries: Any) -> tuple[Issuer, ...]:
    (folder / "issuers.yml").write_text(yaml.safe_dump({"issuers": list(entries)}, sort_keys=False))
    return read_issuers(folder)


def test_what_is_left_out_is_strict(tmp_path: Path) -> None:
    (issuer,) = issuers(tmp_path, GOOD)
    assert issuer.algorithms == ("RS256", "ES256")
    assert (issuer.token_type, issuer.leeway_s, issuer.scope, issuer.page, issuer.cli) == (
        "at+jwt",
        30,
        None,
        None,
        None,
    )
    assert issuer.claims.role is Role.REQUESTER
    assert issuer.claims.group_claims == ("wlcg.groups", "eduperson_entitlement")


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    more = {
        "algorithms": ["EdDSA"], "token_type": "JWT", "leeway_s": 0, "scope": "slotcar",
        "page": {"client_id": "page", "secret_file": "secret"}, "cli": {"client_id": "cli", "resource": "urn:x"},
        "name_claim": "preferred_username", "group_claims": ["groups"], "roles": {"operator": ["/noc"]},
        "owners": {"hep": ["/cms"]}, "groups": {"duty": ["/d"]}, "communities": {"hep": ["/cms"]}, "programs": ["r"],
    }  # fmt: skip
    (issuer,) = issuers(tmp_path, GOOD | more)
    assert issuer.algorithms == ("EdDSA", "Ed25519")
    assert issuer.page is not None
    assert issuer.page.secret_file == tmp_path / "secret"
    assert issuer.page.scopes == ("openid", "profile")
    assert issuer.cli is not None
    assert issuer.cli.resource == "urn:x"
    assert issuer.claims.roles == {Role.OPERATOR: frozenset({"/noc"})}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"audience": None}, "audience: is needed: it keeps tokens for other services"),
        ({"issuer": "http://login.example.net"}, "issuer: is no address with https"),
        ({"issuer": "https://login.example.net?x=1"}, "issuer: has a query"),
        ({"issuer": None}, "issuer: is needed"),
        ({"name": "a b"}, "name: is no name"),
        ({"algorithms": ["none"]}, "algorithms: takes tokens that nobody signed"),
        ({"algorithms": ["HS256"]}, "algorithms: is signed with a secret"),
        ({"algorithms": ["RS1"]}, "algorithms: is not known; known are RS256, ES256, EdDSA"),
        ({"algorithms": []}, "algorithms: names none"),
        ({"algorithms": "RS256"}, "algorithms: is no list"),
        ({"leeway_s": 3600}, "leeway_s: is no number of seconds from 0 to 300"),
        ({"leeway_s": "30 s"}, "leeway_s: is no number"),
        ({"token_type": "jwt"}, "token_type: is neither at+jwt"),
        ({"page": {"client_id": "https://slotcar.example.net"}}, "audience: is the `client_id` of page too"),
        ({"page": {"client_id": "p", "scopes": ["profile"]}}, "page.scopes: lacks `openid`"),
        ({"page": {"client_id": "p", "secret_file": "gone"}}, "page.secret_file: is no file"),
        ({"page": "p"}, "page: has a `client_id`"),
        ({"cli": {"client_id": "c", "secret_file": "s"}}, "cli.secret_file: is of no use"),
        ({"cli": {"client_id": "c", "scope": "x"}}, "cli.scope: is not known"),
        ({"role": "admin"}, "role: is no role; roles are requester"),
        ({"role": None}, "role: or `roles` is needed"),
        ({"roles": {"admin": ["/noc"]}}, "roles.admin: is not known; known are requester"),
        ({"owners": {"hep": "/cms"}}, "owners.hep: is no list"),
        ({"owners": {"h p": ["/cms"]}}, "owners.h p: is no name"),
        ({"groups": ["/cms"]}, "groups: is no mapping"),
        ({"audiance": "x"}, "audiance: is not known"),
    ],
)  # fmt: skip
def test_a_mistake_gets_a_sentence(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    entry = {key: value for key, value in (GOOD | change).items() if value is not None}
    with pytest.raises(InvalidInput) as caught:
        issuers(tmp_path, entry)
    lines = [line for line in str(caught.value).splitlines() if sentence in line]
    assert lines, str(caught.value)
    assert "issuers.yml:" in lines[0]


def test_two_of_a_name_are_a_mistake_and_so_is_another_document(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is there twice"):
        issuers(tmp_path, GOOD, GOOD)
    (tmp_path / "issuers.yml").write_text("- a\n")
    with pytest.raises(InvalidInput, match="has one key, `issuers`"):
        read_issuers(tmp_path)


def test_a_site_has_its_issuers_and_tells_their_mistakes(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    issuers(tmp_path / "policies", GOOD)
    assert [one.name for one in site_of(tmp_path).issuers] == ["home"]
    file = tmp_path / "policies" / "issuers.yml"
    file.write_text(file.read_text() + "  leeway_s: -1\n")
    with pytest.raises(InvalidInput, match="leeway_s"):
        site_of(tmp_path)
