"""Speaks to the agent: one connection per command, with every piece of output dated by the lab's clock."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slotcar_lab.agent import wire
from slotcar_lab.errors import LabError


@dataclass(frozen=True, slots=True)
class Offset:
    """How far the lab's clock is ahead of this machine's; the truth is within ± `uncertainty_us`."""

    offset_us: int
    uncertainty_us: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a command's output and when it was written, microseconds since the epoch by the lab's clock."""

    t_us: int
    text: str


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """Where an agent listens, and the word that it wants to hear."""

    port: int
    token: str
    host: str = "127.0.0.1"

    def open(self, verb: str, timeout_s: float | None = 10.0, **details: Any) -> socket.socket:
        """A connection on which the request has been sent."""
        try:
            connection = socket.create_connection((self.host, self.port), timeout=timeout_s)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire.send_request(connection, {"verb": verb, "token": self.token, **details})
        except OSError as error:
            raise LabError(f"the lab does not answer ({error.strerror or error}); see: slotcar lab status") from error
        return connection

    def ask(self, verb: str, timeout_s: float = 10.0, **details: Any) -> dict[str, Any]:
        """One request, one answer.

        Raises:
            LabError: no answer in time, or the agent refused.
        """
        with self.open(verb, timeout_s, **details) as connection:
            try:
                frame = wire.receive(connection)
            except OSError as error:
                raise LabError(f"the lab did not answer within {timeout_s:g} s; see: slotcar lab status") from error
        if frame is None:
            raise LabError("the lab closed the connection; see: slotcar lab status")
        if frame.kind == wire.ERROR:
            raise LabError(frame.payload.decode())
        answer = json.loads(frame.payload)
        assert isinstance(answer, dict)
        return answer

    def measure_offset(self, rounds: int = 25) -> Offset:
        """The quickest of several exchanges, as NTP does it: the lab's stamp against the middle of the round trip.

        Raises:
            LabError: the lab does not answer.
        """
        best: tuple[int, int] | None = None
        with self.open("clock") as connection:
            for _ in range(rounds):
                sent_us = wire.now_us()
                try:
                    wire.send(connection, wire.CLOCK)
                    frame = wire.receive(connection)
                except OSError as error:
                    raise LabError(
                        "the lab did not answer while its clock was measured; see: slotcar lab status"
                    ) from error
                if frame is None:
                    break
                trip_us = wire.now_us() - sent_us
                offset_us = frame.t_us - (sent_us + trip_us // 2)
                best = min(best or (trip_us, offset_us), (trip_us, offset_us))
        if best is None:
            raise LabError("the lab closed the connection while its clock was measured; see: slotcar lab status")
        return Offset(best[1], best[0] // 2)


class LabProcess:
    """A command that runs on a node; it ends when this object is closed or this program dies."""

    def __init__(self, connection: socket.socket, argv: Sequence[str]) -> None:
        self.argv = tuple(argv)
        self.returncode: int | None = None
        self._connection = connection
        self._connection.settimeout(None)
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._failure: str | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> LabProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self) -> int | None:
        """Exit status, or None while the command runs."""
        return self.returncode

    @property
    def failed(self) -> bool:
        """Whether the lab lost the command, or could not start it."""
        return self._failure is not None

    def wait(self, timeout_s: float | None = None) -> int:
        """Exit status, once the command has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs.
            LabError: the lab lost it, or could not start it.
        """
        if not self._ended.wait(timeout_s):
            raise subprocess.TimeoutExpired(self.argv, timeout_s or 0)
        if self._failure is not None:
            raise LabError(self._failure)
        assert self.returncode is not None
        return self.returncode

    def wait_reported(self, word: str, timeout_s: float) -> str:
        """Standard output, once the word is in it.

        Raises:
            LabError: the command ends without it, or does not say it in time; says what it wrote.
        """
        until = time.monotonic() + timeout_s
        while word not in self.stdout:
            if self._ended.is_set() or time.monotonic() > until:
                why = self._failure or self.stderr.strip()[-500:]
                raise LabError(f"{' '.join(self.argv)} did not start: {why}")
            time.sleep(0.1)
        return self.stdout

    def write(self, data: bytes) -> None:
        """Give the command input; nothing at all closes its standard input."""
        wire.send(self._connection, wire.STDIN, data)

    def send_signal(self, number: int) -> None:
        """Signal the command and what it started; one that has ended is left alone."""
        if not self._ended.is_set():
            with contextlib.suppress(OSError):
                wire.send(self._connection, wire.SIGNAL, str(int(number)).encode())

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End the command if it still runs, and forget it."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._ended.wait(5.0)
        self._connection.close()

    def lines(self) -> Iterator[Line]:
        """Lines of standard output as they come, until the end."""
        while (line := self._lines.get()) is not None:
            yield line

    @property
    def stdout(self) -> str:
        """Standard output so far."""
        return self._stdout.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Standard error so far."""
        return self._stderr.decode(errors="replace")

    def _read(self) -> None:
        pending = b""
        try:
            while (frame := wire.receive(self._connection)) is not None:
                if frame.kind == wire.STDOUT:
                    self._stdout += frame.payload
                    *whole, pending = (pending + frame.payload).split(b"\n")
                    for line in whole:
                        self._lines.put(Line(frame.t_us, line.decode(errors="replace")))
                elif frame.kind == wire.STDERR:
                    self._stderr += frame.payload
                elif frame.kind == wire.EXIT:
                    self.returncode = int(frame.payload)
                    break
                elif frame.kind == wire.ERROR:
                    self._failure = frame.payload.decode()
                    break
        except OSError:
            pass
        if self.returncode is None and self._failure is None:
            self._failure = f"the lab lost `{' '.join(self.argv)}`: its connection ended; see: slotcar lab status"
        if pending:
            self._lines.put(Line(wire.now_us(), pending.decode(errors="replace")))
        self._lines.put(None)
        self._ended.set()


def start(
    address: AgentAddress,
    node: str,
    argv: Sequence[str],
    *,
    stdin: bool = False,
    python: str | None = None,
    modules: Mapping[str, str] | None = None,
) -> LabProcess:
    """Start a command on a node; `node` "" is the machine that holds the namespaces.

    Args:
        python: the text of a program that a copy of the agent runs, with `argv` as its own, in place of a command.
        modules: texts of the modules that this program imports, by their full names.
    """
    program: dict[str, Any] = {} if python is None else {"python": python, "modules": dict(modules or {})}
    return LabProcess(address.open("exec", node=node, argv=list(argv), stdin=stdin, **program), argv)


def run(
    address: AgentAddress, node: str, argv: Sequence[str], timeout_s: float, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command on a node to its end.

    Raises:
        subprocess.TimeoutExpired: it took longer and was ended.
    """
    with start(address, node, argv, stdin=stdin is not None) as process:
        started = time.monotonic()
        for piece in (stdin.encode(), b"") if stdin else (b"",) if stdin is not None else ():
            process.write(piece)
        process.wait(timeout_s - (time.monotonic() - started))
        assert process.returncode is not None
        return subprocess.CompletedProcess(list(argv), process.returncode, process.stdout, process.stderr)
