"""A transfer from its request to its end: reserves, tries until all is there, reports, and gives back."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slotcar_client import Slotcar, SlotcarError
from slotcar_transfer.calling import Caller, free_port, program
from slotcar_transfer.counting import Count
from slotcar_transfer.errors import Broken, Late, Stopped, TransferError, size_text
from slotcar_transfer.fireflies import Fireflies, SciTag
from slotcar_transfer.http_source import fetch
from slotcar_transfer.identity import Identity
from slotcar_transfer.kept_looks import Keeping
from slotcar_transfer.moving import Job, pull, push, relay
from slotcar_transfer.own_sockets import connections
from slotcar_transfer.places import Location, reserved_until
from slotcar_transfer.profile import Shape
from slotcar_transfer.recording import Recording
from slotcar_transfer.reporting import Display, Meter, duration_text
from slotcar_transfer.reserving import Ends, Reservation
from slotcar_transfer.staging import Tree
from slotcar_transfer.wire import Channel

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 10.0
SHOW_S = 1.0
REPORT_S = 30.0
LEAST_REPORT_S = 2.0
#: A reservation that ends so near its deadline has come to it.
END_S = timedelta(seconds=2)


@dataclass
class Options:
    """What a user may say beside source and destination.

    Attributes:
        by: the deadline; without one nothing is reserved.
        here: this host's name in Slotcar's inventory; without one the address that it has on the way to the peer.
        stop_at_deadline: gives up at the deadline instead of going on late.
        give_up_s: without any byte for so long while the other end is away.
        records: is told what a transfer without a deadline took.
        checksum: of a file that comes from an HTTP server, `ALGORITHM:HEX`.
        keep: gets a look at the transfer's own connections each second, as JSON lines.
        scitag: whose it is, announced to the other end and to the collectors, host and port.
    """

    by: datetime | None = None
    slotcar: Slotcar | None = None
    records: Slotcar | None = None
    service: str = "ip-premium"
    owner: str | None = None
    here: str | None = None
    additional: bool = True
    controlled: bool = True
    at_most_bps: int | None = None
    shape: Shape = Shape.STEADY
    rtt: str | None = None
    stop_at_deadline: bool = False
    give_up_s: float = 3600.0
    report_s: float | None = None
    labels: dict[str, str] = field(default_factory=dict)
    checksum: str | None = None
    scitag: SciTag | None = None
    collectors: tuple[tuple[str, int], ...] = ()
    keep: Path | None = None


class Transfer:
    """One command. `run` once.

    Attributes:
        late: whether it ended after its deadline.
    """

    def __init__(
        self, source: Location, destination: Location, identity: Identity, options: Options, display: Display
    ) -> None:
        self._source, self._destination = source, destination
        self._identity, self._options, self._display = identity, options, display
        name = hashlib.sha256(f"{_absolute(source)} {_absolute(destination)}".encode()).hexdigest()[:16]
        tag = options.scitag
        fireflies = None if tag is None else Fireflies(tag, program(), options.collectors)
        self._job = Job(identity, name, ready=self._ready, fireflies=fireflies)
        self._job.steering.additional, self._job.steering.controlled = options.additional, options.controlled
        self._meter = Meter(self._job.count, self._job.steering, options.by)
        self._begun, self._began = datetime.now(UTC), time.monotonic()
        self._job.seconds = None if options.by is None else (options.by - self._begun).total_seconds()
        self._over = threading.Event()
        self._remote_port: int | None = None
        self.late = False
        self._stopping: BaseException | None = None
        self.reservation = self._new_reservation(name)
        self._recording = Recording(options.records, display.say) if options.records is not None else None
        self._keeping = None if options.keep is None else self._new_keeping(options.keep)

    def run(self) -> dict[str, Any]:
        """What was moved, as a document.

        Raises:
            TransferError: it was not done; what was reserved is given back.
        """
        helpers = [threading.Thread(target=one, daemon=True) for one in (self._show, self._report, self._keep)]
        for one in helpers:
            one.start()
        done, words = False, ""
        try:
            result = self._until_done()
            done = True
            if self._recording is not None:
                self._recording.hand_in(datetime.now(UTC))
        except BaseException as error:
            words = str(error) or type(error).__name__
            raise
        finally:
            self._over.set()
            if self.reservation is not None:
                self.reservation.give_back(done, words)
            for one in helpers:
                one.join(5)
        document = ended(result, self._job.count, self._options.by, time.monotonic() - self._began, self._display)
        self.late = document["late"]
        return document

    def stop(self, error: BaseException) -> None:
        self._stopping = error
        self._job.stop(error)

    # -- trying ----------------------------------------------------------------------------------------------------

    def _until_done(self) -> dict[str, Any]:
        wait_s, moved, since = FIRST_WAIT_S, -1, time.monotonic()
        attempt = self._attempt()
        while True:
            try:
                return attempt()
            except Broken as error:
                if self._stopping is not None:
                    raise self._stopping from error
                if self._job.count.arrived_bytes != moved:
                    moved, since, wait_s = self._job.count.arrived_bytes, time.monotonic(), FIRST_WAIT_S
                if time.monotonic() - since > self._options.give_up_s:
                    raise
                self._display.say(f"{error}; trying again")
            if self._over.wait(wait_s):
                raise TransferError("stopped")
            wait_s = min(LONGEST_WAIT_S, wait_s * 2)

    def _attempt(self) -> Callable[[], dict[str, Any]]:
        """One try, by who reads and who writes.

        Raises:
            TransferError: these two do not go together.
        """
        source, destination, job = self._source, self._destination, self._job
        if destination.is_http:
            raise TransferError("an HTTP server can be a source and no destination")
        if source.is_http:
            if destination.peer:
                raise TransferError("say this on the host where it is to go: what comes over HTTP comes to this host")
            tree, path = _local(destination.path)
            return lambda: fetch(job, source.path, tree, path, self._options.checksum)
        if source.peer and destination.peer:
            caller = Caller(self._identity, self._identity.peer(source.peer))
            self._identity.peer(destination.peer)
            return lambda: relay(job, caller, source.path, destination.peer, destination.path)
        if destination.peer:
            caller = Caller(self._identity, self._identity.peer(destination.peer))
            return lambda: push(job, Path(source.path), caller, destination.path)
        if source.peer:
            caller = Caller(self._identity, self._identity.peer(source.peer))
            tree, path = _local(destination.path)
            return lambda: pull(job, caller, source.path, tree, path)
        raise TransferError(
            "both are paths of this host; one of them is to be HOST:PATH or an address of an HTTP server"
        )

    # -- the reservation -------------------------------------------------------------------------------------------

    def _new_reservation(self, name: str) -> Reservation | None:
        options = self._options
        if options.by is None or options.slotcar is None:
            return None
        more: dict[str, Any] = {"labels": options.labels} if options.labels else {}
        if options.at_most_bps is not None:
            more["at_most"] = f"{options.at_most_bps} bit/s"
        if options.rtt is not None:
            more["rtt"] = options.rtt
        until = reserved_until(options.by, self._begun)
        reservation = Reservation(
            options.slotcar, f"transfer-{name}", until, options.service, self._job.steering, self._display.say,
            self._lost, options.owner, more, options.shape,
        )  # fmt: skip
        # The ports are bound before the connections are made, and an earlier try's are taken again.
        try:
            earlier = reservation.earlier()
        except SlotcarError as error:
            raise TransferError(f"the controller cannot be asked: {error}") from error
        receives = not self._destination.peer
        ends = None if earlier is None else earlier.entry["reservation"]["destination" if receives else "source"]
        if self._source.peer and self._destination.peer and not self._source.is_http:
            caller = Caller(self._identity, self._identity.peer(self._source.peer))
            self._job.base_port = (ends and ends["port"]) or int(caller.ask(verb="about")["free_port"])
        else:
            self._job.base_port = ends["port"] if ends and ends["port"] and _is_free(ends["port"]) else free_port()
        return reservation

    def _new_keeping(self, to: Path) -> Keeping:
        """
        Raises:
            TransferError: neither end is this host, or the file cannot be written to.
        """
        peers = [one.peer for one in (self._source, self._destination) if one.peer]
        if len(peers) > 1:
            raise TransferError("the connections to keep are of the two other hosts; say it on one of them")
        try:
            to.open("a").close()
        except OSError as error:
            raise TransferError(f"{to} cannot be written to: {error.strerror}") from error
        port = self._identity.peer(peers[0]).port if peers else None
        return Keeping(to, port, connections, self._display.say, lambda: datetime.now(UTC))

    def _lost(self, words: str) -> None:
        without = "there is no additional connection to go on with (--no-additional)"
        if self._options.additional:
            self._display.say(f"{words}: the base connection stops, the additional one goes on without a promise")
        elif self.reservation is not None and datetime.now(UTC) >= self.reservation.by - END_S:
            remain = size_text(self._job.count.remaining_bytes)
            self.stop(Late(f"the time that was reserved has passed and {remain} remain; {without}"))
        else:
            self.stop(Stopped(f"{words}, and {without}"))

    def _ready(self, control: Channel | None) -> None:
        """When it is known what remains: asks for that volume, the first time."""
        remaining = self._job.count.remaining_bytes
        if self._keeping is not None:
            self._keeping.look()
        if self._recording is not None:
            self._recording.begin(remaining, self._ends(control), datetime.now(UTC))
        if self.reservation is None or self.reservation.handle or remaining == 0:
            return
        self.reservation.begin(remaining, self._ends(control))

    def _ends(self, control: Channel | None) -> Ends:
        """Of the base connection: whoever connects has the bound port, whoever serves its own."""
        port = self._job.base_port or 0
        if self._job.server is not None:
            server, server_port, address = self._job.server
            return Ends(server, server_port, self._options.here or address, port)
        assert control is not None
        here = self._options.here or control.socket.getsockname()[0]
        if self._source.peer and self._destination.peer:
            sender, receiver = self._identity.peer(self._source.peer), self._identity.peer(self._destination.peer)
            return Ends(sender.host, port, receiver.host, receiver.port)
        if self._destination.peer:
            receiver = self._identity.peer(self._destination.peer)
            return Ends(here, port, receiver.host, receiver.port)
        sender = self._identity.peer(self._source.peer)
        return Ends(sender.host, sender.port, here, port)

    # -- meanwhile -------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        while not self._over.wait(SHOW_S):
            now = datetime.now(UTC)
            self._display.show(self._meter.figures(now))
            deadline = self._options.by
            if deadline is not None and now >= deadline and not self.late:
                self.late = True
                if self._options.stop_at_deadline or not self._options.additional:
                    self.stop(Late(f"the deadline has passed and {size_text(self._job.count.remaining_bytes)} remain"))
                else:
                    self._display.say("the deadline has passed: it goes on without a reservation")

    def _keep(self) -> None:
        if self._keeping is not None:
            self._keeping.until(self._over)

    def _report(self) -> None:
        """Tells the controller what remains, as NICT's sender does, at a period."""
        if self.reservation is None or self._options.by is None:
            return
        whole_s = (self._options.by - self._begun).total_seconds()
        period_s = self._options.report_s or max(LEAST_REPORT_S, min(REPORT_S, whole_s / 20))
        while not self._over.wait(period_s):
            if self._job.count.total_bytes and self._job.count.remaining_bytes:
                with suppress(Exception):
                    self.reservation.report(self._job.count.remaining_bytes)


