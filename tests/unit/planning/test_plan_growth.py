"""A plan costs what is in it: twice as many reservations make twice as many calls, and not four times as many."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slotcar.book.model import Entry
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Quota
from slotcar.planning.matching import Scope
from slotcar.planning.offline import entries_of, plan_offline
from slotcar.planning.plan import Plan
from slotcar.planning.source import ReservationSource
from slotcar.reservation.model import Endpoint, Membership, Reservation
from tests.support.calls import calls_of
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

NETWORK = line_network()
POLICY = Policy(quota=Quota(reservations=1_000_000))
SIZES = 1_000, 2_000
#: What grows with the number of digits alone, such as a sort, stays below this.
MOST_GROWTH = 2.2


def one_owner(number: int) -> Reservation:
    return reservation(f"n{number}", 10, number, number + 5)


def an_owner_each(number: int) -> Reservation:
    port = Endpoint(host="dst", port=5000 + number)
    return reservation(f"n{number}", 10, number, number + 5, owner=f"o{number}", destination=port)


def at_once(number: int) -> Reservation:
    return reservation(
        f"n{number}", 10, 0, 5, owner=f"o{number % 7}", destination=Endpoint(host="dst", port=5000 + number)
    )


def groups(number: int) -> Reservation:
    port = Endpoint(host="dst", port=5000 + number)
    return reservation(
        f"g{number // 2}.m{number}",
        10,
        number,
        number + 5,
        destination=port,
        together=Membership(group=f"g{number // 2}"),
    )


def planned(wanted: list[Reservation], current: tuple[Entry, ...] = ()) -> Plan:
    source = ReservationSource(tuple(wanted), Scope("set", frozenset(one.owner for one in wanted)))
    return plan_offline(source, NETWORK, POLICY, T0, most_paths=1, no_ledger_yet=True, entries=current)


@pytest.mark.parametrize("kind", [one_owner, an_owner_each, at_once, groups], ids=lambda kind: kind.__name__)
def test_a_plan_of_twice_as_many_makes_twice_as_many_calls(kind: Callable[[int], Reservation]) -> None:
    planned([kind(0)])  # what is compiled, or looked up, at its first use
    wanted = {size: [kind(number) for number in range(size)] for size in SIZES}
    small, large = (calls_of(lambda size=size: planned(wanted[size])) for size in SIZES)
    assert large < MOST_GROWTH * small, f"{large / small:.2f} times as many calls"


def test_a_plan_beside_twice_as_many_of_others_makes_twice_as_many_calls() -> None:
    def others(size: int) -> tuple[Entry, ...]:
        listed = [reservation(f"n{number}", 10, number, number + 1, owner=f"o{number}") for number in range(size)]
        return entries_of(listed, NETWORK, T0)

    wanted = {size: [an_owner_each(number + 5_000) for number in range(size)] for size in SIZES}
    current = {size: others(size) for size in SIZES}
    small, large = (calls_of(lambda size=size: planned(wanted[size], current[size])) for size in SIZES)
    assert large < MOST_GROWTH * small, f"{large / small:.2f} times as many calls"
