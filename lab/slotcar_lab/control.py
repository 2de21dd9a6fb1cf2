"""The lab's verbs: `up`, `down`, `status`, and the `Lab` that they give."""

from __future__ import annotations

import contextlib
import fcntl
import inspect
import json
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from slotcar_lab import client, clocks, kernel, keys, plan, ports, probe, requirements
from slotcar_lab.errors import LabError
from slotcar_lab.guest import machine
from slotcar_lab.guest.machine import Extras
from slotcar_lab.patience import HANG_S
from slotcar_lab.requirements import Backend
from slotcar_lab.topology import Topology

STATE = "lab.json"
AGENT = Path(__file__).resolve().parent / "agent" / "main.py"
#: As long as only a hang takes: beside much other work a boot took five minutes.
CLOCK_STEPS = 5
Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Progress that nobody wants to see."""


@dataclass(frozen=True, slots=True)
class Running:
    """What `up` writes down about a lab, in `lab.json`."""

    backend: str
    accel: str
    pid: int
    pid_started: str
    control_port: int
    token: str
    ports: dict[str, int]
    fingerprint: str
    topology: dict[str, Any]
    kernel: str = ""
    boot_s: float = 0.0
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """The lab as a person asks for it."""

    up: bool
    text: str
    backend: str = ""
    kernel: str = ""
    up_s: int = 0
    clock_offset_us: int = 0
    clock_uncertainty_us: int = 0


class Lab:
    """A lab that runs. Every method names nodes as the topology does."""

    def __init__(self, state_dir: Path, running: Running) -> None:
        self.state_dir = state_dir
        self.running = running
        self.topology = Topology.model_validate(running.topology)
        self.address = client.AgentAddress(running.control_port, running.token)

    @property
    def backend(self) -> Backend:
        return Backend(self.running.backend)

    @property
    def ssh_config_path(self) -> Path:
        """For `ssh -F`: every router by its name, strict host keys, the lab's own key."""
        return self.state_dir / keys.SSH_CONFIG

    @property
    def facts_path(self) -> Path:
        """JSON: router → `ansible_host`, `ansible_port`, `ansible_user`, key and known hosts."""
        return self.state_dir / keys.FACTS

    def facts(self) -> dict[str, dict[str, str | int]]:
        """What `facts_path` holds."""
        by_router: dict[str, dict[str, str | int]] = json.loads(self.facts_path.read_text())
        return by_router

    def exec(
        self, node: str, argv: Sequence[str], timeout_s: float = HANG_S, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a node, to its end; a non-zero status is returned, not raised."""
        return client.run(self.address, self._known(node), argv, timeout_s, stdin)

    def check(self, node: str, argv: Sequence[str], timeout_s: float = HANG_S, stdin: str | None = None) -> str:
        """Standard output of a command that must succeed.

        Raises:
            LabError: it did not; says what it wrote.
        """
        done = self.exec(node, argv, timeout_s, stdin)
        if done.returncode:
            raise LabError(f"on {node}: {' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def popen(self, node: str, argv: Sequence[str], *, stdin: bool = False) -> client.LabProcess:
        """Start a command on a node and let it run; it ends with the object, or with this program."""
        return client.start(self.address, self._known(node), argv, stdin=stdin)

    def start_python(
        self, node: str, program: Path, *arguments: str, stdin: bool = False, modules: Sequence[ModuleType] = ()
    ) -> client.LabProcess:
        """Start a Python program of this machine on a node, as `popen` does a command; the standard library is there.

        Its text and that of its modules go along: a guest keeps what it once read of this machine's files, and would run
        older ones.
        """
        argv, texts = (program.name, *arguments), {module.__name__: inspect.getsource(module) for module in modules}
        return client.start(
            self.address, self._known(node), argv, stdin=stdin, python=program.read_text(), modules=texts
        )

    def inside(self, path: Path) -> str:
        """Where a node finds a file of this machine: a guest has a `/tmp` and a `/run` of its own."""
        return f"{machine.INSIDE}{path}" if self.backend is Backend.GUEST else str(path)

    @property
    def virtual_time(self) -> bool:
        """Whether the lab's time passes only as it is let (`machine.VIRTUAL_TIME`)."""
        return bool(self.running.extras.get("virtual_time"))

    @property
    def clock(self) -> clocks.Clock:
        """What experiments go by: in virtual time the guest's clock, else this machine's."""
        if self.virtual_time:
            return clocks.VirtualClock(self.address, machine.time_file(self.state_dir))
        return clocks.MACHINE

    def clock_offset(self) -> client.Offset:
        """How far the nodes' clock is ahead of `clock`, measured now; one and the same has none."""
        if self.backend is Backend.NAMESPACES or self.virtual_time:
            return client.Offset(0, 0)
        return self.address.measure_offset()

    def _known(self, node: str) -> str:
        names = plan.namespaces(self.topology)
        if node and node not in names:
            raise LabError(f"the lab has no node {node}; it has {', '.join(names)}")
        return node


def up(
    topology: Topology,
    state_dir: Path,
    backend: Backend | None = None,
    progress: Progress = quiet,
    extras: Extras = machine.PLAIN,
) -> Lab:
    """The lab, running: the one that is up already when it is healthy and the same, else a new one.

    Args:
        extras: what the guest has beside the routers; anything at all needs a guest.

    Raises:
        LabError: it cannot run here; the message says what is missing.
    """
    state_dir = state_dir.resolve()
    state_dir.mkdir(parents=True, exist_ok=True)
    with _locked(state_dir):
        current = attach(state_dir)
        if extras != machine.PLAIN:
            backend = Backend.GUEST
        same = current is not None and current.topology == topology and backend in (None, current.backend)
        if current is not None and same and current.running.extras == _noted(extras):
            return current
        if current is not None:
            progress("another topology is up; replacing it")
        _remove(state_dir)
        return _build(topology, state_dir, backend or choose_backend(progress), progress, extras)


def attach(state_dir: Path) -> Lab | None:
    """The lab that runs in this state directory, or None; starts nothing."""
    running = _read(state_dir.resolve())
    if running is None or not _alive(running):
        return None
    lab = Lab(state_dir.resolve(), running)
    try:
        answer = lab.address.ask("hello", timeout_s=5.0)
    except LabError:
        return None
    return lab if answer["fingerprint"] == running.fingerprint else None


def down(state_dir: Path, progress: Progress = quiet) -> bool:
    """Take the lab away, whatever state it is in; False when there was none. Keys stay, for the next one."""
    if not state_dir.exists():
        return False
    with _locked(state_dir.resolve()):
        return _remove(state_dir.resolve(), progress)


def status(state_dir: Path) -> Status:
    """What runs, in words and in figures."""
    running = _read(state_dir.resolve())
    if running is None:
        return Status(False, "the lab is down")
    lab = attach(state_dir)
    if lab is None:
        what = "does not answer" if _alive(running) else "has died"
        return Status(False, f"the lab's {running.backend} {what}; `slotcar lab up` makes a new one")
    answer = lab.address.ask("hello")
    offset = lab.clock_offset()
    text = f"up: {len(lab.topology.routers)} routers, {len(lab.topology.hosts)} hosts, kernel {answer['kernel']}"
    where = f"guest ({running.accel})" if lab.backend is Backend.GUEST else "namespaces of this kernel"
    return Status(
        True, f"{text}, {where}", running.backend, answer["kernel"], answer["up_s"], offset.offset_us,
        offset.uncertainty_us,
    )  # fmt: skip


def choose_backend(progress: Progress = quiet) -> Backend:
    """Namespaces where this kernel can do all that Slotcar configures, else the guest."""
    lacking = probe.missing_features()
    if not lacking:
        return Backend.NAMESPACES
    progress(f"this kernel lacks {', '.join(lacking)}: the routers run in a guest that has them")
    return Backend.GUEST


def _noted(extras: Extras) -> dict[str, Any]:
    """As `lab.json` holds it; nothing where there is nothing."""
    noted: dict[str, Any] = json.loads(json.dumps(asdict(extras)))
    return {} if extras == machine.PLAIN else noted


def _build(topology: Topology, state_dir: Path, backend: Backend, progress: Progress, extras: Extras) -> Lab:
    requirements.ensure(backend, progress)
    if extras.init is machine.Init.SYSTEMD:
        requirements.ensure_for("a guest with systemd", progress)
    began = time.monotonic()
    router_ports = ports.of_routers(topology, state_dir)
    control_port = next(ports.free(set(router_ports.values()), state_dir))
    inside = machine.INSIDE if backend is Backend.GUEST else ""
    keys.write_ssh(state_dir, router_ports, inside)
    token = secrets.token_hex(16)
    document = plan.build_plan(
        topology,
        ports=router_ports,
        control_port=control_port,
        token=token,
        sshd_dir=state_dir / keys.SSHD,
        inside=inside,
        own_kernel=backend is Backend.GUEST,
        virtual_time=extras.virtual_time,
        prefix=plan.prefix_for(state_dir, own_kernel=backend is Backend.GUEST),
    )
    # A name of its own each time: nothing in the guest can have read an older one.
    plan_path = state_dir / f"plan-{token[:8]}.json"
    _write_private(plan_path, json.dumps(document, indent=1))
    pid, accel = _start(backend, plan_path, [control_port, *router_ports.values()], state_dir, progress, extras)
    running = Running(
        backend, accel, pid, _started(pid), control_port, token, router_ports, topology.fingerprint(),
        topology.model_dump(mode="json"), extras=_noted(extras),
    )  # fmt: skip
    _write_private(state_dir / STATE, json.dumps(asdict(running)))
    lab = Lab(state_dir, running)
    answer = _wait_ready(lab, state_dir)
    if backend is Backend.GUEST and not extras.virtual_time:
        machine.prefer_timers(pid)
        _set_clock(lab)
    boot_s = round(time.monotonic() - began, 1)
    done = Running(**{**asdict(running), "kernel": answer["kernel"], "boot_s": boot_s})
    _write_private(state_dir / STATE, json.dumps(asdict(done)))
    progress(f"{len(router_ports)} routers answer after {boot_s} s (kernel {answer['kernel']}, {backend})")
    return Lab(state_dir, done)


def _set_clock(lab: Lab) -> None:
    """Set the guest's clock by this machine's; what the step itself takes is put right by the next one."""
    for _ in range(CLOCK_STEPS):
        offset = lab.clock_offset()
        if abs(offset.offset_us) <= 2 * offset.uncertainty_us:
            return
        lab.address.ask("set_clock", add_us=-offset.offset_us)


def _start(
    backend: Backend, plan_path: Path, forwarded: list[int], state_dir: Path, progress: Progress, extras: Extras
) -> tuple[int, str]:
    if backend is Backend.GUEST:
        image = kernel.prepare(progress)
        accel = "tcg" if extras.virtual_time else machine.choose_accel(image)
        progress(f"booting {image.release} ({accel})")
        return machine.start(image, plan_path, forwarded, state_dir / "console.log", accel=accel, extras=extras), accel
    root = requirements.as_root()
    if root is None:
        raise LabError("network namespaces need root: run as root, allow sudo without a password, or use the guest")
    progress("making the namespaces")
    argv = [*root, keys.base_python(), "-I", "-S", "-B", str(AGENT), str(plan_path)]
    with (state_dir / "console.log").open("wb") as output:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    child.returncode = 0  # it outlives this program: nobody waits for it
    return child.pid, ""


def _wait_ready(lab: Lab, state_dir: Path) -> dict[str, Any]:
    console = state_dir / "console.log"
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        text = console.read_text(errors="replace") if console.exists() else ""
        if "slotcar: ready" in text:
            with contextlib.suppress(LabError):
                return lab.address.ask("hello", timeout_s=2.0)
        if "slotcar: failed" in text or "Kernel panic" in text or not _alive(lab.running):
            break
        time.sleep(0.05)
    late = time.monotonic() >= deadline
    words = f"did not come up within {HANG_S:.0f} s" if late else "ended before it was up"
    shown = [f"{file} ends:\n{tail}" for file in (console, console.with_name("qemu.log")) if (tail := _tail(file))]
    _remove(state_dir)
    raise LabError("\n".join((f"the lab {words}" + (":" if shown else ""), *shown)))


def _tail(file: Path) -> str:
    with contextlib.suppress(OSError):
        return "\n".join(file.read_text(errors="replace").splitlines()[-8:])
    return ""


def _remove(state_dir: Path, progress: Progress = quiet) -> bool:
    running = _read(state_dir)
    for stale in (*state_dir.glob("plan-*.json"), *state_dir.glob("disk*.raw")):
        stale.unlink()
    if running is None:
        return False
    if running.backend == Backend.GUEST:
        if _alive(running):
            machine.stop(running.pid)
    else:
        _remove_namespaces(running, plan.prefix_for(state_dir, own_kernel=False))
    (state_dir / STATE).unlink(missing_ok=True)
    (state_dir / keys.SSH_CONFIG).unlink(missing_ok=True)
    (state_dir / keys.FACTS).unlink(missing_ok=True)
    progress("the lab is down")
    return True


def _remove_namespaces(running: Running, prefix: str) -> None:
    if _alive(running):
        with contextlib.suppress(LabError):
            client.AgentAddress(running.control_port, running.token).ask("end")
        deadline = time.monotonic() + 15.0
        while _alive(running) and time.monotonic() < deadline:
            time.sleep(0.05)
    root = requirements.as_root()
    if root is None:
        raise LabError("removing the lab's namespaces needs root: run as root, or allow sudo without a password")
    argv = [*root, "env", f"PATH={requirements.SEARCH_PATH}", keys.base_python(), "-I", "-S", "-B", str(AGENT)]
    subprocess.run([*argv, "--teardown", prefix], check=True, capture_output=True)


def _read(state_dir: Path) -> Running | None:
    try:
        return Running(**json.loads((state_dir / STATE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _started(pid: int) -> str:
    """Start time of a process in clock ticks: tells it from another that got its number later; "" when it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _alive(running: Running) -> bool:
    return bool(running.pid_started) and _started(running.pid) == running.pid_started


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text)


@contextlib.contextmanager
def _locked(state_dir: Path) -> Iterator[None]:
    with (state_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
