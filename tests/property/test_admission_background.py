"""Background shares agree with a plain progressive filling in fractions, and no resource is ever exceeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import ResourceId
from slotcar.admission.background import Share, shares_bps
from slotcar.admission.rates import Crossing
from tests.support.examples import examples

NAMES = tuple(ResourceId("sls", name) for name in "abc")
#: What rounding adds up to over as many rounds as there are resources, each share's part times its weight.
ROUNDING_BPS = 5_000


@st.composite
def share_sets(draw: st.DrawFn, unit_bps: int) -> list[Share]:
    shares = []
    for number in range(draw(st.integers(1, 6))):
        resources = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        payload = draw(st.sampled_from([1, 36, 1000, 1472]))
        wire = payload + (draw(st.sampled_from([28, 66])) if payload > 1 else 0)
        low, high = sorted((draw(st.integers(0, 30)), draw(st.integers(1, 400))))
        fields = {"weight": draw(st.integers(1, 5)), "at_least_bps": low * unit_bps, "at_most_bps": high * unit_bps}
        shares.append(Share(f"s{number}", tuple(Crossing(one, wire, payload) for one in resources), (), **fields))
    return shares


def plain_filling(shares: Sequence[Share], pools: Mapping[ResourceId, int]) -> dict[str, Fraction]:
    """Raises all by one common level, from event to event; who crosses a full resource stops."""
    level, stopped = Fraction(0), dict[str, Fraction]()

    def rate(share: Share) -> Fraction:
        bounded = min(Fraction(share.at_most_bps), max(Fraction(share.at_least_bps), share.weight * level))
        return stopped.get(share.name, bounded)

    while len(stopped) < len(shares):
        rising = [one for one in shares if one.name not in stopped and rate(one) == one.weight * level]
        rising = [one for one in rising if one.weight * level < one.at_most_bps]
        events = [Fraction(one.at_most_bps, one.weight) for one in rising]
        events += [Fraction(one.at_least_bps, one.weight) for one in shares if one.at_least_bps > one.weight * level]
        full_at = {}
        for resource, pool in pools.items():
            ratios = [
                (one, Fraction(cross.wire_bytes, cross.payload_bytes))
                for one in shares
                for cross in one.crossings
                if cross.resource == resource
            ]
            load = sum((rate(one) * ratio for one, ratio in ratios), Fraction(0))
            slope = sum((one.weight * ratio for one, ratio in ratios if one in rising), Fraction(0))
            if slope:
                full_at[resource] = level + max(Fraction(0), pool - load) / slope
        upcoming = [*events, *full_at.values()]
        if not upcoming:
            break
        level = min(upcoming)
        full = {resource for resource, at in full_at.items() if at == level}
        for one in shares:
            if one.name not in stopped and any(cross.resource in full for cross in one.crossings):
                stopped[one.name] = rate(one)
    return {one.name: rate(one) for one in shares}


def load(shares: Sequence[Share], rates: Mapping[str, int], resource: ResourceId) -> int:
    return sum(
        cross.amount(rates[one.name]) for one in shares for cross in one.crossings if cross.resource == resource
    )


def pools_of(shares: Sequence[Share], free: Mapping[ResourceId, int], factors: Mapping[ResourceId, int]) -> dict:
    floors = {one.name: one.at_least_bps for one in shares}
    held = {resource: load(shares, floors, resource) for resource in NAMES}
    return {name: max(held[name], (free[name] + held[name]) * factors[name] // 1_000_000) for name in NAMES}


frees = st.fixed_dictionaries({name: st.integers(0, 1000) for name in NAMES})
factors = st.fixed_dictionaries({name: st.sampled_from([0, 500_000, 900_000, 1_000_000]) for name in NAMES})


@examples(37, 150)
@given(share_sets(unit_bps=1_000_000), frees, factors)
def test_shares_are_those_of_a_plain_filling(
    shares: list[Share], free: dict[ResourceId, int], factor: dict[ResourceId, int]
) -> None:
    free = {name: amount * 1_000_000 for name, amount in free.items()}
    rates = shares_bps(shares, free, factor)
    expected = plain_filling(shares, pools_of(shares, free, factor))
    for name, rate in rates.items():
        assert abs(rate - expected[name]) <= ROUNDING_BPS


@examples(75, 300)
@given(share_sets(unit_bps=1) | share_sets(unit_bps=1_000_003), frees, factors, st.sampled_from([1, 999_983]))
def test_no_resource_is_exceeded_and_nobody_can_be_raised_by_one_bit(
    shares: list[Share], free: dict[ResourceId, int], factor: dict[ResourceId, int], unit: int
) -> None:
    free = {name: amount * unit for name, amount in free.items()}
    rates, pools = shares_bps(shares, free, factor), pools_of(shares, free, factor)
    for name in NAMES:
        assert load(shares, rates, name) <= pools[name]
        floors = load(shares, {one.name: one.at_least_bps for one in shares}, name)
        assert load(shares, rates, name) <= free[name] + floors, "what the tables leave, and the floors in them"
    for one in shares:
        assert one.at_least_bps <= rates[one.name] <= one.at_most_bps
        raised = rates | {one.name: rates[one.name] + 1}
        crossed = [cross.resource for cross in one.crossings]
        assert rates[one.name] == one.at_most_bps or any(load(shares, raised, name) > pools[name] for name in crossed)
