"""Requests whose amounts differ from slot to slot: as exact as one constant rate, and the same where all are equal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import Admitted, Demand, Refused, ResourceId, SlotTables, decide
from slotcar.admission.model import PERMILLE
from slotcar.base.timebase import to_us
from tests.property.test_admission_decisions import NAMES, limits, loaded, occurrences, requests, windows
from tests.support.examples import examples
from tests.unit.admission.oracle import Oracle, Span, check_form
from tests.unit.admission.support import at

#: Amounts of each resource, of at most as many slots as `occurrences` draws.
amounts = st.dictionaries(st.sampled_from(NAMES), st.lists(st.integers(0, 12), min_size=3, max_size=3), min_size=1)
Varying = dict[ResourceId, list[int]]
Held = list[tuple[dict[ResourceId, int], list[Span]]]


def demanded(varying: Varying, slots: int) -> list[Demand]:
    return [Demand(name, tuple(rates[:slots])) for name, rates in varying.items()]


def fits(oracle: Oracle, varying: Varying, pairs: list[Span]) -> bool:
    return all(
        oracle.fits({name: rates[number]}, [pair])
        for name, rates in varying.items()
        for number, pair in enumerate(pairs)
        if any(rates[: len(pairs)])
    )


@examples(25, 100)
@given(limits, requests, amounts, occurrences())
def test_a_varying_request_is_decided_slot_by_slot(
    capacities: dict[ResourceId, int], held: Held, varying: Varying, pairs: list[Span]
) -> None:
    tables, oracle = loaded(capacities, held)
    answer = decide(tables, demanded(varying, len(pairs)), windows(pairs), horizon=at(40), one_rate=False)
    assert isinstance(answer, Admitted) == fits(oracle, varying, pairs)
    if isinstance(answer, Admitted):
        before = {name: tables.steps(name, windows([(pairs[0][0] - 1, pairs[-1][1] + 1)])[0]) for name in NAMES}
        tables.add(answer.demands, answer.windows)
        for name, rates in varying.items():
            for number, pair in enumerate(pairs):
                oracle.add({name: rates[number]}, [pair])
                assert tables.peak(name, windows([pair])[0]) == oracle.peak(name, pair)
        check_form(tables)
        tables.remove(answer.demands, answer.windows)
        assert before == {
            name: tables.steps(name, windows([(pairs[0][0] - 1, pairs[-1][1] + 1)])[0]) for name in NAMES
        }


@examples(25, 100)
@given(limits, requests, amounts, occurrences())
def test_what_a_refusal_offers_is_admitted_and_the_next_thousandth_is_not(
    capacities: dict[ResourceId, int], held: Held, varying: Varying, pairs: list[Span]
) -> None:
    tables, _ = loaded(capacities, held)
    demands = demanded(varying, len(pairs))
    answer = decide(tables, demands, windows(pairs), horizon=at(40), one_rate=False)
    if isinstance(answer, Admitted):
        return
    assert isinstance(answer, Refused)
    assert answer.highest_rate_bps is None
    share = answer.highest_share_permille
    assert share is not None

    def part(permille: int) -> list[Demand]:
        return [Demand(one.resource, tuple(-(-a * permille // PERMILLE) for a in one.amounts)) for one in demands]

    if share:
        assert isinstance(decide(tables, part(share), windows(pairs)), Admitted)
    if share + 1 < PERMILLE:
        assert isinstance(decide(tables, part(share + 1), windows(pairs)), Refused)
    if answer.nearest_window:
        shift = answer.nearest_window.start_us - pairs[0][0]
        moved = windows([(start + shift, end + shift) for start, end in pairs])
        assert isinstance(decide(tables, demands, moved), Admitted)
        assert moved[-1].end_us <= to_us(at(40))


@examples(15, 60)
@given(limits, requests, st.dictionaries(st.sampled_from(NAMES), st.integers(0, 12), min_size=1), occurrences())
def test_equal_amounts_one_by_one_are_the_constant_amount(
    capacities: dict[ResourceId, int], held: Held, varying: dict[ResourceId, int], pairs: list[Span]
) -> None:
    tables: SlotTables = loaded(capacities, held)[0]
    constant = decide(
        tables, [Demand.constant(name, rate) for name, rate in varying.items()], windows(pairs), horizon=at(40)
    )
    each = [Demand(name, (rate,) * len(pairs)) for name, rate in varying.items()]
    other = decide(tables, each, windows(pairs), horizon=at(40))
    assert isinstance(constant, Admitted) == isinstance(other, Admitted)
    if isinstance(constant, Refused) and isinstance(other, Refused):
        assert constant == other
