"""TLS in the server itself, with certificates of clients where the operator names who signs them.

uvicorn tells the application nothing of a client's certificate: it is read from the connection, and goes along in the
state of each of its requests.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

import uvicorn

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.settings import PREFIX, Settings
from slotcar.policy.certificates import CertificateNames

#: Of a connection's state, and so of each of its requests'.
STATE = "certificate"
#: Names of a subject as RFC 4514 §3 writes them; others stand as they are.
_SHORT = {
    "commonName": "CN", "organizationName": "O", "organizationalUnitName": "OU", "countryName": "C", "localityName": "L",
    "stateOrProvinceName": "ST", "domainComponent": "DC", "userId": "UID",
}  # fmt: skip


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """TLS as the settings have it; None where the API speaks HTTP.

    Raises:
        InvalidInput: a file is missing or cannot be used, or what belongs together is not there together.
    """
    certificate, key, authorities = settings.tls_certificate, settings.tls_key, settings.tls_client_ca
    if certificate is None or key is None:
        if certificate or key or authorities:
            words = "TLS needs a certificate and its key"
            raise InvalidInput([Problem(f"{PREFIX}TLS_CERTIFICATE", 0, "", words, "", f"set {PREFIX}TLS_KEY too")])
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        words = f"cannot be used for TLS with {key}: {error}"
        raise InvalidInput([Problem(f"{PREFIX}TLS_CERTIFICATE", 0, "", words, str(certificate))]) from error
    if authorities is not None:
        try:
            context.load_verify_locations(cafile=authorities)
        except (OSError, ssl.SSLError) as error:
            words = f"has no certificates of authorities: {error}"
            raise InvalidInput([Problem(f"{PREFIX}TLS_CLIENT_CA", 0, "", words, str(authorities))]) from error
        context.verify_mode = ssl.CERT_OPTIONAL  # people come without one
    return context


def with_tls(config: uvicorn.Config, tls: ssl.SSLContext | None) -> uvicorn.Config:
    """The configuration of a server that speaks TLS, where there is any."""
    if tls is not None:
        config.load()
        config.ssl = tls
    return config


def names_of(transport: asyncio.BaseTransport) -> CertificateNames | None:
    """What the certificate of a connection's client says; None where it showed none."""
    certificate: Mapping[str, Any] | None = transport.get_extra_info("peercert")
    if not certificate:
        return None
    uris = frozenset(value for kind, value in certificate.get("subjectAltName", ()) if kind == "URI")
    return CertificateNames(uris, _subject(certificate.get("subject", ())))


def _subject(parts: Sequence[Sequence[tuple[str, str]]]) -> str:
    """The last part first, as RFC 4514 §2.1 has it; what would mean something else there is marked."""
    written = ["+".join(f"{_SHORT.get(kind, kind)}={_marked(value)}" for kind, value in part) for part in parts]
    return ",".join(reversed(written))


def _marked(value: str) -> str:
    return "".join(f"\\{one}" if one in ',+"\\<>;=' else one for one in value)
