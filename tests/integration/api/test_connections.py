"""Clients that send or take nothing, or come in crowds: real sockets, each from an address of its own choice."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from slotcar.store import Ledger
from tests.integration.api.conftest import Serve
from tests.integration.api.test_streaming import comment, numbers, stream, write
from tests.support.patience import PATIENCE_S, wait_for

SHORT = timedelta(seconds=1)
LONG = timedelta(minutes=10)
HEAD = b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"


@contextmanager
def connected(api: httpx.Client, client: str = "127.0.0.1", receive_bytes: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as one:
        if receive_bytes:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        one.settimeout(PATIENCE_S)
        one.bind((client, 0))
        address = urlsplit(str(api.base_url))
        one.connect((address.hostname, address.port))
        yield one


def read_all(one: socket.socket) -> bytes:
    """Until the other side closes."""
    return b"".join(iter(lambda: one.recv(65_536), b""))


def refusal(answer: bytes, status: int) -> str:
    head, _, text = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), answer
    assert b"application/problem+json" in head
    return text.decode()


@pytest.mark.in_short("half a header")
@pytest.mark.parametrize(
    ("sent", "what"),
    [
        (b"", "header"),
        (b"GET /healthz HT", "header"),
        (HEAD, "header"),
        (HEAD + b"\r\n", "body"),
        (HEAD + b"\r\n{", "body"),
    ],
    ids=["nothing", "half a line", "half a header", "no body", "half a body"],
)
def test_a_request_that_does_not_come_to_its_end_is_ended(serve: Serve, sent: bytes, what: str) -> None:
    # The other limit is far: each works by itself.
    limits = {"header_timeout": LONG, "body_timeout": LONG, f"{what}_timeout": SHORT}
    with connected(serve(**limits)) as one:
        one.sendall(sent)
        assert f"the request's {what} took longer than 1 s" in refusal(read_all(one), 408)


@pytest.mark.parametrize(("sent", "what"), [(b"GET /healthz HTTP/1.1\r\nX: ", "header"), (HEAD + b"\r\n", "body")])
def test_a_request_that_comes_byte_by_byte_is_ended(serve: Serve, sent: bytes, what: str) -> None:
    """A new byte is no new time."""
    with connected(serve(header_timeout=SHORT, body_timeout=SHORT)) as one:
        one.sendall(sent)
        while not select.select([one], [], [], 0.1)[0]:
            one.sendall(b" ")
        assert f"the request's {what} took" in refusal(one.recv(65_536), 408)


@pytest.mark.slow
def test_the_second_request_of_a_connection_has_its_limit_too(serve: Serve) -> None:
    with connected(serve(header_timeout=SHORT, keep_alive=LONG)) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while b'"ok"' not in answer:
            answer += one.recv(65_536)
        one.sendall(b"GET /heal")
        assert "header" in refusal(read_all(one), 408)


@pytest.mark.slow
def test_a_reader_who_takes_nothing_is_ended(serve: Serve) -> None:
    """What the kernel still holds for it costs no descriptor."""
    with connected(serve(send_timeout=SHORT, keep_alive=LONG), receive_bytes=4096) as one:
        # More than the kernel's buffers hold.
        one.sendall(b"GET /static/swagger-ui/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        own, server = one.getsockname(), one.getpeername()

        def is_served() -> bool:
            connections = psutil.Process().net_connections("tcp4")
            return any((each.laddr, each.raddr) == (server, own) for each in connections)

        wait_for(is_served, "the connection to be accepted")
        wait_for(lambda: not is_served(), "the connection to be given up")


def test_a_stream_and_an_idle_connection_outlive_the_limits_of_requests(serve: Serve, ledger: Ledger) -> None:
    api = serve(header_timeout=SHORT, body_timeout=SHORT, send_timeout=SHORT, keep_alive=LONG)
    with stream(api) as lines:
        comment(lines, "events after 0")
        for _ in range(2):  # of what begins after it
            with connected(api) as one:
                one.sendall(HEAD)
                refusal(read_all(one), 408)
        write(ledger, 1)
        assert numbers(lines, 1) == [1]


def test_one_address_does_not_take_the_place_of_others(serve: Serve) -> None:
    api = serve(max_connections_per_client=3, max_connections=8, header_timeout=LONG)
    with ExitStack() as crowd:
        for _ in range(3):
            crowd.enter_context(connected(api, "127.0.0.2")).sendall(HEAD)
        with connected(api, "127.0.0.2") as one:
            answer = read_all(one)
        assert b"Retry-After: 5" in answer
        assert "3 connections of 127.0.0.2 are open" in refusal(answer, 503)
        assert api.get("/healthz").status_code == 200
    # Their places are free again when they have gone.
    with connected(api, "127.0.0.2") as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert read_all(one).startswith(b"HTTP/1.1 200")


def test_all_addresses_together_have_a_limit(serve: Serve) -> None:
    api = serve(max_connections=8, header_timeout=LONG)
    with ExitStack() as crowd:
        for number in range(8):
            crowd.enter_context(connected(api, f"127.0.0.{number + 2}")).sendall(HEAD)
        with connected(api, "127.0.0.99") as one:
            assert "8 connections are open" in refusal(read_all(one), 503)
