"""What is free of a resource over time, exact and rounded."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from slotcar.admission import SlotTables, capacities
from slotcar.admission.model import Demand
from slotcar.admission.resource_id import NoSuchResource, ResourceId, sls_resource
from slotcar.base.timebase import Window
from slotcar.network.model import Network
from slotcar.views.capacity import (
    Course,
    course_document,
    courses,
    device_of,
    named_resource,
    resource_names,
    tightest_course,
)
from tests.support.networks import line_network
from tests.support.requests import T0, at

NETWORK = line_network()
SLS = sls_resource("alpha-transit-ip-premium")
DAY = Window(T0, T0 + timedelta(days=1))


def course(*taken: tuple[int, int, int], network: Network = NETWORK, window: Window = DAY) -> Course:
    """Of the SLS, where `(from minute, to minute, Mbit/s)` are reserved."""
    tables = SlotTables(capacities(network))
    for start, end, rate in taken:
        tables.add([Demand(SLS, (rate * 10**6,))], [Window(at(start), at(end))])
    return courses(tables, [SLS], window, network.sls)[0]


def test_steps_are_those_of_the_reservations() -> None:
    one = course((60, 120, 10), (90, 180, 20))
    steps, rounded = one.steps()
    assert not rounded
    assert [(step.reserved_bps // 10**6, step.free_bps // 10**6) for step in steps] == [
        (0, 40), (10, 30), (30, 10), (20, 20), (0, 40),
    ]  # fmt: skip
    assert (one.peak_bps, one.free_bps) == (30_000_000, 10_000_000)
    assert one.tightest == Window(at(90), at(120))


def test_nothing_reserved_has_no_tightest_time() -> None:
    assert course().tightest is None
    assert (course().peak_bps, course().free_bps) == (0, 40_000_000)


def test_nothing_is_free_of_an_sls_that_does_not_hold() -> None:
    agreement = NETWORK.sls[SLS.place].model_copy(update={"validity": Window(at(60), at(120))})
    network = NETWORK.model_copy(update={"sls": {**NETWORK.sls, SLS.place: agreement}})
    one = course((90, 100, 10), network=network)
    free = [(step.start_us, step.free_bps // 10**6) for step in one.steps()[0]]
    assert free == [
        (Window(at(minute), at(minute + 1)).start_us, rate)
        for minute, rate in ((0, 0), (60, 40), (90, 30), (100, 40), (120, 0))
    ]
    assert one.free_bps == 0
    assert one.tightest == Window(at(0), at(60))


def test_rounded_steps_keep_the_highest_and_the_least() -> None:
    """A peak of a minute in a day, which every n-th step would miss."""
    one = course(*((minute, minute + 1, 1 + minute % 7) for minute in range(0, 1400, 2)), (701, 702, 30))
    steps, rounded = one.steps(24)
    assert rounded
    assert len(steps) == 24
    assert max(step.reserved_bps for step in steps) == 30_000_000
    assert min(step.free_bps for step in steps) == 10_000_000
    assert course_document(one, NETWORK, points=24)["rounded"] is True


def test_what_is_past_is_not_kept() -> None:
    tables = SlotTables(capacities(NETWORK))
    tables.prune(at(30))
    assert courses(tables, [SLS], Window(at(0), at(30)), NETWORK.sls) == ()
    assert courses(tables, [SLS], Window(at(0), at(60)), NETWORK.sls)[0].window == Window(at(30), at(60))


def test_resources_have_a_device_and_are_listed_by_name() -> None:
    known = capacities(NETWORK)
    names = list(resource_names(known, NETWORK))
    assert names == sorted(names)
    assert {str(SLS), "if:r1:eth1:in:ip-premium"} <= set(names)
    assert device_of(SLS, NETWORK) == "r2"
    assert {device_of(ResourceId.parse(name), NETWORK) for name in resource_names(known, NETWORK, "r2")} == {"r2"}
    assert {NETWORK.devices[device_of(ResourceId.parse(name), NETWORK)].domain
            for name in resource_names(known, NETWORK, domain="omega")} == {"omega"}  # fmt: skip


@pytest.mark.parametrize("text", ["", "sls:nowhere", "if:r1", "x:y", "if:r9:eth1:in:ip-premium"])
def test_an_unknown_resource_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(NoSuchResource, match=r"GET /v1/resources lists them"):
        named_resource(text, capacities(NETWORK))


def test_times_are_of_utc() -> None:
    document = course_document(course((60, 120, 10)), NETWORK, points=10)
    assert [datetime.fromisoformat(step["at"]) for step in document["steps"]] == [T0, at(60), at(120)]


def test_the_tightest_is_that_of_all_names_at_its_worst_moment() -> None:
    """The last by name, for a minute, before one that is half full all day."""
    tables = SlotTables(capacities(NETWORK))
    names = [ResourceId.parse(name) for name in resource_names(capacities(NETWORK), NETWORK)]
    first, last = names[0], names[-1]
    assert tightest_course(tables, names, DAY, NETWORK.sls) is None
    tables.add([Demand(first, (tables.capacity(first) // 2,))], [Window(at(0), at(1000))])
    tables.add([Demand(last, (tables.capacity(last) * 3 // 4,))], [Window(at(60), at(61))])
    tightest = tightest_course(tables, names, DAY, NETWORK.sls)
    assert tightest is not None
    assert (tightest.resource, tightest.tightest) == (last, Window(at(60), at(61)))
    half = tightest_course(tables, names[:-1], DAY, NETWORK.sls)
    assert half is not None
    assert half.resource == first
    past = Window(T0 - timedelta(days=2), T0 - timedelta(days=1))
    tables.prune(T0)
    assert tightest_course(tables, names, past, NETWORK.sls) is None
