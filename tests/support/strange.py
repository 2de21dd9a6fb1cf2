"""An HTTP server that is no controller: it answers the same to everything, byte for byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def answer(body: str, status: str = "200 OK", kind: str = "application/json", *more: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body.encode())}",
        "Connection: close",
    ]
    return ("\r\n".join([*lines, *more]) + "\r\n\r\n" + body).encode()


#: By what is strange about it.
ANSWERS = {
    "html": answer("<html><title>Sign in</title></html>", kind="text/html"),
    "empty": answer(""),
    "no-content": answer("", "204 No Content"),
    "list": answer("[]"),
    "number": answer("7"),
    "null": answer("null"),
    "object": answer("{}"),
    "null-items": answer('{"items": null, "next": null}'),
    "items-of-nothing": answer('{"items": [{}], "next": null}'),
    "items-of-texts": answer('{"items": ["a", 1], "next": 7}'),
    "pages-without-end": answer('{"items": [], "next": "r-1"}'),
    "all-keys-wrong": answer(
        '{"items": {"a": 1}, "handle": 7, "version": "x", "reservation": [], "state": {}, "steps": 1}'
    ),
    "deep": answer("[" * 100_000),
    "not-utf-8": answer('{"a": "x"}', kind="application/json; charset=utf-16"),
    "no-gzip": answer("{}", "200 OK", "application/json", "Content-Encoding: gzip"),
    "redirect": answer("", "302 Found", "text/html", "Location: http://127.0.0.1:9/"),
    "not-found": answer("<h1>Not Found</h1>", "404 Not Found", "text/html"),
    "refused-without-numbers": answer('{"type": "urn:slotcar:problem:refused", "detail": "no"}', "409 Conflict"),
    "refused-wrongly": answer(
        '{"type": "urn:slotcar:problem:refused", "detail": "no", "refusal": {"a": 1}}', "409 Conflict"
    ),
    "problem-of-texts": answer(
        '{"type": 7, "detail": ["x"], "errors": "all", "title": null}', "422 Unprocessable Content"
    ),
}


@contextmanager
def server(raw: bytes) -> Iterator[str]:
    """Its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    threading.Thread(target=_one, args=(connection, raw), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def _one(connection: socket.socket, raw: bytes) -> None:
    with connection, suppress(OSError):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return
            data += more
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
