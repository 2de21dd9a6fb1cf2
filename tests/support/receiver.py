"""A receiver of webhooks on loopback that keeps what it got and answers as it is told."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


@dataclass(frozen=True)
class Got:
    """One request, and whether its signature is the secret's."""

    headers: dict[str, str]
    body: bytes
    path: str = "/"

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.body)["data"]
        return data

    def signed_by(self, secret: str) -> bool:
        """As Standard Webhooks says that a receiver is to verify it."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        text = b".".join([self.id.encode(), self.headers["webhook-timestamp"].encode(), self.body])
        wanted = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        return wanted in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """`answer(got)` gives the status, or a status and headers; it may block."""

    answer: Callable[[Got], Any] = lambda _got: 204
    got: list[Got] = field(default_factory=list)

    def __enter__(self) -> Receiver:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                got = Got({key.lower(): value for key, value in self.headers.items()}, body, self.path)
                receiver.got.append(got)
                answer = receiver.answer(got)
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                """Nothing to say."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def numbers(self) -> list[int]:
        """Of the events, as they came."""
        return [got.data["sequence"] for got in self.got]
