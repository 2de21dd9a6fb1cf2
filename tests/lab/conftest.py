"""A lab of the tests' own: never the one that somebody works with, which may carry a configuration and a controller.

The tests share it in the order of their files' names: what looks at bare routers comes before what leaves standing queues.
It goes down after the last of them, and not at the end of the run: its controller reads its routers again and again.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Generator, Iterator
from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar_lab import control, requirements, topology
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.guest import machine, post_mortem
from slotcar_lab.requirements import Backend
from slotcar_lab.topology import PORT_BASE_VARIABLE, End, Kind, Link, Node, Topology
from tests.support.controllers import Controller
from tests.support.lost_labs import LOST_LAB
from tests.support.postgres import stop_server

ROOT = Path(__file__).resolve().parents[2]
INVENTORY = ROOT / "inventories" / "lab"
ROUTERS = 4
#: Processes of a run look for ports in rows of their own: two would find the same ones free.
ROWS_OF_A_PROCESS = 20
#: A guest that needs longer for one answer is taken for one that is lost.
ANSWER_S = 60.0


def free_base() -> int:
    """The number before a free row of ports."""
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = 2600 + 10 * ROWS_OF_A_PROCESS * process
    for base in range(first, first + 10 * ROWS_OF_A_PROCESS, 10):
        if all(_is_free(base + number) for number in range(1, ROUTERS + 1)):
            return base
    raise RuntimeError("no free row of ports for the lab's routers")


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A case that failed with a guest that no longer answers tells what the guest was doing."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if report.failed and isinstance(lab, Lab) and lab.backend is Backend.GUEST and not _answers(lab):
        report.user_properties.append((LOST_LAB, post_mortem.examine(lab.state_dir)))
    return report


def _answers(lab: Lab) -> bool:
    with contextlib.suppress(LabError):
        return bool(lab.address.ask("hello", timeout_s=ANSWER_S))
    return False


@pytest.fixture(scope="package")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("state")
    yield folder
    stop_server(folder / "postgres")


@pytest.fixture(scope="package")
def lab(state_dir: Path) -> Iterator[Lab]:
    """The routers of `inventories/lab`, which finds them through the environment."""
    before = {name: os.environ.get(name) for name in ("SLOTCAR_STATE_DIR", PORT_BASE_VARIABLE)}
    os.environ["SLOTCAR_STATE_DIR"] = str(state_dir)
    os.environ[PORT_BASE_VARIABLE] = str(free_base())
    backend = control.choose_backend()
    requirements.ensure(backend, control.quiet)
    try:
        yield control.up(topology.garnet(), state_dir / "lab", backend)
    finally:
        control.down(state_dir / "lab")
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def two_hosts() -> Topology:
    """A router between two hosts, and no controller."""
    nodes = [Node(name="router", kind=Kind.ROUTER)] + [Node(name=name, kind=Kind.HOST) for name in ("near", "far")]
    links = [
        Link(
            ends=(
                End(node="router", interface=f"eth{number}", address=IPv4Interface(f"10.9.{number}.1/24")),
                End(node=name, interface="eth1", address=IPv4Interface(f"10.9.{number}.2/24")),
            )
        )
        for number, name in enumerate(("near", "far"), start=1)
    ]
    return Topology(nodes=tuple(nodes), links=tuple(links))


@pytest.fixture(scope="package")
def virtual_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two hosts and a router in virtual time, for figures of traffic: what is measured is the same in each run."""
    folder = tmp_path_factory.mktemp("virtual")
    try:
        lab = control.up(two_hosts(), folder, extras=machine.VIRTUAL_TIME)
        lab.check("near", ["ping", "-c", "1", "-W", "5", lab.topology.address_of("far")])
        yield lab
    finally:
        control.down(folder)


@pytest.fixture(scope="package")
def network(lab: Lab) -> Network:
    return load_network(INVENTORY)


class Controllers:
    """The lab's controller, one for all cases: whoever kills it leaves the next one to start it again."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._running: Controller | None = None
        self._settings: dict[str, str] = {}

    def settled(self, **settings: str) -> Controller:
        """A controller with these settings, at rest: what the case before asked for has been read back."""
        if settings != self._settings or self._running is None or self._running.process.poll() is not None:
            self.stop()
            self._running, self._settings = Controller(self._state_dir, INVENTORY, **settings), settings
        self._running.wait_settled()
        return self._running

    def stop(self) -> None:
        if self._running is not None:
            self._running.__exit__(None, None, None)
        self._running = None


@pytest.fixture(scope="package")
def controllers(lab: Lab, state_dir: Path) -> Iterator[Controllers]:
    controllers = Controllers(state_dir)
    yield controllers
    controllers.stop()


@pytest.fixture
def controller(controllers: Controllers) -> Controller:
    return controllers.settled()


@pytest.fixture
def alone(controllers: Controllers) -> None:
    """No controller pushes but those that the case starts."""
    controllers.stop()
