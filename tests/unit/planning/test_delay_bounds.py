"""A promised delay is computed, refused where it cannot be, and kept from whoever comes later."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from slotcar.base.assured import AssuredClass
from slotcar.base.units import format_latency
from slotcar.base.vocabulary import Scheduler, Service
from slotcar.book.model import Entry, Proposal
from slotcar.network.model import InterfaceId, Network
from slotcar.planning.delay_bounds import DelayBounds
from slotcar.planning.errors import RefusedByAdmission
from slotcar.planning.routing import route
from slotcar.reservation.model import BackgroundShare, Reservation, TimeBound
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

MS = 1_000


def network(
    platform: str = "linux-tc", scheduler: Scheduler = Scheduler.HTB, propagation_us: int | None = 2 * MS
) -> Network:
    """Three routers with links of 100 Mbit/s, of which premium has 45."""
    bare = line_network(platform=platform)
    devices = {
        name: device.model_copy(
            update={
                "interfaces": {
                    key: one.model_copy(
                        update={"scheduler": scheduler, "propagation_us": propagation_us if one.neighbour else None}
                    )
                    for key, one in device.interfaces.items()
                }
            }
        )
        for name, device in bare.devices.items()
    }
    return bare.model_copy(update={"devices": devices})


def with_classes(line: Network) -> Network:
    """The same with two classes of the assured rate, gold of 20 % and silver of 10 %."""
    classes = (AssuredClass("gold", 0, 200_000), AssuredClass("silver", 1, 100_000, (18, 20, 22)))
    named = {one.name: one for one in classes}
    devices = {
        name: device.model_copy(
            update={
                "interfaces": {
                    key: one.model_copy(update={"assured_classes": classes}) for key, one in device.interfaces.items()
                }
            }
        )
        for name, device in line.devices.items()
    }
    domains = {name: one.model_copy(update={"assured_classes": named}) for name, one in line.domains.items()}
    slss = {
        f"{name}-{of}": one.model_copy(update={"name": f"{name}-{of}", "assured_class": of})
        for name, one in line.sls.items()
        if one.service is Service.ASSURED_RATE
        for of in named
    }
    return line.model_copy(update={"devices": devices, "domains": domains, "sls": slss})


def entry(line: Network, number: int, rate_mbps: int, **more: object) -> Entry:
    wanted = reservation(f"r{number}", rate_mbps * 1_000_000, **more)
    return route(wanted, line).entry(f"handle-{number}", number, T0)


def within(delay_us: int) -> dict[str, object]:
    return {"delay": TimeBound(at_most_us=delay_us)}


def refusal(line: Network, tried: Entry, others: Sequence[Entry] = ()) -> str:
    with pytest.raises(RefusedByAdmission) as caught:
        DelayBounds(line).check(tried, others)
    return str(caught.value)


def total_us(line: Network, bounded: Entry, others: Sequence[Entry] = ()) -> int:
    (note,) = DelayBounds(line).notes(bounded, others)
    (case,) = DelayBounds(line).worst(bounded, others)
    assert f"delay {format_latency(-(-case.delay.total_ns // MS))} of" in note
    return case.delay.total_ns // MS


def test_the_worst_delay_is_the_burst_at_the_share_of_the_slowest_queue() -> None:
    """20 Mbit/s with an rtt of 100 ms is a burst of 25 ms of it, served at 45 % of the line: once, over three routers.

    Each of these adds its own work, what its buckets let through, and a packet; the links 2 ms each.
    """
    line = network()
    bounded = entry(line, 1, 20, **within(50 * MS))
    DelayBounds(line).check(bounded, ())
    burst_us = 25 * 20 * MS // 45
    assert 4 * MS + burst_us < total_us(line, bounded) < 4 * MS + burst_us + 3 * 7 * MS


def test_what_is_less_than_the_worst_is_refused_with_what_fits() -> None:
    line = network()
    lines = refusal(line, entry(line, 1, 20, **within(25 * MS)))
    assert "this reservation is promised a delay of at most 25 ms forward, and it could become" in lines
    assert "in the queue of r1:eth2, as bursts of" in lines
    assert "from this reservation" in lines
    burst = re.search(r"the largest burst that fits is .* an rtt of ([0-9.]+) ms", lines)
    assert burst, lines
    rtt_us = int(float(burst[1]) * MS)
    DelayBounds(line).check(entry(line, 1, 20, rtt_us=rtt_us, **within(25 * MS)), ())
    refusal(line, entry(line, 1, 20, rtt_us=rtt_us + MS, **within(25 * MS)))
    rate = re.search(r"the highest payload rate that fits is ([0-9.]+) Mbit/s", lines)
    assert rate, lines
    slower = reservation("r1", int(float(rate[1]) * 1_000_000), **within(25 * MS))
    DelayBounds(line).check(route(slower, line).entry("handle-1", 1, T0), ())


def test_whoever_comes_later_may_not_break_it() -> None:
    line = network()
    bounded = entry(line, 1, 20, **within(40 * MS))
    small, large = entry(line, 2, 2), entry(line, 3, 20, owner="astro")
    DelayBounds(line).check(small, [bounded])
    lines = refusal(line, large, [bounded, small])
    assert "another owner's reservation is promised a delay of at most 40 ms forward" in lines
    assert "hep" not in lines.partition("\n")[2]
    assert "the largest burst that fits is" in lines
    assert "hep/r1 is promised" in refusal(line, entry(line, 3, 20), [bounded, small])


def test_bursts_count_only_while_they_may_be_together() -> None:
    line = network()
    bounded = entry(line, 1, 20, **within(40 * MS))
    later = entry(line, 2, 20, start=61, end=90)
    DelayBounds(line).check(later, [bounded])
    touching = entry(line, 2, 20, start=60, end=90)
    refusal(line, touching, [bounded])


def test_a_background_reservation_counts_with_what_it_may_become() -> None:
    line = network()
    bounded = entry(line, 1, 20, **within(40 * MS))
    share = BackgroundShare(at_most_bps=20_000_000)
    grown = route(reservation("bulk", 0, share=share), line).entry("handle-2", 2, T0)
    refusal(line, grown, [bounded])
    small = route(reservation("bulk", 0, share=BackgroundShare(at_most_bps=1_000_000)), line)
    DelayBounds(line).check(small.entry("handle-2", 2, T0), [bounded])


def test_a_change_that_waits_and_the_form_before_count_too() -> None:
    line = network()
    bounded, other, raised = entry(line, 1, 20, **within(40 * MS)), entry(line, 2, 2), entry(line, 2, 20)
    waiting = replace(other, proposed=Proposal(raised.reservation, raised.paths, raised.demands, "ops", T0))
    refusal(line, waiting, [bounded])
    changed = replace(other, change=raised.changed_at_once(raised.reservation.start + timedelta(seconds=10)))
    refusal(line, changed, [bounded])


@pytest.mark.parametrize("scheduler", Scheduler)
def test_each_scheduler_bounds_premium(scheduler: Scheduler) -> None:
    line = network(scheduler=scheduler)
    bounded = entry(line, 1, 20, **within(50 * MS))
    DelayBounds(line).check(bounded, ())
    if scheduler is Scheduler.ETS:  # strict priority has all of the line
        assert total_us(line, bounded) < 25 * 20 * MS // 100 + 4 * MS + 5 * MS


def test_an_assured_rate_waits_for_all_the_excess_that_its_queue_holds() -> None:
    """Of each colour up to 50 ms of the link wait for 30 % of it, at each of three routers; no burst makes it worse."""
    line = network()
    assured = entry(line, 1, 10, service=Service.ASSURED_RATE, **within(1_800 * MS))
    DelayBounds(line).check(assured, ())
    alone_us = total_us(line, assured)
    of_one_colour_us = 3 * 50 * MS * 100 // 30
    assert of_one_colour_us < alone_us < 3 * of_one_colour_us
    assert total_us(line, assured, [entry(line, 2, 40)]) == alone_us
    lines = refusal(line, entry(line, 1, 10, service=Service.ASSURED_RATE, **within(100 * MS)))
    assert "excess of its service may fill the queue there with" in lines


@pytest.mark.parametrize("scheduler", [Scheduler.HTB, Scheduler.ETS])
def test_each_class_of_an_assured_rate_waits_for_the_excess_in_its_own_queue(scheduler: Scheduler) -> None:
    """A queue is as long as the link lets it be, whatever the share: silver's takes up to twice as long as gold's, and ets
    over-estimates what is small."""
    line = with_classes(network(scheduler=scheduler))
    gold, silver, others = (
        entry(line, number, 5, service=Service.ASSURED_RATE, assured_class=name, **within(9_000 * MS))
        for number, name in ((1, "gold"), (2, "silver"), (3, "silver"))
    )
    alone_us = total_us(line, gold)
    assert total_us(line, gold, [others]) == alone_us
    assert 1.3 * alone_us < total_us(line, silver) < 2.2 * alone_us
    assert "excess of its service may fill" in refusal(
        line, entry(line, 1, 5, service=Service.ASSURED_RATE, assured_class="gold", **within(100 * MS))
    )


def test_by_deficit_round_robin_an_assured_rate_waits_for_premiums_bursts_too() -> None:
    line = network(scheduler=Scheduler.ETS)
    assured = entry(line, 1, 10, service=Service.ASSURED_RATE, **within(2_500 * MS))
    assert total_us(line, assured) < total_us(line, assured, [entry(line, 2, 20)])


def test_jitter_is_what_is_over_the_least_delay() -> None:
    line = network()
    bounded = entry(line, 1, 20, jitter=TimeBound(at_most_us=40 * MS))
    (note,) = DelayBounds(line).notes(bounded, ())
    assert "jitter" in note
    assert "delay" not in note
    assert "is promised a jitter of at most 5 ms" in refusal(
        line, entry(line, 1, 20, jitter=TimeBound(at_most_us=5 * MS))
    )


def test_what_is_not_known_is_not_promised() -> None:
    unknown = network(propagation_us=None)
    assert "how long the link of r1:eth2 takes is not known" in refusal(
        unknown, entry(unknown, 1, 20, **within(2_500 * MS))
    )
    line = network(scheduler=Scheduler.HFSC)
    assured = entry(line, 1, 10, service=Service.ASSURED_RATE, **within(2_500 * MS))
    assert "hfsc shares what is left by virtual time" in refusal(line, assured)
    car = network(platform="cisco-car")
    assert "how many packets cisco-car keeps in its hardware, behind its scheduler, is not known here" in refusal(
        car, entry(car, 1, 20, **within(2_500 * MS))
    )


def with_ring(line: Network, **options: int | str) -> Network:
    devices = {
        name: device.model_copy(update={"options": {"transmit_ring": 4, **options}})
        for name, device in line.devices.items()
    }
    return line.model_copy(update={"devices": devices})


@pytest.mark.parametrize(
    ("platform", "options"),
    [
        ("cisco-mqc", {}),
        ("cisco-gsr", {}),
        ("cisco-gsr", {"queueing": "cos-queue-group", "low_latency": "alternate"}),
        ("cisco-cat6500", {}),
        ("cisco-car", {}),
        ("cisco-iosxe-netconf", {}),
    ],
)
def test_a_promise_over_routers_with_hardware_is_kept_from_whoever_comes_later(
    platform: str, options: dict[str, str]
) -> None:
    bare = network(platform=platform)
    names = {"eth1": "GigabitEthernet1/1", "eth2": "GigabitEthernet1/2"}

    def renamed(one: InterfaceId) -> InterfaceId:
        return InterfaceId(device=one.device, name=names[one.name])

    devices = {
        name: device.model_copy(
            update={
                "interfaces": {
                    names[key]: one.model_copy(
                        update={"id": renamed(one.id), "neighbour": one.neighbour and renamed(one.neighbour)}
                    )
                    for key, one in device.interfaces.items()
                }
            }
        )
        for name, device in bare.devices.items()
    }
    sls = {name: one.model_copy(update={"ingress": renamed(one.ingress)}) for name, one in bare.sls.items()}
    hosts = {
        name: one.model_copy(update={"attached_to": renamed(one.attached_to)}) for name, one in bare.hosts.items()
    }
    line = with_ring(bare.model_copy(update={"devices": devices, "sls": sls, "hosts": hosts}), **options)
    promised = entry(line, 1, 10, **within(2_500 * MS))
    alone_us = total_us(line, promised)
    bound = entry(line, 1, 10, **within(alone_us + 1 * MS))
    DelayBounds(line).check(bound, ())
    later = refusal(line, entry(line, 2, 20), [bound])
    assert re.search(r"hep/r1 is promised a delay of at most .* the largest of .* from this reservation", later), later


def test_where_a_queue_is_shorter_than_what_may_wait_nothing_is_promised() -> None:
    """No queue is longer than 8 MB."""
    line = network()
    devices = {name: one.model_copy(update={"burst_ceiling_bytes": 40_000_000}) for name, one in line.devices.items()}
    line = line.model_copy(update={"devices": devices})
    wide = entry(line, 1, 30, rtt_us=9_000_000, **within(50_000 * MS))
    assert "may wait in the queue of r1:eth2, which is shorter" in refusal(line, wide)


def test_a_bound_is_for_a_rate_of_its_own() -> None:
    with pytest.raises(ValueError, match="promised no rate, and so no delay"):
        reservation("a", 10, service=Service.QBSS, **within(MS))
    document = reservation("a", 10, **within(MS)).to_document()
    assert document["delay"] == {"at_most_us": MS}
    assert "jitter" not in document
    assert Reservation.from_document(document).delay == TimeBound(at_most_us=MS)
