"""A LAN of network namespaces, and a far network behind a router that forwards no multicast, with `uftpd` on their hosts.

    here, near, lossy, agent, tunnel ── lan ── router ── far ── gate, distant

Only root can make it; `uftp` of Debian must be installed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slotcar_transfer.uftp import number_of, number_text
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.transfers import Ended, World, end_of, environment

GROUP = "239.77.0.1"
LAN = {"here": "10.77.0.1", "near": "10.77.0.2", "lossy": "10.77.0.3", "agent": "10.77.0.4", "tunnel": "10.77.0.5"}
FAR = {"gate": "10.78.0.2", "distant": "10.78.0.3"}
ADDRESSES = LAN | FAR
#: Those that have files, and answer for them.
ENDS = ("here", "near", "lossy", "distant")
PORT = 7010
#: Of one packet in three to the group: `ld rand`, at random drop or leave it to what comes.
_DROPS = "4,32 0 0 4294963256,37 0 1 {least},6 0 0 2,6 0 0 0"


def losing(per_cent: int, interface: str) -> list[str]:
    """The filter of the interface, which has a `clsact`, that drops so many of the packets that come to the group."""
    code = _DROPS.format(least=2**32 - 1 - 2**32 * per_cent // 100)
    filters = ["tc", "filter", "add", "dev", interface, "ingress", "protocol", "ip", "bpf", "bytecode", code]
    return [*filters, "direct-action"]


def uftpd(number: str, group: str, interface: str, into: str, arriving: str) -> list[str]:
    """The receiver of that number, in the foreground; `arriving`: where files are while they come."""
    return ["uftpd", "-d", "-q", "-I", interface, "-M", group, "-D", into, "-T", arriving, "-U", number]


def can_be_made() -> bool:
    return os.geteuid() == 0 and all(map(shutil.which, ("uftp", "uftpd", "uftpproxyd", "ip", "tc")))


@dataclass
class Lan(World):
    """Attributes: processes: by name of the host and the program."""

    processes: dict[tuple[str, str], subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ports = dict.fromkeys(ENDS, PORT)
        for name in ENDS:
            self.root(name).mkdir(parents=True)
            self.identity(name).make(name)
        for name in ENDS[1:]:
            self.identity("here").trust(name, self.identity(name).certificate.read_text(), ADDRESSES[name], PORT, name)
            self.identity(name).trust("here", self.identity("here").certificate.read_text(), ADDRESSES["here"], PORT)

    def namespace(self, name: str) -> str:
        return f"slmc{os.getpid()}-{name}"

    def within(self, name: str, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace(name), *words]

    def run_in(self, name: str, *words: str) -> None:
        subprocess.run(self.within(name, *words), check=True, capture_output=True, timeout=PATIENCE_S)

    def open(self) -> None:
        for name in ("router", *ADDRESSES):
            subprocess.run(["ip", "netns", "add", self.namespace(name)], check=True)
            self.run_in(name, "ip", "link", "set", "lo", "up")
        for bridge, gateway, hosts in (("lan", "10.77.0.254", LAN), ("far", "10.78.0.254", FAR)):
            self.run_in("router", "ip", "link", "add", bridge, "type", "bridge", "mcast_snooping", "0")
            self.run_in("router", "ip", "address", "add", f"{gateway}/24", "dev", bridge)
            self.run_in("router", "ip", "link", "set", bridge, "up")
            for name, address in hosts.items():
                self._join(name, address, bridge, gateway)
        self.run_in("router", "sysctl", "-q", "net.ipv4.ip_forward=1")

    def _join(self, name: str, address: str, bridge: str, gateway: str) -> None:
        end = ["peer", "name", "eth0", "netns", self.namespace(name)]
        self.run_in("router", "ip", "link", "add", name, "type", "veth", *end)
        self.run_in("router", "ip", "link", "set", name, "master", bridge, "up")
        self.run_in(name, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.run_in(name, "ip", "link", "set", "eth0", "up")
        self.run_in(name, "ip", "route", "add", "default", "via", gateway)
        self.run_in(name, "ip", "route", "add", "224.0.0.0/4", "dev", "eth0")

    def lose(self, name: str, per_cent: int) -> None:
        """From now on the host loses so many of the packets that come to the group."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.run_in(name, "tc", "qdisc", "delete", "dev", "eth0", "clsact")
        self.run_in(name, "tc", "qdisc", "add", "dev", "eth0", "clsact")
        self.run_in(name, *losing(per_cent, "eth0"))

    def start_in(self, name: str, *words: str) -> None:
        """A program that stays; its output is in `NAME-PROGRAM.log`."""
        with (self.folder / f"{name}-{words[0].rpartition('/')[2]}.log").open("ab") as log:
            self.processes[name, words[0]] = subprocess.Popen(
                self.within(name, *words), env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def receive(self, name: str, *options: str) -> None:
        """`uftpd` and `slotcar-transfer serve` on a host."""
        arriving = self.folder / name / "arriving"
        arriving.mkdir(exist_ok=True)
        number = number_text(number_of(ADDRESSES[name]))
        self.start_in(name, *uftpd(number, GROUP, "eth0", str(self.root(name)), str(arriving)), *options)
        folder, home = str(self.root(name)), str(self.home(name))
        self.start_in(name, sys.executable, "-m", "slotcar_transfer", "serve", folder, "--home", home)
        wait_for(lambda: self._listens(name), f"{name} to listen")

    def proxy(self, name: str, *options: str) -> None:
        words = ["-d", "-I", "eth0", "-O", "eth0", "-M", GROUP, "-U", number_text(number_of(ADDRESSES[name]))]
        self.start_in(name, "uftpproxyd", *words, *options)

    def _listens(self, name: str) -> bool:
        listed = self._sockets(name)
        return f":{PORT} " in listed and ":1044 " in listed

    def _sockets(self, name: str) -> str:
        return subprocess.run(self.within(name, "ss", "-Hlnut"), capture_output=True, text=True, check=True).stdout

    def spread(self, *words: str, code: int | None = 0) -> Ended:
        return end_of(self.started(*words), code)

    def started(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "slotcar_transfer", *words, "--group", GROUP, "--interface", "eth0"]
        return subprocess.Popen(
            self.within("here", *command), env=environment(SLOTCAR_TRANSFER_HOME=str(self.home("here"))),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def gather(self, *options: str) -> None:
        """`serve --gather` at the end `here`; its log is `here-serve.log`."""
        words = [
            sys.executable,
            "-m",
            "slotcar_transfer",
            "serve",
            str(self.root("here")),
            "--gather",
            GROUP,
            *options,
        ]
        with (self.folder / "here-serve.log").open("ab") as log:
            self.processes["here", "serve"] = subprocess.Popen(
                self.within("here", *words, "--interface", "eth0", "--home", str(self.home("here"))),
                env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        wait_for(lambda: f":{PORT} " in self._sockets("here"), "the source to listen")

    def start_ask(self, name: str, file: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "slotcar_transfer", "ask", file]
        return subprocess.Popen(
            self.within(name, *command), env=environment(SLOTCAR_TRANSFER_HOME=str(self.home(name))),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def log(self, name: str, program: str) -> str:
        return (self.folder / f"{name}-{program}.log").read_text(errors="replace")

    def sent_log(self) -> str:
        """What uftp said of the session of the last job that is not over."""
        return next(self.home("here").glob("spread/*/log")).read_text(errors="replace")

    def close(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_S)
        for name in ("router", *ADDRESSES):
            subprocess.run(["ip", "netns", "delete", self.namespace(name)], check=False, capture_output=True)


@contextlib.contextmanager
def opened(folder: Path, receivers: Sequence[str]) -> Iterator[Lan]:
    lan = Lan(folder)
    try:
        lan.open()
        for name in receivers:
            lan.receive(name)
        yield lan
    finally:
        lan.close()
