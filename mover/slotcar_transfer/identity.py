"""Who this end is and which others it knows: a key and a certificate of its own, and the certificates of others.

Both ends of every connection show a certificate (TLS 1.3), and each must know the other's: the very certificate, in
`peers/NAME.pem`, whose fingerprint its owner can read out. No certificate authority is needed, and none is trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import ssl
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from slotcar_client.private_files import locked_for_change, replace_private_file
from slotcar_transfer.errors import Broken, TransferError, WrongPeer
from slotcar_transfer.wire import HANDSHAKE_S, Channel

PORT = 7010
#: Who is refused has so long to read why.
ALERT_S = 2.0
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
#: A certificate stands for its key and is known by itself, so it need not run out soon.
VALID = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Peer:
    """An end that is known.

    Attributes:
        address, port: where it serves. host: its name in Slotcar's inventory, or its address there.
        fingerprint: of its certificate, `SHA256:…`.
    """

    name: str
    address: str
    port: int
    host: str
    fingerprint: str


def folder_of(environment: Mapping[str, str] = os.environ) -> Path:
    """`SLOTCAR_TRANSFER_HOME`, else `slotcar-transfer` among the user's configurations."""
    if environment.get("SLOTCAR_TRANSFER_HOME"):
        return Path(environment["SLOTCAR_TRANSFER_HOME"])
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "slotcar-transfer"


