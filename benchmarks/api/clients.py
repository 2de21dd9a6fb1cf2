"""Clients over kept connections, each of which asks one request after another and waits for its answer.

They read no more of an answer than where it ends, so that little of the machine is theirs.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Callable, Iterator

from benchmarks.api.process import HOST

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
#: The bytes of the next request.
NextRequest = Callable[[], bytes]


def request(method: str, address: str, token: str = "", body: bytes = b"") -> bytes:
    headers = [f"{method} {address} HTTP/1.1", f"Host: {HOST}"]
    headers += [f"Authorization: Bearer {token}"] if token else []
    headers += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join((*headers, "", "")).encode() + body


def in_turn(requests: list[bytes]) -> NextRequest:
    """Each of them, and then again from the first."""
    endless: Iterator[bytes] = itertools.cycle(requests)
    return lambda: next(endless)


def rate(port: int, next_request: NextRequest, wanted: int, clients: int, seconds: float) -> tuple[float, int]:
    """Answers per second, and how many there were.

    Args:
        wanted: the status that each answer must have.
    """
    answered = asyncio.run(_ask(port, next_request, wanted, clients, seconds))
    return answered / seconds, answered


async def _ask(port: int, next_request: NextRequest, wanted: int, clients: int, seconds: float) -> int:
    until = time.perf_counter() + seconds
    return sum(await asyncio.gather(*(_client(port, next_request, wanted, until) for _ in range(clients))))


async def _client(port: int, next_request: NextRequest, wanted: int, until: float) -> int:
    reader, writer = await asyncio.open_connection(HOST, port)
    answered = 0
    while time.perf_counter() < until:
        writer.write(next_request())
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1])) if length else b""
        if head[9:12] != str(wanted).encode():
            raise AssertionError(f"{head[:40]!r}: {body[:300]!r}")
        answered += 1
    writer.close()
    return answered
