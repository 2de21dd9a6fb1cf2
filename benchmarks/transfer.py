"""Files over loopback without limits, checks and TLS on: the mover beside scp and rclone, by an sshd of its own.

CPU is of both ends, user and system; memory is the larger end's. The parts of TLS and digests in the mover's CPU are
measured by themselves: a gigabyte through OpenSSL's records, and through BLAKE3 as often as the mover does it.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import blake3
import psutil

from benchmarks.common import Figure, Say
from slotcar_transfer.calling import free_port
from slotcar_transfer.identity import Identity

ROOT = Path(__file__).parents[1]
#: Bytes of the one file; number and bytes of the many.
LARGE, MANY = 4_000_000_000, (10_000, 100_000)
QUICK_LARGE, QUICK_MANY = 300_000_000, (500, 100_000)
SSHD, GIGA = "/usr/sbin/sshd", 1e9
PATIENCE_S = 1800.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one program: wall clock, and of both ends CPU and memory."""

    seconds: float
    cpu_s: float
    memory_bytes: int


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="slotcar-transfer-bench-") as folder, _servers(Path(folder)) as copies:
        sizes = {"one file": _large(Path(folder), QUICK_LARGE if quick else LARGE)}
        sizes["many files"] = _many(Path(folder), *(QUICK_MANY if quick else MANY))
        for what, (source, size_bytes) in sizes.items():
            costs: dict[str, Cost] = {}
            for name, copy in copies.items():
                say(f"{what}: {name}")
                target = Path(folder) / "into" / f"{source.name}-{name}"
                costs[name] = copy(source, target)
                _same(source, target)
                shutil.rmtree(target, ignore_errors=True)
                target.unlink(missing_ok=True)
            yield from _figures(f"{what}, {_words(what, quick)}", size_bytes, costs)
    yield from _parts(say)


def _words(what: str, quick: bool) -> str:
    count, each = QUICK_MANY if quick else MANY
    large = (QUICK_LARGE if quick else LARGE) / GIGA
    return f"{large:g} GB" if what == "one file" else f"{count} of {each // 1000} kB"


def _figures(words: str, size_bytes: int, costs: dict[str, Cost]) -> Iterator[Figure]:
    own = costs["slotcar"]
    for peer in [name for name in costs if name != "slotcar"]:
        other = costs[peer]
        yield Figure(f"{words}: time", own.seconds, "s", peer, other.seconds, lower_is_better=True)
        per_byte = own.cpu_s * GIGA / size_bytes, other.cpu_s * GIGA / size_bytes
        yield Figure(f"{words}: CPU of both ends", per_byte[0], "s/GB", peer, per_byte[1], lower_is_better=True)
        memory = own.memory_bytes / 2**20, other.memory_bytes / 2**20
        yield Figure(f"{words}: memory of the larger end", memory[0], "MiB", peer, memory[1], lower_is_better=True)
    if len(costs) == 1:
        yield Figure(f"{words}: time", own.seconds, "s")
        yield Figure(f"{words}: CPU of both ends", own.cpu_s * GIGA / size_bytes, "s/GB")


# -- the programs --------------------------------------------------------------------------------------------------

Copy = Callable[[Path, Path], Cost]


@contextmanager
def _servers(folder: Path) -> Iterator[dict[str, Copy]]:
    (folder / "into").mkdir()
    with _mover(folder) as own:
        copies: dict[str, Copy] = {"slotcar": own}
        if not Path(SSHD).exists():
            yield copies
            return
        with _sshd(folder) as (port, key, server):
            options = ["-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known", "-i", str(key)]
            user = getpass.getuser()

            def scp(source: Path, target: Path) -> Cost:
                arguments = ["scp", "-q", "-r", "-P", str(port), *options, str(source), f"{user}@127.0.0.1:{target}"]
                return _cost(arguments, server)

            def rclone(source: Path, target: Path) -> Cost:
                remote = f":sftp,host=127.0.0.1,port={port},user={user},key_file={key}:{target}"
                verb = "copy" if source.is_dir() else "copyto"
                return _cost(["rclone", "--config", "/dev/null", verb, str(source), remote], server)

            copies["scp"] = scp
            if shutil.which("rclone"):
                copies["rclone"] = rclone
            yield copies


