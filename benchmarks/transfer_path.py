"""One file over the lab's full path, with a reservation and without: the mover beside scp, rclone and curl (by SFTP).

The path is that of `nict-af`: a line of 8 Mb/s, a 125th of the reference's, that a background of UDP fills. All programs
have the same reservation of half of the line, one after another, and then none. Hosts are of an emulated guest, where a
program's start takes seconds: a file of a few bytes tells them. CPU of a byte is what the file takes more than that one
does, at both ends, and the emulator's: to be compared with the others' only. Memory is the larger end's.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import Figure, Say
from slotcar_lab.client import LabProcess
from slotcar_lab.control import Lab
from slotcar_lab.experiments import nict_af
from slotcar_lab.experiments.bench import Bench, Udp, bench
from slotcar_lab.experiments.running import PORT_BASE
from slotcar_lab.movers import acquaint, mover, python
from slotcar_lab.requirements import ensure_for
from slotcar_lab.topology import PORT_BASE_VARIABLE

SOURCE, SINK, SINK_ADDRESS = nict_af.SOURCE, nict_af.SINK, nict_af.SINK_ADDRESS
MOVER_PORT, SSH_PORT = 7010, 2222
#: 1 GB over 1 Gb/s takes 8 s; this over 8 Mb/s half of that.
SIZE_BYTES, QUICK_BYTES, FEW_BYTES = 4_000_000, 1_000_000, 10
PATIENCE_S, MEGA = 1_200.0, 1e6
RESERVATION = """
version: 1
defaults: {owner: nict}
reservations:
  - name: path
    source: source-a
    destination: sink-a
    protocol: tcp
    service: assured-rate
    rate: 4 Mbit/s
    start: now + 65 s
    duration: 20 min
"""
#: On a host of the lab: runs a command, and says what it took.
MEASURED = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
seconds = time.monotonic() - began
print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
sys.exit(os.waitstatus_to_exitcode(status) and 1)
"""
#: Of a server and its children that have ended: seconds of CPU, and the most memory of its own, bytes.
USED = """
import os, sys
pid = sys.argv[1]
ticks = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:15]
most = next(line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM"))
print(sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(most) * 1024)
"""
SSHD = """
Port {port}
ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
UsePAM no
StrictModes no
PidFile none
UseDNS no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: wall clock, and of both ends CPU and memory."""

    seconds: float
    cpu_s: float
    memory_bytes: float


@dataclass(frozen=True, slots=True)
class Program:
    """How a file of the source is brought to the sink, and whose process there takes it."""

    name: str
    command: list[str]
    server: str


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    size_bytes = QUICK_BYTES if quick else SIZE_BYTES
    ensure_for("the tests of transfers", say)
    os.environ.setdefault(PORT_BASE_VARIABLE, str(PORT_BASE))
    with ExitStack() as opened:
        state = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="slotcar-path-bench-")))
        started = opened.enter_context(bench(nict_af.HERE / "inventory", state, say, real_time=True))
        path = _Path(started, opened.enter_context(_ends(started.lab, size_bytes)))
        file = state / "path.yml"
        file.write_text(RESERVATION)
        slot = started.reserve(file)["path"]
        started.arm(slot, slot.start)
        started.wait_until(slot.start + 5.0)
        few = {one.name: path.run(one, "few", say) for one in path.programs}
        with path.full():
            reserved = {one.name: path.run(one, "file", say) for one in path.programs}
        started.clear()
        with path.full():
            free = {one.name: path.run(one, "file", say) for one in path.programs}
        yield from _figures(f"{size_bytes / MEGA:g} MB", size_bytes, few, reserved, free)


Costs = Mapping[str, Cost]


def _figures(words: str, size_bytes: int, few: Costs, reserved: Costs, free: Costs) -> Iterator[Figure]:
    peers = [name for name in reserved if name != "slotcar"]
    alone = f"{FEW_BYTES} bytes, line free: time"
    for what, costs in ((alone, few), (f"{words}, reserved: time", reserved), (f"{words}, not reserved: time", free)):
        for peer in peers:
            yield Figure(what, costs["slotcar"].seconds, "s", peer, costs[peer].seconds, lower_is_better=True)
    for name in reserved:
        seconds = free[name].seconds, reserved[name].seconds
        yield Figure(
            f"{words}, {name}: time reserved", seconds[1], "s", "not reserved", seconds[0], lower_is_better=True
        )
    per_mb = {name: max(0.0, reserved[name].cpu_s - few[name].cpu_s) * MEGA / size_bytes for name in reserved}
    for peer in peers:
        yield Figure("CPU of both ends", per_mb["slotcar"], "s/MB", peer, per_mb[peer], lower_is_better=True)
        memory = reserved["slotcar"].memory_bytes / 2**20, reserved[peer].memory_bytes / 2**20
        yield Figure("memory of the larger end", memory[0], "MiB", peer, memory[1], lower_is_better=True)


