"""A controller as a process of its own, for tests that start it, ask it and kill it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import psutil

from tests.support import leftovers, prefork
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port

SLOTCAR = Path(sys.executable).with_name("slotcar")
#: For clients of addresses without TLS: reading all certificate authorities for each of them takes longer than a request.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
#: A controller that is told to stop finishes its push, or takes it back: SLOTCAR_STOP_TIMEOUT and some seconds.
STOP_TIMEOUT_S = 120.0


def slotcar(*arguments: str, environment: dict[str, str], code: int = 0) -> str:
    """Standard output of a command line that must end with `code`; its errors where it does not."""
    done = prefork.run([*arguments], environment, PATIENCE_S)
    assert done.returncode == code, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code == 0 else done.stdout + done.stderr


class Controller:
    """`slotcar serve`, from when it answers until the `with` ends."""

    def __init__(self, state_dir: Path, inventory: Path, max_open_files: int | None = None, **settings: str) -> None:
        self.port = free_port()
        self.log = state_dir / f"controller-{self.port}.log"
        self.environment = os.environ | {
            "SLOTCAR_STATE_DIR": str(state_dir),
            "SLOTCAR_INVENTORY": str(inventory),
            "SLOTCAR_LISTEN_PORT": str(self.port),
            "SLOTCAR_OPEN": "true",
            "SLOTCAR_ADOPT_ALL": "true",
            **settings,
        }
        self._temporary = Path(tempfile.mkdtemp(prefix="c-"))
        self._temporary.chmod(0o711)  # a server that it starts has an account of its own
        with self.log.open("wb") as output:
            self.process = self._start(output, max_open_files)
        wait_for(lambda: self.alive() and self.answers(), f"the controller to answer; see {self.log}")

    def _start(self, output: IO[bytes], max_open_files: int | None) -> subprocess.Popen[bytes] | prefork.Command:
        environment = self.environment | {"TMPDIR": str(self._temporary)}
        if max_open_files is None:
            return prefork.Command(["serve"], environment, output, output)
        argv = ["prlimit", f"--nofile={max_open_files}:{max_open_files}", str(SLOTCAR), "serve"]
        return subprocess.Popen(argv, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL)

    def __enter__(self) -> Controller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(STOP_TIMEOUT_S)
        # What it left is told at the end of the run.
        leftovers.remove_nobodys(self._temporary)
        with contextlib.suppress(OSError):
            self._temporary.rmdir()

    def alive(self) -> bool:
        assert self.process.poll() is None, self.log.read_text(errors="replace")
        return True

    def answers(self) -> bool:
        try:
            self.get("/healthz")
        except (urllib.error.URLError, OSError):
            return False
        return True

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S) as response:
            return json.load(response)

    def check(self, name: str) -> str:
        """The message of a check of `/readyz`; empty where there is none."""
        return next((one["message"] for one in self.get("/readyz")["checks"] if one["name"] == name), "")

    def settled(self) -> bool:
        return "had what is wanted" in self.check("reconcile")

    def wait_settled(self) -> None:
        wait_for(self.settled, f"the devices to have what is wanted; see {self.log}")

    def armed(self) -> set[str]:
        """The devices that will act by themselves at the next boundary."""
        return {name for name, phase in self.get("/v1/controller")["phases"].items() if phase == "armed"}

    def verified(self) -> int:
        """The number of the last event that tells of a verified push; 0 before the first."""
        return max((event["sequence"] for event in self.events() if event["kind"] == "push.verified"), default=0)

    def events(self) -> list[dict[str, Any]]:
        """All events, page by page."""
        listed: list[dict[str, Any]] = []
        while page := self.get(f"/v1/events?limit=1000&after={listed[-1]['sequence'] if listed else 0}")["items"]:
            listed += page
        return listed

    def devices_of(self, kind: str, at: datetime) -> list[set[str]]:
        """The devices of each event of this kind that is of this boundary."""
        return [
            set(event["details"]["devices"])
            for event in self.events()
            if event["kind"] == kind and datetime.fromisoformat(event["details"]["at"]) == at
        ]

    def kill(self) -> None:
        """As a power cut would, with the plays that it runs."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        self.process.wait(PATIENCE_S)
        shutil.rmtree(self._temporary)

    def slotcar(self, *arguments: str, code: int = 0) -> str:
        return slotcar(*arguments, environment=self.environment, code=code)


def heeds_interrupts() -> None:
    """In a child before it begins: where the tests run in the background, or under nohup, it would ignore the signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
