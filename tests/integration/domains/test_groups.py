"""Several connections over three ledgers that are reserved together: all of them, or none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slotcar.base.vocabulary import OnFailure
from slotcar.book.model import State
from slotcar.book.operation import Move
from slotcar.domains.errors import ConnectionRefused
from slotcar.domains.model import ConnectionPhase
from slotcar.reservation.model import Membership, Reservation
from slotcar.store.queries import EntryFilter
from tests.integration.domains.test_agreement import limit
from tests.integration.domains.three import NAMES, World, premium


def member(name: str, rate_bps: int, on_failure: OnFailure = OnFailure.END_ALL) -> Reservation:
    together = Membership(group="run", on_failure=on_failure)
    port = 5001 if name == "there" else 5002
    one = premium(rate_bps, name)
    return one.model_copy(
        update={"together": together, "destination": one.destination.model_copy(update={"port": port})}
    )


def begun(world: World, *members: Reservation) -> tuple[str, ...]:
    return world.domains["anl"].reserve_together([(one, None) for one in members], "hep")


def test_all_members_come_into_force_in_all_domains(world: World) -> None:
    ids = begun(world, member("there", 10_000_000), member("back", 20_000_000))
    world.run()
    in_force = world.domains["anl"].all_in_force(ids, 0)
    assert [one.members for one in in_force] == [ids, ids]
    assert {name: sorted(rates) for name, rates in world.rates().items()} == {
        name: [10_000_000, 20_000_000] for name in NAMES
    }
    assert not world.held()


@pytest.mark.parametrize("name", ["esnet", "lbnl"])
def test_a_domain_that_refuses_one_member_has_all_given_up_and_is_named(world: World, name: str) -> None:
    limit(world, 15_000_000, name)
    ids = begun(world, member("there", 10_000_000), member("back", 20_000_000))
    world.run()
    with pytest.raises(ConnectionRefused, match=rf"^back: {name}: domain .* may not ask for so much"):
        world.domains["anl"].all_in_force(ids, 0)
    world.settle()
    assert world.rates() == {each: [] for each in NAMES}
    assert not world.held()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", [2, 6, 10, 14, 18])
@pytest.mark.in_short(*(f"{at}-{name}" for at in (6, 14) for name in NAMES))
def test_a_controller_that_is_killed_between_phases_leaves_all_or_none(world: World, name: str, at: int) -> None:
    begun(world, member("there", 10_000_000), member("back", 20_000_000))
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
    rates = {tuple(sorted(each)) for each in world.rates().values()}
    assert rates in ({()}, {(10_000_000, 20_000_000)}), world.rates()
    assert not world.held()


@pytest.mark.parametrize(("on_failure", "left"), [(OnFailure.END_ALL, []), (OnFailure.GO_ON, [20_000_000])])
def test_a_member_that_a_domain_cancels_ends_the_others_or_does_not_as_the_group_says(
    world: World, on_failure: OnFailure, left: list[int]
) -> None:
    ids = begun(world, member("there", 10_000_000, on_failure), member("back", 20_000_000, on_failure))
    world.run()
    entry = next(one for one in world.ledgers["lbnl"].list(EntryFilter()) if one.reservation.name == "there")
    world.ledgers["lbnl"].run(Move(world.now, entry.handle, "operator", to=State.CANCELLED))
    world.tick()
    world.settle()
    assert world.rates() == dict.fromkeys(NAMES, left)
    assert world.domains["anl"].get(ids[0]).phase is ConnectionPhase.TERMINATED


def test_a_first_domain_that_dies_before_it_ends_the_others_ends_them_when_it_is_back(world: World) -> None:
    ids = begun(world, member("there", 10_000_000), member("back", 20_000_000))
    world.run()
    anl = world.domains["anl"]
    anl.spread = lambda _work: None
    anl.end(ids[0], "not needed")
    world.kill("anl")
    world.start("anl")
    world.tick(timedelta(seconds=1))
    world.settle()
    assert world.rates() == {name: [] for name in NAMES}
