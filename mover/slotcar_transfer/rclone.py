"""An unmodified rclone moves the data; the reservation's rate is set over its remote control at each change.

The smallest step for sites that have rclone: its own checks, its own resumption, no second connection.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slotcar_client import SlotcarError
from slotcar_transfer.calling import free_port
from slotcar_transfer.counting import Count
from slotcar_transfer.errors import Late, TransferError, size_text
from slotcar_transfer.lanes import Steering
from slotcar_transfer.places import reserved_until
from slotcar_transfer.reporting import Display, Meter
from slotcar_transfer.reserving import Ends, Reservation
from slotcar_transfer.stopping import stopped_by_signals
from slotcar_transfer.tcp import BASE
from slotcar_transfer.transferring import REPORT_S, Options, ended

#: What the remote control is asked at: its rate is set and its progress read so often.
LOOK_S = 0.5
START_S = 15.0
#: A call waits for the read that is under way, at a rate that may be low.
ANSWER_S = 120.0
#: Without a rate at the moment: rclone takes another one only between two reads, of 32 KiB, so they must not take long.
PAUSED_BYTES_PS = 4_096


@dataclass
class RemoteControl:
    """`rclone rcd`'s API on loopback, with a password of this process's own.

    Raises (every method):
        TransferError: rclone does not do it.
    """

    port: int
    password: str

    def call(self, command: str, **parameters: Any) -> dict[str, Any]:
        word = b64encode(f"slotcar:{self.password}".encode()).decode()
        headers = {"Content-Type": "application/json", "Authorization": f"Basic {word}"}
        # By itself this follows no redirect and asks no proxy, so that nobody else gets the password.
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            connection.request("POST", f"/{command}", json.dumps(parameters).encode(), headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise TransferError(f"rclone does not answer: {error or type(error).__name__}") from error
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise TransferError(f"rclone refuses {command}: {_words(body)}")
        try:
            document: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise TransferError(f"rclone answers {command} with what is no JSON") from error
        return document


class Rclone:
    """`rclone rcd`, from when it answers until the `with` ends.

    Args:
        dscp: the code point of what it sends (`--dscp`).

    Raises:
        TransferError: there is no rclone, or it does not start.
    """

    def __init__(self, dscp: int | None = None) -> None:
        program = shutil.which("rclone")
        if program is None:
            raise TransferError("there is no rclone on this host; install it (Debian: apt-get install rclone)")
        port, password = free_port(), secrets.token_urlsafe(24)
        self.control = RemoteControl(port, password)
        # The password goes by the environment: arguments can be read by everybody on the host.
        arguments = [program, "rcd", "--rc-addr", f"127.0.0.1:{port}", "--rc-user", "slotcar", "--retries", "3"]
        # A buffer is read whole, and while a read waits for its turn rclone lets nobody change the rate.
        arguments += ["--buffer-size", "0"]
        arguments += [] if dscp is None else ["--dscp", str(dscp)]
        # A file: nobody reads a pipe while it runs.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - a list, without a shell
            arguments,
            env={**os.environ, "RCLONE_RC_PASS": password},
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )

    def __enter__(self) -> RemoteControl:
        until = time.monotonic() + START_S
        while True:
            try:
                self.control.call("rc/noop")
                return self.control
            except TransferError as error:
                if self._process.poll() is None and time.monotonic() < until:
                    time.sleep(0.1)
                    continue
                self._errors.seek(0)
                words = self._errors.read().decode(errors="replace").strip().splitlines()
                self.__exit__()
                raise TransferError(f"rclone did not start: {words[-1] if words else error}") from error

    def __exit__(self, *_error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


class Moving:
    """One job of rclone's."""

    def __init__(
        self, control: RemoteControl, source: str, destination: str, steering: Steering, meter: Meter
    ) -> None:
        self._control, self._steering, self._meter = control, steering, meter
        self._source, self._destination = source, destination
        self._rate_bps: int | None = -1
        self._stopping: BaseException | None = None

    def size_bytes(self) -> int:
        """Of what there is to move."""
        size = self._control.call("operations/size", fs=self._source)
        return int(size["bytes"])

    def run(
        self,
        display: Display,
        deadline: datetime | None,
        stop_at_deadline: bool,
        reservation: Reservation | None = None,
    ) -> dict[str, Any]:
        """
        Raises:
            TransferError: rclone's own words. Late: the deadline has passed, and it is to stop then.
        """
        while self._steering.base_bps() == 0 and self._stopping is None:
            time.sleep(LOOK_S)  # the slot has not begun: rclone would wait with its first read, and take no other rate
        reported = time.monotonic()
        self._set_rate()
        job = self._control.call("sync/copy", srcFs=self._source, dstFs=self._destination, _async=True)["jobid"]
        while True:
            time.sleep(LOOK_S)
            self._set_rate()
            stats = self._control.call("core/stats", group=f"job/{job}")
            self._meter.count.take({
                "total_bytes": stats.get("totalBytes", 0), "arrived_bytes": stats.get("bytes", 0),
                "files": stats.get("totalTransfers", 0), "files_placed": stats.get("transfers", 0),
                "lanes": {BASE: stats.get("bytes", 0)},
            })  # fmt: skip
            now = datetime.now(UTC)
            if reservation is not None and time.monotonic() - reported >= REPORT_S and self._meter.count.total_bytes:
                reservation.report(self._meter.count.remaining_bytes)
                reported = time.monotonic()
            display.show(self._meter.figures(now))
            if self._stopping is not None:
                self._control.call("job/stop", jobid=job)
                raise self._stopping
            status = self._control.call("job/status", jobid=job)
            if status["finished"]:
                if not status["success"]:
                    raise TransferError(f"rclone: {status['error']}")
                return {"files": int(stats.get("transfers", 0)), "bytes": int(stats.get("bytes", 0))}
            if stop_at_deadline and deadline is not None and now > deadline:
                self._control.call("job/stop", jobid=job)
                remain = size_text(self._meter.count.remaining_bytes)
                raise Late(f"the deadline has passed and {remain} remain")

    def stop(self, error: BaseException) -> None:
        self._stopping = error

    def _set_rate(self) -> None:
        rate_bps = self._steering.base_bps()
        if rate_bps == self._rate_bps:
            return
        rate = "off" if rate_bps is None else f"{max(PAUSED_BYTES_PS, rate_bps // 8)}B"
        self._control.call("core/bwlimit", rate=rate)
        self._rate_bps = rate_bps


