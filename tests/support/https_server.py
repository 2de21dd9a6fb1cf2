"""An HTTPS server on loopback that notes what it is asked, with a certificate that this process trusts."""

from __future__ import annotations

import http.server
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Requested:
    """What one server is asked, and where it sends on."""

    address: str = ""
    to: str = ""
    body: bytes = b""
    authorizations: list[str | None] = field(default_factory=list)


def certificate(folder: Path) -> Path:
    """A certificate for loopback with its key, in one file; `SSL_CERT_FILE` makes clients trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost"),
    ]  # fmt: skip
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).add_extension(
        x509.SubjectAlternativeName(names), critical=False
    )
    signed = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1)).sign(
        key, hashes.SHA256()
    )  # fmt: skip
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "loopback.pem"
    file.write_bytes(signed.public_bytes(encoding) + private)
    return file


@contextmanager
def https_server(pem: Path) -> Iterator[Requested]:
    """Serves the range that is asked for, or a redirect where `to` is set, until the `with` ends."""
    requested = Requested()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            requested.authorizations.append(self.headers.get("Authorization"))
            if requested.to:
                self.send_response(302)
                self.send_header("Location", requested.to)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            first, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")
            part = requested.body[int(first) : int(last) + 1]
            self.send_response(206)
            self.send_header("ETag", '"1"')
            self.send_header("Content-Length", str(len(part)))
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(requested.body)}")
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_: object) -> None:
            """Nothing to say."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        requested.address = f"https://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield requested
        finally:
            server.shutdown()
            thread.join()
