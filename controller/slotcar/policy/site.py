"""`Site`: what the folder `policies/` of an inventory says: policies, and who belongs to what."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from slotcar.base.located_yaml import Document, load, read_text
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.settings import is_loopback
from slotcar.base.units import UnitError, parse_rate_bps
from slotcar.policy.accounts import KnownAccount, read_accounts
from slotcar.policy.caller import Caller, Memberships, Role
from slotcar.policy.certificates import KnownCertificate, read_certificates
from slotcar.policy.issuers import Issuer
from slotcar.policy.issuers_file import read_issuers
from slotcar.policy.key_sets import wrong_with_key_set
from slotcar.policy.policies import Policies, policies_of, shipped_policies
from slotcar.policy.statements import Source
from slotcar.policy.unheard import communities_of_nobody, files_not_read, without_members

FOLDER = "policies"
FILE = "site.yml"
_KEYS = ("timezone", "groups", "programs", "communities", "domains")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")


@dataclass(frozen=True, slots=True)
class Community:
    """Owners that ask together.

    Attributes:
        keys: of the server that signs for it, a JWK set as text; None where none does.
        server: where that is asked about requests that bring no signature; None where it is not.
        managers: callers by name, who share out among its owners what it has.
        at_most_bps: what its owners may have together at one instant; None where the site says no number.
    """

    owners: frozenset[str]
    keys: str | None = None
    server: str | None = None
    managers: frozenset[str] = frozenset()
    at_most_bps: int | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """Attributes:
    groups, programs: of callers, by the names of their tokens.
    communities, domains: of owners; no owner is in two communities, nor in two domains.
    zone: in which policies speak of hours and weekdays.
    issuers: whose tokens are taken, beside those of `slotcar token create`.
    certificates: of programs that show one.
    accounts: of the controller's host, beside root and the controller's own.
    """

    policies: Policies = field(default_factory=shipped_policies)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    communities: Mapping[str, Community] = field(default_factory=dict)
    domains: Mapping[str, frozenset[str]] = field(default_factory=dict)
    zone: tzinfo = UTC
    issuers: tuple[Issuer, ...] = ()
    certificates: tuple[KnownCertificate, ...] = ()
    accounts: tuple[KnownAccount, ...] = ()

    def caller(
        self, name: str, role: Role, owner: str | None = None, expires_at: datetime | None = None, proof: str = ""
    ) -> Caller:
        """A caller, with what the site knows of it. `proof`: by what it is known."""
        return Caller(name, role, owner, expires_at, self.memberships(name, owner or name), proof, self.policies)

    def memberships(self, name: str, owner: str) -> Memberships:
        """What a caller of that name belongs to, who acts on that owner's reservations."""
        return Memberships(
            groups=frozenset(group for group, names in self.groups.items() if name in names),
            community=self.community_of(owner),
            domain=self.domain_of(owner),
            is_program=name in self.programs,
        )

    def community_of(self, owner: str) -> str | None:
        return next((name for name, one in self.communities.items() if owner in one.owners), None)

    def domain_of(self, owner: str) -> str | None:
        return next((name for name, owners in self.domains.items() if owner in owners), None)


def site_of(inventory: Path | None) -> Site:
    """What the inventory says of rights; where it says nothing, the policies that ship decide alone.

    Raises:
        InvalidInput: with every error of every file, by line.
    """
    if inventory is not None and not inventory.exists():
        raise InvalidInput([Problem(str(inventory), 0, "", "cannot be read: no such file or directory")])
    folder = None if inventory is None else (inventory if inventory.is_dir() else inventory.parent) / FOLDER
    if folder is None or not folder.is_dir():
        return Site()
    return site_in(folder)


def site_in(folder: Path) -> Site:
    """What a folder of policies says.

    Raises:
        InvalidInput: with every error of every file, by line.
    """
    if not folder.is_dir():
        raise InvalidInput([Problem(str(folder), 0, "", "is no folder of policies")])
    problems: list[Problem] = []
    members: dict[str, Any] = {}
    issuers: tuple[Issuer, ...] = ()
    certificates: tuple[KnownCertificate, ...] = ()
    accounts: tuple[KnownAccount, ...] = ()
    try:
        members = _read_members(folder)
    except InvalidInput as error:
        problems += error.problems
    try:
        issuers = read_issuers(folder)
    except InvalidInput as error:
        problems += error.problems
    try:
        certificates = read_certificates(folder)
    except InvalidInput as error:
        problems += error.problems
    try:
        accounts = read_accounts(folder)
    except InvalidInput as error:
        problems += error.problems
    try:
        policies = policies_of(tuple(Source(str(path), read_text(path)) for path in sorted(folder.glob("*.cedar"))))
    except InvalidInput as error:
        problems += error.problems
    problems += files_not_read(folder)
    if not problems:
        claims = [one.claims for one in issuers]
        groups = {*members.get("groups", ()), *(name for one in claims for name in one.groups)}
        of_issuers = [[*one.communities] for one in claims]
        problems += communities_of_nobody(folder, of_issuers, members.get("communities", ()), policies.rules)
        communities = {*members.get("communities", ()), *(name for names in of_issuers for name in names)}
        problems += without_members(policies.rules, groups, communities)
    if problems:
        raise InvalidInput(problems)
    return Site(policies, **members, issuers=issuers, certificates=certificates, accounts=accounts)


