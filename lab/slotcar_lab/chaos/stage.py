"""What a round plays on: two controllers with one ledger, the lab's routers, and the ways to break them."""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from slotcar_lab.chaos import faults
from slotcar_lab.chaos.agenda import Agenda
from slotcar_lab.chaos.audit import WrongClock
from slotcar_lab.chaos.controllers import Controllers
from slotcar_lab.chaos.faults import Clock, Disk
from slotcar_lab.chaos.gate import Gate
from slotcar_lab.chaos.timing import Timing, timing_of
from slotcar_lab.control import Lab
from slotcar_lab.controller import SLOTCAR, Controller, end_ledger, environment_for
from slotcar_lab.errors import LabError
from slotcar_lab.patience import HANG_S
from slotcar_lab.wall_clock import compile_clock

FLOW = ("--source", "anl-premium", "--protocol", "udp", "--direction", "both", "--owner", "chaos")
PARTITION_S = 10.0
#: A push that a partition keeps waiting holds the guest's time: it waits no longer than so many seconds of this machine's.
STALLED_S = 20.0
#: So long an action waits for the push that it is to strike, at a pace of 1.
PLACED_S = 30.0
EDGES = ("anl-edge", "lbnl-edge")
NAMES = ("a", "b")
HANDLE = r" ?\(r-[0-9a-z]+\)"
DATABASE_ENDS_S = 60.0
#: So long it is tried to make the database accept changes again: it may have been killed meanwhile.
WRITABLE_S = 120.0


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


class Done(NamedTuple):
    """What came of an action, in words, and whether it happened at all."""

    text: str
    happened: bool = True


NOBODY = Done("there was none", happened=False)


@contextlib.contextmanager
def stage_on(lab: Lab, folder: Path, inventory: Path) -> Iterator[Stage]:
    """Two controllers on a small disk of their own in `folder`, which must be empty. All goes away again, but the lab.

    Raises:
        LabError: they do not come up; says why.
    """
    with faults.small_disk(folder / "disk") as disk:
        (disk.folder / "lab").symlink_to(lab.state_dir.resolve(), target_is_directory=True)
        timing = timing_of(lab, folder)
        library = compile_clock(folder)
        clocks = {name: Clock(library, folder / f"clock-{name}") for name in NAMES}
        stage = Stage(lab, disk, inventory, Controllers(disk.folder, inventory, folder, clocks, timing))
        stage.restart_routers()
        with (
            contextlib.ExitStack() as after
        ):  # all of it, the last first, also where a guest that hangs lets some fail
            after.callback(stage.restart_routers)
            after.callback(end_ledger, disk.folder)
            after.callback(stage.processes.close)
            after.callback(stage.put_right)
            after.callback(timing.end)
            timing.begin(stage.processes.pids, stage.beside)
            for name in NAMES:
                stage.processes.start(name)
                timing.rest()  # so that the first leads
            stage.wait_ready()
            yield stage


class _Lasting(NamedTuple):
    """A fault that lasts: what ends it, and what is called again and again until then. `since_s`: this machine's."""

    end: Callable[[], None]
    during: Callable[[], object]
    since_s: float


