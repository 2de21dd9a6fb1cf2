"""One session of Debian's `uftp`: what it is started with, and what it says of each receiver."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from slotcar_transfer.errors import TransferError

PROGRAM = "uftp"
#: Of a datagram beside its block: headers of IP, UDP, and of uftp's FILESEG message.
HEADERS_BYTES = 56
BLOCK_BYTES = 1300
PACKET_BYTES = BLOCK_BYTES + HEADERS_BYTES
#: What uftp asks the receivers for a second time is told apart from what is lost by their round trip, in seconds.
_ROUND_TRIP = "0.2:0.01:5"
#: uftp's words for what became of a file at a receiver, and what they mean. No other word is an end in success.
IN_PLACE = ("copy", "overwrite", "skipped")
WORDS = {
    "aborted": "was pruned: it lost too much, or gave up by itself",
    "mute": "does not answer",
    "lost": "was lost on the way",
    "rejected": "does not take the file there",
}


@dataclass(frozen=True, slots=True)
class Session:
    """
    Attributes:
        files: absolute paths. receivers: their numbers (`number_of`).
        group, port: where announcements and blocks are sent to; one group, so that one reservation has both.
        rate_bps: of UDP's payload. loss_percent: who reports more of a section as lost is pruned. dscp: of all packets.
        proxies: a file of the numbers of those that answer for receivers behind them.
        restart: uftp's own file of a session that was cut off, whose files and receivers are those of that session.
    """

    files: Sequence[Path]
    receivers: Sequence[int]
    group: str
    port: int
    source_port: int
    rate_bps: int
    loss_percent: int
    dscp: int = 0
    hops: int = 16
    interface: str | None = None
    proxies: Path | None = None
    restart: Path | None = None

    def arguments(self, status: Path) -> list[str]:
        """uftp's command line."""
        rate_kbps = max(1, self.rate_bps // 1000)
        words = [
            PROGRAM, "-R", str(rate_kbps), "-M", self.group, "-P", self.group, "-p", str(self.port),
            "-u", str(self.source_port), "-t", str(self.hops), "-b", str(BLOCK_BYTES), "-Q", str(self.dscp),
            "-N", str(self.loss_percent), "-m", str(self._reports), "-r", _ROUND_TRIP, "-f", "-S", str(status),
        ]  # fmt: skip
        if self.interface is not None:
            words += ["-I", self.interface]
        if self.proxies is not None:
            words += ["-j", str(self.proxies)]
        if self.restart is not None:
            return [*words, "-F", str(self.restart)]
        return [*words, "-H", ",".join(map(number_text, self.receivers)), *map(str, self.files)]

    @property
    def _reports(self) -> int:
        """Reports of too much that prune a receiver. Gone on with a session, each first reports what it has not yet."""
        return 1 if self.restart is None else 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What uftp says of a file at a receiver; `word` is its own."""

    receiver: int
    file: str
    word: str

    @property
    def is_in_place(self) -> bool:
        return self.word in IN_PLACE


def number_of(address: str) -> int:
    """By what a receiver is known: `uftpd` takes its IPv4 address, and the role says the same."""
    return int(IPv4Address(address))


def number_text(number: int) -> str:
    return f"0x{number:08X}"


def outcomes(status: str) -> Iterator[Outcome]:
    """Of a status file as far as it was written; the last line may be cut."""
    for line in status.splitlines(keepends=True):
        match line.rstrip("\n").split(";"):
            case ["RESULT", receiver, file, _size, word, *_] if line.endswith("\n"):
                yield Outcome(int(receiver, 16), file, word)


def not_there(status: str) -> tuple[int, ...]:
    """The receivers that did not answer at the beginning."""
    parts = (line.split(";") for line in status.splitlines())
    return tuple(int(one[2], 16) for one in parts if one[:2] == ["CONNECT", "failed"])


def restart_file(folder: Path) -> Path | None:
    """What a session that was cut off left in its folder."""
    return next(iter(sorted(folder.glob("_group_*_restart"))), None)


def start(session: Session, folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts it in `folder`, which gets its status, its log, and its restart file where it does not come to its end.

    The process is told to end in order (SIGTERM) also when this one is killed: then it writes the restart file.

    Raises:
        TransferError: it cannot be started.
    """
    if shutil.which(PROGRAM, path=environment.get("PATH")) is None:
        raise TransferError("uftp is not installed here: on Debian `apt install uftp`, or the role slotcar_uftp")
    status = folder / "status"
    status.unlink(missing_ok=True)
    # The first word has the kernel end it in order when this process is gone, however that came.
    words = ["setpriv", "--pdeathsig", "TERM", *session.arguments(status)]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - a list, without a shell
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(environment)
        )