def _read_members(folder: Path) -> dict[str, Any]:
    """The arguments of `Site` that `site.yml` says.

    Raises:
        InvalidInput.
    """
    path = folder / FILE
    if not path.exists():
        return {}
    document = load(read_text(path), str(path))
    problems = list(document.problems)
    data = document.data if document.data is not None else {}
    if not isinstance(data, dict):
        raise InvalidInput([Problem(str(path), 1, "", "is no mapping", "", f"known are {', '.join(_KEYS)}")])
    problems += [
        _wrong(document, key, f"is not known; known are {', '.join(_KEYS)}") for key in data if key not in _KEYS
    ]
    reader = _Members(document, folder, problems)
    communities = {name: reader.community(name, one) for name, one in reader.mapping("communities").items()}
    domains = {name: reader.names(f"domains.{name}", one) for name, one in reader.mapping("domains").items()}
    members = {
        "groups": {name: reader.names(f"groups.{name}", one) for name, one in reader.mapping("groups").items()},
        "programs": reader.names("programs", data.get("programs") or []),
        "communities": communities,
        "domains": domains,
        "zone": reader.zone(data.get("timezone")),
    }
    problems += _twice(document, "communities", {name: one.owners for name, one in communities.items()})
    problems += _twice(document, "domains", domains)
    if problems:
        raise InvalidInput(problems)
    return members


@dataclass(frozen=True, slots=True)
class _Members:
    """Reads the parts of a document, and notes what is wrong."""

    document: Document
    folder: Path
    problems: list[Problem]

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.document.data.get(key) or {}
        if isinstance(value, dict):
            return {name: one for name, one in value.items() if self._is_name(key, name)}
        self.problems.append(_wrong(self.document, key, "is no mapping of names"))
        return {}

    def names(self, key: str, value: Any) -> frozenset[str]:
        if isinstance(value, list):
            return frozenset(one for one in value if self._is_name(key, one))
        self.problems.append(_wrong(self.document, key, "is no list of names"))
        return frozenset()

    def community(self, name: str, value: Any) -> Community:
        key = f"communities.{name}"
        known = {"owners", "keys", "server", "managers", "at_most"}
        if not isinstance(value, dict) or not {"owners"} <= set(value) <= known:
            words = (
                "has `owners`, a list, and perhaps `keys`, a file's name, `server`, an address, `managers`, a list, and"
                " `at_most`, a rate"
            )
            unknown = sorted(set(map(str, value)) - known) if isinstance(value, dict) else []
            self.problems.append(_wrong(self.document, key, words, ", ".join(unknown)))
            return Community(frozenset())
        keys = self._keys(f"{key}.keys", value.get("keys"))
        server = self._server(f"{key}.server", value.get("server"), keys)
        owners = self.names(f"{key}.owners", value["owners"])
        managers = self.names(f"{key}.managers", value.get("managers") or [])
        return Community(owners, keys, server, managers, self._rate(f"{key}.at_most", value.get("at_most")))

    def _rate(self, key: str, value: Any) -> int | None:
        if value is None:
            return None
        try:
            return parse_rate_bps(str(value))
        except UnitError as error:
            self.problems.append(_wrong(self.document, key, error.message, str(value)))
            return None

    def zone(self, value: Any) -> tzinfo:
        try:
            return ZoneInfo(value) if value is not None else UTC
        except (KeyError, ValueError, TypeError, OSError):
            self.problems.append(_wrong(self.document, "timezone", "is no zone", str(value)))
            return UTC

    def _server(self, key: str, value: Any, keys: str | None) -> str | None:
        if value is None:
            return None
        if keys is None:
            self.problems.append(_wrong(self.document, key, "has no `keys`, by which its signature is believed"))
        try:
            parts = urlsplit(value)
            is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
            if is_safe and parts.hostname and parts.username is None:
                return str(value)
        except (ValueError, AttributeError, TypeError):
            pass
        words = "is no address of https without a user; http is for this machine alone"
        self.problems.append(_wrong(self.document, key, words, str(value)))
        return None

    def _keys(self, key: str, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or "/" in value:
            self.problems.append(_wrong(self.document, key, "is no name of a file beside this one", str(value)))
            return None
        try:
            text = read_text(self.folder / value)
        except InvalidInput as error:
            self.problems.extend(error.problems)
            return None
        if wrong := wrong_with_key_set(text):
            self.problems.append(Problem(str(self.folder / value), 0, "", wrong))
        return text

    def _is_name(self, key: str, value: Any) -> bool:
        if isinstance(value, str) and _NAME.fullmatch(value):
            return True
        self.problems.append(_wrong(self.document, key, "is no name", str(value)))
        return False


def _wrong(document: Document, key: str, message: str, value: str = "") -> Problem:
    return Problem(document.file, document.line(key), key, message, value)


def _twice(document: Document, key: str, members: Mapping[str, Collection[str]]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name, owners in members.items():
        for owner in sorted(owners):
            before = first.setdefault(owner, name)
            if before != name:
                yield _wrong(document, f"{key}.{name}", f"has the owner {owner}, who is in {before} already")
