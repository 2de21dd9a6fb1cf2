"""A push to routers of several families at once: IOS's command line in software, over SSH and NAPALM, and real NETCONF."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.network import load_network
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout import Job, Order, PushStep, fan_out, fan_out_push, job_of
from slotcar.rollout.model import PushFailed, Wanted
from slotcar.rollout.playbook import Playbooks
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.transport import Transport
from slotcar_lab.ios import DropOnCopy, RefuseLine, Router, Routers
from tests.golden.test_render import change_of
from tests.integration.netconf.conftest import RENDER, Peer
from tests.integration.netconf.server import ROOT
from tests.support.cisco import startup

SSH, NAPALM, NETCONF = "anl-7507-1", "lbnl-7507", "north-edge"
NAMES = (SSH, NAPALM, NETCONF)


@dataclass
class Mixed:
    """Three routers of three families, and what brings their standing configurations to all of them."""

    routers: Mapping[str, Router]
    peer: Peer
    variables: Mapping[str, Mapping[str, Any]]
    pusher: Pusher
    wanted: Mapping[str, Wanted]

    def push(self, at: datetime | None = None) -> tuple[str, ...]:
        readings = self.pusher.read(NAMES)
        assert not readings.failures
        return self.pusher.push(self.wanted, readings.by_device, at or datetime.now(UTC)).changed

    def running(self) -> dict[str, str]:
        return {name: router.running_text() for name, router in self.routers.items()} | {
            NETCONF: "\n".join(self.peer.owned().lines)
        }

    def orders(self) -> dict[str, Order]:
        """For a revision that brings what is wanted from what is there now."""
        readings = self.pusher.read(NAMES)
        prepared = self.pusher.prepare(self.wanted, readings.by_device, datetime.now(UTC))
        assert prepared is not None
        folder = self.pusher.archive.write(prepared)
        return {name: Order(DeviceFolder(folder / name)) for name in NAMES}


@pytest.fixture
def mixed(make_peer: Any, tmp_path: Path) -> Iterator[Mixed]:
    peer = make_peer()
    garnet = load_network(ROOT / "inventories" / "garnet")
    devices = {name: garnet.devices[name] for name in (SSH, NAPALM)} | {NETCONF: peer.device}
    with Routers() as routers:
        emulated = {name: routers.add(name, "cisco-car", startup(devices[name])) for name in (SSH, NAPALM)}
        (tmp_path / "known_hosts").write_text(routers.known_hosts)
        variables = {
            name: {
                "slotcar_platform": "cisco-car",
                "slotcar_transport": "napalm" if name == NAPALM else "ssh",
                "slotcar_known_hosts": str(tmp_path / "known_hosts"),
                "ansible_host": router.address,
                "ansible_port": router.port,
                "ansible_user": router.user,
                "ansible_password": router.password,
            }
            for name, router in emulated.items()
        } | {NETCONF: {"slotcar_platform": "cisco-iosxe-netconf", **peer.server.variables}}
        inventory = tmp_path / "inventory"
        inventory.mkdir()
        hosts = {"all": {"children": {"domains": {"hosts": variables}}}}
        (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts))
        wanted = {name: Wanted(change_of(RENDER / "cisco-car-standing", name).after) for name in emulated}
        wanted[NETCONF] = Wanted(peer.case("standing").after)
        pusher = Pusher(Playbooks(ROOT, inventory), Archive(tmp_path / "state"), devices)
        yield Mixed(emulated, peer, variables, pusher, wanted)


class Watched:
    """A transport that writes down what the steps ask of it."""

    def __init__(self, name: str, transport: Transport, log: list[tuple[str, str]]) -> None:
        self._name, self._transport, self._log = name, transport, log

    def __getattr__(self, what: str) -> Any:
        self._log.append((self._name, what))
        return getattr(self._transport, what)


def watched(jobs: Mapping[str, Job], log: list[tuple[str, str]]) -> list[Job]:
    def watched_kind(name: str) -> Any:
        return lambda: Watched(name, jobs[name].connect(), log)

    return [Job(name, job.order, watched_kind(name)) for name, job in jobs.items()]


def jobs_of(mixed: Mixed) -> dict[str, Job]:
    return {name: job_of(name, mixed.variables[name], order) for name, order in mixed.orders().items()}


@pytest.mark.slow
def test_a_push_changes_all_families_at_its_instant_and_a_rollback_all_back(mixed: Mixed) -> None:
    before = mixed.running()
    at = datetime.now(UTC) + timedelta(seconds=4)
    assert sorted(mixed.push(at)) == sorted(NAMES)
    assert {name: reading.configuration for name, reading in mixed.pusher.read(NAMES).by_device.items()} == {
        name: one.configuration for name, one in mixed.wanted.items()
    }
    for name, router in mixed.routers.items():
        mine = [one for one in router.history if one.line.startswith(("access-list", "fair-queue"))]
        assert mine, f"{name} took lines of the change"
        assert all(one.at_ns / 1e9 >= at.timestamp() for one in mine)
    mixed.pusher.roll_back(mixed.pusher.archive.revisions()[-1])
    after = mixed.running()
    # NAPALM leaves its own line.
    assert {name: text.replace("file prompt quiet\n", "") for name, text in after.items()} == before


def test_all_families_are_ready_before_any_is_changed(mixed: Mixed) -> None:
    """Logged in, compared and armed: after the instant there is one command left for each."""
    log: list[tuple[str, str]] = []
    jobs = jobs_of(mixed)
    fan_out(PushStep.STAGE, list(jobs.values()))
    outcomes = fan_out(PushStep.ACTIVATE, watched(jobs, log))
    assert {name: (one.error, one.changed) for name, one in outcomes.items()} == dict.fromkeys(NAMES, ("", True))
    first = min(place for place, (_, what) in enumerate(log) if what == "activate")
    assert {name for name, what in log[:first] if what == "arm_revert"} == set(NAMES)
    after = [what for _, what in log[first:]]
    assert sorted(after) == sorted(["activate", "close"] * 3)


@pytest.mark.slow
def test_each_device_may_have_an_instant_of_its_own(mixed: Mixed) -> None:
    began = time.time()
    jobs = jobs_of(mixed)
    late = time.time() + 8 + 4 * (time.time() - began)  # who is slow to read the routers is slow to stage them
    jobs[SSH] = replace(jobs[SSH], order=replace(jobs[SSH].order, at=late))
    outcomes = fan_out_push(list(jobs.values()))
    assert {name: one.error for name, one in outcomes.items()} == dict.fromkeys(NAMES, "")
    assert {name for name, one in outcomes.items() if one.began >= late} == {SSH}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param(SSH, "Invalid input", marks=pytest.mark.slow),
        pytest.param(NAPALM, "NAPALM's commit_config: the session ended", marks=pytest.mark.slow),
        (NETCONF, "`lock`"),
    ],
)
def test_a_failure_in_one_family_takes_the_change_back_in_all(mixed: Mixed, name: str, words: str) -> None:
    before = mixed.running()
    if name == NETCONF:
        with mixed.peer.session() as somebody:
            somebody.do("lock", target="candidate")
            with pytest.raises(PushFailed, match=words) as failed:
                mixed.push()
            somebody.do("unlock", target="candidate")
    else:
        mixed.routers[name].fault(RefuseLine("access-list") if name == SSH else DropOnCopy())
        with pytest.raises(PushFailed, match=words) as failed:
            mixed.push()
        mixed.routers[name].heal()
    assert name in failed.value.devices
    if not failed.value.rolled_back:
        mixed.pusher.roll_back(failed.value.revision)
    after = mixed.running()
    assert {name: text.replace("file prompt quiet\n", "") for name, text in after.items()} == before
