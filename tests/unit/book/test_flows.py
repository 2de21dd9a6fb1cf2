"""Whose packets are whose: the sweep over all claims says what a comparison of each with each says."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Service
from slotcar.book.rules.errors import FlowTaken
from slotcar.book.rules.flows import FlowClaim, check_flows
from slotcar.network.path.model import Path
from slotcar.reservation.model import Endpoint
from tests.support.requests import T0, at, reservation

PATH = Path("src", "dst", "10.0.0.2", "10.0.3.2", Service.IP_PREMIUM, (), ())
BACK = Path("dst", "src", "10.0.3.2", "10.0.0.2", Service.IP_PREMIUM, (), ())
PORTS = st.sampled_from([None, 1, 2])


@st.composite
def claims(draw: st.DrawFn) -> FlowClaim:
    starts = sorted(draw(st.sets(st.integers(-4, 8), min_size=1, max_size=3)))
    nexts = [*starts[1:], starts[-1] + 4]
    windows = [
        Window(at(start), at(min(following, start + draw(st.integers(1, 4)))))
        for start, following in zip(starts, nexts, strict=True)
    ]
    direction = draw(st.sampled_from([Direction.FORWARD, Direction.BOTH]))
    source, destination = Endpoint(host="src", port=draw(PORTS)), Endpoint(host="dst", port=draw(PORTS))
    name, owner = draw(st.sampled_from("abc")), draw(st.sampled_from(["hep", "eo", "bio"]))
    ends = {"source": source, "destination": destination}
    one = reservation(name, owner=owner, windows=windows, direction=direction, **ends)
    return FlowClaim(one, (PATH, BACK)[: len(direction.ways)])


def meet(one: FlowClaim, other: FlowClaim) -> bool:
    return (
        one.reservation.owner != other.reservation.owner
        and any(mine.overlaps(theirs) for mine, theirs in product(one.matches, other.matches))
        and any(
            mine.overlaps(theirs) and min(mine.end, theirs.end) > T0
            for mine, theirs in product(one.windows, other.windows)
        )
    )


@given(st.lists(claims(), min_size=1, max_size=5), st.lists(claims(), max_size=5))
def test_a_flow_is_taken_exactly_where_some_two_meet(own: list[FlowClaim], others: list[FlowClaim]) -> None:
    pairs = [(one, other) for number, one in enumerate(own) for other in (*own[:number], *own[number + 1 :], *others)]
    meeting = {
        ("/".join(one.reservation.key), "/".join(other.reservation.key)) for one, other in pairs if meet(one, other)
    }
    if not meeting:
        check_flows(own, others, T0, name_other=True)
        return
    with pytest.raises(FlowTaken) as caught:
        check_flows(own, others, T0, name_other=True)
    assert any(str(caught.value).startswith(f"{one}: the reservation {other} has") for one, other in meeting)
