"""What becomes of a slot over several domains where one of them cannot make its devices ready (ADR 93)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slotcar.base.vocabulary import IfUnready
from slotcar.book.model import State
from slotcar.book.timeline import active_at
from slotcar.domains.model import ConnectionPhase
from slotcar.rollout.withholding import Withholding
from slotcar.store.queries import EntryFilter
from tests.integration.domains.three import NAMES, NOW, World, premium

START = NOW + timedelta(hours=1)
SECOND = timedelta(seconds=1)
STUCK = {"lbnl": {"lbnl-edge"}}


def reserved(world: World, policy: IfUnready) -> str:
    connection = world.domains["anl"].reserve(premium().model_copy(update={"if_unready": policy}), "hep")
    world.run()
    return connection.id


def begins_in(world: World, rollouts: dict[str, Withholding], stuck: dict[str, set[str]]) -> list[str]:
    """The domains in which the slot is on devices, once each was asked and the neighbours have told each other."""
    begun = []
    for name in NAMES:
        ledger = world.ledgers[name]
        active = active_at(ledger.list(EntryFilter()), START)
        live = tuple(one for one in active if one.entry.state is State.COMMITTED)
        if rollouts[name].admissible(live, stuck.get(name, set()), world.now, START):
            begun.append(name)
    world.tick(SECOND)
    return begun


def rollouts_of(world: World) -> dict[str, Withholding]:
    return {name: Withholding(world.ledgers[name]) for name in NAMES}


def kinds(world: World, name: str) -> list[str]:
    events = world.ledgers[name].events(None, 1000)
    ends = ("ready", "withheld", "released", "alarm", "degraded")
    return [event.kind for event in events if event.kind.endswith(ends)]


@pytest.mark.parametrize("policy", [IfUnready.DELAY, IfUnready.ALARM])
def test_it_begins_in_all_domains_or_in_none_and_late_once_all_are_ready(world: World, policy: IfUnready) -> None:
    reserved(world, policy)
    world.tick(SECOND)
    rollouts = rollouts_of(world)
    begins_in(world, rollouts, STUCK)  # esnet and anl have not heard yet
    assert begins_in(world, rollouts, STUCK) == []
    assert begins_in(world, rollouts, {}) == ["lbnl"]
    assert begins_in(world, rollouts, {}) == list(NAMES)
    assert kinds(world, "lbnl")[:2] == ["connection.unready", "push.withheld"]
    for name in ("anl", "esnet"):
        assert [kind for kind in kinds(world, name) if kind.startswith("connection.")] == [
            "connection.withheld", "connection.released",
        ]  # fmt: skip
        assert ("push.alarm" in kinds(world, name)) is (policy is IfUnready.ALARM)


def test_where_two_cannot_neither_waits_for_the_other_for_ever(world: World) -> None:
    reserved(world, IfUnready.DELAY)
    world.tick(SECOND)
    rollouts, both = rollouts_of(world), {"anl": {"anl-border"}, "lbnl": {"lbnl-edge"}}
    begins_in(world, rollouts, both)
    assert begins_in(world, rollouts, both) == []
    assert begins_in(world, rollouts, STUCK) == []
    begins_in(world, rollouts, {})
    assert begins_in(world, rollouts, {}) == list(NAMES)


def test_degrade_begins_where_devices_are_ready(world: World) -> None:
    reserved(world, IfUnready.DEGRADE)
    world.tick(SECOND)
    rollouts = rollouts_of(world)
    for _ in range(2):
        assert begins_in(world, rollouts, STUCK) == list(NAMES)
    assert "push.degraded" in kinds(world, "anl")


def test_refuse_ends_it_in_all_domains(world: World) -> None:
    connection = reserved(world, IfUnready.REFUSE)
    world.tick(SECOND)
    rollouts = rollouts_of(world)
    world.now = START - SECOND
    begins_in(world, rollouts, STUCK)
    world.settle()
    assert set(world.phases(connection).values()) == {ConnectionPhase.TERMINATED}
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}


def test_a_slot_that_has_begun_stays_whatever_another_domain_has(world: World) -> None:
    reserved(world, IfUnready.DELAY)
    world.tick(SECOND)
    rollouts = rollouts_of(world)
    for name in NAMES:
        rollouts[name].active_everywhere = {one.handle for one in world.ledgers[name].list(EntryFilter())}
    for _ in range(2):
        assert begins_in(world, rollouts, STUCK) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_controller_that_was_killed_hears_it_and_says_it_again(world: World, name: str) -> None:
    reserved(world, IfUnready.DELAY)
    world.tick(SECOND)
    rollouts = rollouts_of(world)
    begins_in(world, rollouts, STUCK)
    world.kill(name)
    world.tick(SECOND)
    world.start(name)
    for _ in range(3):
        world.tick(timedelta(seconds=31))
    rollouts[name] = Withholding(world.ledgers[name])
    assert begins_in(world, rollouts, STUCK) == []
    # It is killed while its devices, or another domain's, come back.
    world.kill(name)
    begun = [each for each in NAMES if each != name]
    for each in begun:
        active = active_at(world.ledgers[each].list(EntryFilter()), START)
        rollouts[each].admissible(active, (), world.now, START)
    world.tick(SECOND)
    world.start(name)
    rollouts[name] = Withholding(world.ledgers[name])
    for _ in range(4):
        begins_in(world, rollouts, {})
        world.tick(timedelta(seconds=31))
    assert begins_in(world, rollouts, {}) == list(NAMES)
