"""How late devices are at a boundary: armed Linux and IOS routers, held IOS routers, and those of a playbook begun then."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import yaml

from benchmarks.common import Figure, Say
from benchmarks.push import PEER
from benchmarks.push.fleet import Fleet
from benchmarks.push.world import World
from slotcar.base.settings import load_settings
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.timeline import Active
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.rollout.model import PushFailed
from slotcar.rollout.program import WantedFor
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.wanted import wanted_for
from slotcar.wiring import pusher_for
from slotcar_lab.clocks import MACHINE
from slotcar_lab.control import Lab
from slotcar_lab.lateness import lags_cs

SIZES, QUICK_SIZES = (1, 20, 100), (1, 20)
#: Boundaries of each size; and how often the peer is timed, which needs minutes for a hundred.
BOUNDARIES, QUICK_BOUNDARIES = {1: 50, 20: 50, 100: 10}, {1: 10, 20: 10, 100: 5}
PEERS = {1: 3, 20: 3, 100: 1}
#: Boundaries come this long after they were asked for: what is slow happens in the lead.
HELD_S = {1: 5.0, 20: 9.0, 100: 30.0}
ARMED_S = {1: 8.0, 20: 25.0, 100: 90.0}
LAB_ARMED_S, LAB_ARMED_MOST_S = 15.0, 120.0
#: So many boundaries are armed at once, so far apart: no device needs longer for a change.
TOGETHER = 5
APART_S = 4.0
LINUX_PEER = "ansible-playbook with tc over ssh"
LAB = Path(__file__).resolve().parents[1] / "inventories" / "lab"


@dataclass(frozen=True, slots=True)
class Lags:
    """Per boundary, how late each of the devices was, in seconds."""

    rows: list[list[float]]

    def figures(self, what: str, peer: str, peers: Lags) -> Iterator[Figure]:
        if not self.rows:
            return
        every, others = np.array(self.rows), np.array(peers.rows)
        for name, of in (("p50", 50), ("p99", 99), ("maximum", 100)):
            own, other = float(np.percentile(every, of)), float(np.percentile(others, of))
            yield Figure(f"{what}: lag of a device, {name}", own, "s", peer, other, lower_is_better=True)
        skew, other_skew = np.ptp(every, axis=1), np.ptp(others, axis=1)
        if every.shape[1] > 1:
            yield Figure(
                f"{what}: skew between devices, maximum", float(skew.max()), "s", peer, float(other_skew.max()),
                lower_is_better=True,
            )  # fmt: skip


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    counts = QUICK_BOUNDARIES if quick else BOUNDARIES
    with tempfile.TemporaryDirectory(prefix="slotcar-bench-") as folder:
        yield from _armed(Path(folder), counts[20], say)
    for size in QUICK_SIZES if quick else SIZES:
        with tempfile.TemporaryDirectory(prefix="slotcar-bench-") as folder, Fleet(size) as fleet:
            peers = yield from _held(size, counts[size], World(Path(folder), fleet), say)
        with tempfile.TemporaryDirectory(prefix="slotcar-bench-") as folder, Fleet(size, "cisco-mqc") as fleet:
            yield from _managed(size, counts[size], World(Path(folder), fleet, eem=True), peers, say)


def _held(size: int, boundaries: int, world: World, say: Say) -> Generator[Figure, None, Lags]:
    """Gives the peer's lags too."""
    world.push(0)
    rows, used, slot = [], [], 0
    for number in range(boundaries):
        say(f"{size} routers held, boundary {number + 1} of {boundaries}")
        at, slot = datetime.now(UTC) + timedelta(seconds=HELD_S[size]), slot + 1
        with _cpu_after(at.timestamp()) as cpu_s:
            world.push(slot, at, reads=False)
        used += cpu_s
        rows.append([line - at.timestamp() for line in world.fleet.last_lines_at()])
    peers, peers_used = [], []
    for number in range(PEERS[size]):
        say(f"{size} routers, {PEER}, boundary {number + 1} of {PEERS[size]}")
        began, slot = time.time(), slot + 1
        with _cpu_after(began) as cpu_s:
            world.peer_push(slot)
        peers_used += cpu_s
        peers.append([line - began for line in world.fleet.last_lines_at()])
        world.mend(slot)
    name = f"held, {_routers(size)}"
    yield from Lags(rows).figures(name, PEER, Lags(peers))
    yield Figure(
        f"{name}: CPU time from the boundary on, verified", statistics.median(used), "s",
        PEER, statistics.median(peers_used), lower_is_better=True,
    )  # fmt: skip
    return Lags(peers)


def _managed(size: int, boundaries: int, world: World, peers: Lags, say: Say) -> Iterator[Figure]:
    """Routers with an event manager: the boundary is theirs alone."""
    world.push(0)
    rows: list[list[float]] = []
    for slot in range(0, boundaries, TOGETHER):
        say(f"{size} routers armed, boundary {slot + 1} of {boundaries}")
        instants = _instants(ARMED_S[size])
        world.arm(slot, instants)
        armed_at = time.time()
        MACHINE.wait_until(instants[-1].timestamp() + APART_S)
        for at in (one.timestamp() for one in instants if one.timestamp() > armed_at):
            lines = world.fleet.last_lines_between(at, at + APART_S)
            rows.append([line - at for line in lines if line is not None])
    whole = [row for row in rows if len(row) == size]
    name = f"armed, {_routers(size)} with an event manager"
    yield Figure(f"{name}: boundaries that all were armed for, of {boundaries}", len(whole), "boundaries")
    yield from Lags(whole).figures(name, PEER, peers)


