"""Promised delays over three ledgers: each domain keeps its part, also from whoever asks it later."""

from __future__ import annotations

import pytest

from slotcar.domains.errors import ConnectionRefused
from slotcar.domains.model import ConnectionPhase
from slotcar.domains.way import PeerRequest
from slotcar.reservation.model import Reservation, TimeBound
from slotcar.store.queries import EntryFilter
from tests.integration.domains.three import NAMES, World, premium


def bounded(delay_us: int, name: str = "conference") -> Reservation:
    return premium(2_000_000, name).model_copy(update={"delay": TimeBound(at_most_us=delay_us), "rtt_us": 50_000})


def promised_us(world: World) -> dict[str, int]:
    bounds = {name: ledger.list(EntryFilter())[0].reservation.delay for name, ledger in world.ledgers.items()}
    return {name: bound.at_most_us for name, bound in bounds.items() if bound is not None}


def test_each_domain_promises_its_part_and_the_parts_are_the_whole(world: World) -> None:
    connection = world.domains["anl"].reserve(bounded(200_000), "hep")
    world.run()
    assert set(world.phases(connection.id).values()) == {ConnectionPhase.START}
    parts = promised_us(world)
    assert sum(parts.values()) == 200_000
    assert set(parts) == set(NAMES)
    request = PeerRequest.from_text(world.domains["lbnl"].get(connection.id).request)
    assert {name: part.delay_us for name, part in request.parts.items()} == parts, "all know all parts"


def test_what_the_domains_cannot_keep_together_is_refused_with_what_each_has(world: World) -> None:
    with pytest.raises(
        ConnectionRefused,
        match=r"^a delay of 1 ms cannot be promised: the domains have .* \(anl .*, esnet .*, lbnl .*\)$",
    ):
        world.domains["anl"].reserve(bounded(1_000), "hep")
    assert world.states() == {name: [] for name in NAMES}


def test_a_domain_that_tells_nothing_promises_nothing(world: World) -> None:
    esnet = world.domains["lbnl"].network.domains["esnet"].model_copy(update={"tells_free": False})
    lbnl = world.domains["lbnl"]
    lbnl.network = lbnl.network.model_copy(update={"domains": {**lbnl.network.domains, "esnet": esnet}})
    with pytest.raises(ConnectionRefused, match=r"^anl: nothing is told of delays beyond esnet$"):
        world.domains["anl"].reserve(bounded(200_000), "hep")


def test_who_comes_later_is_refused_by_the_domain_whose_part_it_would_break(world: World) -> None:
    world.domains["anl"].reserve(bounded(60_000), "hep")
    world.run()
    later = premium(30_000_000, "later").model_copy(update={"rtt_us": 400_000})
    second = world.domains["anl"].reserve(later, "hep")
    world.run()
    with pytest.raises(ConnectionRefused, match=r"conference.*delay"):
        world.domains["anl"].in_force(second.id, 1, 0)
    world.settle()
    assert world.rates() == {name: [2_000_000] for name in NAMES}
