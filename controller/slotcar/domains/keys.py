"""The keys of domains: one Ed25519 key and its certificate, which its operator makes and whose certificate neighbours get.

The certificate serves TLS in both directions; what is signed is checked by the public key in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID
from joserfc.jwk import OKPKey

from slotcar.base.private_files import make_private_folder, replace_private_file
from slotcar.domains.errors import KeyUnusable

#: Neighbours are given a new certificate by hand.
VALID_FOR = timedelta(days=3650)
LARGEST_FILE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class DomainKey:
    """A domain's own key: it signs. `certificate_file` and `key_file` are for TLS. `signing`: made once."""

    domain: str
    private: Ed25519PrivateKey
    key_file: Path
    certificate_file: Path
    signing: OKPKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pem = self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        object.__setattr__(self, "signing", OKPKey.import_key(pem))


@dataclass(frozen=True, slots=True)
class DomainCertificate:
    """A neighbour's certificate, as it was given by its operator. `checking`: of its key, made once."""

    certificate: x509.Certificate
    checking: OKPKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pem = self.public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        object.__setattr__(self, "checking", OKPKey.import_key(pem))

    @property
    def public(self) -> Ed25519PublicKey:
        key = self.certificate.public_key()
        assert isinstance(key, Ed25519PublicKey)
        return key

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def fingerprint(self) -> str:
        """What two operators read to each other before they trust a file."""
        text = self.certificate.fingerprint(hashes.SHA256()).hex().upper()
        return ":".join(text[index : index + 2] for index in range(0, len(text), 2))


def make_key(domain: str, key_file: Path, certificate_file: Path, now: datetime) -> DomainCertificate:
    """Makes a domain's key and certificate.

    Raises:
        KeyUnusable: there is a key already, or it cannot be written.
    """
    if key_file.exists():
        raise KeyUnusable(
            f"{key_file} is there already: its neighbours trust it; remove it first where you mean another"
        )
    private = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, domain)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(domain)]), critical=False)
        .sign(private, None)
    )
    signed = DomainCertificate(certificate)
    try:
        make_private_folder(key_file.parent)
        make_private_folder(certificate_file.parent)
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        replace_private_file(key_file, pem)
        replace_private_file(certificate_file, signed.pem)
    except OSError as error:
        raise KeyUnusable(f"{key_file} cannot be written: {error.strerror}") from error
    return signed


def load_key(domain: str, key_file: Path, certificate_file: Path) -> DomainKey:
    """
    Raises:
        KeyUnusable: a file is missing or is none, or the two do not belong together.
    """
    try:
        private = load_pem_private_key(_content(key_file, f"{domain}'s key"), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyUnusable(f"{key_file} is no private key in PEM without a password") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyUnusable(f"{key_file} is no Ed25519 key: make one with `slotcar domains key`")
    certificate = load_certificate(domain, certificate_file)
    if certificate.public != private.public_key():
        raise KeyUnusable(f"{certificate_file} is not the certificate of {key_file}")
    return DomainKey(domain, private, key_file, certificate_file)


def load_certificate(domain: str, file: Path) -> DomainCertificate:
    """
    Raises:
        KeyUnusable: it is missing or none, or not of an Ed25519 key.
    """
    try:
        certificate = x509.load_pem_x509_certificate(_content(file, f"the certificate of {domain}"))
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyUnusable(f"{file} is no certificate in PEM, and should be that of {domain}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise KeyUnusable(f"{file}, the certificate of {domain}, is of no Ed25519 key")
    return DomainCertificate(certificate)


def _content(file: Path, what: str) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(LARGEST_FILE_BYTES)
    except OSError as error:
        raise KeyUnusable(f"{file}, {what}, cannot be read: {error.strerror}") from error
