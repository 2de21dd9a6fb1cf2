"""A real NETCONF server with vendors' own models: Debian's netconfd behind an sshd of its own, on a port of loopback.

Cisco's models come with the environment (`SLOTCAR_YANG_DIR`, by default `.venv/share/yang`). netconfd's pattern compiler
does not know the repetition `{,3}`, which one pattern of the access-list model has; a copy that says `{0,3}` stands before
it.
Juniper's are in no package; `SLOTCAR_JUNIPER_YANG` names a folder with them (`tests/integration/junos/`).
"""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from slotcar_lab.requirements import which
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[3]
YANG = Path(os.environ.get("SLOTCAR_YANG_DIR", ROOT / ".venv" / "share" / "yang"))
MODULES = ("Cisco-IOS-XE-native", "Cisco-IOS-XE-policy", "Cisco-IOS-XE-acl")
YUMA = Path("/usr/share/yuma/modules")
LOOPBACK = "127.0.0.1"
#: netconfd keeps a file in its user's home, as the users' file says it, and writes it at each change: of two servers one
#: would read, as it begins, what the other is writing.
OWN_MOUNTS = ("unshare", "--mount") if os.geteuid() == 0 else (
    "unshare", "--user", "--map-current-user", "--keep-caps", "--mount"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Models:
    """What a server knows: modules in a folder, and what is written otherwise in some of them: the file, a text and what
    stands in its place."""

    folder: Path
    modules: tuple[str, ...]
    mended: tuple[tuple[str, str, str], ...] = ()


_ACL = ("Cisco-IOS-XE-acl.yang", "{,3}", "{0,3}")
CISCO = Models(YANG, MODULES, (_ACL,))
#: Beside them what a router counts. netconfd has no packets to count: what it is to tell is written there by a test, as if
#: it were a configuration.
STATE = "Cisco-IOS-XE-interfaces-oper"
CISCO_THAT_COUNTS = Models(
    YANG,
    (*MODULES, STATE),
    (_ACL, (f"{STATE}.yang", "container interfaces {\n    config false;", "container interfaces {")),
)


class Server:
    """One server, from `start` to `stop`; `options` are netconfd's, such as `--target=running`."""

    def __init__(self, folder: Path, *options: str, models: Models = CISCO) -> None:
        self.folder = folder
        self.models = models
        self.user = getpass.getuser()
        self.port = free_port()
        self.options = options or ("--target=candidate",)
        self.key_file, self.known_hosts = folder / "client", folder / "known_hosts"
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._keys()
        self._socket.unlink(missing_ok=True)
        with (self.folder / "netconfd.log").open("wb") as log:
            for argv, ready in ((self._netconfd(), self._listens), (self._sshd(), self._answers)):
                self._begin(argv, ready, log)

    def _begin(self, argv: list[str], ready: Callable[[], bool], log: BinaryIO) -> None:
        self._running.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder))
        deadline = time.monotonic() + PATIENCE_S
        while not ready():
            if self._running[-1].poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{argv[0]} did not start: {(self.folder / 'netconfd.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        for process in reversed(self._running):
            process.kill()  # netconfd takes a second to end by itself, and nothing of it is kept
            process.wait(PATIENCE_S)
        self._running.clear()

    @property
    def variables(self) -> dict[str, object]:
        """What an inventory says of it."""
        return {
            "ansible_host": LOOPBACK,
            "ansible_port": self.port,
            "ansible_user": self.user,
            "ansible_ssh_private_key_file": str(self.key_file),
            "slotcar_known_hosts": str(self.known_hosts),
        }

    def _netconfd(self) -> list[str]:
        models = self.folder / "models"
        models.mkdir(exist_ok=True)
        for name, old, new in self.models.mended:
            (models / name).write_text((self.models.folder / name).read_text().replace(old, new))
        passwd = self.folder / "passwd"
        passwd.write_text("".join(map(self._at_home_here, Path("/etc/passwd").read_text().splitlines(keepends=True))))
        startup = self.folder / "startup.xml"
        startup.write_text('<config xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"/>\n')
        return [
            *OWN_MOUNTS, "sh", "-ec", 'mount --bind "$0" /etc/passwd; exec "$@"', str(passwd),
            str(which("netconfd")),
            *self.options,
            f"--modpath={models}:{self.models.folder}:{YUMA}",
            *(f"--module={module}" for module in self.models.modules),
            f"--startup={startup}",
            f"--ncxserver-sockname={self._socket}",
            f"--port={self.port}",
            f"--superuser={self.user}",
            "--warn-off=438",
            "--log-level=info",
        ]  # fmt: skip

    def _at_home_here(self, line: str) -> str:
        """A line of the users' file, with the server's folder as the home of whoever runs it."""
        fields = line.split(":")
        if fields[2:3] != [str(os.geteuid())]:
            return line
        fields[5] = str(self.folder)
        return ":".join(fields)

    @property
    def _socket(self) -> Path:
        return self.folder / "netconfd.sock"

    def _sshd(self) -> list[str]:
        config = self.folder / "sshd_config"
        config.write_text(
            f"ListenAddress {LOOPBACK}\nPort {self.port}\nHostKey {self.folder / 'host'}\n"
            f"AuthorizedKeysFile {self.key_file}.pub\nAuthenticationMethods publickey\nStrictModes no\nUsePAM no\n"
            "PermitRootLogin prohibit-password\nUseDNS no\nPidFile none\nMaxStartups 100\n"
            f"Subsystem netconf {which('netconf-subsystem')} --ncxserver-sockname={self.port}@{self._socket}\n"
        )
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        return [str(which("sshd")), "-D", "-e", "-f", str(config)]

    def _keys(self) -> None:
        for file in (self.key_file, self.folder / "host"):
            if file.exists():
                continue  # it is started again, and is known by its key
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
        kind, key, *_ = (self.folder / "host.pub").read_text().split()
        self.known_hosts.write_text(f"[{LOOPBACK}]:{self.port} {kind} {key}\n")

    def _listens(self) -> bool:
        with closing(socket.socket(socket.AF_UNIX)) as trial:
            return trial.connect_ex(str(self._socket)) == 0

    def _answers(self) -> bool:
        with closing(socket.socket()) as trial:
            return trial.connect_ex((LOOPBACK, self.port)) == 0
