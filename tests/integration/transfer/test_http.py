"""Files of HTTP servers with ranges: Debian's nginx and xrootd, and one that misbehaves."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import signal
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotcar_lab import control, requirements
from slotcar_transfer import http_source
from slotcar_transfer.errors import Broken, Changed, Damaged, NotAllowed, TransferError
from slotcar_transfer.fireflies import Fireflies, SciTag
from slotcar_transfer.http_source import fetch
from slotcar_transfer.identity import Identity
from slotcar_transfer.lanes import Steering
from slotcar_transfer.moving import Job
from slotcar_transfer.staging import Tree
from tests.integration.transfer.test_moving import BOTH
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port
from tests.support.transfers import content, fill

SIZE = 9_000_001
NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {root}; location /moved/ {{ return 302 /big; }} }} }}
"""
XROOTD = """
all.export /
oss.localroot {root}
xrd.port {xrd}
xrd.protocol http:{port} libXrdHttp.so
all.adminpath {folder}/admin
all.pidpath {folder}/admin
xrootd.chksum max 2 adler32
"""


class Site:
    """Where the servers' files are, and where they are to come."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.into = folder, folder / "root", folder / "into"
        fill(self.root, {"big": SIZE, "small": 5, "empty": 0})
        self.into.mkdir()

    def fetch(
        self, url: str, checksum: str | None = None, both: bool = True, destination: str = "",
        fireflies: Fireflies | None = None,
    ) -> Job:  # fmt: skip
        job = Job(Identity(self.folder / "home"), "job", Steering(BOTH if both else None), fireflies=fireflies)
        tree = Tree(self.into)
        try:
            fetch(job, url, tree, destination, checksum)
        finally:
            tree.close()
        return job


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def open_to_servers(site: Site) -> None:
    """Servers that root starts read as somebody else: lets everybody into the site."""
    for one in (site.root, *site.root.iterdir()):
        one.chmod(one.stat().st_mode | (0o055 if one.is_dir() else 0o044))
    for one in (site.folder, *site.folder.parents):
        if one.stat().st_uid != os.getuid() or one.stat().st_mode & stat.S_ISVTX:
            break
        one.chmod(one.stat().st_mode | 0o055)


@contextmanager
def started(arguments: list[str], url: str) -> Iterator[None]:
    """A server, from when it answers until the block ends."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE_S
        while not answers(url):
            if process.poll() == -signal.SIGSEGV:  # xrootd's own, now and then while it starts
                process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            assert process.poll() is None, f"{arguments} ended with {process.returncode}"
            assert time.monotonic() < until
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def answers(url: str) -> bool:
    """
    Raises:
        urllib.error.HTTPError: it does, with a refusal.
    """
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status in (200, 206))
    except urllib.error.HTTPError:
        raise
    except OSError:
        return False


