"""Background shares over three ledgers: nothing is promised but what each domain always gives."""

from __future__ import annotations

import pytest

from slotcar.domains.errors import ConnectionRefused
from slotcar.domains.model import ConnectionPhase
from slotcar.reservation.model import BackgroundShare, Reservation, constant_slots
from slotcar.store.queries import EntryFilter
from tests.integration.domains.test_agreement import limit, reserved
from tests.integration.domains.three import NAMES, World, premium


def background(at_least_bps: int = 0) -> Reservation:
    one = premium(1, "background")
    share = BackgroundShare(weight=3, at_least_bps=at_least_bps)
    return one.model_copy(update={"share": share, "slots": constant_slots(one.windows, at_least_bps, one.direction)})


def test_each_domain_has_the_share_and_holds_what_it_always_has(world: World) -> None:
    anl = world.domains["anl"]
    connection = anl.reserve(background(), "hep")
    world.run()
    assert set(world.phases(connection.id).values()) == {ConnectionPhase.START}
    shares = {name: ledger.list(EntryFilter())[0].reservation.share for name, ledger in world.ledgers.items()}
    assert shares == dict.fromkeys(NAMES, BackgroundShare(weight=3))
    reserved(world, 40_000_000)
    assert world.rates() == {name: [0, 40_000_000] for name in NAMES}, "it holds no room of others"
    anl.modify(connection.id, background(10_000_000))
    world.run()
    with pytest.raises(ConnectionRefused, match="anl: "):
        anl.in_force(connection.id, 2, 0)
    assert world.rates() == {name: [0, 40_000_000] for name in NAMES}


def test_a_domain_that_does_not_always_have_so_much_refuses_for_all(world: World) -> None:
    limit(world, 5_000_000, "esnet")
    connection = world.domains["anl"].reserve(background(10_000_000), "hep")
    world.run()
    with pytest.raises(ConnectionRefused, match=r"^esnet: domain anl may not ask for so much"):
        world.domains["anl"].in_force(connection.id, 1, 0)
    world.settle()
    assert world.rates() == {name: [] for name in NAMES}
