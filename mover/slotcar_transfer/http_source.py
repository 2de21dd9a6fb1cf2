"""A file of an HTTP(S) server with ranges, over a base and an additional connection.

The server is the sender: what this end marks and paces are acknowledgements only. So the base connection is what the
routers classify by its ports, and its rate is that of its reservation. Blocks have no digest of the server's; a size, an
entity tag that must stay, and the whole file's digest, where the server or the user says one, are what it is checked by.
"""

from __future__ import annotations

import http.client
import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import blake3

from slotcar_transfer.blocks import Blocks, Loaded
from slotcar_transfer.errors import Broken, Changed, Damaged, NotAllowed, TransferError
from slotcar_transfer.fireflies import SciTag
from slotcar_transfer.http_digests import WANTED_DIGESTS, checker, digests_of
from slotcar_transfer.lanes import wanted_lanes
from slotcar_transfer.manifest import Block, File, block_bytes_in, checked_path
from slotcar_transfer.moving import Job
from slotcar_transfer.part_files import place_of
from slotcar_transfer.staging import Tree
from slotcar_transfer.store import Store
from slotcar_transfer.tcp import BASE

#: Blocks of one request: a request costs a round trip.
RUN_BLOCKS = 8
MOST_REDIRECTS = 5
#: A token for the server that the user names, and for no other.
TOKEN_VARIABLE = "SLOTCAR_TRANSFER_BEARER_TOKEN"  # noqa: S105 - the variable's name
ANSWER_S = 60.0


@dataclass(frozen=True, slots=True)
class Resource:
    """A file of a server, as it says.

    Attributes:
        tag: an entity tag or a time of change, by which it is known that it is the same at each request.
        digests: algorithm and hexadecimal digest of the whole.
        authorization: the header for this very server; None where there is none for it.
    """

    url: SplitResult
    size_bytes: int
    tag: str
    mtime_ns: int
    digests: dict[str, str]
    authorization: str | None = field(default=None, repr=False)

    @property
    def port(self) -> int:
        return _port_of(self.url)

    @property
    def name(self) -> str:
        return unquote(self.url.path.rsplit("/", 1)[-1]) or "index"


def fetch(job: Job, url: str, tree: Tree, destination: str, checksum: str | None) -> dict[str, Any]:
    """
    Raises:
        Broken: the server went away. Changed, Damaged, NotAllowed, TransferError: it was not done.
    """
    resource, address = probe(url, job.scitag)
    job.server = (resource.url.hostname or "", resource.port, address)
    file = File(checked_path(resource.name), resource.size_bytes, resource.mtime_ns, 0o644)
    place = place_of(tree, destination, file.path)
    placed = threading.Event()
    store = Store(
        tree,
        place,
        f"{url} {resource.tag}",
        [file],
        block_bytes_in(file.size_bytes, job.seconds),
        lambda _n: placed.set(),
    )
    keep = True
    try:
        store.check = checker(resource.name, resource.digests, checksum)
        job.count.begin(file.size_bytes, 1, store.arrived_bytes(), len(store.at_first))
        job.ready(None)
        _Fetching(job, resource, store, placed).run()
        job.count.all_placed()
        store.finish()
        return {"files": 1, "bytes": file.size_bytes}
    except TransferError as error:
        keep = error.keeps_parts
        raise
    finally:
        store.close(keep)


def probe(url: str, tag: SciTag | None = None) -> tuple[Resource, str]:
    """What the server says of the file, after its redirections, and this end's address on the way.

    Raises:
        Broken: it does not answer. NotAllowed: it does not give the file, or not in ranges; or a token would go in plain.
    """
    first, token = urlsplit(url), os.environ.get(TOKEN_VARIABLE)
    if token and first.scheme != "https":
        raise NotAllowed("a bearer token is sent over https only")
    for _ in range(MOST_REDIRECTS):
        split = urlsplit(url)
        if split.scheme not in ("http", "https") or not split.hostname:
            raise NotAllowed(f"the server redirects to {url}, which is not the address of an HTTP server")
        with suppress(ValueError):
            _ = split.port
        # As browsers and curl have it (RFC 6750 §5.3, CVE-2018-1000007): who is redirected to does not get the token.
        authorization = f"Bearer {token}" if token and _origin_of(split) == _origin_of(first) else None
        connection = _connection(split, None)
        try:
            # One byte and not HEAD: a pre-signed address is for GET only, and this shows that ranges are served.
            connection.request(
                "GET", _target(split), headers={"Range": "bytes=0-0", **_always(authorization, tag), **WANTED_DIGESTS}
            )
            answer = connection.getresponse()
            address = connection.sock.getsockname()[0] if connection.sock else ""
            if answer.status in (301, 302, 303, 307, 308):
                url = urljoin(url, answer.headers.get("Location", ""))
                continue
            return replace(_resource(split, answer), authorization=authorization), address
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"{split.hostname} does not answer: {error or type(error).__name__}") from error
        finally:
            connection.close()
    raise NotAllowed(f"the server sends on more than {MOST_REDIRECTS} times")


