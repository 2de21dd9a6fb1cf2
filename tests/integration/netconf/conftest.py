"""A NETCONF server with the router of the golden cases on it, and revisions for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Change, Configuration, renderer_of
from slotcar.platforms.netconf.tree import parse
from slotcar.rollout.archive import Archive, revision_id
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout import Job, Login, Order, Outcome, PushStep, fan_out, fan_out_push
from slotcar.rollout.model import DeviceRevision, Program, Revision
from slotcar.rollout.netconf import netconf_login
from slotcar.rollout.netconf.session import NetconfSession
from slotcar.rollout.netconf.transport import NetconfTransport
from slotcar.rollout.staging import commands
from slotcar_lab import control, requirements
from tests.golden.test_render import change_of
from tests.integration.netconf.server import YANG, Server

RENDER = Path(__file__).parents[2] / "golden" / "render"
NAME = "north-edge"


class Reached(Protocol):
    """A NETCONF server, and what an inventory says of it."""

    folder: Path
    known_hosts: Path

    @property
    def variables(self) -> dict[str, object]: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...


@dataclass(slots=True)
class Peer:
    """The golden cases' `north-edge`, on a server of its own."""

    server: Reached
    device: Device
    archive: Archive
    confirm_s: int | None = None
    _observer: NetconfSession | None = None

    def case(self, name: str, device: str = NAME) -> Change:
        return change_of(RENDER / f"{self.device.platform}-{name}", device)

    def revision(self, change: Change) -> Path:
        """The folder of a revision that carries this change."""
        parts = {self.device.name: DeviceRevision(self.device, change, Program(), tuple(commands(self.device)))}
        now = datetime.now(UTC)
        return self.archive.write(Revision(revision_id(now, parts), now, parts))

    @property
    def login(self) -> Login:
        return netconf_login(self.device.name, self.server.variables)

    def job(self, folder: Path, *, transport: type[NetconfTransport] = NetconfTransport, **order: Any) -> Job:
        connect = partial(transport, self.device.name, self.login, self.confirm_s)
        return Job(self.device.name, Order(DeviceFolder(folder / self.device.name), **order), connect)

    def take(self, step: str, folder: Path, **order: Any) -> Outcome:
        """A restore is one right after a push, as a controller takes back what failed: when its slots end, nobody asks."""
        order = ({"unknown_ends": True} if step == "restore" else {}) | order
        (outcome,) = fan_out(PushStep(step), [self.job(folder, **order)]).values()
        return outcome

    def push(self, change: Change) -> Path:
        """Stage, activate, verify; every step must do."""
        folder = self.revision(change)
        for step in ("stage", "activate", "verify"):
            assert self.take(step, folder).error == ""
        return folder

    def push_at_once(self, change: Change) -> Path:
        """All steps over one session."""
        folder = self.revision(change)
        assert fan_out_push([self.job(folder)])[self.device.name].error == ""
        return folder

    @contextmanager
    def session(self) -> Iterator[NetconfSession]:
        """Somebody else's."""
        opened = NetconfSession("somebody", netconf_login("somebody", self.server.variables))
        opened.open()
        try:
            yield opened
        finally:
            opened.close()

    def everything(self, source: str = "running") -> str:
        """Slotcar's and others'."""
        if self._observer is None:
            self._observer = NetconfSession("observer", netconf_login("observer", self.server.variables))
            self._observer.open()
        return str(self._observer.do("get_config", source=source).data_xml)

    def stop(self) -> None:
        if self._observer is not None:
            self._observer.close()
        self.server.stop()

    def owned(self) -> Configuration:
        (command,) = commands(self.device)
        return renderer_of(self.device).running({command: self.everything()}, self.device)

    def check_left_clean(self) -> None:
        """The candidate is as `running` is, and anybody may lock it."""
        with self.session() as session:
            session.do("lock", target="candidate")
            session.do("unlock", target="candidate")
        candidate, running = (parse(self.everything(source), source) for source in ("candidate", "running"))
        assert candidate == running


@pytest.fixture(scope="session")
def device() -> Device:
    return load_network(RENDER / "inventories" / "cisco-iosxe-netconf").devices[NAME]


@pytest.fixture(scope="session", autouse=True)
def needs() -> None:
    """Debian's server and yanglint, and Cisco's models, which the set-up brings."""
    requirements.ensure_for("a NETCONF server", control.quiet)
    if not (YANG / "Cisco-IOS-XE-native.yang").exists():
        pytest.fail(f"no Cisco models in {YANG}: run `make setup-dev`, or name their folder in SLOTCAR_YANG_DIR")


@pytest.fixture
def make_peer(tmp_path: Path, device: Device) -> Iterator[Any]:
    """Makes peers; takes netconfd's options."""
    opened: list[Peer] = []

    def make(*options: str, name: str = NAME) -> Peer:
        folder = tmp_path / name
        server = Server(folder / "server", *options)
        peer = Peer(server, device.model_copy(update={"name": name}), Archive(folder / "state"))
        opened.append(peer)
        server.start()
        return peer

    yield make
    for peer in opened:
        peer.stop()


@pytest.fixture
def peer(make_peer: Any) -> Peer:
    started: Peer = make_peer()
    return started


@pytest.fixture
def managed(peer: Peer) -> Peer:
    """It has what stands without reservations."""
    peer.push(peer.case("standing"))
    return peer