class Identity:
    """The key, the certificate and the known peers in one folder.

    Raises (every method):
        TransferError: a file cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key, self.certificate, self._peers = folder / "key.pem", folder / "cert.pem", folder / "peers"

    def make(self, name: str | None = None) -> str:
        """Makes the key and the certificate where there are none; gives the fingerprint."""
        if not self.key.exists():
            with self._locked():
                if not self.key.exists():
                    self._write_new(name or socket.gethostname() or "slotcar-transfer")
        return fingerprint(ssl.PEM_cert_to_DER_cert(self._text(self.certificate)))

    def trust(
        self, name: str, pem: str, address: str | None = None, port: int = PORT, host: str | None = None
    ) -> Peer:
        """Keeps a certificate under a name."""
        if not NAME.fullmatch(name):
            raise TransferError(
                f"{name} is not a valid name of a peer: say letters, digits, dots and dashes, at most 63"
            )
        try:
            x509.load_pem_x509_certificate(pem.encode())
        except ValueError as error:
            raise TransferError("that is not a certificate in PEM; `slotcar transfer key` prints one") from error
        placed = {"address": address or name, "port": port, "host": host or name}
        with self._locked():
            # The certificate last: with it the end is known.
            replace_private_file(self._peers / f"{name}.json", json.dumps(placed) + "\n")
            replace_private_file(self._peers / f"{name}.pem", pem)
        return self.peer(name)

    def peers(self) -> list[Peer]:
        return [self.peer(file.stem) for file in sorted(self._peers.glob("*.pem"))]

    def peer(self, name: str) -> Peer:
        """
        Raises:
            WrongPeer: nobody of that name is known.
        """
        file = self._peers / f"{name}.pem"
        if not NAME.fullmatch(name) or not file.exists():
            known = ", ".join(one.stem for one in sorted(self._peers.glob("*.pem"))) or "nobody yet"
            raise WrongPeer(
                f"{name} is not known here (known: {known}); get its certificate by `slotcar transfer key` there, and say"
                f" `slotcar transfer trust {name} FILE` here"
            )
        try:
            placed = json.loads(self._text(file.with_suffix(".json")))
            der = ssl.PEM_cert_to_DER_cert(self._text(file))
            return Peer(name, placed["address"], int(placed["port"]), placed["host"], fingerprint(der))
        except (ValueError, KeyError) as error:
            raise TransferError(
                f"{file.with_suffix('.json')} is damaged; say `slotcar transfer trust` again"
            ) from error

    def accept(self, connection: socket.socket) -> Channel:
        """The server's side of the handshake.

        Raises:
            WrongPeer: the other end is not known.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # A ticket that nobody reads would reset the connection when it is closed.
        context.num_tickets = 0
        self._prepare(context)
        for peer in self._peers.glob("*.pem"):
            context.load_verify_locations(peer)
        connection.settimeout(HANDSHAKE_S)
        secure = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        try:
            secure.do_handshake()
        except ssl.SSLError as error:
            _let_it_read(secure)
            raise WrongPeer(f"somebody who is not known here tried to connect: {_reason(error)}") from error
        except OSError as error:
            secure.close()
            raise Broken(f"a connection ended in its handshake: {error}") from error
        shown = _shown_by(secure)
        name = next((one.name for one in self.peers() if one.fingerprint == shown), None)
        if name is None:
            secure.close()
            raise WrongPeer(f"somebody who is not known here tried to connect, with {shown}")
        return Channel(secure, name)

    def connect(self, peer: Peer, connection: socket.socket) -> Channel:
        """The client's side, over a socket that is connected.

        Raises:
            WrongPeer: it is somebody else who answers, or who does not know this end.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        self._prepare(context)
        context.load_verify_locations(self._peers / f"{peer.name}.pem")
        connection.settimeout(HANDSHAKE_S)
        try:
            secure = context.wrap_socket(connection)
        except ssl.SSLCertVerificationError as error:
            raise _somebody_else(peer) from error
        except ssl.SSLError as error:
            raise WrongPeer(f"{peer.address}:{peer.port} does not speak TLS as it should: {_reason(error)}") from error
        except OSError as error:
            raise Broken(f"{peer.name} at {peer.address}:{peer.port} ended the connection: {error}") from error
        if _shown_by(secure) != peer.fingerprint:
            secure.close()
            raise _somebody_else(peer)
        return Channel(secure, peer.name)

    def _prepare(self, context: ssl.SSLContext) -> None:
        self.make()
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        # OpenSSL looks for a certificate's issuer by name, and takes the first of that name; with this flag it looks for
        # the very certificate, so several ends may have one name. What such a one has signed is refused by its fingerprint.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if stat.S_IMODE(self.key.stat().st_mode) & 0o077:
            raise TransferError(f"{self.key} can be read by others: say chmod 600 {self.key}")
        context.load_cert_chain(self.certificate, self.key)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other program changes the folder meanwhile."""
        try:
            with locked_for_change(self.folder):
                yield
        except OSError as error:
            raise TransferError(f"{self.folder} cannot be written: {error.strerror}") from error

    def _text(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            raise TransferError(f"{file} cannot be read: {error.strerror}") from error

    def _write_new(self, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
        now = datetime.now(UTC)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + VALID).add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage, critical=False).sign(key, hashes.SHA256())
        )  # fmt: skip
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        # The key last: with it there is an identity.
        replace_private_file(self.certificate, certificate.public_bytes(serialization.Encoding.PEM).decode())
        replace_private_file(self.key, private.decode())


def fingerprint(der: bytes) -> str:
    return f"SHA256:{hashlib.sha256(der).hexdigest()}"


def _shown_by(secure: ssl.SSLSocket) -> str:
    return fingerprint(secure.getpeercert(binary_form=True) or b"")


def _somebody_else(peer: Peer) -> WrongPeer:
    return WrongPeer(
        f"who answers at {peer.address}:{peer.port} is not {peer.name}: its certificate is another than the one"
        f" known here ({peer.fingerprint}); nothing was sent"
    )


def _let_it_read(secure: ssl.SSLSocket) -> None:
    """Closes after a handshake that failed. With something unread the connection would be reset, and the alert that says
    why be lost."""
    with suppress(OSError, ValueError):
        secure.settimeout(ALERT_S)
        socket.socket.shutdown(secure, socket.SHUT_WR)
        until = time.monotonic() + ALERT_S
        while time.monotonic() < until and socket.socket.recv(secure, 1 << 14):
            continue
    socket.socket.close(secure)


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).lower().replace("_", " ")
