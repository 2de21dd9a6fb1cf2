"""A proxy before an API that answers some requests otherwise, as networks and restarts do."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from tests.support.patience import PATIENCE_S

#: What becomes of a request: it passes; the connection ends before or after it was passed on; or it gets this status.
Fate = str | int
PASS, BEFORE, AFTER = "pass", "before", "after"


class Unreliable:
    """Attributes:
    fates: of the coming requests, in turn; all that come later pass.
    seen: method and path of every attempt.
    """

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.fates: list[Fate] = []
        self.requests: list[str] = []
        self.url = ""


@contextmanager
def unreliable(upstream: str) -> Iterator[Unreliable]:
    state = Unreliable(upstream)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            fate = state.fates.pop(0) if state.fates else PASS
            state.requests.append(f"{self.command} {self.path.partition('?')[0]}")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if isinstance(fate, int):
                self.send_response(fate)
                self.send_header("Retry-After", "0")
                self.end_headers()
                return
            if fate == BEFORE:
                self._hang_up()
                return
            headers = {key: one for key, one in self.headers.items() if key.lower() not in ("host", "connection")}
            with httpx.stream(
                self.command, state.upstream + self.path, content=body, headers=headers, timeout=PATIENCE_S
            ) as got:
                if fate == AFTER:
                    got.read()
                    self._hang_up()
                    return
                self.send_response(got.status_code)
                for key in ("content-type", "etag"):
                    if key in got.headers:
                        self.send_header(key, got.headers[key])
                self.end_headers()
                for piece in got.iter_raw():
                    self.wfile.write(piece)
                    self.wfile.flush()

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - names of the standard library

        def _hang_up(self) -> None:
            """Without an answer, and at once."""
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *_words: object) -> None:
            """Standard error is the test's."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
