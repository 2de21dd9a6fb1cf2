"""`accounts.yml` of the folder `policies/`: which accounts of the controller's host may ask by its socket, and as what."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from slotcar.base.accounts import Account
from slotcar.base.problems import Problem
from slotcar.policy.caller import Role
from slotcar.policy.known_callers import Listed, read_known, twice

FILE = "accounts.yml"
#: Behind the name of each caller that is known so; no issuer is called so.
ISSUED = "cli"
_LISTED_AS = "accounts"


@dataclass(frozen=True, slots=True)
class KnownAccount:
    """An account of the operating system, by its name."""

    account: str
    role: Role
    owner: str


def known_account(account: Account, known: Collection[KnownAccount], own_uid: int) -> KnownAccount | None:
    """As what an account asks; None for nobody. Root and the controller's own account (`own_uid`) are operators, since
    they may open its database.

    One without a name in this machine's list is nobody's else, whatever it is called in the log.
    """
    if account.uid in (0, own_uid):
        return KnownAccount(account.name or str(account.uid), Role.OPERATOR, account.caller_name)
    return next((one for one in known if account.name is not None and one.account == account.name), None)


def read_accounts(folder: Path) -> tuple[KnownAccount, ...]:
    """The accounts of a site; none where there is no file.

    Raises:
        InvalidInput: with everything that is wrong, by line.
    """
    path = folder / FILE
    known = read_known(path, _LISTED_AS, ("account",), ISSUED, _wrong_with, _known)
    twice(path, _LISTED_AS, [one.account for one in known])
    return known


def _wrong_with(entry: Listed) -> Iterator[Problem]:
    name = entry.texts.get("account", "")
    if "account" not in entry.given or name == "":
        yield entry.problem("account", "has no `account`, the name of one of the controller's host")
    elif name.isdecimal() or not name.isprintable() or set(name) & set(" :/@"):
        yield entry.problem("account", "is no name of an account", name)
    elif name == "root":
        yield entry.problem("account", "is an operator in any case, since it may open the database", name)


def _known(entry: Mapping[str, str]) -> KnownAccount:
    return KnownAccount(entry["account"], Role(entry["role"]), entry.get("owner", f"{entry['account']}@{ISSUED}"))
