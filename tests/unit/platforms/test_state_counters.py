"""What a Catalyst prints of its policers, and what NETCONF peers tell, recorded (`tests/samples/counters`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slotcar.base.flow_match import FlowMatch
from slotcar.base.vocabulary import Protocol, Service
from slotcar.network.model import Device, InterfaceId
from slotcar.platforms.cisco_iosxe_netconf.counters import QUESTION, SPACE
from slotcar.platforms.counting import Amount, Count, Counts, FlowPlace, counting_of
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.juniper_junos.counters import FILTERS, QUEUES
from slotcar.platforms.model import Configuration, Unreadable
from tests.support.networks import line_network

SAMPLES = Path(__file__).parents[2] / "samples" / "counters"
MATCH = FlowMatch("10.0.0.2", "10.0.1.2", Protocol.UDP, None, 5001)
EF, AF = Service.IP_PREMIUM, Service.ASSURED_RATE
NO_QUEUES = "<rpc-reply><interface-information/></rpc-reply>"


def router(platform: str) -> Device:
    return line_network(1, platform=platform).devices["r1"]


def flow(interface: str, number: int, service: Service) -> EdgeFlow:
    return EdgeFlow(InterfaceId(device="r1", name=interface), number, "f", MATCH, service, 1, 1, 1, 1)


def counts_of(platform: str, outputs: dict[str, str], *flows: EdgeFlow) -> Counts:
    device = router(platform)
    counting = counting_of(device)
    assert counting is not None
    intent = QosIntent("r1", platform, flows, (), (), ())
    return counting.counts(outputs, device, intent, Configuration("r1", platform))


def test_a_catalysts_engines_are_added_up_and_its_software_is_passed_over() -> None:
    printed = (SAMPLES / "policy-map-pfc.txt").read_text()
    name = "GigabitEthernet1/1"
    counts = counts_of("cisco-cat6500", {"show policy-map interface": printed}, flow(name, 2, EF), flow(name, 5, AF))
    assert counts == {
        FlowPlace(name, 2): Count(Amount(0, 800_400), dropped=Amount(0, 200_100)),
        FlowPlace(name, 5): Count(Amount(0, 300_000), Amount(0, 300_000)),
    }


def junos(printed: str, *flows: EdgeFlow) -> Counts:
    return counts_of("juniper-junos", {FILTERS: printed, QUEUES: NO_QUEUES}, *flows)


def test_junos_terms_count_what_comes_and_policers_what_exceeds() -> None:
    printed = (SAMPLES / "show-firewall.xml").read_text()
    edge, other = "ge-0/0/1.0", "ge-0/0/2.0"
    counts = junos(printed, flow(edge, 2, EF), flow(edge, 5, AF), flow(other, 7, EF))
    assert counts == {
        FlowPlace(edge, 2): Count(Amount(800, 800_000), dropped=Amount(200, 200_000)),
        FlowPlace(other, 7): Count(Amount(30, 3_000)),
    }, "of F5 it is not told what exceeded, and of F7 an operator's filter has the counters"


def test_two_flows_of_one_number_are_told_apart_by_slotcars_filters_alone() -> None:
    printed = (SAMPLES / "show-firewall.xml").read_text()
    counts = junos(printed, *(flow(name, number, EF) for name in ("ge-0/0/1.0", "ge-0/0/2.0") for number in (2, 7)))
    assert set(counts) == {FlowPlace("ge-0/0/1.0", 2)}


def test_an_answer_that_is_none_is_said_and_not_taken_for_zero() -> None:
    for platform, outputs in (
        ("juniper-junos", {FILTERS: "% r1: `dispatch`: permission denied", QUEUES: NO_QUEUES}),
        ("juniper-junos", {FILTERS: "<a><filter-information><filter-name>SLOTCAR-IN-x</filter-name><counter>"
                           "<counter-name>SLOTCAR-F2</counter-name></counter></filter-information></a>",
                           QUEUES: NO_QUEUES}),
        ("juniper-junos", {QUEUES: NO_QUEUES}),
        ("juniper-junos", {FILTERS: "no XML", QUEUES: NO_QUEUES}),
        ("cisco-iosxe-netconf", {QUESTION: "% r1: `get`: unknown namespace"}),
        ("cisco-cat6500", {"show policy-map interface": "% Invalid input detected at '^' marker."}),
    ):  # fmt: skip
        with pytest.raises(Unreadable):
            counts_of(platform, outputs, flow("ge-0/0/1.0", 2, EF))


def test_iosxe_tells_a_class_without_a_policer_as_what_was_classified() -> None:
    name = "GigabitEthernet0/1"
    answer = (
        f'<data><interfaces xmlns="{SPACE}"><interface><name>{name}</name><diffserv-info><direction>qos-inbound</direction>'
        f"<policy-name>SLOTCAR-IN-{name}</policy-name><diffserv-target-classifier-stats>"
        "<classifier-entry-name>SLOTCAR-F2</classifier-entry-name><parent-path>SLOTCAR-F2</parent-path>"
        "<classifier-entry-stats><classified-pkts>10</classified-pkts><classified-bytes>1140</classified-bytes>"
        "</classifier-entry-stats></diffserv-target-classifier-stats></diffserv-info></interface></interfaces></data>"
    )
    one = replace(flow(name, 2, EF), service=Service.QBSS)
    assert counts_of("cisco-iosxe-netconf", {QUESTION: answer}, one) == {FlowPlace(name, 2): Count(Amount(10, 1_000))}
    with pytest.raises(Unreadable, match="has no numbers of classified"):
        counts_of("cisco-iosxe-netconf", {QUESTION: answer.replace("1140", "?")}, one)
