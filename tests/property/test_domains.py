"""Random histories of domains in a row: whatever is lost, repeated, late or crashes, all agree in the end."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from slotcar.domains import protocol
from slotcar.domains.model import Connection, ConnectionPhase
from tests.support.examples import examples
from tests.unit.domains.worlds import ENDS, NOW, Row, Rules, World

NAMES = ("anl", "esnet", "cern", "lbnl")
STEPS, ROUNDS = 60, 200


def change(connection: Connection) -> Connection:
    return protocol.changed(connection, f"v{connection.version + 1}", ENDS, NOW)


def end(connection: Connection) -> Connection:
    if connection.phase in (ConnectionPhase.FAILED, ConnectionPhase.TERMINATED):
        raise protocol.NotNow
    return protocol.ended(connection, "not needed any more")


def finished(row: Row, world: World) -> World:
    """The world once nothing is lost and nothing crashes any more."""
    row.rules = Rules(refuses=False, crashes=False, client=row.rules.client)
    for _ in range(ROUNDS):
        if row.is_settled(world):
            return world
        after = world
        for words, other in row.steps(world):
            if not words.startswith("client"):
                after = other
                break
        else:
            return world
        world = after
    return world


@examples(few=300, many=2000)
@given(
    seed=st.integers(0, 2**32 - 1),
    by_agent=st.booleans(),
    clients=st.lists(st.sampled_from([change, end, protocol.committed_by_agent]), max_size=4),
)
def test_all_agree_in_the_end(seed: int, by_agent: bool, clients: list[object]) -> None:
    chance = random.Random(seed)
    row = Row(NAMES, Rules(client=tuple(clients)))  # type: ignore[arg-type]
    world = row.first_world(by_agent=by_agent)
    for _ in range(chance.randrange(STEPS)):
        choices = list(row.steps(world))
        if not choices:
            break
        _, world = chance.choice(choices)
        assert not list(row.problems(world))
    world = finished(row, world)
    assert not list(row.problems(world))
    assert row.is_settled(world), [row.connection(world, index) for index in range(len(NAMES))]
