"""Reads `issuers.yml` of the folder `policies/`; whatever is wrong gets a sentence with its line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from slotcar.base.located_yaml import Document, load, read_text
from slotcar.base.names import OWNER
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.settings import is_loopback
from slotcar.policy import accounts, certificates
from slotcar.policy.caller import Role
from slotcar.policy.issuers import (
    ALGORITHMS,
    AT_JWT,
    PLAIN_JWT,
    USUAL_ALGORITHMS,
    USUAL_GROUP_CLAIMS,
    ClaimsMapping,
    Issuer,
    SignInClient,
)

FILE = "issuers.yml"
MOST_LEEWAY_S = 300
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,30}[A-Za-z0-9])?")
_CEDAR_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
_KEYS = ("name", "issuer", "audience", "algorithms", "token_type", "leeway_s", "scope", "page", "cli", "ca_file",
         "name_claim", "group_claims", "role", "roles", "owners", "groups", "communities", "programs")  # fmt: skip
_CLIENT_KEYS = ("client_id", "scopes", "secret_file", "resource")
_PAGE_SCOPES, _CLI_SCOPES = ("openid", "profile"), ("openid", "offline_access")


def read_issuers(folder: Path) -> tuple[Issuer, ...]:
    """The issuers of a site; none where there is no file.

    Raises:
        InvalidInput: with everything that is wrong, by line.
    """
    path = folder / FILE
    if not path.exists():
        return ()
    document = load(read_text(path), str(path))
    problems = list(document.problems)
    data = document.data if isinstance(document.data, dict) else {}
    listed = data.get("issuers")
    if set(data) != {"issuers"} or not isinstance(listed, list):
        problems.append(Problem(str(path), 1, "", "has one key, `issuers`, which is a list"))
        raise InvalidInput(problems)
    read = [
        _IssuerReader(document, folder, f"issuers[{number}]", one, problems).issuer()
        for number, one in enumerate(listed)
    ]
    issuers = tuple(one for one in read if one is not None)
    for key, values in (("name", [one.name for one in issuers]), ("issuer", [one.url for one in issuers])):
        twice = sorted(value for value, times in Counter(values).items() if times > 1)
        problems += [Problem(str(path), document.line("issuers"), key, "is there twice", value) for value in twice]
    if problems:
        raise InvalidInput(problems)
    return issuers


@dataclass(frozen=True, slots=True)
class _IssuerReader:
    """Reads one issuer, and notes what is wrong. `at`: where it stands in the document."""

    document: Document
    folder: Path
    at: str
    data: Any
    problems: list[Problem]

    def issuer(self) -> Issuer | None:
        if not isinstance(self.data, dict):
            self._wrong("", f"is no mapping of {', '.join(_KEYS)}")
            return None
        before = len(self.problems)
        self._only(self.data, _KEYS, "")
        issuer = Issuer(
            name=self._name(),
            url=self._url(),
            audience=self._text(
                "audience", needed="is needed: it keeps tokens for other services from being taken here"
            ),
            algorithms=self._algorithms(),
            token_type=self._token_type(),
            leeway_s=self._leeway_s(),
            scope=self._text("scope") or None,
            page=self._client("page", _PAGE_SCOPES),
            cli=self._client("cli", _CLI_SCOPES),
            ca_file=self._file("ca_file", self.data.get("ca_file")),
            claims=self._claims(),
        )
        self._check_audience(issuer)
        return issuer if len(self.problems) == before else None

    # -- who it is -----------------------------------------------------------------------------------------------------

    def _name(self) -> str:
        name = self._text("name", needed="is needed: what the issuer is called here, such as home")
        if name and not _NAME.fullmatch(name):
            self._wrong("name", "is no name of letters, digits, dots and dashes, at most 32", name)
        if name == certificates.ISSUED:
            self._wrong("name", "is what programs are called that show a certificate", name)
        if name == accounts.ISSUED:
            self._wrong("name", "is what accounts of the controller's host are called", name)
        return name

    def _url(self) -> str:
        url = self._text("issuer", needed="is needed: the issuer's address, exactly as its tokens say it in `iss`")
        try:
            parts = urlsplit(url)
            secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        except ValueError:
            parts, secure = urlsplit(""), False
        if url and (not secure or not parts.hostname):
            self._wrong("issuer", "is no address with https; http is for providers on this machine", url)
        elif parts.query or parts.fragment or parts.username:
            self._wrong("issuer", "has a query, a fragment or a user, which an issuer's address never has", url)
        return url

    def _algorithms(self) -> tuple[str, ...]:
        named = self._names("algorithms", self.data.get("algorithms", list(USUAL_ALGORITHMS)))
        for one in named:
            if one.lower() == "none":
                self._wrong("algorithms", "takes tokens that nobody signed: leave it out", one)
            elif one.upper().startswith("HS"):
                self._wrong("algorithms", "is signed with a secret that Slotcar would have to know: leave it out", one)
            elif one not in ALGORITHMS:
                self._wrong("algorithms", f"is not known; known are {', '.join(ALGORITHMS)}", one)
        if not named:
            self._wrong("algorithms", f"names none; known are {', '.join(ALGORITHMS)}")
        # Of EdDSA there is one curve here; both names are in use for it (RFC 9864).
        both = ("EdDSA", "Ed25519") if {"EdDSA", "Ed25519"} & set(named) else ()
        return tuple(dict.fromkeys((*named, *both)))

    def _token_type(self) -> str:
        value = self._text("token_type") or AT_JWT
        if value not in (AT_JWT, PLAIN_JWT):
            self._wrong("token_type", f"is neither {AT_JWT} (RFC 9068) nor {PLAIN_JWT}", value)
        return value

    def _leeway_s(self) -> int:
        value = self.data.get("leeway_s", 30)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_LEEWAY_S:
            self._wrong("leeway_s", f"is no number of seconds from 0 to {MOST_LEEWAY_S}", str(value))
            return 0
        return value

    def _client(self, key: str, usual: tuple[str, ...]) -> SignInClient | None:
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, dict) or not isinstance(value.get("client_id"), str) or not value["client_id"]:
            self._wrong(key, "has a `client_id`: by it the issuer knows Slotcar")
            return None
        self._only(value, _CLIENT_KEYS, key)
        scopes = self._names(f"{key}.scopes", value.get("scopes", list(usual)))
        if key == "page" and "openid" not in scopes:
            self._wrong(f"{key}.scopes", "lacks `openid`, without which nobody is named")
        if key == "cli" and "secret_file" in value:
            self._wrong(f"{key}.secret_file", "is of no use: whoever has the command line would know it")
        resource = value.get("resource")
        if resource is not None and not (isinstance(resource, str) and resource):
            self._wrong(f"{key}.resource", "is no text")
        return SignInClient(
            value["client_id"], tuple(scopes), self._file(f"{key}.secret_file", value.get("secret_file")), resource
        )

    def _check_audience(self, issuer: Issuer) -> None:
        """Whoever has a person's ID token, which any application of the issuer gets, would be that person here."""
        for key, client in (("page", issuer.page), ("cli", issuer.cli)):
            if client is not None and client.client_id == issuer.audience:
                self._wrong("audience", f"is the `client_id` of {key} too: an ID token would pass for an access token")

    # -- what its claims mean ------------------------------------------------------------------------------------------

    def _claims(self) -> ClaimsMapping:
        role, roles = self._role("role", self.data.get("role")), self._groups_by("roles", tuple(Role))
        if role is None and not roles and self.data.get("role") is None:
            self._wrong("role", "or `roles` is needed: without either nobody may do anything with its tokens")
        return ClaimsMapping(
            name=self._text("name_claim") or "sub",
            group_claims=tuple(self._names("group_claims", self.data.get("group_claims", list(USUAL_GROUP_CLAIMS)))),
            role=role,
            roles={Role(name): groups for name, groups in roles.items()},
            owners=self._groups_by("owners"),
            groups=self._groups_by("groups"),
            communities=self._groups_by("communities"),
            programs=frozenset(self._names("programs", self.data.get("programs", []))),
        )

    def _role(self, key: str, value: Any) -> Role | None:
        if value is None or value in set(Role):
            return None if value is None else Role(value)
        self._wrong(key, f"is no role; roles are {', '.join(Role)}", str(value))
        return None

    def _groups_by(self, key: str, known: Collection[str] = ()) -> Mapping[str, frozenset[str]]:
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            self._wrong(key, "is no mapping of names, each with a list of the issuer's groups")
            return {}
        pattern = OWNER if key == "owners" else _CEDAR_NAME
        for name in value:
            if (known and name not in known) or not pattern.fullmatch(name):
                self._wrong(f"{key}.{name}", f"is not known; known are {', '.join(known)}" if known else "is no name")
        return {
            name: frozenset(self._names(f"{key}.{name}", groups))
            for name, groups in value.items()
            if not known or name in known
        }

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _text(self, key: str, needed: str = "") -> str:
        value = self.data.get(key)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or not value or value != value.strip():
            self._wrong(key, needed if value is None else "is no text", "" if value is None else str(value))
            return ""
        return value

    def _names(self, key: str, value: Any) -> list[str]:
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return value
        self._wrong(key, "is no list of texts")
        return []

    def _file(self, key: str, value: Any) -> Path | None:
        if value is None:
            return None
        path = self.folder / str(value)
        if not isinstance(value, str) or not path.is_file():
            self._wrong(key, "is no file; names are relative to the folder of this one", str(value))
            return None
        return path

    def _only(self, given: Mapping[str, Any], known: Collection[str], key: str) -> None:
        for name in given:
            if name not in known:
                self._wrong(f"{key}.{name}" if key else name, f"is not known; known are {', '.join(known)}")

    def _wrong(self, key: str, message: str, value: str = "") -> None:
        whole = f"{self.at}.{key}" if key else self.at
        self.problems.append(Problem(self.document.file, self.document.line(whole), whole, message, value))
