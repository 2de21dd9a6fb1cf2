"""`certificates.yml` of the folder `policies/`: which programs are known by a certificate of their own, and as what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from slotcar.base.located_yaml import Document, load, read_text
from slotcar.base.names import OWNER
from slotcar.base.problems import InvalidInput, Problem
from slotcar.policy.caller import Role

FILE = "certificates.yml"
#: Behind the name of each caller that is known so; no issuer is called so.
ISSUED = "certificate"
_KEYS = ("uri", "subject", "name", "role", "owner")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,46}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class KnownCertificate:
    """A program, by the URI of its certificate's alternative names (such as a SPIFFE ID), or by the whole subject."""

    name: str
    role: Role
    owner: str
    uri: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class CertificateNames:
    """What the certificate of a connection says, which an authority of the site has signed.

    Attributes:
        subject: as RFC 4514 writes it.
    """

    uris: frozenset[str]
    subject: str


def certificate_of(names: CertificateNames, known: Collection[KnownCertificate]) -> KnownCertificate | None:
    """Whose certificate it is; None for nobody's who is known. A URI counts before a subject."""
    by_uri = [one for one in known if one.uri is not None and one.uri in names.uris]
    by_subject = [one for one in known if one.subject is not None and one.subject == names.subject]
    return next(iter([*by_uri, *by_subject]), None)


def read_certificates(folder: Path) -> tuple[KnownCertificate, ...]:
    """The certificates of a site; none where there is no file.

    Raises:
        InvalidInput: with everything that is wrong, by line.
    """
    path = folder / FILE
    if not path.exists():
        return ()
    document = load(read_text(path), str(path))
    problems = list(document.problems)
    data = document.data if isinstance(document.data, dict) else {}
    listed = data.get("certificates")
    if set(data) != {"certificates"} or not isinstance(listed, list):
        raise InvalidInput([*problems, Problem(str(path), 1, "", "has one key, `certificates`, which is a list")])
    known = []
    for number, one in enumerate(listed):
        wrong = list(_wrong_with(document, f"certificates[{number}]", one))
        problems += wrong
        known += [] if wrong else [_known(one)]
    problems += _twice(document, known)
    if problems:
        raise InvalidInput(problems)
    return tuple(known)


def _wrong_with(document: Document, at: str, entry: Any) -> Iterator[Problem]:
    def problem(key: str, message: str, value: str = "", hint: str = "") -> Problem:
        where = f"{at}.{key}" if key else at
        return Problem(document.file, document.line(where), where, message, value, hint)

    keys = f"keys are {', '.join(_KEYS)}"
    if not isinstance(entry, Mapping):
        yield problem("", "is no mapping", "", keys)
        return
    for key, value in entry.items():
        if key not in _KEYS:
            yield problem(str(key), "is not known here", "", _hint_of(str(key)) or keys)
        elif not isinstance(value, str):
            yield problem(key, "is no text", str(value))
    texts = {key: value for key, value in entry.items() if isinstance(value, str)}
    if len({"uri", "subject"} & set(entry)) != 1:
        yield problem("", "needs a `uri` of the certificate's alternative names or its whole `subject`, and not both")
    if "name" not in entry or ("name" in texts and not _NAME.fullmatch(texts["name"])):
        yield problem(
            "name" if "name" in entry else "", "has no `name` of letters, digits, dots and dashes, at most 48"
        )
    role = texts.get("role", "")
    if role not in set(Role) and ("role" in texts or "role" not in entry):
        near = get_close_matches(role.lower(), [one.value for one in Role], n=1)
        hint = f"perhaps {near[0]}" if near else ""
        yield problem("role" if "role" in entry else "", f"has no `role` of {', '.join(Role)}", role, hint)
    if "owner" in texts and not OWNER.fullmatch(texts["owner"]):
        yield problem("owner", "has an `owner` that is no name", texts["owner"])


def _hint_of(key: str) -> str:
    """What is meant by a key that is not known here, or where it stands instead."""
    if near := get_close_matches(key.lower(), _KEYS, n=1):
        return f"perhaps {near[0]}"
    word = key.lower().rstrip("s").replace("communitie", "community")
    if word in ("community", "domain"):
        return f"say its `owner`, and in site.yml of which {word} that is"
    return "say it in site.yml, by NAME@certificate" if word in ("group", "program") else ""


def _known(entry: Mapping[str, str]) -> KnownCertificate:
    name = f"{entry['name']}@{ISSUED}"
    return KnownCertificate(
        name, Role(entry["role"]), entry.get("owner", name), entry.get("uri"), entry.get("subject")
    )


def _twice(document: Document, known: Collection[KnownCertificate]) -> list[Problem]:
    counts = Counter(text for one in known for text in (one.name, one.uri or one.subject or ""))
    return [
        Problem(document.file, document.line("certificates"), "certificates", "has twice", text)
        for text, times in counts.items()
        if times > 1
    ]
