"""What a round plays on: two controllers with one ledger, the lab's routers, and the ways to break them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from lab.chaos.audit import seconds
from lab.control import Lab
from lab.demo.controller import SLOTCAR, Controller, environment_for, free_port
from lab.errors import LabError
from lab.topology import PORT_BASE_VARIABLE

FLOW = ("--source", "anl-premium", "--protocol", "udp", "--direction", "both", "--owner", "chaos")
PARTITION_S = 10
EDGES = ("anl-edge", "lbnl-edge")


Words = Mapping[str, str]
#: What operators do, as command lines.
OPERATORS: dict[str, Callable[[Words], tuple[str, ...]]] = {
    "create": lambda words: (
        *("create", "--name", words["name"], *FLOW, "--destination", f"lbnl-premium:{words['port']}"),
        *("--rate", words["rate"], "--start", words["start"], "--duration", words["duration"]),
    ),
    "modify": lambda words: ("modify", f"chaos/{words['name']}", "--rate", words["rate"]),
    "cancel": lambda words: ("cancel", f"chaos/{words['name']}", "--yes"),
}


@dataclass(slots=True)
class Stage:
    """Controllers are named a and b; either may lead."""

    lab: Lab
    state_dir: Path
    inventory: Path
    controllers: dict[str, Controller] = field(default_factory=dict)

    def start(self, name: str) -> None:
        """Starts the controller unless it lives."""
        if name in self.controllers and self._lives(self.controllers[name].pid):
            return
        environment = environment_for(self.state_dir, self.inventory) | {
            "SLOTCAR_CHECK_INTERVAL": "10 s",
            PORT_BASE_VARIABLE: os.environ.get(PORT_BASE_VARIABLE, ""),
        }
        # Who was started a moment ago may not listen yet.
        port = free_port({one.port for one in self.controllers.values()})
        with (self.state_dir / f"controller-{name}.log").open("ab") as output:
            child = subprocess.Popen(
                [str(SLOTCAR), "serve", "--port", str(port)],
                env={key: value for key, value in environment.items() if value},
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        threading.Thread(target=child.wait, daemon=True).start()
        self.controllers[name] = Controller(self.state_dir, environment, child.pid, port)

    def stop(self) -> None:
        for one in self.controllers.values():
            one.stop()

    @staticmethod
    def _lives(pid: int) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        return False

    def any(self) -> Controller:
        """One that answers.

        Raises:
            LabError: none does.
        """
        for one in self.controllers.values():
            with contextlib.suppress(LabError):
                one.get("/healthz")
                return one
        raise LabError("no controller answers")

    def leader(self) -> str | None:
        for name, one in self.controllers.items():
            with contextlib.suppress(LabError):
                if one.get("/v1/controller")["leading"]:
                    return name
        return None

    def slotcar(self, *arguments: str) -> str:
        """An operator's command; what it says, also where it fails: a refusal is no fault."""
        environment = environment_for(self.state_dir, self.inventory) | {"SLOTCAR_DEBUG": "1"}
        done = subprocess.run(
            [str(SLOTCAR), *arguments], env=environment, capture_output=True, text=True, timeout=180, check=False
        )
        return f"{done.returncode}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}"

    def do(self, kind: str, words: dict[str, str]) -> str:
        """Makes one action happen, and says what came of it."""
        if kind in OPERATORS:
            return self.slotcar(*OPERATORS[kind](words))
        deaths: dict[str, Callable[[], str]] = {
            "kill-leader": lambda: self._kill(leader=True),
            "kill-standby": lambda: self._kill(leader=False),
            "cut-ssh": self._cut_ssh,
            "restart-router": lambda: self._restart(words["router"]),
            "partition": lambda: self._partition(words["router"]),
            "kill-database": lambda: self._kill_database(words["how"]),
        }
        return deaths[kind]()

    def _kill(self, *, leader: bool) -> str:
        leads = self.leader()
        name = leads if leader else next((one for one in self.controllers if one != leads), None)
        if name is None:
            return "there was none"
        with contextlib.suppress(ProcessLookupError):
            # With the plays that it runs, as a power cut would.
            for child in [*_children(self.controllers[name].pid), self.controllers[name].pid]:
                os.kill(child, signal.SIGKILL)
        threading.Timer(5.0, self.start, (name,)).start()
        return f"controller {name}"

    def _cut_ssh(self) -> str:
        cut = 0
        for process in psutil.process_iter(["name", "cmdline"]):
            words = " ".join(process.info["cmdline"] or ())
            if process.info["name"] == "ssh" and str(self.state_dir) in words:
                with contextlib.suppress(psutil.Error):
                    process.kill()
                    cut += 1
        return f"{cut} connections"

    def _partition(self, router: str) -> str:
        """For some seconds its ssh neither answers nor closes, as behind a link that loses everything."""
        script = (
            'space=$(ip netns identify $$); signal() { for pid in $(ip netns pids "$space"); do'
            ' if [ "$(cat /proc/$pid/comm 2>/dev/null)" = sshd ]; then kill "-$1" "$pid"; fi; done; };'
            f" (for second in $(seq {PARTITION_S}); do signal STOP; sleep 1; done; signal CONT)"
            " >/dev/null 2>&1 </dev/null &"
        )
        self.lab.check(router, ["setsid", "sh", "-c", script])
        return f"{router} for {PARTITION_S} s"

    def _restart(self, router: str) -> str:
        """What a restart takes away: everything in /run/slotcar, its processes, and Slotcar's queues and filters."""
        script = (
            f"for pid in $(cat /run/slotcar/{router}/rev-*/pid 2>/dev/null); do kill -9 -- -$pid 2>/dev/null; done;"
            f" rm -rf /run/slotcar/{router};"
            " for eth in $(ls /sys/class/net); do tc qdisc del dev $eth root 2>/dev/null;"
            " tc qdisc del dev $eth ingress 2>/dev/null; tc qdisc del dev $eth clsact 2>/dev/null; done; true"
        )
        self.lab.check(router, ["sh", "-c", script])
        return router

    def _kill_database(self, how: str) -> str:
        """The embedded server dies as in a power cut, or is told to stop; whoever needs it next starts it again."""
        file = self.state_dir / "postgres" / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            postmaster = psutil.Process(int(file.read_text().split("\n", 1)[0]))
            (postmaster.kill if how == "killed" else postmaster.terminate)()
            return f"process {postmaster.pid} {how}"
        return "there was none"

    def turn_s(self) -> float:
        """How long the first turn took, from the lead to the last device that was read back."""
        events = self.any().get("/v1/events?limit=1000")["items"]
        told = {event["kind"]: seconds(event["at"]) for event in events}
        return told["push.verified"] - told["controller.leading"]

    def ledger(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.any().get("/v1/reservations?limit=1000")["items"]
        return items


def _children(pid: int) -> list[int]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []
