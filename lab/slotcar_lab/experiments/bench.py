"""What an experiment works with: the lab as its inventory has it, a controller beside it, traffic and captures."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from slotcar.measuring.metrics import delay
from slotcar.measuring.metrics.model import Delay
from slotcar.network import load_network
from slotcar_lab import control, requirements, traffic
from slotcar_lab import controller as controllers
from slotcar_lab.agent import at as at_instant
from slotcar_lab.client import LabProcess
from slotcar_lab.clocks import MACHINE, Clock
from slotcar_lab.control import Lab
from slotcar_lab.controller import SLOTCAR, Controller
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.capture import Capture, Packet, stamps
from slotcar_lab.experiments.figures import WAITING_US
from slotcar_lab.experiments.scale import AS_WRITTEN, Scale
from slotcar_lab.experiments.scaled_copies import scaled_inventory, scaled_reservations
from slotcar_lab.experiments.wires import topology_of
from slotcar_lab.guest import machine
from slotcar_lab.lateness import lags_cs
from slotcar_lab.patience import HANG_S
from slotcar_lab.requirements import Backend
from slotcar_lab.virtual.conductor import Conductor
from slotcar_lab.virtual.guest_time import GuestTime, guest_time

#: The folder of a run's lab, in its state.
LAB = "lab"
#: All of an experiment's slots are armed before its traffic begins: a router that is busy with packets has no time left.
STAGE_LEAD = "300 s"
REFUSED = 3
#: How long it takes two ends of a flow to start in an emulated guest, at most.
START_S = 3.0
#: Left out at a slot's start: routers take their step within a second, and queues that were filled before it drain.
SLOT_SETTLE_S = 3.5
#: How long before a slot's end its routers are asked how late they began it.
WATCH_S = 0.4
#: How often a program that follows its reservation asks whether it was told something.
ASK_S = 0.5
#: After the lab's time has run, for a command's end to be told.
LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Slot:
    """A reservation's window, seconds since the epoch by the bench's clock, and its payload rate as the experiment is
    written."""

    name: str
    start: float
    end: float
    rate_bps: int


@dataclass(frozen=True, slots=True)
class Udp:
    """A constant bit rate; `rate_bps` is of payload, as the experiment is written, and the lab's own where it is not
    `scaled`. `burst_bytes`, `burst_s` and `together`: see `start_udp`."""

    source: str
    destination: str
    port: int
    rate_bps: int
    payload_bytes: int = 1_400
    dscp: int = 0
    burst_bytes: int | None = None
    burst_s: float = 0.0
    together: int = traffic.TOGETHER
    scaled: bool = True


@dataclass(slots=True)
class Bench:
    """One lab with one controller, which is the only one that touches the routers."""

    lab: Lab
    inventory: Path
    state_dir: Path
    say: Callable[[str], None]
    #: Shorter phases, for a test of the machinery.
    smoke: bool
    controller: Controller
    scale: Scale = AS_WRITTEN
    #: The lab's, let run for the controller where it is virtual.
    clock: Clock = MACHINE
    by: GuestTime | None = None
    #: Asked at each of the lab's half seconds for as long as `following` says.
    _followers: list[Callable[[], None]] = field(default_factory=list)
    _flows: list[traffic.Flow] = field(default_factory=list)
    _concerned: list[str] = field(default_factory=list)

    def reserve(self, file: Path) -> dict[str, Slot]:
        """Applies a file of reservations; gives each one's window by its name in the file.

        Raises:
            LabError: something in it is refused.
        """
        self.controller.slotcar(
            "apply", str(scaled_reservations(file, self.state_dir, self.scale, soon=self.smoke)), "--yes"
        )
        names = {one["name"] for one in yaml.safe_load(file.read_text())["reservations"]}
        slots: dict[str, Slot] = {}
        for entry in self._committed():
            reservation = entry["reservation"]
            if reservation["name"] not in names:
                continue
            (window,) = reservation["windows"]
            start, end = (datetime.fromisoformat(window[key]).timestamp() for key in ("start", "end"))
            name = reservation["name"]
            slots[name] = Slot(name, start, end, round(self.scale.own(reservation.get("rate_bps") or 0)))
        return slots

    def clear(self) -> None:
        """Cancels whatever is reserved, and waits until the routers have nothing but their baseline.

        Raises:
            LabError: they have not, in time.
        """
        for entry in self._committed():
            # What is over cannot be cancelled, and what is nearly over will be by then.
            if _over(entry, self.clock.now() + 2.0):
                continue
            try:
                self.controller.slotcar("cancel", entry["handle"], "--yes")
            except LabError:
                # A busy machine takes longer than those two seconds to ask.
                if not _over(entry, self.clock.now()):
                    raise
        self.wait_until(self.clock.now() + 3.0)
        self.settle()

    def _committed(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.controller.get("/v1/reservations?state=committed&limit=1000")["items"]
        return entries

    def switch(self, inventory: Path) -> None:
        """Another inventory of the same routers takes this one's place: its scheduler, its shares.

        Raises:
            LabError: the routers do not come to have what it wants.
        """
        self.controller.stop()
        self.inventory = inventory
        self.controller = controllers.start(
            self.state_dir, scaled_inventory(inventory, self.state_dir, self.scale), STAGE_LEAD, self.by
        )
        self.settle()

    def refusal(self, file: Path) -> str:
        """In admission's words, why it refuses what the file asks for; empty where it does not."""
        done = subprocess.run(
            [str(SLOTCAR), "plan", str(scaled_reservations(file, self.state_dir, self.scale, soon=self.smoke))],
            env=self.controller.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode not in (0, REFUSED):
            raise LabError(f"slotcar plan {file.name}: {(done.stderr or done.stdout).strip()}")
        return done.stdout.strip() if done.returncode == REFUSED else ""

    def arm(self, slot: Slot, before: float) -> None:
        """Waits until the routers of a slot's path hold what they are to do.

        Args:
            before: when traffic must begin, seconds since the epoch.

        Raises:
            LabError: they do not in time.
        """
        now, then = self.configuration(slot.start - 1.0), self.configuration(slot.start)
        self._concerned = [name for name, lines in then.items() if now[name] != lines]
        if not self.controller.wait_armed(self._concerned, before, self.clock):
            raise LabError(f"not all of {', '.join(self._concerned)} were armed before the traffic was to begin")
        self.say(f"{', '.join(self._concerned)} hold what they are to do, {before - self.clock.now():.0f} s ahead")

    def watch(self, slots: Sequence[Slot]) -> None:
        """Waits until nearly the end of each slot in turn.

        Raises:
            LabError: a router had begun it so late, by its own account, that what was measured in it is another
                configuration's.
        """
        for slot in sorted(slots, key=lambda one: one.end):
            self.wait_until(slot.end - WATCH_S)
            lag_by_router_cs = lags_cs(self.lab, self._concerned)
            for name in self._concerned:
                lag = lag_by_router_cs.get(name)
                if lag is None or lag > 100 * SLOT_SETTLE_S:
                    late = "not at all" if lag is None else f"{lag / 100:.1f} s late"
                    raise LabError(f"{name} began {slot.name} {late}")

    def settle(self) -> None:
        """Waits until every router has what is wanted now.

        Raises:
            LabError: they have not, in time.
        """
        self.controller.wait_settled(HANG_S)

    def configuration(self, at: float) -> dict[str, tuple[str, ...]]:
        """The lines that Slotcar has for each router at an instant: those that a push compares with."""
        moment = datetime.fromtimestamp(at).astimezone().isoformat().replace("+", "%2B")
        answer = self.controller.get(f"/v1/configurations?at={moment}")
        return {one["device"]: tuple(one["lines"]) for one in answer["items"]}

    def wait_until(self, at: float) -> None:
        """Waits for an instant, seconds since the epoch by `clock`; followers are asked meanwhile."""
        while self._followers and (now := self.clock.now()) < at:
            self.clock.wait_until(min(at, (now // ASK_S + 1) * ASK_S))
            for ask in self._followers:
                ask()
        self.clock.wait_until(at)

    @contextlib.contextmanager
    def following(self, ask: Callable[[], None]) -> Iterator[None]:
        """Has a program ask for news of its own at each half second that the lab's time waits for, until the block ends."""
        self._followers.append(ask)
        try:
            yield
        finally:
            self._followers.remove(ask)

    def next_begin(self) -> float:
        """When a flow begins that is started now. In virtual time at a whole second, so that what is asked at one instant
        begins at one instant, in each run."""
        return int(self.clock.now()) + START_S if self.by else self.clock.now()

    def by_the_nodes(self, at: float) -> float:
        """What the nodes' clocks show at an instant of `clock`, seconds since the epoch."""
        return at + self.lab.clock_offset().offset_us / 1e6

    def run_at(self, begin: float, node: str, argv: Sequence[str]) -> LabProcess:
        """Starts a command on a node at an instant, seconds since the epoch by `clock`."""
        return self.lab.start_python(node, Path(at_instant.__file__), f"{self.by_the_nodes(begin):.6f}", *argv)

    def wait_ended(self, process: LabProcess, within_s: float) -> None:
        """Waits until a command has ended by itself: in virtual time it does so only while that runs.

        Raises:
            LabError: it still runs after so many seconds of the lab's, or has failed; says what it wrote.
        """
        until = self.clock.now() + within_s
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(LOOK_S)
                if status == 0:
                    return
                how = f"ended with status {status}"
                break
            if self.clock.now() >= until:
                how = f"still runs {within_s:g} s after its time"
                break
            self.clock.wait_until(self.clock.now() + 1.0)
        wrote = (process.stderr or process.stdout).strip()[-500:]
        raise LabError(f"{' '.join(process.argv)} {how}: {wrote}")

    def udp(self, flow: Udp, until: float) -> traffic.UdpFlow:
        """Starts it now; it ends at `until`, seconds since the epoch."""
        return self.udp_for(flow, max(1.0, until - self.next_begin()))

    def udp_for(self, flow: Udp, duration_s: float) -> traffic.UdpFlow:
        """Starts it now, for so long from its beginning on."""
        started = traffic.start_udp(
            self.lab,
            flow.source,
            flow.destination,
            port=flow.port,
            rate_bps=self.scale.lab(flow.rate_bps) if flow.scaled else flow.rate_bps,
            payload_bytes=flow.payload_bytes,
            duration_s=duration_s,
            dscp=flow.dscp,
            burst_bytes=flow.burst_bytes,
            burst_s=flow.burst_s,
            together=flow.together,
            begin=self.next_begin() if self.by else None,
            clock=self.clock,
        )
        self._flows.append(started)
        return started

    def tcp(self, source: str, destination: str, port: int, duration_s: float) -> traffic.TcpFlow:
        """Starts it now."""
        started = traffic.start_tcp(self.lab, source, destination, port=port, duration_s=duration_s,
            begin=self.next_begin() if self.by else None, clock=self.clock,
        )  # fmt: skip
        self._flows.append(started)
        return started

    def stop(self) -> None:
        """Ends every flow that still runs, and their connections; what they counted stays readable."""
        for flow in self._flows:
            flow.stop()
        self._flows.clear()

    @contextlib.contextmanager
    def captured(self, sources: Sequence[str], destinations: Sequence[str], expression: str) -> Iterator[Captured]:
        """Captures what leaves the sources and what comes to the destinations, until the block ends."""
        arriving = [Capture(self.lab, node, expression, outgoing=False, clock=self.clock) for node in destinations]
        leaving = [Capture(self.lab, node, expression, outgoing=True, clock=self.clock) for node in sources]
        capture = Captured(self.lab.clock_offset().offset_us)
        yield capture
        capture.sent = tuple(packet for one in leaving for packet in one.packets())
        capture.received = tuple(packet for one in arriving for packet in one.packets())

    def demand_sent(self, flows: Sequence[traffic.Flow], start: float, end: float, part: float = 0.97) -> None:
        """
        Raises:
            LabError: a sender did not send what it was to send between two instants: its figures are not the routers'.
        """
        for flow in flows:
            mean_bps = traffic.mean_bps(s for s in flow.sent() if start + s.interval_s <= s.ended_at <= end)
            if mean_bps < part * flow.offered_bps:
                sent = f"{mean_bps / 1e6:.2f} of {flow.offered_bps / 1e6:.2f} Mb/s"
                raise LabError(f"{flow.source} sent {sent} to port {flow.port}")


@dataclass(slots=True)
class Captured:
    """What was captured, by the lab's clock, which is `offset_us` ahead of this machine's."""

    offset_us: int
    sent: tuple[Packet, ...] = ()
    received: tuple[Packet, ...] = ()

    def stream(self, port: int) -> tuple[Delay, ...]:
        """The one-way delays of the datagrams that went to a port, by this machine's clock."""
        of_port = [[p for p in packets if p.destination_port == port] for packets in (self.sent, self.received)]
        return delay.one_way(stamps(of_port[0], of_port[1], self.offset_us), WAITING_US)


@contextlib.contextmanager
def bench(
    inventory: Path,
    state_dir: Path,
    say: Callable[[str], None],
    *,
    smoke: bool = False,
    real_time: bool = False,
    scale: Scale = AS_WRITTEN,
) -> Iterator[Bench]:
    """A bench that is up, its routers at their baseline; everything is taken away again.

    Args:
        state_dir: of this run alone: keys, ledger and log are in it.
        real_time: by this machine's clock, and not in a guest in virtual time, where figures come from (ADR 56).
        scale: of all rates of the inventory, of reservations and of flows.

    Raises:
        LabError: the lab cannot run here, or the controller does not make the routers ready.
    """
    backend = control.choose_backend(say) if real_time else Backend.GUEST
    requirements.ensure(backend, say, install=True)
    extras = machine.PLAIN if real_time else machine.VIRTUAL_TIME
    scaled = scaled_inventory(inventory, state_dir, scale)
    lab = control.up(topology_of(load_network(scaled)), state_dir / LAB, backend, say, extras)
    try:
        by = guest_time(lab, state_dir)
        controller = controllers.start(state_dir, scaled, STAGE_LEAD, by)
        try:
            new_bench = Bench(lab, inventory, state_dir, say, smoke, controller, scale, lab.clock, by)
            if by is not None:
                new_bench.clock = Conductor(lab.clock, lambda: [new_bench.controller.pid], by.idle)
            new_bench.settle()
            say("the routers have their baseline: the queues, and no reservation")
            yield new_bench
        finally:
            left = controllers.find(state_dir, scaled)
            if left is not None:
                left.stop()
    finally:
        controllers.end_ledger(state_dir)
        control.down(state_dir / LAB)


def _over(entry: dict[str, Any], at: float) -> bool:
    return all(datetime.fromisoformat(window["end"]).timestamp() <= at for window in entry["reservation"]["windows"])