@contextmanager
def _mover(folder: Path) -> Iterator[Copy]:
    here, receiver = Identity(folder / "here"), Identity(folder / "there")
    port = free_port()
    for one, name in ((here, "here"), (receiver, "there")):
        one.make(name)
    here.trust("there", receiver.certificate.read_text(), "127.0.0.1", port)
    receiver.trust("here", here.certificate.read_text())
    paths = os.pathsep.join([str(ROOT / "mover"), str(ROOT / "client")])
    environment = {**os.environ, "PYTHONPATH": paths, "SLOTCAR_TRANSFER_HOME": str(folder / "here")}
    program = [sys.executable, "-m", "slotcar_transfer"]
    serving = subprocess.Popen(
        [*program, "serve", str(folder / "into"), "--home", str(folder / "there"), "--address", "127.0.0.1",
         "--port", str(port)],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _listens(port)
        server = psutil.Process(serving.pid)

        def copy(source: Path, target: Path) -> Cost:
            return _cost([*program, str(source), f"there:{target.name}"], server, environment)

        yield copy
    finally:
        serving.terminate()
        serving.wait(30)


@contextmanager
def _sshd(folder: Path) -> Iterator[tuple[int, Path, psutil.Process]]:
    key, host_key, port = folder / "key", folder / "host_key", free_port()
    for one in (key, host_key):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(one)], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    configuration = folder / "sshd_config"
    configuration.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {host_key}\nAuthorizedKeysFile {key}.pub\nUsePAM no\n"
        f"StrictModes no\nPidFile none\nUseDNS no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
    )
    server = subprocess.Popen([SSHD, "-D", "-f", str(configuration)], stderr=subprocess.DEVNULL)
    try:
        _listens(port)
        yield port, key, psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait(30)


def _cost(arguments: Sequence[str], server: psutil.Process, environment: dict[str, str] | None = None) -> Cost:
    """Of a command to its end, and of what the server did meanwhile."""
    with _Watch(server) as served:
        began = time.monotonic()
        process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments[0]} ended with {process.returncode}")
    memory = max(used.ru_maxrss * 1024, served.memory_bytes)
    return Cost(seconds, used.ru_utime + used.ru_stime + served.cpu_s, memory)


class _Watch:
    """CPU and memory of a server and its children while the `with` lasts: sshd has a process for each connection."""

    LOOK_S = 0.1

    def __init__(self, server: psutil.Process) -> None:
        self._server, self._over = server, threading.Event()
        self._used: dict[int, float] = {}
        self._before: dict[int, float] = {}
        self.memory_bytes = 0

    def __enter__(self) -> _Watch:
        self._look()
        self._before = dict(self._used)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        self._over.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        return sum(used - self._before.get(pid, 0.0) for pid, used in self._used.items())

    def _run(self) -> None:
        while not self._over.wait(self.LOOK_S):
            self._look()

    def _look(self) -> None:
        for one in [self._server, *self._server.children(recursive=True)]:
            try:
                times = one.cpu_times()
                self._used[one.pid] = times.user + times.system
                self.memory_bytes = max(self.memory_bytes, one.memory_info().rss)
            except psutil.Error:
                continue


# -- data ----------------------------------------------------------------------------------------------------------


def _large(folder: Path, size_bytes: int) -> tuple[Path, int]:
    place, block = folder / "large", os.urandom(1 << 20)
    with place.open("wb") as stream:
        for number in range(0, size_bytes, len(block)):
            part = number.to_bytes(8, "big") + block[8:]
            stream.write(part[: size_bytes - number])
    return place, size_bytes


def _many(folder: Path, count: int, size_bytes: int) -> tuple[Path, int]:
    place, block = folder / "many", os.urandom(size_bytes)
    place.mkdir()
    for number in range(count):
        (place / f"{number:05}").write_bytes(number.to_bytes(8, "big") + block[8:])
    return place, count * size_bytes


def _same(source: Path, target: Path) -> None:
    if subprocess.run(["diff", "-rq", str(source), str(target)], capture_output=True, check=False).returncode:
        raise RuntimeError(f"{target.name} is not what was sent")


def _listens(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens on port {port}")


# -- the parts of the mover's CPU ----------------------------------------------------------------------------------


def _parts(say: Say) -> Iterator[Figure]:
    say("TLS and digests by themselves")
    block = os.urandom(4 << 20)
    blocks = 64
    began = time.process_time()
    for _ in range(blocks):
        blake3.blake3(block).digest()
    digests_s = (time.process_time() - began) * GIGA / (blocks * len(block))
    yield Figure("part: digests at both ends, each block and each whole", 4 * digests_s, "s/GB")
    yield Figure("part: TLS at both ends", _tls_s(block, blocks) * GIGA / (blocks * len(block)), "s/GB")


def _tls_s(block: bytes, blocks: int) -> float:
    """CPU of encrypting and decrypting, in memory."""
    with tempfile.TemporaryDirectory() as folder:
        one = Identity(Path(folder))
        one.make("one")
        server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        server.load_cert_chain(one.certificate, one.key)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        forward, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        sender, receiver = client.wrap_bio(back, forward), server.wrap_bio(forward, back, server_side=True)
        for end in (sender, receiver) * 3:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
        began = time.process_time()
        for _ in range(blocks):
            sender.write(block)
            left = len(block)
            while left:
                left -= len(receiver.read(min(left, 1 << 18)))
        return time.process_time() - began
