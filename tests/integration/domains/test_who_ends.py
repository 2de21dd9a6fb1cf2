"""The log says who asked for a connection and who ended it, in the domain where that was, and by which proof."""

from __future__ import annotations

from slotcar.domains.way import Asker, PeerRequest, received
from slotcar.store.queries import EventFilter
from tests.integration.domains.three import NAMES, World, premium

ANN = Asker("ann", {"proof": "token ann"})
OPS = Asker("ops", {"role": "operator", "proof": "account ops (uid 7) of the controller's host, by its socket"})
NOTHING = ("", None)


def who(world: World, domain: str, kind: str) -> tuple[str, str | None]:
    (event,) = world.ledgers[domain].events_of(EventFilter((kind,)))
    return event.details.get("actor", ""), event.details.get("proof")


def test_an_end_is_of_whoever_ended_it_and_not_of_who_asked(world: World) -> None:
    connection = world.domains["anl"].reserve(premium(), "hep", asker=ANN)
    world.run()
    world.domains["anl"].in_force(connection.id, 1, 1)
    world.domains["esnet"].end(connection.id, "a new card", OPS)
    world.settle()
    assert world.rates() == {name: [] for name in NAMES}
    ann, ops = ("ann", "token ann"), ("ops", (OPS.kept or {})["proof"])
    assert [who(world, name, "connection.asked") for name in NAMES] == [ann, NOTHING, NOTHING]
    assert [who(world, name, "connection.ended") for name in NAMES] == [NOTHING, ops, NOTHING]
    assert who(world, "anl", "reservation.committed") == ann
    assert who(world, "esnet", "reservation.cancelled") == ops
    by_neighbour = ("domain esnet", "signed messages of domain esnet")
    assert who(world, "lbnl", "reservation.cancelled") == by_neighbour


def test_a_neighbour_says_nothing_of_who_asks_or_ends_in_another_domain() -> None:
    request = PeerRequest(
        premium(), "hep", "anl", ("anl",), actor="root", requester={"role": "operator"}, ended_by=OPS
    )
    assert PeerRequest.from_text(request.to_text()) == request
    taken = received(request.to_text())
    assert (taken.actor, taken.requester, taken.ended_by) == ("", None, None)
    assert taken.digest == request.digest