@pytest.fixture
def nginx(site: Site) -> Iterator[str]:
    requirements.ensure_for("the tests of transfers", control.quiet)
    program = str(requirements.which("nginx"))
    folder, port = site.folder / "nginx", free_port()
    folder.mkdir()
    (folder / "conf").write_text(NGINX.format(folder=folder, port=port, root=site.root))
    open_to_servers(site)
    arguments = [program, "-c", str(folder / "conf"), "-e", str(folder / "error.log")]
    with started(arguments, f"http://127.0.0.1:{port}/small"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def xrootd(site: Site) -> Iterator[str]:
    requirements.ensure_for("the tests of transfers", control.quiet)
    program = str(requirements.which("xrootd"))
    folder, port = site.folder / "xrootd", free_port()
    (folder / "admin").mkdir(parents=True)
    (folder / "conf").write_text(XROOTD.format(folder=folder, port=port, root=site.root, xrd=free_port()))
    user: list[str] = []
    if os.getuid() == 0:
        shutil.chown(folder, "xrootd")
        shutil.chown(folder / "admin", "xrootd")
        shutil.chown(folder / "conf", "xrootd")
        open_to_servers(site)
        user = ["-R", "xrootd"]
    arguments = [program, "-c", str(folder / "conf"), "-l", str(folder / "log"), *user]
    with started(arguments, f"http://127.0.0.1:{port}/small"):
        yield f"http://127.0.0.1:{port}"


def test_a_file_of_nginx_over_two_connections(site: Site, nginx: str) -> None:
    job = site.fetch(f"{nginx}/big")
    assert content(site.into) == {"big": (site.root / "big").read_bytes()}
    assert sum(job.count.lanes.values()) == SIZE
    assert (site.into / "big").stat().st_mtime == int((site.root / "big").stat().st_mtime)
    site.fetch(f"{nginx}/moved/x", both=False, destination="elsewhere/")
    site.fetch(f"{nginx}/empty")
    assert content(site.into).keys() == {"big", "empty", "elsewhere/big"}


def test_the_base_connection_has_the_bound_port(site: Site, nginx: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int | None] = []
    make = http_source._connection
    monkeypatch.setattr(http_source, "_connection", lambda url, port: (ports.append(port), make(url, port))[1])
    job = Job(Identity(site.folder / "home"), "job", Steering(BOTH), base_port=free_port())
    tree = Tree(site.into)
    fetch(job, f"{nginx}/big", tree, "", None)
    tree.close()
    assert ports.count(job.base_port) == 1
    assert job.server == ("127.0.0.1", int(nginx.rsplit(":", 1)[1]), "127.0.0.1")


def test_a_file_of_xrootd_with_the_servers_own_digest(site: Site, xrootd: str) -> None:
    site.fetch(f"{xrootd}/big")
    assert content(site.into) == {"big": (site.root / "big").read_bytes()}
    resource, _ = http_source.probe(f"{xrootd}/big")
    assert resource.size_bytes == SIZE
    assert resource.digests == {"adler32": f"{zlib.adler32((site.root / 'big').read_bytes()):08x}"}


def test_a_digest_of_the_users(site: Site, nginx: str) -> None:
    right = hashlib.sha256((site.root / "big").read_bytes()).hexdigest()
    site.fetch(f"{nginx}/big", f"sha256:{right}")
    (site.into / "big").unlink()
    with pytest.raises(Damaged, match="it was not kept"):
        site.fetch(f"{nginx}/big", f"sha256:{'0' * 64}")
    with pytest.raises(TransferError, match="say ALGORITHM:HEX"):
        site.fetch(f"{nginx}/big", "sha1:00")
    assert content(site.into) == {}


def test_what_a_server_does_not_give(site: Site, nginx: str) -> None:
    with pytest.raises(NotAllowed, match="the server answers 404"):
        site.fetch(f"{nginx}/nothing")
    with pytest.raises(Broken, match="does not answer"):
        site.fetch(f"http://127.0.0.1:{free_port()}/x")


class Odd(http.server.BaseHTTPRequestHandler):
    """Ranges of a body that a test may change; `after` is called with the number of each request of a range."""

    protocol_version = "HTTP/1.1"
    body, tag, ranges, digest = b"", '"1"', True, ""
    after: Callable[[int], bool]
    requests = 0
    scitags: set[str | None]

    def do_GET(self) -> None:
        kind = type(self)
        kind.requests += 1
        kind.scitags.add(self.headers.get("SciTag"))
        if not kind.after(kind.requests):
            self.connection.close()
            self.close_connection = True
            return
        first, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")
        part = kind.body[int(first) : int(last) + 1] if kind.ranges else kind.body
        self.send_response(206 if kind.ranges else 200)
        self.send_header("ETag", kind.tag)
        self.send_header("Content-Length", str(len(part)))
        if kind.digest:
            self.send_header("Digest", kind.digest)
        if kind.ranges:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(kind.body)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Nothing to say."""


@pytest.fixture
def odd(site: Site) -> Iterator[tuple[str, type[Odd]]]:
    kind = type(
        "OneOdd",
        (Odd,),
        {"body": (site.root / "big").read_bytes(), "after": staticmethod(lambda _number: True), "scitags": set()},
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/big", kind
        server.shutdown()
        thread.join()


def test_a_server_is_told_whose_it_is_with_each_request(site: Site, odd: tuple[str, type[Odd]]) -> None:
    site.fetch(odd[0])
    assert odd[1].scitags == {None}
    odd[1].scitags.clear()
    site.fetch(odd[0], destination="again/", fireflies=Fireflies(SciTag(2, 11), "slotcar-transfer 1"))
    assert odd[1].scitags == {"139"}


def test_a_server_without_ranges(site: Site, odd: tuple[str, type[Odd]]) -> None:
    odd[1].ranges = False
    with pytest.raises(NotAllowed, match="gives no ranges"):
        site.fetch(odd[0])


def test_a_file_that_changes_at_the_server(site: Site, odd: tuple[str, type[Odd]]) -> None:
    def changing(number: int) -> bool:
        odd[1].tag = f'"{number > 1}"'
        return True

    odd[1].after = staticmethod(changing)
    with pytest.raises(Changed, match="changed at the server while it was read"):
        site.fetch(odd[0])
    assert content(site.into) == {}


def test_a_connection_that_breaks_is_made_again(site: Site, odd: tuple[str, type[Odd]]) -> None:
    odd[1].after = staticmethod(lambda number: number != 2)
    site.fetch(odd[0], both=False)
    assert content(site.into) == {"big": (site.root / "big").read_bytes()}


def test_a_digest_of_the_server_that_does_not_fit(site: Site, odd: tuple[str, type[Odd]]) -> None:
    odd[1].digest = "adler32=00000001"
    with pytest.raises(Damaged, match=r"arrived with adler32 .* and is to have 00000001"):
        site.fetch(odd[0])
    assert content(site.into) == {}
