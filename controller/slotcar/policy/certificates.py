"""`certificates.yml` of the folder `policies/`: which programs are known by a certificate of their own, and as what."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from slotcar.base.problems import Problem
from slotcar.policy.caller import Role
from slotcar.policy.known_callers import Listed, read_known, twice

FILE = "certificates.yml"
#: Behind the name of each caller that is known so; no issuer is called so.
ISSUED = "certificate"
_LISTED_AS = "certificates"
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
    known = read_known(path, _LISTED_AS, ("uri", "subject", "name"), ISSUED, _wrong_with, _known)
    twice(path, _LISTED_AS, [text for one in known for text in (one.name, one.uri or one.subject or "")])
    return known


def _wrong_with(entry: Listed) -> Iterator[Problem]:
    if len({"uri", "subject"} & set(entry.given)) != 1:
        words = "needs a `uri` of the certificate's alternative names or its whole `subject`, and not both"
        yield entry.problem("", words)
    if "name" not in entry.given or not _NAME.fullmatch(entry.texts.get("name", "as-said-already")):
        yield entry.problem("name", "has no `name` of letters, digits, dots and dashes, at most 48")


def _known(entry: Mapping[str, str]) -> KnownCertificate:
    name = f"{entry['name']}@{ISSUED}"
    return KnownCertificate(
        name, Role(entry["role"]), entry.get("owner", name), entry.get("uri"), entry.get("subject")
    )
