"""The controllers of chaos, run as a supervisor runs them: what fails is started again. Every end is judged.

A supervisor starts a controller at an instant of the agenda; how long a process takes to end is this machine's time.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from slotcar_lab.chaos import faults, gate
from slotcar_lab.chaos.agenda import Agenda
from slotcar_lab.chaos.faults import Clock
from slotcar_lab.chaos.judge import Cause, End, judge_end
from slotcar_lab.chaos.timing import Timing
from slotcar_lab.controller import Controller, environment_for, free_port
from slotcar_lab.errors import LabError
from slotcar_lab.topology import PORT_BASE_VARIABLE

#: Of Ansible's, for the controllers' plays.
CALLBACKS = Path(__file__).with_name("plays")
UNIT = Path(__file__).resolve().parents[3] / "deploy" / "systemd" / "slotcar.service"
#: As `RestartSec` of a supervisor; longer, so that the other controller takes the lead.
RESTART_S = 5.0
#: What a controller started may need so long to notice that it has ended.
CHILDREN_S = 2.0
#: Names, in the environment of each of its processes, the run of a controller.
OF_A_RUN = "SLOTCAR_CHAOS_RUN"
#: The folders that a controller makes for its plays, and removes (`controller/slotcar/rollout/playbook.py`).
PLAY_FOLDERS = "slotcar-run-*"


@dataclass(slots=True)
class _Run:
    """One process of a controller, from its start to its end. Times are of this machine's monotonic clock."""

    child: subprocess.Popen[bytes]
    mark: str
    program: str
    cause: Cause = Cause.ITSELF
    asked_at_s: float = 0.0
    ended_at_s: float = 0.0
    on_agenda: bool = False

    def attend(self) -> None:
        self.child.wait()
        self.ended_at_s = time.monotonic()


