"""A controller on the lab: `slotcar serve` as a process of its own, as an operator would run it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from slotcar_lab import ports
from slotcar_lab.clocks import MACHINE, Clock
from slotcar_lab.errors import LabError
from slotcar_lab.patience import HANG_S
from slotcar_lab.virtual.guest_time import GuestTime

FIRST_PORT = 8470
#: As long as only a hang takes.
#: A push that goes on is finished or taken back first (SLOTCAR_STOP_TIMEOUT); as `TimeoutStopSec` of deploy/systemd.
STOP_TIMEOUT_S = 120.0
SLOTCAR = Path(sys.executable).with_name("slotcar")


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller that runs. Another program finds it by the file `controller.json`, which names its process and port."""

    folder: Path
    environment: dict[str, str]
    pid: int
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> Any:
        """What the API answers.

        Raises:
            LabError: it does not.
        """
        try:
            with urllib.request.urlopen(f"{self.address}{path}", timeout=10) as response:  # noqa: S310 - this machine's own
                return json.load(response)
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise LabError(
                f"the controller at {self.address} does not answer: {error}; see {self.folder}/controller.log"
            ) from error

    def first_turn_s(self) -> float:
        """How long its first turn took, from the lead to the last device that was read back."""
        events = self.get("/v1/events?limit=1000")["items"]
        first_at = {event["kind"]: datetime.fromisoformat(event["at"]) for event in events}
        return (first_at["push.verified"] - first_at["controller.leading"]).total_seconds()

    def settled(self, since_s: float = 0.0) -> bool:
        """Whether it leads and every device has what is wanted now, by readings since `since_s` (Unix time)."""
        status = self.get("/v1/controller")
        read_at = status["checked_at"] and datetime.fromisoformat(status["checked_at"]).timestamp()
        return status["leading"] and status["settled"] and read_at is not None and read_at >= since_s

    def wait_settled(self, timeout_s: float) -> None:
        """
        Raises:
            LabError: the devices do not have what is wanted in time.
        """
        deadline = time.monotonic() + timeout_s
        while not self.settled():
            if time.monotonic() > deadline:
                raise LabError(f"the devices are not ready after {timeout_s:g} s: {self.get('/readyz')['checks']}")
            time.sleep(0.2)

    def wait_armed(self, devices: Sequence[str], until: float, clock: Clock = MACHINE) -> bool:
        """Whether, by `until` (seconds since the epoch by `clock`), these devices all hold what they are to do at the next
        boundary.

        Raises:
            LabError: the controller does not answer.
        """
        while clock.now() < until:
            phases = self.get("/v1/controller")["phases"]
            if all(phases.get(device) == "armed" for device in devices):
                return True
            time.sleep(0.2)
        return False

    def slotcar(self, *arguments: str) -> str:
        """Standard output of a command line that must succeed.

        Raises:
            LabError: it did not; says what it wrote.
        """
        done = subprocess.run(
            [str(SLOTCAR), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        if done.returncode:
            raise LabError(f"slotcar {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def stop(self) -> None:
        """Ends it, as its supervisor would."""
        try:
            process = psutil.Process(self.pid)
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_TIMEOUT_S)
        except psutil.NoSuchProcess:
            pass
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(STOP_TIMEOUT_S)
        (self.folder / "controller.json").unlink(missing_ok=True)


def environment_for(state_dir: Path, inventory: Path) -> dict[str, str]:
    """Its API is open: it listens on this machine alone, and its routers are the lab's."""
    return os.environ | {
        "SLOTCAR_STATE_DIR": str(state_dir),
        "SLOTCAR_INVENTORY": str(inventory),
        "SLOTCAR_OPEN": "true",
        "SLOTCAR_ADOPT_ALL": "true",
    }


def find(state_dir: Path, inventory: Path, by: GuestTime | None = None) -> Controller | None:
    """The controller that an earlier program left running in `state_dir`, if it lives."""
    folder = state_dir / "demo"
    try:
        noted = json.loads((folder / "controller.json").read_text())
        process = psutil.Process(noted["pid"])
        mine = "slotcar" in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, KeyError, psutil.Error):
        return None
    if not mine:
        return None
    environment = environment_for(state_dir, inventory) | (by.environment() if by else {})
    return Controller(folder, environment, noted["pid"], noted["port"])


def start(state_dir: Path, inventory: Path, stage_lead: str = "60 s", by: GuestTime | None = None) -> Controller:
    """Starts one, or gives the one that runs.

    Args:
        by: the clock that it goes by, of a guest in virtual time; this machine's where there is none.

    Raises:
        LabError: it does not start; says what it wrote.
    """
    running = find(state_dir, inventory, by)
    if running is not None:
        return running
    folder = state_dir / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    environment = environment_for(state_dir, inventory) | (by.environment() if by else {})
    port = free_port()
    with (folder / "controller.log").open("wb") as output:
        child = subprocess.Popen(
            by.serve(port) if by else [str(SLOTCAR), "serve", "--port", str(port)],
            # Armed before there is traffic: an emulated router that forwards has little time left for a login.
            env={**environment, "SLOTCAR_STAGE_LEAD": stage_lead},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    (folder / "controller.json").write_text(json.dumps({"pid": child.pid, "port": port}))
    controller = Controller(folder, environment, child.pid, port)
    deadline = time.monotonic() + HANG_S
    while True:
        try:
            controller.get("/readyz")
            child.returncode = 0  # it outlives this program: nobody waits for it
            return controller
        except LabError:
            if child.poll() is not None or time.monotonic() > deadline:
                child.kill()
                child.wait()
                words = (folder / "controller.log").read_text(errors="replace").strip()[-600:]
                raise LabError(f"the controller did not start: {words}") from None
            time.sleep(0.2)


def end_ledger(state_dir: Path) -> None:
    """The embedded server outlives its controller, for the next one; here there is none."""
    noted = state_dir / "postgres" / "postmaster.pid"
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        server = psutil.Process(int(noted.read_text().splitlines()[0]))
        if str(state_dir) in " ".join(server.cmdline()):
            server.send_signal(signal.SIGINT)
            server.wait(10.0)


def free_port() -> int:
    """The usual one, or the next that is free; no other lab's from now on, until this program ends.

    Raises:
        LabError: there is none.
    """
    port = next((port for port in range(FIRST_PORT, FIRST_PORT + 500) if ports.claim(port)), None)
    if port is None:
        raise LabError(f"no free TCP port on 127.0.0.1 from {FIRST_PORT} on")
    return port