@dataclass(slots=True)
class Stage:
    """Controllers are named a and b; either may lead.

    Attributes:
        wrong_clocks: when a controller's clock was wrong.
        findings: what operators' commands did wrong, in words.
    """

    lab: Lab
    disk: Disk
    inventory: Path
    processes: Controllers
    wrong_clocks: list[WrongClock] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    _lasting: dict[str, _Lasting] = field(default_factory=dict)
    _placed: list[tuple[Gate, Callable[[], None]]] = field(default_factory=list)
    _gates: int = 0

    @property
    def timing(self) -> Timing:
        return self.processes.timing

    @property
    def agenda(self) -> Agenda:
        return self.processes.agenda

    @property
    def state_dir(self) -> Path:
        return self.disk.folder

    @property
    def controllers(self) -> dict[str, Controller]:
        return self.processes.running

    def wait_ready(self, timeout_s: float = 120.0) -> None:
        """
        Raises:
            LabError: the controllers do not come up in time.
        """
        deadline = self.timing.instant + timeout_s
        while True:
            leader = self.leader()
            with contextlib.suppress(LabError):
                if leader is not None and self.controllers[leader].settled():
                    return
            if self.timing.instant > deadline:
                raise LabError(f"the controllers do not come up; see {self.processes.log_dir}")
            self.timing.wait_until(self.timing.instant + 0.5)

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

    def slotcar(self, *arguments: str) -> Done:
        """An operator's command and what it says, also where it fails: a refusal is no fault. None at all is one."""
        environment = (
            environment_for(self.state_dir, self.inventory) | self.timing.environment() | {"SLOTCAR_DEBUG": "1"}
        )
        try:
            done = subprocess.run(
                [str(SLOTCAR), *arguments],
                env=environment, capture_output=True, text=True, timeout=HANG_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            self.findings.append(f"slotcar {' '.join(arguments)} gave no answer within {HANG_S:g} s")
            return Done("no answer", happened=False)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            # Without handles: they are drawn anew each time.
            return Done(f"{done.returncode}: {re.sub(HANDLE, '', ' '.join(last))}", happened=False)
        return Done("done")

    def do(self, kind: str, words: Words) -> Done:
        """Makes one action happen.

        Raises:
            LabError: it cannot be made to happen at this moment; says why.
        """
        if kind in OPERATORS:
            return self.slotcar(*OPERATORS[kind](words))
        actions: dict[str, Callable[[], Done]] = {
            "kill-leader": lambda: self._end(self.processes.kill, leader=True),
            "kill-standby": lambda: self._end(self.processes.kill, leader=False),
            "stop-leader": lambda: self._end(self.processes.terminate, leader=True),
            "stop-standby": lambda: self._end(self.processes.terminate, leader=False),
            "set-clock-of-leader": lambda: self._set_clock(words, leader=True),
            "set-clock-of-standby": lambda: self._set_clock(words, leader=False),
            "fill-disk": lambda: self._fill_disk(float(words["for_s"])),
            "make-database-read-only": lambda: self._make_read_only(float(words["for_s"])),
            "kill-database": lambda: self._kill_database(words["how"]),
            "cut-ssh": self._cut_ssh,
            "restart-router": lambda: self._restart(words["router"]),
            "partition": lambda: self._partition(words["router"]),
        }
        return actions[kind]()

    def restart_routers(self) -> None:
        """Has them forget the controllers of another ledger, whose numbers may be greater than those of this one's."""
        for router in self.lab.topology.routers:
            self._restart(router)

    @property
    def busy(self) -> bool:
        """Whether something is to happen, or to end."""
        return self.agenda.next_at is not None or self.processes.ending

    def do_due(self) -> None:
        """What the agenda has until now."""
        while (entry := self.agenda.take(self.timing.instant)) is not None:
            entry()

    def place(self, task: int, do: Callable[[], None], otherwise: Callable[[], None], within_s: float) -> None:
        """Has something done before that task of the next push, which waits for it.

        Args:
            otherwise: what is done where no push comes within that time.
        """
        self._gates += 1
        placed = (Gate(self.processes.gates, f"{self._gates:04}", task), do)
        placed[0].close()
        self._placed.append(placed)
        self.agenda.put(self.timing.instant + within_s, functools.partial(self._displace, placed, otherwise))

    def beside(self) -> None:
        """What goes on while an instant is waited for: pushes come to their gates, controllers end, faults go on."""
        self.processes.look()
        for lasting in list(self._lasting.values()):
            lasting.during()
        for placed in [one for one in self._placed if one[0].reached]:
            self._placed.remove(placed)
            placed[1]()
            placed[0].open()

    def put_right(self) -> None:
        """Ends every fault that lasts now, and has nothing more happen."""
        self.agenda.clear()
        for gate, _ in self._placed:
            gate.open()
        self._placed.clear()
        for what in list(self._lasting):
            self._end_lasting(what)

    def _displace(self, placed: tuple[Gate, Callable[[], None]], otherwise: Callable[[], None]) -> None:
        if placed in self._placed:
            self._placed.remove(placed)
            placed[0].open()
            otherwise()

    def _last(self, what: str, for_s: float, end: Callable[[], None], during: Callable[[], object] = int) -> None:
        """Ends a fault after `for_s` seconds, or when all is put right. `during` is called again and again until then."""
        self._lasting[what] = lasting = _Lasting(end, during, time.monotonic())
        self.agenda.put(self.timing.instant + for_s, functools.partial(self._end_lasting, what, lasting))

    def _end_lasting(self, what: str, only: _Lasting | None = None) -> None:
        """Unless it has ended already, and another of its kind lasts."""
        lasting = self._lasting.get(what)
        if lasting is not None and only in (None, lasting):
            del self._lasting[what]
            lasting.end()

    def _lasts(self, what: str) -> bool:
        return what in self._lasting

    def _named(self, *, leader: bool) -> str | None:
        leads = self.leader()
        return leads if leader else next((one for one in self.controllers if one != leads), None)

    def _end(self, end: Callable[[str], bool], *, leader: bool) -> Done:
        name = self._named(leader=leader)
        if name is None or not end(name):
            return NOBODY
        return Done(f"controller {name}")

    def _set_clock(self, words: Words, *, leader: bool) -> Done:
        name = self._named(leader=leader)
        if name is None or not self.processes.runs(name):
            return NOBODY
        if self._lasts(f"clock {name}"):
            return Done(f"the clock of controller {name} is wrong already", happened=False)
        clock, ahead_s, since_s = self.processes.clocks[name], int(words["ahead_s"]), self.timing.now()

        def set_right() -> None:
            clock.set(0)
            self.wrong_clocks.append(WrongClock(since_s, self.timing.now(), ahead_s))

        clock.set(ahead_s)
        self._last(f"clock {name}", float(words["for_s"]), set_right)
        return Done(f"controller {name}")

    def _fill_disk(self, for_s: float) -> Done:
        if self._lasts("disk"):
            return Done("it is full already", happened=False)
        taken_bytes = self.disk.fill()
        # What others give back is taken as well.
        self._last("disk", for_s, self.disk.free, self.disk.fill)
        return Done("no byte is left", taken_bytes > 0)

    def _make_read_only(self, for_s: float) -> Done:
        if self._lasts("database"):
            return Done("it is read-only already", happened=False)
        database = self.state_dir / "postgres"
        faults.set_read_only(database, read_only=True)
        self._last("database", for_s, functools.partial(self._make_writable, database))
        return Done("for all sessions")

    def _make_writable(self, database: Path) -> None:
        """Tries until the database accepts changes again: it may be down, or its disk full, at this moment."""
        until = time.monotonic() + WRITABLE_S
        while True:
            try:
                return faults.set_read_only(database, read_only=False)
            except LabError as error:
                if time.monotonic() > until:
                    self.findings.append(str(error))
                    return None
            time.sleep(0.5)

    def _cut_ssh(self) -> Done:
        """Those of plays, and those that ssh keeps open for the next play, whose sockets are in the lab's folder."""
        cut, folders = 0, (str(self.state_dir), str(self.lab.state_dir))
        for process in psutil.process_iter(["name", "cmdline"]):
            words = " ".join(process.info["cmdline"] or ())
            if process.info["name"] == "ssh" and any(folder in words for folder in folders):
                with contextlib.suppress(psutil.Error):
                    process.kill()
                    cut += 1
        return Done("all connections", happened=True) if cut else NOBODY

    def _partition(self, router: str) -> Done:
        """For some seconds its ssh neither answers nor closes, as behind a link that loses everything."""
        what = f"ssh of {router}"
        if self._lasts(what):
            return Done("it does not answer already", happened=False)
        self._signal_ssh(router, "STOP")
        began_s = time.monotonic()

        def end_of_patience() -> None:
            if time.monotonic() - began_s > STALLED_S:
                self._end_lasting(what)

        self._last(what, PARTITION_S, functools.partial(self._signal_ssh, router, "CONT"), end_of_patience)
        return Done(f"{router} for {PARTITION_S:g} s")

    def _signal_ssh(self, router: str, signal: str) -> None:
        # Twice: the first may have met one that was being started.
        script = (
            'space=$(ip netns identify $$); for time in 1 2; do for pid in $(ip netns pids "$space"); do'
            f' if [ "$(cat /proc/$pid/comm 2>/dev/null)" = sshd ]; then kill -{signal} "$pid"; fi; done; done; true'
        )
        self.lab.check(router, ["sh", "-c", script])

    def _restart(self, router: str) -> Done:
        """What a restart takes away: everything in /run/slotcar, its processes, and Slotcar's queues and filters. By one
        process of tc: nobody can read a router in the middle of its restart.
        """
        script = (
            f"for pid in $(cat /run/slotcar/{router}/rev-*/pid 2>/dev/null); do kill -9 -- -$pid 2>/dev/null; done;"
            f" rm -rf /run/slotcar/{router};"
            " for eth in $(ls /sys/class/net); do"
            " printf 'qdisc del dev %s root\\nqdisc del dev %s ingress\\nqdisc del dev %s clsact\\n' $eth $eth $eth;"
            " done | tc -force -batch - 2>/dev/null; true"
        )
        self.lab.check(router, ["sh", "-c", script])
        return Done(router)

    def _kill_database(self, how: str) -> Done:
        """The embedded server dies as in a power cut, or is told to stop; whoever needs it next starts it again."""
        file = self.state_dir / "postgres" / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            postmaster = psutil.Process(int(file.read_text().split("\n", 1)[0]))
            its_own = postmaster.children()
            (postmaster.kill if how == "killed" else postmaster.terminate)()
            if how == "killed":  # the others end when they notice
                psutil.wait_procs([postmaster, *its_own], DATABASE_ENDS_S)
            return Done(how)
        return NOBODY

    def turn_s(self) -> float:
        """How long the first turn took of who leads."""
        return self.any().first_turn_s()

    def ledger(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.any().get("/v1/reservations?limit=1000")["items"]
        return items
