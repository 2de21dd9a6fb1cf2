"""Files to many receivers at once: `uftp` over a multicast group, at the reserved rate, and each copy proved."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slotcar_client import Slotcar
from slotcar_transfer import uftp
from slotcar_transfer.calling import Caller, free_port
from slotcar_transfer.errors import Late, TransferError, size_text
from slotcar_transfer.identity import Identity, Peer
from slotcar_transfer.lanes import Steering
from slotcar_transfer.places import reserved_until
from slotcar_transfer.profile import Profile
from slotcar_transfer.proving import digest_of, proven
from slotcar_transfer.reporting import Display
from slotcar_transfer.reserving import Ends, Reservation
from slotcar_transfer.tcp import BASE

#: How often the session and the reserved rate are looked at.
LOOK_S = 0.5
#: Beside the blocks themselves: their headers (28 of 1300 bytes), and repairs of a loss of 2 %, per mille.
_MORE_PER_MILLE = 45
#: A receiver puts its files into their place so soon after the session.
PLACING_S = 15.0
#: What the restart file in a job's folder is of.
SESSION = "session.json"
#: uftp ends in order so soon after it was told to.
END_S = 10.0


@dataclass
class Options:
    """What a user may say beside files and receivers.

    Attributes:
        group, port: the multicast group. by: the deadline; without one nothing is reserved, and `at_most_bps` is the rate.
        here: this host's name in Slotcar's inventory. loss_percent: see `uftp.Session`.
        proxies: addresses of the proxies that answer for receivers.
    """

    group: str
    port: int
    here: str | None = None
    by: datetime | None = None
    slotcar: Slotcar | None = None
    service: str = "ip-premium"
    owner: str | None = None
    at_most_bps: int | None = None
    loss_percent: int = 20
    interface: str | None = None
    proxies: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Spread:
    """One command. `run` once.

    Attributes:
        state: the folder of checkpoints; a job has its own below it, by its files and group.
    """

    files: Sequence[Path]
    peers: Sequence[Peer]
    identity: Identity
    options: Options
    display: Display
    state: Path
    _stopping: BaseException | None = None
    _wake: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._names = {file.name: file.resolve() for file in self.files}
        if len(self._names) < len(self.files):
            raise TransferError("two of the files have the same name; receivers have one folder")
        for file in self.files:
            if not file.is_file():
                raise TransferError(f"{file} is no file of this host; a folder goes as an archive")
        self._numbers = {uftp.number_of(_address(peer)): peer.name for peer in self.peers}
        if len(self._numbers) < len(self.peers):
            raise TransferError("two of the receivers have the same address")
        words = f"{sorted(map(str, self._names.values()))} {self.options.group}:{self.options.port}"
        self._job = hashlib.sha256(words.encode()).hexdigest()[:16]
        self._steering = Steering()

    def stop(self, error: BaseException) -> None:
        self._stopping = error
        self._wake.set()

    def run(self) -> dict[str, Any]:
        """What each receiver has, as a document. What lacks something can be said again, alone or with the others.

        Raises:
            TransferError: nobody could be asked, or it was stopped; what was reserved is given back.
        """
        digests = {name: digest_of(file) for name, file in self._names.items()}
        missing, away = self._missing(digests)
        reservation = self.reserve(missing) if any(missing.values()) else None
        done, words = False, ""
        try:
            pruned = self._sent(missing, digests) if any(missing.values()) else {}
            missing, away_now = self._settled(digests, pruned)
            away |= away_now
            self._keep(missing, digests)
            done = not any(missing.values()) and not away
        except BaseException as error:
            words = str(error) or type(error).__name__
            raise
        finally:
            if reservation is not None:
                reservation.give_back(done, words or "some receivers lack files")
        return self._ended(digests, missing, pruned | away)

    def _keep(self, missing: Mapping[str, frozenset[str]], digests: Mapping[str, str]) -> None:
        """Whom a restart file that is left is for now; none is for nobody."""
        folder = self.state / self._job
        lacking = {name: sorted(files) for name, files in missing.items() if files}
        if lacking and folder.exists():
            _write_session(folder, lacking, digests)
        elif folder.exists():
            shutil.rmtree(folder)

    # -- what is missing -------------------------------------------------------------------------------------------

    def _missing(self, digests: Mapping[str, str]) -> tuple[dict[str, frozenset[str]], dict[str, str]]:
        """By receiver the files that it lacks; and why some could not be asked, who then lack all."""
        missing: dict[str, frozenset[str]] = {}
        away: dict[str, str] = {}
        for peer in self.peers:
            try:
                missing[peer.name] = frozenset(digests) - proven(Caller(self.identity, peer), digests)
            except TransferError as error:
                missing[peer.name], away[peer.name] = frozenset(digests), f"cannot be asked: {error}"
        if len(away) == len(self.peers):
            raise TransferError(f"no receiver can be asked what it has: {'; '.join(away.values())}")
        return missing, away

    def _settled(
        self, digests: Mapping[str, str], left_behind: Mapping[str, str]
    ) -> tuple[dict[str, frozenset[str]], dict[str, str]]:
        """What is missing now. A receiver says that it has all, and puts the files into their place after that."""
        until = time.monotonic() + PLACING_S
        while True:
            missing, away = self._missing(digests)
            placing = [
                name for name, files in missing.items() if files and name not in left_behind and name not in away
            ]
            if not placing or time.monotonic() > until or self._wake.wait(LOOK_S):
                return missing, away

    # -- the reservation -------------------------------------------------------------------------------------------

    def reserve(self, missing: Mapping[str, frozenset[str]]) -> Reservation | None:
        """Reserves the volume of what is missing, for those who lack some of it; None without a deadline.

        Raises:
            NotAdmitted: there is no room. TransferError: the controller does not answer, or nothing says how fast.
        """
        options, self._port = self.options, free_port()
        if options.by is None or options.slotcar is None:
            if options.at_most_bps is None:
                raise TransferError("say --by, or how fast without a reservation: --at-most 20 Mbit/s")
            return None
        more: dict[str, Any] = {
            "protocol": "udp", "packet_size": f"{uftp.PACKET_BYTES} B",
            "receivers": [peer.host for peer in self.peers if missing[peer.name]],
        }  # fmt: skip
        if options.labels:
            more["labels"] = dict(options.labels)
        if options.at_most_bps is not None:
            more["at_most"] = f"{options.at_most_bps} bit/s"
        until = reserved_until(options.by, datetime.now(UTC))
        self._steering.profile = Profile()
        reservation = Reservation(
            options.slotcar, f"spread-{self._job}", until, options.service, self._steering, self.display.say,
            self._lost, options.owner, more,
        )  # fmt: skip
        earlier = reservation.earlier()
        if earlier is not None and earlier.entry["reservation"].get("receivers") == more["receivers"]:
            self._port = earlier.entry["reservation"]["source"]["port"] or self._port
        here = options.here or socket.gethostname()
        volume = sum(self._names[name].stat().st_size for name in frozenset[str]().union(*missing.values()))
        reservation.begin(
            volume + volume * _MORE_PER_MILLE // 1000, Ends(here, self._port, options.group, options.port)
        )
        return reservation

    def _lost(self, words: str) -> None:
        self.stop(Late(f"{words}, and what is sent to a group is held back by nothing else"))

    def _rate_bps(self) -> int:
        now = datetime.now(UTC)
        if self.options.by is not None and now >= self.options.by:
            raise Late("the deadline has passed; what has arrived is kept: say the command again with another")
        profile = self._steering.profile
        return profile.safe_rate(now) if profile is not None else self.options.at_most_bps or 0

    # -- sessions --------------------------------------------------------------------------------------------------

    def _sent(self, missing: Mapping[str, frozenset[str]], digests: Mapping[str, str]) -> dict[str, str]:
        """Sends until a session comes to its own end; why each receiver that has not all was left behind."""
        folder = self.state / self._job
        folder.mkdir(parents=True, exist_ok=True)
        wanted = {name: sorted(files) for name, files in missing.items() if files}
        restart = _checkpoint(folder, wanted, digests)
        while True:
            rate_bps = self._rate_bps()
            if rate_bps:
                whole = self._one_session(folder, wanted, rate_bps, restart)
                status = (folder / "status").read_text(encoding="utf-8") if (folder / "status").exists() else ""
                if whole:
                    return self._left_behind(status)
                restart = uftp.restart_file(folder)
            elif self._wake.wait(LOOK_S) and self._stopping is not None:
                raise self._stopping

    def _one_session(
        self, folder: Path, wanted: Mapping[str, Sequence[str]], rate_bps: int, restart: Path | None
    ) -> bool:
        """Whether it came to its own end, and was not ended for another rate.

        Raises:
            BaseException: whatever `stop` was given.
        """
        names = sorted({name for files in wanted.values() for name in files})
        session = uftp.Session(
            [self._names[name] for name in names],
            [number for number, name in self._numbers.items() if name in wanted],
            self.options.group, self.options.port, self._port, rate_bps, self.options.loss_percent,
            self._steering.dscps.get(BASE, 0), interface=self.options.interface,
            proxies=self._proxies(folder), restart=restart,
        )  # fmt: skip
        going_on = "goes on from its checkpoint" if restart else "sends"
        self.display.say(f"{going_on} to {', '.join(wanted)} at {rate_bps / 1e6:.3f} Mbit/s")
        process = uftp.start(session, folder, os.environ)
        try:
            return self._watched(process, rate_bps)
        finally:
            _ended_in_order(process)

    def _proxies(self, folder: Path) -> Path | None:
        if not self.options.proxies:
            return None
        file = folder / "proxies"
        numbers = (uftp.number_text(uftp.number_of(address)) for address in self.options.proxies)
        file.write_text("".join(f"{number}\n" for number in numbers), encoding="ascii")
        return file

    def _watched(self, process: subprocess.Popen[bytes], rate_bps: int) -> bool:
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
                return True
            if self._stopping is not None:
                raise self._stopping
            if self._rate_bps() != rate_bps:
                return False

    def _left_behind(self, status: str) -> dict[str, str]:
        words = dict.fromkeys(uftp.not_there(status), "does not answer")
        for one in uftp.outcomes(status):
            if not one.is_in_place:
                words[one.receiver] = uftp.WORDS.get(one.word, f"has not {one.file}: {one.word}")
        return {self._numbers[number]: each for number, each in words.items() if number in self._numbers}

    def _ended(
        self, digests: Mapping[str, str], missing: Mapping[str, frozenset[str]], why: Mapping[str, str]
    ) -> dict[str, Any]:
        receivers = [
            {"receiver": name, "proved": sorted(digests.keys() - lacks), "lacks": sorted(lacks),
             "why": why.get(name, "is not there as it was sent" if lacks else "")}
            for name, lacks in missing.items()
        ]  # fmt: skip
        size = sum(file.stat().st_size for file in self._names.values())
        document = {"event": "done", "files": len(digests), "bytes": size, "receivers": receivers}
        lacking = [f"{one['receiver']} {one['why']}" for one in receivers if one["lacks"]]
        words = f"{len(digests)} files, {size_text(size)}, proved at {len(missing) - len(lacking)} of {len(missing)}"
        self.display.end(document, "; ".join([words, *lacking]))
        return document


def _checkpoint(folder: Path, wanted: Mapping[str, Sequence[str]], digests: Mapping[str, str]) -> Path | None:
    """uftp's restart file of a session for the same receivers and files, where it was cut off; any other is taken away."""
    before: object = None
    with suppress(OSError, ValueError):
        before = json.loads((folder / SESSION).read_text(encoding="utf-8"))
    if before == {"wanted": dict(wanted), "digests": dict(digests)}:
        return uftp.restart_file(folder)
    for one in folder.glob("_group_*_restart"):
        one.unlink()
    _write_session(folder, wanted, digests)
    return None


def _write_session(folder: Path, wanted: Mapping[str, Sequence[str]], digests: Mapping[str, str]) -> None:
    (folder / SESSION).write_text(json.dumps({"wanted": dict(wanted), "digests": dict(digests)}), encoding="utf-8")


def _ended_in_order(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(peer: Peer) -> str:
    """
    Raises:
        TransferError: it has no IPv4 address.
    """
    try:
        return str(socket.getaddrinfo(peer.address, None, socket.AF_INET)[0][4][0])
    except OSError as error:
        raise TransferError(f"{peer.name} at {peer.address} has no IPv4 address: {error.strerror}") from error
