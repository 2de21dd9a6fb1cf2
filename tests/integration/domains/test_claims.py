"""Cores of hosts in several domains as members of one request with the flow between them: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.model import State
from slotcar.book.operation import Move
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Requests
from slotcar.desk.segments import ITSELF
from slotcar.domains.errors import ConnectionRefused, NotThatWay
from slotcar.domains.way import NOBODY
from slotcar.network import Network
from slotcar.network.model import Device
from slotcar.planning.errors import LeavesTheDomain
from slotcar.planning.source import members_of_groups
from slotcar.store.queries import EntryFilter
from tests.integration.domains.three import NAMES, NOW, World, three
from tests.unit.domains.networks import lab_of

NEAR_HOST, FAR_HOST, STRANGERS_HOST = "anl-premium", "lbnl-premium", "lbnl-traffic"
FLOW = {
    "source": NEAR_HOST, "destination": FAR_HOST, "protocol": "udp", "service": "ip-premium", "direction": "both",
    "rate": "10 Mbit/s",
}  # fmt: skip


def with_cores(domain: str) -> Network:
    """As each domain has it: what a host of another one has is not known."""
    network = lab_of(domain)
    own = {name: host for name, host in network.hosts.items() if host.domain == domain}
    devices = {
        name: Device(name=name, domain=domain, platform="linux-host", interfaces={}, resources={"cpu": {"": 8_000}})
        for name in own
    }
    owners = {NEAR_HOST: ("hep",), FAR_HOST: ("hep@anl",), STRANGERS_HOST: ("cms",)}
    hosts = {
        name: host.model_copy(update={"owners": owners.get(name) if name in own else None})
        for name, host in network.hosts.items()
    }
    return network.model_copy(update={"devices": {**network.devices, **devices}, "hosts": hosts})


@pytest.fixture
def world(server_url: str, migrated: str, tmp_path: Path) -> Iterator[World]:
    with three(server_url, migrated, tmp_path, with_cores) as domains:
        yield domains


def group(far_host: str = FAR_HOST, cores: int = 4, on_failure: str = "end-all") -> dict[str, Any]:
    return {
        "name": "run", "owner": "hep", "start": iso(NOW.replace(hour=13)), "duration": "PT1H", "on_failure": on_failure,
        "members": [
            {"name": "flow", "network": FLOW},
            {"name": "here", "cpu": {"host": NEAR_HOST, "cores": 2}},
            {"name": "there", "cpu": {"host": far_host, "cores": cores}},
        ],
    }  # fmt: skip


def begun(world: World, **how: Any) -> tuple[str, ...]:
    anl = world.domains["anl"]
    routed = members_of_groups([group(**how)], NOW, 100, anl.network, over_domains=True)
    return anl.reserve_together([(one.reservation, None) for one in routed], "hep")


def in_force(world: World) -> dict[str, list[str]]:
    """What each ledger has, the names of reservations and their owners."""
    return {
        name: sorted(
            f"{one.reservation.owner}/{one.reservation.name}"
            for one in ledger.list(EntryFilter()) if one.state is State.COMMITTED
        )
        for name, ledger in world.ledgers.items()
    }  # fmt: skip


WHOLE = {
    "anl": ["hep/run.flow", "hep/run.here"], "esnet": ["hep@anl/run.flow"],
    "lbnl": ["hep@anl/run.flow", "hep@anl/run.there"],
}  # fmt: skip
NOTHING: dict[str, list[str]] = {name: [] for name in NAMES}


@pytest.mark.parametrize(
    "far_host", [FAR_HOST, str(lab_of("lbnl").hosts[FAR_HOST].address)], ids=["by name", "by address"]
)
def test_cores_at_both_ends_and_the_flow_between_come_into_force_together(world: World, far_host: str) -> None:
    ids = begun(world, far_host=far_host)
    world.run()
    assert len(world.domains["anl"].all_in_force(ids, 0)) == 3
    assert in_force(world) == WHOLE
    (entry,) = (one for one in world.ledgers["lbnl"].list(EntryFilter()) if one.reservation.claim)
    assert entry.reservation.claim is not None
    assert (entry.reservation.claim.place, entry.reservation.claim.request["host"]) == (FAR_HOST, FAR_HOST)
    assert [(str(one.resource), one.peak) for one in entry.demands] == [(f"cpu:{FAR_HOST}", 4_000)]


def test_a_host_that_has_not_so_much_refuses_all_in_its_numbers(world: World) -> None:
    ids = begun(world, cores=9)
    world.run()
    with pytest.raises(ConnectionRefused, match=r"^run\.there: lbnl: .*cores"):
        world.domains["anl"].all_in_force(ids, 0)
    world.settle()
    assert in_force(world) == NOTHING
    assert not world.held()


def test_a_host_is_given_by_its_own_domain_alone(world: World) -> None:
    ids = begun(world, far_host=STRANGERS_HOST)
    world.run()
    with pytest.raises(ConnectionRefused, match=r"^run\.there: lbnl: .*hep@anl.*lbnl-traffic"):
        world.domains["anl"].all_in_force(ids, 0)
    world.settle()
    assert in_force(world) == NOTHING


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", [3, 9, 15, 21])
@pytest.mark.in_short(*(f"{at}-{name}" for at in (9,) for name in NAMES))
def test_a_controller_that_is_killed_between_phases_leaves_all_or_none(world: World, name: str, at: int) -> None:
    begun(world)
    for _ in range(at):
        if world.work:
            owner, work = world.work.pop(0)
            if owner in world.domains:
                work()
    world.kill(name)
    world.run()
    world.tick()
    world.start(name)
    world.settle()
    assert in_force(world) in (WHOLE, NOTHING)
    assert not world.held()


def test_a_host_whose_cores_are_cancelled_ends_the_flow_too(world: World) -> None:
    begun(world)
    world.run()
    (entry,) = (one for one in world.ledgers["lbnl"].list(EntryFilter()) if one.reservation.claim)
    world.ledgers["lbnl"].run(Move(world.now, entry.handle, "operator", to=State.CANCELLED))
    world.tick()
    world.settle()
    assert in_force(world) == NOTHING


def test_a_host_that_nobody_knows_is_refused_in_words(world: World) -> None:
    with pytest.raises(InvalidInput, match="there is no end system lbnl-nowhere"):
        begun(world, far_host="lbnl-nowhere")
    anl = world.domains["anl"]
    (*_, claim) = members_of_groups([group()], NOW, 100, anl.network, over_domains=True)
    request = anl._first_request(claim.reservation.model_copy(update={"together": None}), "hep", "anl", NOBODY)
    assert request.reservation.claim is not None
    assert request.reservation.claim.place == str(anl.network.hosts[FAR_HOST].address)
    assert "lbnl-premium" not in request.reservation.model_dump_json()


def test_a_group_of_one_domain_takes_no_host_of_another(world: World) -> None:
    ledger, network = world.ledgers["anl"], with_cores("anl")
    drawn = Device(name=FAR_HOST, domain="lbnl", platform="linux-host", interfaces={}, resources={"cpu": {"": 8_000}})
    whole = network.model_copy(update={"devices": {**network.devices, FAR_HOST: drawn}})
    desk = Desk(ledger, whole, Settings(state_dir=world.folder / "anl", domain="anl"))
    (*_, claim) = members_of_groups([group()], NOW, 100, whole)
    with pytest.raises(LeavesTheDomain, match="lbnl-premium is in a domain of another controller"):
        Requests(desk).create(claim.reservation, ITSELF, NOW)


def test_a_neighbour_that_speaks_nsi_has_no_words_for_it(world: World) -> None:
    class Foreign:
        def cannot(self, _reservation: object) -> str:
            return "lbnl is asked by NSI, which has no words for cpu of a host"

    world.domains["esnet"].foreign = {"lbnl": Foreign()}  # type: ignore[dict-item]
    ids = begun(world)
    world.run()
    with pytest.raises(ConnectionRefused, match="esnet: lbnl is asked by NSI, which has no words for cpu"):
        world.domains["anl"].all_in_force(ids, 0)
    world.domains["anl"].foreign = {"esnet": Foreign()}  # type: ignore[dict-item]
    with pytest.raises(NotThatWay, match="has no words for cpu"):
        begun(world)


def test_a_host_behind_no_link_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput, match=r"192\.0\.2\.7 is behind no edge interface"):
        begun(world, far_host="192.0.2.7")