@dataclass(slots=True)
class Controllers:
    """Controllers by their names. `findings` is what was wrong with how one of them ended, in words.

    Attributes:
        state_dir: the ledger and the archive, shared by all; each has a folder for temporary files in it.
        log_dir: what they write to standard output.
        clocks: by the controller's name.
    """

    state_dir: Path
    inventory: Path
    log_dir: Path
    clocks: dict[str, Clock]
    timing: Timing
    agenda: Agenda = field(default_factory=Agenda)
    running: dict[str, Controller] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    _runs: dict[str, _Run] = field(default_factory=dict)
    _ports: dict[str, int] = field(default_factory=dict)
    _started: int = 0

    @property
    def gates(self) -> Path:
        """The folder of the gates at which their pushes stop (`slotcar_lab.chaos.gate`)."""
        return self.log_dir / "gates"

    def pids(self) -> list[int]:
        """The processes of those that live."""
        return [one.pid for name, one in sorted(self.running.items()) if self.runs(name)]

    def start(self, name: str) -> None:
        """Starts the controller unless it runs."""
        if self.runs(name):
            return
        self._started += 1
        program = f"chaos {name} {self._started}"  # as the database calls it
        mark = f"{self.state_dir}/{name}-{self._started}"
        environment = environment_for(self.state_dir, self.inventory) | {
            "SLOTCAR_CHECK_INTERVAL": self.timing.check_interval,
            PORT_BASE_VARIABLE: os.environ.get(PORT_BASE_VARIABLE, ""),
            "TMPDIR": str(self._temporary(name)),
            OF_A_RUN: mark,
            "PGAPPNAME": program,
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            gate.FOLDER: str(self.gates),
            **self.timing.environment(),
        }
        environment = {key: value for key, value in environment.items() if value}
        port = self._ports.get(name) or free_port()
        self._ports[name] = port
        with (self.log_dir / f"controller-{name}.log").open("ab") as output:
            child = subprocess.Popen(
                self.timing.serve(port),
                env=environment | self.clocks[name].environment(),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        self._runs[name] = run = _Run(child, mark, program)
        self.running[name] = Controller(self.state_dir, environment, child.pid, port)
        threading.Thread(target=run.attend, daemon=True).start()

    def runs(self, name: str) -> bool:
        return name in self._runs and self._runs[name].child.poll() is None

    def kill(self, name: str) -> bool:
        """Ends it and the plays that it runs, as a power cut would. Whether it ran."""
        run = self._note_end(name, Cause.KILLED)
        if run is None:
            return False
        for pid in [*_children(run.child.pid), run.child.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        run.child.wait()
        with contextlib.suppress(LabError):
            faults.wait_disconnected(self.state_dir / "postgres", run.program)
        return True

    def terminate(self, name: str) -> bool:
        """Tells it to stop, as its supervisor would, and ends it when that takes too long. Whether it ran."""
        run = self._note_end(name, Cause.STOPPED)
        if run is None:
            return False
        run.child.send_signal(signal.SIGTERM)
        last = threading.Timer(stop_timeout_s() + 1, run.child.kill)
        last.daemon = True
        last.start()
        return True

    @property
    def ending(self) -> bool:
        """Whether one was told to end, and has not."""
        return any(run.cause is not Cause.ITSELF and not run.on_agenda for run in self._runs.values())

    def look(self) -> None:
        """Puts on the agenda what a supervisor does with those that have ended."""
        for name, run in self._runs.items():
            if run.ended_at_s and not run.on_agenda:
                run.on_agenda = True
                self.agenda.put(self.timing.instant + RESTART_S, functools.partial(self._after, name, run))

    def close(self) -> None:
        """Ends all of them for good."""
        for one in self.running.values():
            one.stop()
        for run in self._runs.values():
            for process in processes_of(run.mark):
                with contextlib.suppress(psutil.Error):
                    process.kill()

    def _note_end(self, name: str, cause: Cause) -> _Run | None:
        run = self._runs.get(name)
        if run is None or run.child.poll() is not None:
            return None
        run.cause, run.asked_at_s = cause, time.monotonic()
        return run

    def _after(self, name: str, run: _Run) -> None:
        """Judges the end of a run, and starts the controller again as its supervisor would."""
        time.sleep(max(0.0, run.ended_at_s + CHILDREN_S - time.monotonic()))
        took_s = run.ended_at_s - run.asked_at_s if run.asked_at_s else 0.0
        left = tuple(" ".join(process.info["cmdline"] or ()) for process in processes_of(run.mark))
        folders = tuple(folder.name for folder in self._temporary(name).glob(PLAY_FOLDERS))
        status = run.child.returncode
        self.findings += judge_end(
            End(f"controller {name}", run.cause, status, took_s, stop_timeout_s(), left, folders)
        )
        if run.cause is not Cause.ITSELF or status:
            self._forget_plays(name)
            self.start(name)

    def _temporary(self, name: str) -> Path:
        folder = self.state_dir / "tmp" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _forget_plays(self, name: str) -> None:
        """Removes what a run that was killed could not remove."""
        for folder in self._temporary(name).glob(PLAY_FOLDERS):
            shutil.rmtree(folder, ignore_errors=True)


def stop_timeout_s() -> float:
    """How long a supervisor waits for the controller's end before it kills it: what the unit for systemd says."""
    setting = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    if setting is None:
        raise ValueError(f"{UNIT} names no TimeoutStopSec in seconds")
    return float(setting[1])


def processes_of(mark: str) -> list[psutil.Process]:
    """The processes that a run of a controller started and that live.

    Not the database, which all controllers share, nor the connections that ssh keeps open for the next play.
    """
    of_the_run = []
    for process in psutil.process_iter(["name", "cmdline", "status"]):
        with contextlib.suppress(psutil.Error):
            kept = process.info["name"] == "postgres" or "[mux]" in " ".join(process.info["cmdline"] or ())
            alive = process.info["status"] != psutil.STATUS_ZOMBIE
            if alive and not kept and process.environ().get(OF_A_RUN) == mark:
                of_the_run.append(process)
    return of_the_run


def _children(pid: int) -> list[int]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []
