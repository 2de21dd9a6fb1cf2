"""An issuer of tokens on a loopback port: it describes itself and publishes its keys, which a test may change."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey

from slotcar.auth.jwt import SignatureRegistry

AUDIENCE = "https://slotcar.example.net"
ALGORITHMS = ("RS256", "ES256", "EdDSA", "Ed25519")


class TestIssuer:
    """One issuer. `requested`: the addresses that were asked for, in order."""

    __test__ = False

    def __init__(self) -> None:
        self.requested: list[str] = []
        self.answers = True
        self.keys: dict[str, Any] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.rotate("ES256", "first")
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def rotate(self, algorithm: str, kid: str) -> None:
        """Signs and publishes with one new key alone."""
        parameters = {"kid": kid, "alg": algorithm, "use": "sig"}
        key: Any
        if algorithm == "RS256":
            key = RSAKey.generate_key(2048, parameters)
        elif algorithm == "ES256":
            key = ECKey.generate_key("P-256", parameters)
        else:
            key = OKPKey.generate_key("Ed25519", parameters)
        self.keys, self._kid = {kid: key}, kid

    def token(self, subject: str = "ann", header: dict[str, Any] | None = None, key: Any = None, **claims: Any) -> str:
        """An access token as RFC 9068 has it, of now, for 10 minutes; what is given as None is left out."""
        now = int(datetime.now(UTC).timestamp())
        usual = {
            "iss": self.url,
            "sub": subject,
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + 600,
            "client_id": "cli",
            "jti": "1",
        }
        signing = key or self.keys[self._kid]
        head = {"alg": signing.get("alg"), "kid": self._kid, "typ": "at+jwt"} | (header or {})
        chosen = {name: value for name, value in (usual | claims).items() if value is not None}
        registry = SignatureRegistry(algorithms=[*ALGORITHMS, "HS256", "none"], strict_check_header=False)
        head = {name: value for name, value in head.items() if value is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # of `none`, with which a token is to be refused
            return jws.serialize_compact(head, json.dumps(chosen), signing, registry=registry)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.requested.append(self.path)
                documents = {
                    "/.well-known/openid-configuration": {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"},
                    "/keys": {"keys": [one.as_dict(private=False) for one in issuer.keys.values()]},
                }
                body = json.dumps(documents.get(self.path, {})).encode()
                self.send_response(200 if issuer.answers and self.path in documents else 503)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words: object) -> None:
                pass

        return Handler


@contextmanager
def issuing() -> Iterator[TestIssuer]:
    """An issuer, as long as the `with` lasts."""
    issuer = TestIssuer()
    try:
        yield issuer
    finally:
        issuer.close()


def entry_of(issuer: str, name: str = "home", **more: Any) -> dict[str, Any]:
    """Of `issuers.yml`: everybody is a requester, and members of two groups are more, or act for an owner."""
    usual: dict[str, Any] = {
        "name": name, "issuer": issuer, "audience": AUDIENCE, "algorithms": ["RS256", "ES256", "EdDSA"],
        "role": "requester", "roles": {"operator": ["/noc"], "auditor": ["/audit"]}, "owners": {"hep": ["/cms"]},
        "groups": {"duty": ["/noc/duty"]},
    }  # fmt: skip
    return {key: value for key, value in (usual | more).items() if value is not None}


def inventory_with(folder: Path, inventory: Path, *entries: dict[str, Any], **files: str) -> Path:
    """A copy of an inventory with these issuers; `files`: policies by name."""
    import shutil

    to = folder / "inventory"
    shutil.copytree(inventory, to)
    (to / "policies").mkdir(exist_ok=True)
    (to / "policies" / "issuers.yml").write_text(json.dumps({"issuers": list(entries)}))
    for name, text in files.items():
        (to / "policies" / f"{name}.cedar").write_text(text)
    return to
