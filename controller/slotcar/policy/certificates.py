"""`certificates.yml` of the folder `policies/`: which programs are known by a certificate of their own, and as what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
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
        wrong = _wrong_with(one)
        if wrong:
            key = f"certificates[{number}]"
            problems.append(Problem(document.file, document.line(key), key, wrong, "", f"keys are {', '.join(_KEYS)}"))
        else:
            known.append(_known(one))
    problems += _twice(document, known)
    if problems:
        raise InvalidInput(problems)
    return tuple(known)


def _wrong_with(entry: Any) -> str:
    if (
        not isinstance(entry, Mapping)
        or set(entry) - set(_KEYS)
        or not all(isinstance(one, str) for one in entry.values())
    ):
        return "is no mapping of texts with known keys"
    if len({"uri", "subject"} & set(entry)) != 1:
        return "needs a `uri` of the certificate's alternative names or its whole `subject`, and not both"
    if not _NAME.fullmatch(entry.get("name", "")):
        return "has no `name` of letters, digits, dots and dashes, at most 48"
    if entry.get("role") not in set(Role):
        return f"has no `role` of {', '.join(Role)}"
    if not OWNER.fullmatch(entry.get("owner", entry["name"])):
        return "has an `owner` that is no name"
    return ""


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
