"""Scopes of tokens: each lets pass what it names, and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.auth.tokens import TokenStore, create_token, read_tokens
from slotcar.base.problems import InvalidInput
from slotcar.policy.caller import Role
from slotcar.policy.reading import rights
from slotcar.policy.scopes import ALWAYS, lets_pass, verbs_of_scopes
from slotcar_client.wire.verbs import VERBS

NOW = datetime(2027, 3, 1, tzinfo=UTC)
OPERATIONS = (*VERBS, "plan", "event_stream")


@given(st.lists(st.sampled_from(sorted(verbs_of_scopes())), max_size=4))
def test_of_all_verbs_those_pass_that_a_scope_names(scopes: list[str]) -> None:
    named = frozenset(OPERATIONS) if not scopes else ALWAYS.union(*(verbs_of_scopes()[one] for one in scopes))
    assert {one for one in OPERATIONS if lets_pass(scopes, one)} == named


def test_every_verb_is_in_its_own_scope_its_rights_and_its_familys() -> None:
    table = verbs_of_scopes()
    for name, verb in VERBS.items():
        family = {one for one in (f"{verb.family}:read", f"{verb.family}:write") if name in table.get(one, ())}
        assert {scope for scope, verbs in table.items() if name in verbs} == {name, rights()[name], *family}
        assert len(family) == 1, name
    assert {"status", "list"} <= table["reservations:read"]
    assert not table["reservations:read"] & {"create", "cancel", "approve"}
    assert {"create", "cancel"} <= table["reservations:write"]


def test_what_is_no_scope_lets_nothing_pass() -> None:
    assert not any(lets_pass(("of-a-later-version",), one) for one in OPERATIONS if one not in ALWAYS)
    assert not lets_pass(("change",), "provider"), "what is no verb is for tokens without scopes"


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("reservation:read", "perhaps reservations:read"),
        ("comit", "perhaps commit"),
        ("", "FAMILY:read"),
        ("everything under the sun", "FAMILY:read"),
    ],
)
def test_the_nearest_is_named(tmp_path: Path, scope: str, words: str) -> None:
    with pytest.raises(InvalidInput, match="is no scope") as error:
        create_token(tmp_path / "tokens.json", "cms", Role.REQUESTER, "cms", NOW, scopes=["see", scope])
    assert words in str(error.value)
    assert not read_tokens(tmp_path / "tokens.json")


def test_a_caller_has_the_scopes_of_its_token(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    narrow = create_token(file, "cms", Role.REQUESTER, "cms", NOW, scopes=["see", "commit", "see"])
    wide = create_token(file, "ops", Role.OPERATOR, "noc", NOW)
    store = TokenStore(file)
    cms, ops = store.caller(narrow, NOW), store.caller(wide, NOW)
    assert cms is not None
    assert ops is not None
    assert (cms.scopes, cms.proof) == (("see", "commit"), "token cms, scopes see commit")
    assert (ops.scopes, ops.proof) == ((), "token ops")
    document = json.loads(file.read_text())
    del document["tokens"][1]["scopes"]  # as it was written before there were any
    file.write_text(json.dumps(document))
    assert read_tokens(file)[1].scopes == ()
