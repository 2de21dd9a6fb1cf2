"""What IOS prints of its counters, in the layouts of its command references (`tests/samples/counters`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slotcar.base.flow_match import FlowMatch
from slotcar.base.registry import FOLDERS, facts_of
from slotcar.base.vocabulary import Protocol, Service
from slotcar.network.model import Device, InterfaceId
from slotcar.platforms.counting import Amount, Count, Counts, FlowPlace, QueuePlace, counting_of
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.counters import seconds_of
from slotcar.platforms.ios.objects import AccessList, Entry, named
from slotcar.platforms.model import Configuration, Unreadable
from tests.support.networks import line_network

SAMPLES = Path(__file__).parents[2] / "samples" / "counters"
MATCH = FlowMatch("10.0.0.2", "10.0.1.2", Protocol.UDP, None, 5001)
#: What the routers have of Slotcar's: of a 7500 the list that its lines name, as a flow's.
LIST = AccessList("2602", (Entry("udp", "10.0.0.2", None, "10.0.1.2", 5001),))
RUNNING = {
    platform: Configuration("r1", platform, Ios(lists=named([LIST])))
    for platform in ("cisco-mqc", "cisco-gsr", "cisco-car")
}
#: Beside each packet on Ethernet, and on a serial line.
ETHERNET, SERIAL = 14, 4


def router(platform: str) -> Device:
    return line_network(1, platform=platform).devices["r1"]


def flow(interface: str, number: int, service: Service) -> EdgeFlow:
    return EdgeFlow(InterfaceId(device="r1", name=interface), number, "f", MATCH, service, 1, 1, 1, 1)


def counts_of(platform: str, printed: str, *flows: EdgeFlow) -> Counts:
    device = router(platform)
    counting = counting_of(device)
    assert counting is not None
    (command,) = counting.commands(device)
    return counting.counts({command: printed}, device, QosIntent("r1", platform, flows, (), (), ()), RUNNING[platform])


def test_policies_count_flows_and_queues_and_no_class_of_another_policy() -> None:
    one, other = (flow("GigabitEthernet0/1", n, s) for n, s in ((2, Service.IP_PREMIUM), (5, Service.ASSURED_RATE)))
    counts = counts_of("cisco-mqc", (SAMPLES / "policy-map-15.txt").read_text(), one, other)
    net = 1000 - ETHERNET
    assert counts == {
        FlowPlace("GigabitEthernet0/1", 2): Count(Amount(1000, 1000 * net), dropped=Amount(200, 200 * net)),
        FlowPlace("GigabitEthernet0/1", 5): Count(Amount(300, 300 * net), Amount(300, 300 * net)),
        QueuePlace("GigabitEthernet0/2", Service.IP_PREMIUM): Count(Amount(1000, 1000 * net)),
        QueuePlace("GigabitEthernet0/2", Service.BEST_EFFORT): Count(Amount(970, 970 * net), dropped=Amount(30)),
    }  # fmt: skip


def test_a_12000_prints_in_small_letters() -> None:
    premium = flow("POS4/0", 2, Service.IP_PREMIUM)
    counts = counts_of("cisco-gsr", (SAMPLES / "policy-map-12000.txt").read_text(), premium)
    assert counts == {FlowPlace("POS4/0", 2): Count(Amount(400, 400_000), dropped=Amount(100, 100_000))}


def test_cars_lines_are_known_by_their_lists_on_the_way_in() -> None:
    printed = (SAMPLES / "rate-limit.txt").read_text()
    counts = counts_of("cisco-car", printed, flow("Hssi0/0/0", 2, Service.IP_PREMIUM))
    assert counts == {FlowPlace("Hssi0/0/0", 2): Count(Amount(1000, 1_000_000), dropped=Amount(200, 200_000))}
    assert [one.age_s for one in counts.values()] == [10 * 60 + 23]
    other = replace(flow("Hssi0/0/0", 3, Service.IP_PREMIUM), match=replace(MATCH, destination_port=5002))
    assert counts_of("cisco-car", printed, other) == {}


@pytest.mark.parametrize("platform", ["cisco-mqc", "cisco-gsr", "cisco-car"])
def test_a_refused_command_and_a_missing_answer_are_told_from_an_empty_one(platform: str) -> None:
    assert counts_of(platform, "") == {}
    with pytest.raises(Unreadable, match=r"r1: `show .*`: % Invalid input detected at '\^' marker\."):
        counts_of(platform, "show it\n        ^\n% Invalid input detected at '^' marker.\n")
    counting = counting_of(router(platform))
    assert counting is not None
    with pytest.raises(Unreadable, match="r1: no answer to `show "):
        counting.counts({}, router(platform), QosIntent("r1", platform, (), (), (), ()), RUNNING[platform])


def test_bytes_without_packets_are_parted_as_the_class_is() -> None:
    """IOS-XE 16: a policer that counts bytes alone."""
    printed = (SAMPLES / "policy-map-15.txt").read_text().replace("conformed 1000 packets, ", "conformed ")
    counts = counts_of("cisco-mqc", printed, flow("GigabitEthernet0/1", 2, Service.IP_PREMIUM))
    assert counts[FlowPlace("GigabitEthernet0/1", 2)].in_profile == Amount(1000, 986_000)


def test_a_line_end_of_unicode_is_none_of_a_routers() -> None:
    printed = (SAMPLES / "rate-limit.txt").read_text().replace("45Mbps to R1", "45\x85  Output\x0b of R1")
    assert list(counts_of("cisco-car", printed, flow("Hssi0/0/0", 2, Service.IP_PREMIUM)))


@pytest.mark.parametrize(
    ("span", "seconds"),
    [("00:00:07", 7), ("23:59:59", 86_399), ("1d02h", 97_199), ("3w4d", 2_246_399), ("never", None), ("", None)],
)
def test_spans_of_ios(span: str, seconds: int | None) -> None:
    assert seconds_of(span) == seconds


def test_every_router_counts() -> None:
    assert all(facts_of(name).counts and counting_of(router(name)) for name in FOLDERS)