def _instants(lead_s: float) -> list[datetime]:
    first = datetime.now(UTC) + timedelta(seconds=lead_s)
    return [first + timedelta(seconds=APART_S * number) for number in range(TOGETHER)]


def _routers(size: int) -> str:
    return f"{size} emulated IOS router{'s' if size > 1 else ''}"


@contextmanager
def _cpu_after(at: float) -> Iterator[list[float]]:
    """Seconds that this process and all that it started, but the routers, used from an instant on until the block ended."""
    cpu_s: list[float] = []
    began: list[float] = []
    timer = threading.Timer(max(0.0, at - time.time()), lambda: began.append(_cpu_s()))
    timer.start()
    try:
        yield cpu_s
    finally:
        timer.join()
    cpu_s.append(_cpu_s() - began[0])


def _cpu_s() -> float:
    routers = {child.pid for child in multiprocessing.active_children()}
    own = psutil.Process()
    used = 0.0
    for process in (own, *(child for child in own.children(recursive=True) if child.pid not in routers)):
        with suppress(psutil.Error):
            used += sum(process.cpu_times()[:4])
    return used


def _armed(folder: Path, boundaries: int, say: Say) -> Iterator[Figure]:
    from slotcar_lab import control, topology

    os.environ["SLOTCAR_STATE_DIR"] = str(folder)
    say("the lab's routers")
    lab = control.up(topology.garnet(), folder / "lab")
    try:
        network = load_network(LAB)
        pusher = pusher_for(network, load_settings(inventory=LAB, state_dir=folder), None)
        names = sorted(name for name, device in network.devices.items() if device.platform == "linux-tc")
        rows: list[list[float]] = []
        for number in range(0, boundaries, TOGETHER):
            say(f"{len(names)} Linux routers armed, boundary {number + 1} of {boundaries}")
            rows += _armed_in_time(partial(_boundaries, lab, pusher, wanted_for(network), names, _flow(network)), say)
        peers = [_peer_s(folder, number) for number in range(PEERS[20])]
    finally:
        control.down(folder / "lab")
    rows = [row for row in rows if len(row) == len(names)]
    yield Figure(f"armed, Linux routers: boundaries that all were armed for, of {boundaries}", len(rows), "boundaries")
    yield from Lags(rows).figures(f"armed, {len(names)} Linux routers of the lab", LINUX_PEER, Lags(peers))


def _flow(network: Network) -> Active:
    window = Window(datetime(2030, 1, 1, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC))
    reservation = Reservation.constant(
        name="flow", owner="bench", source=Endpoint(host="anl-premium"),
        destination=Endpoint(host="lbnl-premium", port=5001), protocol=Protocol.UDP,
        service=Service.IP_PREMIUM, rate_bps=10_000_000, windows=(window,),
    )  # fmt: skip
    (entry,) = entries_of([reservation], network, window.start)
    return Active(entry, 0)


def _armed_in_time(boundaries: Callable[[float], list[list[float]]], say: Say) -> list[list[float]]:
    """Again with a longer lead where the machine was so slow that the routers refused, because it was too late."""
    lead_s = LAB_ARMED_S
    while True:
        try:
            return boundaries(lead_s)
        except PushFailed:
            lead_s *= 2
            if lead_s > LAB_ARMED_MOST_S:
                raise
            say(f"Linux routers, again with a lead of {lead_s:.0f} s: they were not armed in time")


def _boundaries(
    lab: Lab, pusher: Pusher, wanted: WantedFor, names: list[str], flow: Active, lead_s: float
) -> list[list[float]]:
    """Arms the flow's beginning and end by turns, and reads how late each router was by its own account."""
    readings = pusher.read(names)
    instants, now = _instants(lead_s), datetime.now(UTC)
    turns: list[tuple[datetime, tuple[Active, ...]]] = [
        (at, () if number % 2 else (flow,)) for number, at in enumerate(instants)
    ]
    pusher.push(wanted((), now, turns).wanted, readings.by_device, now)
    armed_at, rows = time.time(), []
    for at in (one.timestamp() for one in instants if one.timestamp() > armed_at):
        MACHINE.wait_until(at + APART_S / 2)
        rows.append([lag / 100 for lag in lags_cs(lab, names).values()])
    MACHINE.wait_until(instants[-1].timestamp() + APART_S)
    return rows


def _peer_s(folder: Path, number: int) -> list[float]:
    """A playbook that is started at the boundary and changes one class of each router: when it had ended, for each."""
    rate = 10_000_000 + 1000 * number
    task = {
        "name": "Change",
        "ansible.builtin.raw": f"tc class change dev eth1 parent 51c0:1 classid 51c0:20 htb rate {rate} prio 1",
    }
    book = folder / "peer.yml"
    book.write_text(yaml.safe_dump([{"name": "Slot", "hosts": "domains", "gather_facts": False, "tasks": [task]}]))
    began = time.time()
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(LAB), str(book)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the peer's playbook failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [time.time() - began] * 4
