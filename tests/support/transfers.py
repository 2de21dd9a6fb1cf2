"""Ends of transfers as processes of their own, which know each other, for tests that start them, ask them and kill them."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from slotcar_transfer.identity import Identity
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port

#: Of a reservation whose volume is moved: it ended, or never began where all was moved before its slot.
GIVEN_BACK = {"ended", "cancelled"}
ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = "127.0.0.1"
STAGING = ".slotcar-transfer-"


def environment(**more: str) -> dict[str, str]:
    """That finds the packages of this checkout."""
    paths = [str(ROOT / "client"), str(ROOT / "mover"), os.environ.get("PYTHONPATH", "")]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SLOTCAR_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in paths if path), **more}


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def messages(self) -> list[str]:
        return [one["words"] for one in self.events if one["event"] == "message"]

    @property
    def progress(self) -> list[dict[str, Any]]:
        return [one for one in self.events if one["event"] == "progress"]

    @property
    def done(self) -> dict[str, Any]:
        last = self.events[-1]
        assert last["event"] == "done", self
        return last


class Serving:
    """`slotcar-transfer serve` on a port of its own, from when it listens until it is killed or the `with` ends."""

    def __init__(self, world: World, name: str, *options: str) -> None:
        self._world, self.name, self._options = world, name, options
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        port = self._world.ports[self.name]
        self._log = (self._world.folder / f"{self.name}.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "slotcar_transfer", "serve", str(self._world.root(self.name)), "--home",
             str(self._world.home(self.name)), "--address", LOOPBACK, "--port", str(port), *self._options],
            env=environment(), stdout=subprocess.DEVNULL, stderr=self._log,
        )  # fmt: skip
        until = time.monotonic() + PATIENCE_S
        while True:
            with socket.socket() as trial:
                if trial.connect_ex((LOOPBACK, port)) == 0:
                    return
            assert self._process.poll() is None, self.log
            assert time.monotonic() < until, self.log
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._world.folder / f"{self.name}.log").read_text(errors="replace")

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE_S)
            self._process = None
            self._log.close()

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


@dataclass
class World:
    """Ends that know each other: each has a folder with its key, and one that it serves; `hosts` are their names in an
    inventory."""

    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = ("here", "there", "third")
        self.ports = {name: free_port() for name in names}
        for name in names:
            self.root(name).mkdir(parents=True)
            self.identity(name).make(name)
        for name in names:
            for other in names:
                if name != other:
                    pem = self.identity(other).certificate.read_text()
                    self.identity(name).trust(other, pem, LOOPBACK, self.ports[other], self.hosts.get(other))

    def root(self, name: str) -> Path:
        return self.folder / name / "data"

    def home(self, name: str) -> Path:
        return self.folder / name / "home"

    def identity(self, name: str) -> Identity:
        return Identity(self.home(name))

    def serve(self, name: str, *options: str) -> Serving:
        return Serving(self, name, *options)

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """`slotcar-transfer …` at the end `here`."""
        return subprocess.Popen(
            [sys.executable, "-m", "slotcar_transfer", *words],
            env=environment(SLOTCAR_TRANSFER_HOME=str(self.home("here")), **more),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, *words: str, code: int | None = 0, **more: str) -> Ended:
        return end_of(self.start(*words, **more), code)


def end_of(process: subprocess.Popen[str], code: int | None = 0) -> Ended:
    """How a command ended, which must be with `code` where that is said."""
    with process:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{process.args} did not end\n{out}\n{err}") from None
    ended = Ended(process.returncode, out, err)
    assert code is None or ended.code == code, ended
    return ended


def fill(folder: Path, sizes: dict[str, int], seed: int = 1) -> None:
    """Files of random bytes."""
    chance = random.Random(seed)
    for path, size in sizes.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(chance.randbytes(size))


def content(folder: Path) -> dict[str, bytes]:
    """All files below, staging folders too: nothing half-written may be left. Also while files come and go."""
    bodies: dict[str, bytes] = {}
    for place, _, files in os.walk(folder):
        for file in (Path(place) / name for name in files):
            with suppress(FileNotFoundError):
                bodies[str(file.relative_to(folder))] = file.read_bytes()
    return bodies


def delivered(folder: Path) -> dict[str, bytes]:
    """What stands under final names."""
    return {path: body for path, body in content(folder).items() if STAGING not in path}