def ended(
    result: dict[str, Any], count: Count, by: datetime | None, seconds: float, display: Display
) -> dict[str, Any]:
    """The last document, which is shown."""
    now = datetime.now(UTC)
    late = by is not None and now > by
    document = {
        "event": "done", "files": result["files"], "bytes": result["bytes"], "seconds": round(seconds, 3),
        "resumed_bytes": count.resumed_bytes, "lanes": dict(count.lanes), "late": late,
        "margin_s": None if by is None else int((by - now).total_seconds()),
    }  # fmt: skip
    words = f"{result['files']} files, {size_text(result['bytes'])} in {duration_text(round(seconds))}"
    if by is not None:
        margin = duration_text(abs(int((by - now).total_seconds())))
        words += f": late by {margin}" if late else f": in time, {margin} before the deadline"
    display.end(document, words)
    return document


def _absolute(location: Location) -> str:
    return f"{location.peer}:{location.path if location.peer else Path(location.path).resolve()}"


def _local(path: str) -> tuple[Tree, str]:
    """The folder that exists on the way to a path of this host, and what is to come below it."""
    place = Path(path)
    if place.is_dir():
        return Tree(place), ""
    parent = place.parent
    parent.mkdir(parents=True, exist_ok=True)
    return Tree(parent), place.name + ("/" if path.endswith("/") else "")


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("", port))
        except OSError:
            return False
    return True
