"""Decisions agree with brute force on random workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import Admitted, Demand, Refused, ResourceId, SlotTables, decide, enquire
from slotcar.admission.arithmetic import scaled_up
from slotcar.base.timebase import Window, from_us, to_us
from tests.support.examples import examples
from tests.unit.admission.oracle import Oracle, Span
from tests.unit.admission.support import T0, at

MINUTE_US = 60_000_000
BASE_US = to_us(T0)
NAMES = (ResourceId("sls", "a"), ResourceId("sls", "b"), ResourceId("if", "r1:eth1", "in:ip-premium"))

# Few distinct times and rates, so that equal starts, touching slots and full links are common and not rare.
moments = st.integers(0, 24).map(lambda minute: BASE_US + minute * MINUTE_US) | st.integers(0, 24).map(
    lambda minute: BASE_US + minute * MINUTE_US - 1
)
spans = st.tuples(moments, moments).map(sorted).filter(lambda pair: pair[0] < pair[1]).map(lambda p: (p[0], p[1]))
asked_rates = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 12), min_size=1)
limits = st.fixed_dictionaries({name: st.integers(0, 30) for name in NAMES})


@st.composite
def occurrences(draw: st.DrawFn) -> list[Span]:
    """One window, or several that follow each other, some touching."""
    cuts = sorted(draw(st.sets(moments, min_size=2, max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return pairs if draw(st.booleans()) else [(cuts[0], cuts[1])]


requests = st.lists(st.tuples(asked_rates, occurrences()), max_size=14)


def demanded(amounts: Mapping[str, int]) -> list[Demand]:
    return [Demand.constant(name, rate) for name, rate in amounts.items()]


def windows(pairs: Sequence[Span]) -> list[Window]:
    return [Window.of_us(start, end) for start, end in pairs]


def loaded(
    capacities: Mapping[str, int], held: Sequence[tuple[Mapping[str, int], Sequence[Span]]]
) -> tuple[SlotTables, Oracle]:
    """Both hold the same, whether it fits or not: an inventory may have shrunk since."""
    tables, oracle = SlotTables(capacities), Oracle(capacities)
    for amounts, pairs in held:
        tables.add(demanded(amounts), windows(pairs))
        oracle.add(amounts, pairs)
    return tables, oracle


@examples(37, 150)
@given(limits, requests)
def test_a_whole_workload_is_admitted_and_refused_alike(
    capacities: dict[str, int], workload: list[tuple[dict[str, int], list[Span]]]
) -> None:
    tables, oracle = SlotTables(capacities), Oracle(capacities)
    for amounts, pairs in workload:
        answer = decide(tables, demanded(amounts), windows(pairs))
        assert isinstance(answer, Admitted) == oracle.fits({n: r for n, r in amounts.items() if r}, pairs)
        if isinstance(answer, Admitted):
            tables.add(answer.demands, answer.windows)
            oracle.add(amounts, pairs)
    for name in NAMES:
        assert oracle.peak(name, (BASE_US - 1, BASE_US + 25 * MINUTE_US)) <= capacities[name]


@examples(37, 150)
@given(limits, requests, asked_rates, occurrences())
def test_a_refusal_tells_the_truth(
    capacities: dict[str, int],
    held: list[tuple[dict[str, int], list[Span]]],
    amounts: dict[str, int],
    pairs: list[Span],
) -> None:
    tables, oracle = loaded(capacities, held)
    horizon = at(40)
    answer = decide(tables, demanded(amounts), windows(pairs), horizon=horizon)
    amounts = {name: rate for name, rate in amounts.items() if rate}
    if isinstance(answer, Admitted):
        assert oracle.fits(amounts, pairs)
        return
    short = {name for name in amounts if not oracle.fits({name: amounts[name]}, pairs)}
    assert {shortfall.resource for shortfall in answer.shortfalls} == short
    for shortfall in answer.shortfalls:
        name, inside = shortfall.resource, (shortfall.window.start_us, shortfall.window.end_us)
        peak = max(oracle.peak(name, pair) for pair in pairs)
        assert shortfall.requested == amounts[name]
        assert shortfall.capacity == capacities[name]
        assert shortfall.free == max(0, capacities[name] - peak)
        assert oracle.peak(name, inside) == peak
        assert any(start <= inside[0] and inside[1] <= end for start, end in pairs)
        throughout = [level for _, level in oracle.steps(name, inside)]
        assert min(throughout) + amounts[name] > capacities[name], "it does not fit at any moment of the sub-window"
    shift = oracle.nearest_shift(amounts, pairs, to_us(horizon) - pairs[-1][1])
    expected = None if shift is None else Window.of_us(pairs[0][0] + shift, pairs[0][1] + shift)
    assert answer.nearest_window == expected


@examples(37, 150)
@given(limits, requests, st.lists(st.sampled_from(NAMES), min_size=1, unique=True), occurrences(), st.data())
def test_the_highest_rate_fits_and_one_more_does_not(
    capacities: dict[str, int],
    held: list[tuple[dict[str, int], list[Span]]],
    names: list[str],
    pairs: list[Span],
    data: st.DataObject,
) -> None:
    capacities = {name: rate * 1_000 for name, rate in capacities.items()}
    tables, oracle = loaded(capacities, [({n: r * 777 for n, r in amounts.items()}, when) for amounts, when in held])
    payload = data.draw(st.integers(24, 1472))
    wire = {name: payload + data.draw(st.integers(28, 100)) for name in names}

    def needed(rate: int) -> dict[str, int]:
        return {name: scaled_up(rate, wire[name], payload) for name in names}

    def demands_of(rate: int) -> list[Demand]:
        return [Demand(name, (wire_rate,), wire[name], payload) for name, wire_rate in needed(rate).items()]

    answer = enquire(tables, demands_of(0), windows(pairs))
    if answer.rate_bps:
        assert oracle.fits(needed(answer.rate_bps), pairs)
        assert isinstance(decide(tables, demands_of(answer.rate_bps), windows(pairs)), Admitted)
    more = needed(answer.rate_bps + 1)
    assert not oracle.fits(more, pairs)
    assert not oracle.fits({answer.limited_by: more[answer.limited_by]}, pairs)
    refused = decide(tables, demands_of(answer.rate_bps + 1), windows(pairs))
    assert isinstance(refused, Refused)
    assert refused.highest_rate_bps == answer.rate_bps


@examples(25, 100)
@given(limits, requests.filter(bool), asked_rates, occurrences())
def test_a_modify_is_decided_as_if_the_old_were_not_there(
    capacities: dict[str, int],
    held: list[tuple[dict[str, int], list[Span]]],
    amounts: dict[str, int],
    pairs: list[Span],
) -> None:
    tables, oracle = loaded(capacities, held)
    without, _ = loaded(capacities, held[1:])
    old = Admitted(tuple(demanded(held[0][0])), tuple(windows(held[0][1])))
    question = (demanded(amounts), windows(pairs))
    assert decide(tables, *question, without=[old]) == decide(without, *question)
    assert enquire(tables, *question, without=[old]) == enquire(without, *question)
    everything = (BASE_US - 1, BASE_US + 30 * MINUTE_US)
    for name in NAMES:
        assert tables.steps(name, Window(from_us(everything[0]), from_us(everything[1]))) == oracle.steps(
            name, everything
        )
