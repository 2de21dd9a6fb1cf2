"""What devices counted is kept by steps of time, and adds up at every resolution."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slotcar.admission import capacities
from slotcar.base.timebase import Window, to_us
from slotcar.book.model import AdmissionRequest, Entry, Terms
from slotcar.book.operations import Admit
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint
from slotcar.store import Ledger
from slotcar.store.counts import RESOLUTIONS, CountedStep, KeptReading
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

NETWORK = line_network()
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
NOW = datetime(2030, 6, 1, 12, 30, tzinfo=UTC)
LONG_AGO = Window(NOW - 1000 * DAY, NOW + DAY)
NUMBERS = [
    name
    for name in CountedStep.__slots__
    if name.endswith(("_us", "_bits", "_packets", "_bytes")) and name != "start_us"
]


def step(start: datetime, entry: int = 1, step_s: int = 300, size: int = 1_000, **more: object) -> CountedStep:
    whole = CountedStep(
        entry, "forward", "ip-premium", "r1", "eth1", step_s, to_us(start) // (step_s * 1_000_000) * step_s * 1_000_000,
        step_s * 1_000_000, 8 * size * 10, 10, 10 * size, 2, 2 * size, 1, size,
    )  # fmt: skip
    return replace(whole, **more)  # type: ignore[arg-type]


def total(steps: tuple[CountedStep, ...]) -> dict[str, int]:
    return {name: sum(getattr(one, name) for one in steps) for name in NUMBERS}


def test_what_is_counted_again_in_a_step_is_added(ledger: Ledger) -> None:
    ledger.counts.keep([step(NOW, remarks=("pushed",))], [])
    ledger.counts.keep([step(NOW, remarks=("cleared",)), step(NOW - DAY)], [])
    first, second = ledger.counts.of_entry(1, LONG_AGO)
    assert first == step(NOW - DAY)
    assert (second.in_profile_bytes, second.counted_us) == (20_000, 600_000_000)
    assert second.remarks == ("cleared", "pushed")


def test_a_devices_last_reading_is_kept(ledger: Ledger) -> None:
    first = KeptReading("r1", NOW, NOW + MINUTE, "abc", [["eth1", 2, None, 1, 2, 3, 4, 5, 6]])
    ledger.counts.keep([], [first])
    assert ledger.counts.readings(["r1", "r2"]) == {"r1": first}
    second = replace(first, at=NOW + 2 * MINUTE, counts=[])
    ledger.counts.keep([], [second])
    assert ledger.counts.readings(["r1", "r2"]) == {"r1": second}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ages_min=st.lists(st.integers(0, 399 * 24 * 60), min_size=1, max_size=30), data=st.data())
def test_a_roll_up_loses_nothing_and_leaves_few_rows(ledger: Ledger, ages_min: list[int], data: st.DataObject) -> None:
    with psycopg.connect(ledger.url.replace("postgresql+psycopg", "postgresql"), autocommit=True) as connection:
        connection.execute("TRUNCATE counted")
    steps = [step(NOW - age * MINUTE, size=data.draw(st.integers(1, 10**9)), remarks=("pushed",)) for age in ages_min]
    ledger.counts.keep(steps, [])
    before = total(ledger.counts.of_entry(1, LONG_AGO))
    ledger.counts.roll_up(NOW)
    rolled = ledger.counts.of_entry(1, LONG_AGO)
    assert total(rolled) == before == total(tuple(steps))
    assert {remark for one in rolled for remark in one.remarks} == {"pushed"}
    ends = [(one.start_us, one.start_us + one.step_s * 1_000_000) for one in rolled]
    assert all(earlier <= later for (_, earlier), (later, _) in itertools.pairwise(ends)), "steps overlap"
    ledger.counts.roll_up(NOW)
    assert ledger.counts.of_entry(1, LONG_AGO) == rolled


def test_a_year_of_a_reservation_is_few_rows_and_what_is_older_is_gone(ledger: Ledger) -> None:
    """As ADR 75 counts them: five minutes for two days, hours for two weeks, days for 400 days."""
    ledger.counts.keep([step(NOW - age * timedelta(hours=6)) for age in range(4 * 500)], [])
    ledger.counts.keep([step(NOW - age * 5 * MINUTE) for age in range(12 * 24 * 20)], [])
    ledger.counts.roll_up(NOW)
    rows = ledger.counts.of_entry(1, LONG_AGO)
    by_step = {step_s: sum(one.step_s == step_s for one in rows) for step_s in (300, 3_600, 86_400)}
    assert by_step[300] <= 2 * 288 + 12
    assert by_step[3_600] <= 12 * 24 + 24
    assert 385 <= by_step[86_400] <= 401
    assert min(one.start_us for one in rows) > to_us(NOW - 402 * DAY)
    assert [one.step for one in RESOLUTIONS] == [timedelta(hours=1), DAY, None]


@pytest.fixture
def entries(ledger: Ledger) -> list[Entry]:
    ledger.set_terms(Terms(capacities(NETWORK), NETWORK.sls))
    listed = []
    for port, (name, owner) in enumerate((("a", "hep"), ("b", "hep"), ("c", "astro")), 5_000):
        asked_for = reservation(name, 8_000, 0, 60, owner=owner, destination=Endpoint(host="dst", port=port))
        ask = route(asked_for, NETWORK)
        entry = ledger.run(Admit(T0, AdmissionRequest(ask.reservation, ask.paths, ask.demands, actor="tester")))
        assert isinstance(entry, Entry)
        listed.append(entry)
    return listed


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("owner", {"hep": 20_000, "astro": 10_000}),
        ("reservation", {"hep/a": 10_000, "hep/b": 10_000, "astro/c": 10_000}),
        ("domain", {"alpha": 30_000, "transit": 30_000, "omega": 30_000}),
        ("sls", {"alpha-transit-ip-premium": 30_000, "transit-omega-ip-premium": 30_000}),
    ],
)
def test_what_was_counted_is_summed(ledger: Ledger, entries: list[Entry], by: str, names: dict[str, int]) -> None:
    month = Window(datetime(2030, 6, 1, tzinfo=UTC), datetime(2030, 7, 1, tzinfo=UTC))
    after = Window(month.end, datetime(2030, 8, 1, tzinfo=UTC))
    queue = step(NOW, entry=0, direction="out", interface="eth2")
    ledger.counts.keep([*(step(NOW, entry=one.number) for one in entries), queue], [])
    domains = {name: one.domain for name, one in NETWORK.devices.items()}
    sums = ledger.counts.sums(by, [month, after], domains)
    assert {one.name: one.in_profile_bytes for one in sums} == names
    assert {one.place for one in sums} == {0}
    own = ledger.counts.sums(by, [month], domains, owner="astro")
    assert {one.in_profile_bytes for one in own} == {10_000}
    assert {one.reservations for one in own} == {1}


def test_queues_are_of_a_link_and_of_no_entry(ledger: Ledger) -> None:
    queue = step(NOW, entry=0, direction="out", interface="eth2")
    ledger.counts.keep([queue, step(NOW)], [])
    assert ledger.counts.of_link("r1", "eth2", LONG_AGO) == (queue,)
    assert ledger.counts.of_link("r1", "eth1", LONG_AGO) == ()


def test_totals_are_of_both_directions(ledger: Ledger) -> None:
    ledger.counts.keep([step(NOW), step(NOW, direction="reverse"), step(NOW - 2 * DAY)], [])
    totals = ledger.counts.totals(dict.fromkeys((1, 2), NOW - DAY), NOW + DAY)
    assert {number: one.in_profile_bytes for number, one in totals.items()} == {1: 20_000}
