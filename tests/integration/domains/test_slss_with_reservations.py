"""SLSs between neighbours that are opened, changed and ended with the reservations that need them (ADR 100)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.timebase import Window
from slotcar.book.agreed_slss import AgreedSls
from slotcar.book.model import State
from slotcar.domains.model import Connection, ConnectionPhase
from slotcar.domains.sls_requests import is_about_sls
from slotcar.domains.slss_with_reservations import goes_with_reservations
from slotcar.reservation.model import Endpoint, Reservation
from tests.integration.domains.slss import MBPS, with_reservations, without_any, without_border
from tests.integration.domains.test_slss import anl_to_esnet, esnet_to_anl, kinds, open_sls
from tests.integration.domains.three import NOW, World, premium, three

HOUR = timedelta(hours=1)
BOTH = ("anl", "esnet")
OUTWARD, HOMEWARD = "anl-esnet-ip-premium-1", "esnet-anl-ip-premium-1"


@pytest.fixture
def open_world(server_url: str, migrated: str, tmp_path: Path) -> Iterator[World]:
    with three(server_url, migrated, tmp_path, with_reservations) as domains:
        yield domains


def wanted(name: str, mbps: int, begins: int = 1, hours: int = 1) -> Reservation:
    """From so many hours from now on."""
    reservation = premium(mbps * MBPS, name)
    port = 5000 + sum(name.encode())
    (slot,) = reservation.slots
    window = NOW + begins * HOUR, NOW + (begins + hours) * HOUR
    slots = (type(slot)(*window, *slot.rates),)
    source = reservation.source.model_copy(update={"port": port})
    return reservation.model_copy(update={"source": source, "slots": slots})


def reserve(world: World, name: str, mbps: int, begins: int = 1, hours: int = 1, by: str = "anl") -> Connection:
    connection = world.domains[by].reserve(wanted(name, mbps, begins, hours), "hep")
    world.run()
    return world.domains[by].get(connection.id)


def amount(mbps: int) -> int:
    """What a payload's rate takes of an SLS: with UDP's and IP's headers."""
    reservation = premium(mbps * MBPS)
    size = reservation.packet_size_bytes
    return -(-mbps * MBPS * size // (size - 28))


def open_ones(world: World, domain: str) -> list[AgreedSls]:
    return [
        one for one in world.ledgers[domain].slss() if not one.over and one.in_force and one.in_force.end > world.now
    ]


def forms(world: World, domain: str) -> dict[str, tuple[int, Window | None]]:
    """Of the SLSs that are open: by name their rates and windows."""
    return {
        one.name: (one.in_force.sls.rate_bps, one.in_force.window) for one in open_ones(world, domain) if one.in_force
    }


def are(world: World, rate_bps: int, start: datetime, end: datetime) -> bool:
    """Whether both domains have both directions' SLSs so, and no other."""
    expected = dict.fromkeys((OUTWARD, HOMEWARD), (rate_bps, Window(start, end)))
    return all(forms(world, domain) == expected for domain in BOTH)


def rest(world: World) -> None:
    """What time brings after a change."""
    for _ in range(3):
        world.tick()


def test_it_is_opened_with_the_first_and_goes_up_and_down_with_the_others(open_world: World) -> None:
    world = open_world
    first = reserve(world, "first", 10)
    assert first.phase is ConnectionPhase.START
    assert are(world, amount(10), NOW + HOUR, NOW + 2 * HOUR)
    assert all(map(goes_with_reservations, open_ones(world, "anl")))
    second = reserve(world, "second", 5, hours=3)
    assert second.phase is ConnectionPhase.START
    assert are(world, amount(10) + amount(5), NOW + HOUR, NOW + 4 * HOUR)
    world.domains["anl"].end(second.id, "not needed")
    world.run()
    rest(world)
    assert are(world, amount(10), NOW + HOUR, NOW + 2 * HOUR)
    world.domains["anl"].end(first.id, "not needed")
    world.run()
    rest(world)
    for name in BOTH:
        assert forms(world, name) == {}
        assert kinds(world, name) == ["sls.opened"] * 2 + ["sls.changed"] * 4 + ["sls.ended"] * 2
    assert kinds(world, "lbnl") == []


def test_it_stays_as_it_is_while_nothing_changes(open_world: World) -> None:
    reserve(open_world, "first", 10)
    for _ in range(6):
        open_world.tick()
    assert kinds(open_world, "anl") == ["sls.opened"] * 2
    # Once the slot is open, too: what is promised of it then begins now.
    open_world.now = NOW + HOUR + timedelta(minutes=20)
    rest(open_world)
    assert kinds(open_world, "anl") == ["sls.opened"] * 2
    open_world.now = NOW + 2 * HOUR
    rest(open_world)
    assert kinds(open_world, "anl") == ["sls.opened"] * 2 + ["sls.ended"] * 2


def test_those_that_follow_each_other_take_no_sum(open_world: World) -> None:
    reserve(open_world, "first", 10)
    assert reserve(open_world, "second", 20, begins=5).phase is ConnectionPhase.START
    assert are(open_world, amount(20), NOW + HOUR, NOW + 6 * HOUR)


def test_two_at_once_both_get_what_they_ask_for(open_world: World) -> None:
    world = open_world
    ids = [world.domains["anl"].reserve(wanted(name, 5), "hep").id for name in ("one", "two", "three")]
    world.run()
    for _ in range(4):
        world.tick(timedelta(seconds=4))
    assert [world.domains["anl"].get(each).phase for each in ids] == [ConnectionPhase.START] * 3
    assert are(world, 3 * amount(5), NOW + HOUR, NOW + 2 * HOUR)


def test_a_neighbour_that_has_enough_refuses_in_words_and_nothing_is_left(open_world: World) -> None:
    world = open_world
    reserve(world, "first", 30)
    refused = reserve(world, "second", 20)
    assert refused.phase is ConnectionPhase.FAILED
    assert "of an SLS for ip-premium from anl into esnet over 2027-03-01T13:00:00Z" in refused.why
    assert (
        "cannot be agreed on with esnet: esnet: domain anl may not change the SLS anl-esnet-ip-premium-1: the inventory"
        " lets it agree on no such rate (sls_at_most)" in refused.why
    )
    rest(world)
    assert are(world, amount(30), NOW + HOUR, NOW + 2 * HOUR)
    assert not world.held()
    assert world.rates() == {name: [30 * MBPS] for name in ("anl", "esnet", "lbnl")}
    world.settle()


def test_what_was_opened_only_for_one_that_another_domain_refuses_is_ended(open_world: World) -> None:
    """lbnl's SLS with esnet has no such rate: anl and esnet have opened theirs by then."""
    world = open_world
    sls = world.domains["esnet"].network.sls["esnet-lbnl-ip-premium"]
    small = sls.model_copy(update={"rate_bps": 3 * MBPS})
    network = world.domains["esnet"].network
    object.__setattr__(network, "sls", {**network.sls, sls.name: small})
    world.ledgers["esnet"].close()
    world.networks = lambda name: network if name == "esnet" else with_reservations(name)
    world.start("esnet")
    refused = reserve(world, "first", 10)
    assert refused.phase is ConnectionPhase.FAILED
    assert "esnet-lbnl" in refused.why
    assert are(world, amount(10), NOW + HOUR, NOW + 2 * HOUR)
    rest(world)
    assert [forms(world, name) for name in BOTH] == [{}, {}]
    assert kinds(world, "anl") == kinds(world, "esnet") == ["sls.opened"] * 2 + ["sls.ended"] * 2


def test_a_modification_upward_has_it_changed_first_and_one_downward_afterwards(open_world: World) -> None:
    world = open_world
    first = reserve(world, "first", 10)
    reserve(world, "second", 5)
    anl = world.domains["anl"]
    anl.modify(first.id, wanted("first", 20, hours=2))
    world.run()
    assert world.rates() == {name: [20 * MBPS, 5 * MBPS] for name in ("anl", "esnet", "lbnl")}
    assert are(world, amount(20) + amount(5), NOW + HOUR, NOW + 3 * HOUR)
    anl.modify(first.id, wanted("first", 38))
    world.run()
    assert "sls_at_most" in anl.get(first.id).why
    assert world.rates() == {name: [20 * MBPS, 5 * MBPS] for name in ("anl", "esnet", "lbnl")}
    anl.modify(first.id, wanted("first", 2))
    world.run()
    rest(world)
    assert are(world, amount(2) + amount(5), NOW + HOUR, NOW + 2 * HOUR)


def test_a_neighbours_reservation_raises_what_this_domain_opened(open_world: World) -> None:
    """One from esnet's side into anl: it changes the SLSs that anl opened, and anl changes them down."""
    world = open_world
    first = reserve(world, "first", 10)
    other = wanted("other", 5).model_copy(
        update={"source": wanted("other", 5).source.model_copy(update={"host": "lbnl-premium"}),
                "destination": Endpoint(host="anl-premium", port=7000)}
    )  # fmt: skip
    second = world.domains["lbnl"].reserve(other, "hep")
    world.run()
    assert world.domains["lbnl"].get(second.id).phase is ConnectionPhase.START
    assert are(world, amount(10) + amount(5), NOW + HOUR, NOW + 2 * HOUR)
    world.domains["anl"].end(first.id, "not needed")
    world.run()
    rest(world)
    assert are(world, amount(5), NOW + HOUR, NOW + 2 * HOUR)


def test_what_operators_opened_is_never_touched(open_world: World) -> None:
    world = open_world
    for body in (anl_to_esnet(), esnet_to_anl()):
        assert open_sls(world, "anl", body).phase is ConnectionPhase.START
    assert reserve(world, "first", 10).phase is ConnectionPhase.START
    refused = reserve(world, "second", 15)
    assert "SLS there" in refused.why
    rest(world)
    assert kinds(world, "anl") == ["sls.opened"] * 2
    assert {rate_bps for rate_bps, _ in forms(world, "esnet").values()} == {20 * MBPS}


def test_without_the_key_a_neighbour_is_asked_for_nothing(server_url: str, migrated: str, tmp_path: Path) -> None:
    """esnet has it and anl has not: what lies behind is refused as before, and what comes in is, too."""
    with three(
        server_url, migrated, tmp_path, lambda name: (with_reservations if name == "esnet" else without_border)(name)
    ) as world:
        with pytest.raises(Exception, match=r"there is no SLS for ip-premium from anl into esnet"):
            reserve(world, "first", 10)
        assert not any(world.ledgers[name].slss() for name in BOTH)


def test_each_border_of_a_way_has_its_own(server_url: str, migrated: str, tmp_path: Path) -> None:
    with three(server_url, migrated, tmp_path, without_any) as world:
        connection = reserve(world, "first", 10)
        assert connection.phase is ConnectionPhase.START, connection.why
        assert {name: len(forms(world, name)) for name in world.ledgers} == {"anl": 2, "esnet": 4, "lbnl": 2}
        world.domains["anl"].end(connection.id, "not needed")
        world.run()
        rest(world)
        assert {name: len(forms(world, name)) for name in world.ledgers} == {"anl": 0, "esnet": 0, "lbnl": 0}


@pytest.mark.parametrize(("killed", "first"), [("anl", 2), ("esnet", 3)])
def test_a_controller_that_is_killed_at_any_step_leaves_nothing_for_ever(
    open_world: World, killed: str, first: int
) -> None:
    """After each number of steps in turn, also between the SLS's agreement and the segment's hold."""
    world, between = open_world, 0
    for steps in range(first, 91, 3):
        connection = world.domains["anl"].reserve(wanted(f"s{steps}", 10, begins=1 + steps), "hep")
        finished = world.run_some(steps)
        has_opened = bool(forms(world, "anl"))
        between += has_opened and world.states()["anl"].count(State.HELD) == 0 and not finished
        world.kill(killed)
        world.tick()
        world.start(killed)
        world.settle(20)
        phase = world.domains["anl"].get(connection.id).phase
        if phase is ConnectionPhase.START:
            world.domains["anl"].end(connection.id, "not needed")
            world.settle(20)
        for _ in range(8):
            world.tick()
        world.settle(20)
        assert [forms(world, name) for name in BOTH] == [{}, {}], steps
        assert not any(one.proposed for name in BOTH for one in world.ledgers[name].slss()), steps
        assert not world.held()
        if finished:
            assert phase is ConnectionPhase.START, "nothing was in its way"
            assert between > 0
            return
    raise AssertionError("it never came to an end")


def test_a_neighbour_that_does_not_answer_leaves_nothing(open_world: World) -> None:
    world = open_world
    world.unreachable = {"esnet"}
    connection = reserve(world, "first", 10)
    assert connection.phase is ConnectionPhase.CHECKING
    for _ in range(5):
        world.tick()
    assert world.domains["anl"].get(connection.id).phase is ConnectionPhase.FAILED
    assert not world.held()
    world.unreachable = set()
    world.settle()
    rest(world)
    assert [world.ledgers[name].slss() for name in BOTH] == [(), ()]
    assert all(row.settled for row in world.ledgers["anl"].connections.latest(100) if is_about_sls(row.id))