def _words(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]


def run(
    source: str, destination: str, ends: tuple[str, str] | None, options: Options, display: Display
) -> dict[str, Any]:
    """A folder from one of rclone's remotes to another, at the rate of a reservation where there is a deadline.

    Args:
        ends: the sender and the receiver as Slotcar's inventory names them, each with `:PORT` where that is known.

    Raises:
        NotAdmitted, Late, Stopped, TransferError: it was not done; what was reserved is given back.
    """
    steering, count, begun = Steering(), Count(), time.monotonic()
    meter = Meter(count, steering, options.by)
    reservation = _reservation(steering, ends, options, display)
    done, words = False, ""
    try:
        dscp = _dscp(options)
        with Rclone(dscp) as control:
            moving = Moving(control, source, destination, steering, meter)
            if reservation is not None and ends is not None:
                reservation.begin(moving.size_bytes(), Ends(*_end(ends[0]), *_end(ends[1])))
            with stopped_by_signals(moving.stop):
                result = moving.run(display, options.by, options.stop_at_deadline, reservation)
        done = True
    except BaseException as error:
        words = str(error)
        raise
    finally:
        if reservation is not None:
            reservation.give_back(done, words)
    return ended(result, count, options.by, time.monotonic() - begun, display)


def _reservation(
    steering: Steering, ends: tuple[str, str] | None, options: Options, display: Display
) -> Reservation | None:
    if options.by is None or options.slotcar is None:
        return None
    if ends is None:
        raise TransferError(
            "--via rclone with --by needs --from and --to: who sends and who receives, in the inventory"
        )
    name = f"transfer-rclone-{secrets.token_hex(6)}"
    until = reserved_until(options.by, datetime.now(UTC))
    more: dict[str, Any] = {"labels": options.labels} if options.labels else {}
    if options.at_most_bps is not None:
        more["at_most"] = f"{options.at_most_bps} bit/s"
    return Reservation(
        options.slotcar, name, until, options.service, steering, display.say, display.say, options.owner, more,
        options.shape,
    )  # fmt: skip


def _dscp(options: Options) -> int | None:
    """Of the service, before the reservation is made: rclone takes it at its start only."""
    if options.slotcar is None or options.by is None:
        return None
    try:
        services = options.slotcar.services()
    except SlotcarError as error:
        raise TransferError(f"the controller cannot be asked: {error}") from error
    return next((one["dscps"][0] for one in services if one["service"] == options.service), None)


def _end(text: str) -> tuple[str, int | None]:
    host, colon, port = text.partition(":")
    if colon and not port.isdigit():
        raise TransferError(f"{text} is not HOST or HOST:PORT")
    return host, int(port) if colon else None
