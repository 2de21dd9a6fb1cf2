"""An authority that signs certificates for tests, as strict checkers want them (RFC 5280)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM


class Authority:
    """Signs certificates; `file` has its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._folder = folder
        self.file = folder / f"{name}.pem"
        usage = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
             "encipher_only", "decipher_only"), False,
        )  # fmt: skip
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(x509.KeyUsage(**usage, key_cert_sign=True, crl_sign=True), critical=True)
        self.file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM))

    def issue(
        self, subject: Mapping[x509.ObjectIdentifier, str], *names: x509.GeneralName, over: bool = False
    ) -> Path:
        """A certificate with its key, in one file. `names`: alternative ones. `over`: since an hour ago."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(kind, value) for kind, value in subject.items()]
        builder = self._builder(x509.Name(attributes), key.public_key(), over)
        issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issued_by, critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file = self._folder / f"{x509.random_serial_number()}.pem"
        file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM) + private)
        return file

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, over: bool = False
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
        builder = builder.not_valid_after(now + (timedelta(hours=-1) if over else timedelta(days=1)))
        return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