def _resource(url: SplitResult, answer: http.client.HTTPResponse) -> Resource:
    where = f"{url.hostname}{url.path}"
    tag = answer.headers.get("ETag", "") or answer.headers.get("Last-Modified", "")
    mtime_ns = 0
    with suppress(ValueError, TypeError):
        mtime_ns = int(parsedate_to_datetime(answer.headers["Last-Modified"]).timestamp()) * 10**9
    digests = digests_of(answer)
    if answer.status == 416 or (answer.status == 200 and answer.headers.get("Content-Length") == "0"):
        return Resource(url, 0, tag, mtime_ns, digests)
    if answer.status == 200:
        raise NotAllowed(f"{where}: the server gives no ranges of it, and so it cannot be moved in blocks")
    if answer.status >= 500 or answer.status == 429:
        raise Broken(f"{where}: the server answers {answer.status} {answer.reason}")
    if answer.status != 206:
        raise NotAllowed(f"{where}: the server answers {answer.status} {answer.reason}")
    _, _, total = answer.headers.get("Content-Range", "").partition("/")
    if not total.isdigit():
        raise NotAllowed(f"{where}: the server does not say how large it is")
    return Resource(url, int(total), tag, mtime_ns, digests)


class _Fetching:
    """The connections of one try."""

    def __init__(self, job: Job, resource: Resource, store: Store, placed: threading.Event) -> None:
        self._job, self._resource, self._store, self._placed = job, resource, store, placed
        self._blocks = Blocks(1 << 30, lambda _block, _lane: None)
        self._open: dict[str, http.client.HTTPConnection] = {}

    def run(self) -> None:
        size, run_bytes = self._resource.size_bytes, RUN_BLOCKS * self._store.block_bytes
        for offset in range(0, size, run_bytes):
            run = Block(0, offset, min(run_bytes, size - offset))
            if self._missing(run):
                self._blocks.offer(Loaded(run, b"", None))
        self._blocks.all_read()
        if size and not self._store.done:
            self._store.whole(0, b"")
        self._job.current = self._stop
        lanes = wanted_lanes(self._job.steering)
        threads = [threading.Thread(target=self._guarded, args=(lane,), daemon=True) for lane in lanes]
        try:
            for one in threads:
                one.start()
            while any(one.is_alive() for one in threads) and not self._over():
                threads[0].join(0.1)
                self._wake()
            self._wait_until_placed()
        finally:
            self._job.current = None
            self._blocks.stop()
            for connection in list(self._open.values()):
                _abort(connection)
            for one in threads:
                one.join()

    def _wait_until_placed(self) -> None:
        while not self._store.done:
            if (error := self._blocks.error or self._store.failed) is not None:
                raise error
            self._placed.wait(0.1)

    def _stop(self, error: BaseException) -> None:
        self._blocks.fail(error)

    def _over(self) -> bool:
        return self._blocks.done or self._blocks.error is not None or self._store.failed is not None

    def _wake(self) -> None:
        if self._over():
            for connection in list(self._open.values()):
                _abort(connection)

    def _guarded(self, lane: str) -> None:
        failures = 0
        while not self._over():
            try:
                self._work(lane)
                failures = 0
            except (OSError, http.client.HTTPException, Broken) as error:
                if self._over():
                    return
                self._blocks.lane_lost(lane)
                failures += 1
                if failures >= 3:
                    words = f"the connection to {self._resource.url.hostname} broke: {error or type(error).__name__}"
                    self._blocks.fail(Broken(words))
                    return
                threading.Event().wait(0.5 * failures)
            except BaseException as error:
                self._blocks.fail(error)
                return
            finally:
                if (connection := self._open.pop(lane, None)) is not None:
                    connection.close()

    def _work(self, lane: str) -> None:
        steering = self._job.steering
        port = self._job.base_port if lane == BASE and steering.profile is not None else None
        connection = self._open[lane] = _connection(self._resource.url, port)
        while not self._over():
            if lane == BASE and steering.base_bps() == 0:
                threading.Event().wait(0.05)
                continue
            loaded = self._blocks.take(lane)
            if loaded is not None:
                self._get(connection, lane, loaded.block)
                self._blocks.arrived(loaded.block, lane)

    def _get(self, connection: http.client.HTTPConnection, lane: str, run: Block) -> None:
        missing = self._missing(run)
        if not missing:
            return
        first, last = missing[0], missing[-1]
        span = f"bytes={first.offset}-{last.offset + last.length - 1}"
        same = {"If-Match": self._resource.tag} if self._resource.tag.startswith('"') else {}
        url = self._resource.url
        headers = {"Range": span, **_always(self._resource.authorization, self._job.scitag), **same}
        connection.request("GET", _target(url), headers=headers)
        answer = connection.getresponse()
        self._check(answer, first.offset)
        offset, end = first.offset, last.offset + last.length
        while offset < end:
            length = min(self._store.block_bytes, self._resource.size_bytes - offset)
            body = bytearray(length)
            view, place = memoryview(body), 0
            while place < length:
                count = answer.readinto(view[place:])
                if not count:
                    raise Broken(f"{url.hostname} ended its answer before it was whole")
                place += count
                if self._over():
                    raise Broken("it is over")
            if self._store.write(Block(0, offset, length), blake3.blake3(body).digest(), view):
                self._job.count.add(lane, length)
            offset += length
        answer.read()

    def _check(self, answer: http.client.HTTPResponse, offset: int) -> None:
        where = f"{self._resource.url.hostname}{self._resource.url.path}"
        tag = answer.headers.get("ETag", "") or answer.headers.get("Last-Modified", "")
        if answer.status == 412 or (answer.status in (200, 206) and tag != self._resource.tag):
            raise Changed(f"{where} changed at the server while it was read")
        if answer.status >= 500 or answer.status == 429:
            raise Broken(f"{where}: the server answers {answer.status} {answer.reason}")
        if answer.status != 206:
            raise NotAllowed(f"{where}: the server answers {answer.status} {answer.reason} to who wants a range")
        if not answer.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
            raise Damaged(f"{where}: the server answers with another range than was asked for")

    def _missing(self, run: Block) -> list[Block]:
        size = self._store.block_bytes
        blocks = [
            Block(0, offset, min(size, run.offset + run.length - offset))
            for offset in range(run.offset, run.offset + run.length, size)
        ]
        return [one for one in blocks if not self._store.has(one)]


def _connection(url: SplitResult, port: int | None) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    source = ("", port) if port is not None else None
    return kind(url.hostname or "", url.port, timeout=ANSWER_S, source_address=source)


def _abort(connection: http.client.HTTPConnection) -> None:
    """Wakes the thread that reads from it, which alone may close it: its answer is not made for two."""
    with suppress(OSError):
        if (open_socket := connection.sock) is not None:
            open_socket.shutdown(socket.SHUT_RDWR)


def _target(url: SplitResult) -> str:
    return (url.path or "/") + (f"?{url.query}" if url.query else "")


def _port_of(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _origin_of(url: SplitResult) -> tuple[str, str | None, int]:
    """Scheme, host and port (RFC 6454)."""
    return url.scheme, url.hostname, _port_of(url)


def _always(authorization: str | None, tag: SciTag | None) -> dict[str, str]:
    """Nothing may be compressed on the way. With its SciTag a server announces by itself what it sends."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "slotcar-transfer"}
    if authorization is not None:
        headers["Authorization"] = authorization
    if tag is not None:
        headers["SciTag"] = tag.header
    return headers