class _Path:
    """Two hosts of the lab with servers that listen, and the line between them."""

    def __init__(self, started: Bench, ends: tuple[str, Mapping[str, int]]) -> None:
        self._bench, (self._folder, self._servers) = started, ends
        self._count = 0

    @property
    def programs(self) -> tuple[Program, ...]:
        """`FILE` and `AS` stand for the file's path and for its name at the sink."""
        key, into = f"{self._folder}/key", f"{self._folder}/into"
        trusting = ["-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self._folder}/known", "-i", key]
        remote = f":sftp,host={SINK_ADDRESS},port={SSH_PORT},user=root,key_file={key}:{into}/AS"
        address = f"sftp://root:@{SINK_ADDRESS}:{SSH_PORT}{into}/AS"
        return (
            Program("slotcar", mover(self._bench.lab, f"{self._folder}/{SOURCE}", "FILE", f"{SINK}:AS"), "mover"),
            Program(
                "scp", ["scp", "-q", "-P", str(SSH_PORT), *trusting, "FILE", f"root@{SINK_ADDRESS}:{into}/AS"], "sshd"
            ),
            Program("rclone", ["rclone", "--config", "/dev/null", "copyto", "FILE", remote], "sshd"),
            Program("curl", ["curl", "-sSk", "--key", key, "--pubkey", f"{key}.pub", "-T", "FILE", address], "sshd"),
        )

    @contextmanager
    def full(self) -> Iterator[None]:
        """Background is offered at the rate of the line meanwhile."""
        rate_bps = int(nict_af.LINK_BPS * nict_af.PAYLOAD_BYTES / nict_af.LINE_BYTES)
        flow = Udp("source-b", "sink-b", 6001, rate_bps, nict_af.PAYLOAD_BYTES)
        background = self._bench.udp_for(flow, 4 * PATIENCE_S)
        time.sleep(3.0)
        try:
            yield
        finally:
            background.stop()

    def run(self, program: Program, file: str, say: Say) -> Cost:
        """
        Raises:
            LabError: it failed. RuntimeError: what arrived is not what was sent.
        """
        self._count += 1
        name = f"{program.name}-{self._count}"
        lab, pid = self._bench.lab, self._servers[program.server]
        words = [one.replace("FILE", f"{self._folder}/{file}").replace("AS", name) for one in program.command]
        before_s, _ = self._used(pid)
        out = lab.check(SOURCE, [python(lab), "-c", MEASURED, *words], PATIENCE_S)
        seconds, cpu_s, memory_bytes = json.loads(out.splitlines()[-1])
        after_s, most_bytes = self._used(pid)
        if lab.exec(SINK, ["cmp", f"{self._folder}/{file}", f"{self._folder}/into/{name}"]).returncode:
            raise RuntimeError(f"what {program.name} brought is not what was sent")
        say(f"{program.name}, {file}: {seconds:.1f} s")
        return Cost(seconds, cpu_s + after_s - before_s, max(memory_bytes, most_bytes))

    def _used(self, pid: int) -> tuple[float, float]:
        cpu_s, most_bytes = self._bench.lab.check(SINK, [python(self._bench.lab), "-c", USED, str(pid)]).split()
        return float(cpu_s), float(most_bytes)


@contextmanager
def _ends(lab: Lab, size_bytes: int) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Files, keys, and servers that listen at the sink: the folder of all, and the servers' process numbers."""
    folder = f"/tmp/transfer-path-{time.time_ns()}"  # noqa: S108 - of the lab's hosts, which share it
    for directory in (f"{folder}/into", "/run/sshd"):
        lab.check(SINK, ["mkdir", "-p", directory])
    for name, size in (("file", size_bytes), ("few", FEW_BYTES)):
        lab.check(SOURCE, ["sh", "-c", f"head -c {size} /dev/urandom > {folder}/{name}"])
    for name in ("key", "host"):
        # The format that curl's libssh2 reads in every version.
        lab.check(SOURCE, ["ssh-keygen", "-q", "-t", "ecdsa", "-m", "PEM", "-N", "", "-f", f"{folder}/{name}"])
    configuration = SSHD.format(port=SSH_PORT, address=SINK_ADDRESS, folder=folder)
    lab.check(SINK, ["sh", "-c", f"cat > {folder}/sshd"], stdin=configuration)
    acquaint(lab, folder, SOURCE, SINK, SINK_ADDRESS)
    serving = mover(lab, f"{folder}/{SINK}", "serve", f"{folder}/into", "--address", SINK_ADDRESS)
    with ExitStack() as opened:
        servers = {
            name: opened.enter_context(lab.popen(SINK, ["sh", "-c", 'echo "pid $$"; exec "$@"', "sh", *command]))
            for name, command in (("mover", serving), ("sshd", ["/usr/sbin/sshd", "-D", "-f", f"{folder}/sshd"]))
        }
        for name, port in (("mover", MOVER_PORT), ("sshd", SSH_PORT)):
            _listens(lab, servers[name], port)
        yield folder, {name: int(one.stdout.split()[1]) for name, one in servers.items()}


def _listens(lab: Lab, server: LabProcess, port: int) -> None:
    until = time.monotonic() + 120
    while f":{port} " not in lab.check(SINK, ["ss", "-Htln"]):
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"nobody listens on port {port}: {server.stderr[-500:]}")
        time.sleep(0.5)
