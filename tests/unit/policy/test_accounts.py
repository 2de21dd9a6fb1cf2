"""`accounts.yml`: which account of the controller's host is what, and what is wrong in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.base.accounts import OVERFLOW, Account, stands_for_many
from slotcar.base.problems import InvalidInput
from slotcar.policy.accounts import known_account, read_accounts
from slotcar.policy.caller import Role

OWN_UID = 977
ANNA = {"account": "anna", "role": "requester", "owner": "hep"}


def known(folder: Path, *entries: Any) -> Any:
    (folder / "accounts.yml").write_text(yaml.safe_dump({"accounts": list(entries)}))
    return read_accounts(folder)


def test_an_account_is_what_the_site_says_and_else_nobody(tmp_path: Path) -> None:
    accounts = known(tmp_path, ANNA, {"account": "uid1234", "role": "operator"})
    one = known_account(Account(1000, "anna"), accounts, OWN_UID)
    assert one is not None
    assert (one.role, one.owner) == (Role.REQUESTER, "hep")
    assert known_account(Account(1001, "berta"), accounts, OWN_UID) is None
    assert known_account(Account(1234, None), accounts, OWN_UID) is None, "a number is not an account called so"
    assert read_accounts(tmp_path / "nowhere") == ()


@pytest.mark.parametrize("account", [Account(0, "root"), Account(0, None), Account(OWN_UID, "slotcar")])
def test_who_may_open_the_database_is_an_operator(account: Account) -> None:
    one = known_account(account, (), OWN_UID)
    assert one is not None
    assert one.role is Role.OPERATOR


def test_what_stands_for_many_accounts_is_what_the_kernel_says() -> None:
    assert stands_for_many(int(OVERFLOW.read_text()))
    assert not stands_for_many(0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"account": None}, "has no `account`"),
        ({"account": ""}, "has no `account`"),
        ({"account": "1000"}, "is no name of an account"),
        ({"account": "anna@hep"}, "is no name of an account"),
        ({"account": "root"}, "is an operator in any case"),
        ({"role": "admin"}, "has no `role` of requester"),
        ({"acount": "x"}, "is not known here; perhaps account"),
        ({"group": "duty"}, "say it in site.yml, by NAME@cli"),
        ({"account": 7}, "accounts[0].account: is no text (got 7)"),
    ],
)
def test_a_mistake_gets_a_sentence_with_its_line(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    entry = {key: value for key, value in (ANNA | change).items() if value is not None}
    with pytest.raises(InvalidInput, match=r"accounts.yml:\d+: accounts\[0\]") as caught:
        known(tmp_path, entry)
    assert sentence in str(caught.value)


def test_an_account_is_there_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has twice"):
        known(tmp_path, ANNA, ANNA | {"role": "auditor"})
