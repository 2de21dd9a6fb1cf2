"""From one configuration to another: `configure replace` arrives, on itself it does nothing, and what is printed loads."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slotcar_lab.ios import difference
from slotcar_lab.ios.configuration import Configuration
from slotcar_lab.ios.grammar import load
from slotcar_lab.ios.tree import Node
from tests.unit.lab.ios.brownfield import BROWNFIELD, entered, router

PORTS = ["interface FastEthernet4/0/0", "interface ATM1/0/0", "interface Loopback0"]
ACLS = [f"access-list {n} permit ip host 10.0.0.{n % 7} any" for n in (100, 101, 2600, 2601)]
NAMED = [f"permit tcp host 10.0.0.{n} any eq {port}" for n in (1, 2, 3) for port in (22, 80)]
COMMON = [
    *PORTS,
    *ACLS,
    "access-list 101 deny ip any any",
    "no access-list 101",
    "ip access-list extended A",
    *NAMED,
    "no permit tcp host 10.0.0.2 any eq 22",
    "no ip access-list extended A",
    "exit",
    "hostname other",
    "no ip domain-lookup",
    "ip domain-lookup",
    "router ospf 1",
    "network 10.1.0.0 0.0.255.255 area 0",
    "no network 10.0.0.0 0.0.0.255 area 0",
    "no router bgp 65000",
    "line vty 0 4",
    "no login local",
    "description text of another kind",
    "no description",
    "no ip address",
    "ip address 10.3.0.1 255.255.0.0",
    "shutdown",
    "no shutdown",
    "no interface Loopback0",
]
RATE = "{} access-group {} 8000 2000 2000 conform-action transmit exceed-action drop"
LIMITS = [f"rate-limit {RATE.format(way, acl)}" for way in ("input", "output") for acl in (100, 2600, "rate-limit 61")]
CAR = [
    *LIMITS,
    *(f"no {line}" for line in LIMITS),
    "fair-queue tos",
    "no fair-queue tos",
    *(f"fair-queue tos {tos} weight {weight}" for tos in (1, 2, 3) for weight in (1, 20, 30, 40)),
    "access-list rate-limit 61 1",
    "access-list rate-limit 61 3",
    "no access-list rate-limit 61 3",
]
MAPS = [
    *(f"class-map match-{kind} {name}" for kind, name in (("any", "A"), ("all", "B"), ("any", "C"))),
    "match access-group 100",
    "match ip dscp 46",
    "no match ip dscp 46",
    *(f"no class-map {name}" for name in "ABC"),
    *(f"policy-map {name}" for name in "PQ"),
    *(f"no policy-map {name}" for name in "PQ"),
    *(f"class {name}" for name in ("A", "B", "C", "class-default")),
    *(f"no class {name}" for name in "ABC"),
    "bandwidth percent 10",
    "bandwidth percent 30",
    "no bandwidth",
    "random-detect",
    "no random-detect",
    "set ip dscp 10",
    *(f"{no}service-policy {way} {name}" for no in ("", "no ") for way in ("input", "output") for name in "PQ"),
]
MQC = [
    *MAPS,
    "police cir 8000000 bc 16000 conform-action transmit exceed-action drop",
    "police cir 8000000 bc 32000",
    "exceed-action set-dscp-transmit 12",
    "no police",
    "priority percent 20",
    "no priority",
    "random-detect dscp-based",
    "random-detect dscp 10 20 40 10",
    "random-detect ecn",
    "15 permit udp any any",
    "no 20",
    "service-policy Q",
]
GSR = [
    *MAPS,
    *LIMITS,
    "cos-queue-group G",
    "cos-queue-group H",
    "no cos-queue-group G",
    "precedence 5 queue low-latency",
    "precedence 5 queue 1",
    "queue 0 20",
    "queue 1 30",
    "no queue 1",
    "queue low-latency strict-priority",
    "random-detect-label 1 100 200 1",
    "tx-cos G",
    "tx-cos H",
    "no tx-cos H",
    "slot-table-cos T",
    "destination-slot all G",
    "rx-cos-slot 1 T",
    "no rx-cos-slot 1 T",
]
CAT = [
    *MAPS,
    "mls qos",
    "mls qos aggregate-policer AGG 32000000 10000 conform-action transmit exceed-action drop",
    "no mls qos aggregate-policer AGG",
    "police aggregate AGG",
    "police flow 32000000 10000 conform-action transmit exceed-action drop",
    "police 50000000 2500000 2500000 conform-action set-prec-transmit 1 exceed-action drop",
    "no police",
    "mls qos trust dscp",
    "mls qos map dscp-cos 10 12 to 3",
    "mls qos map dscp-cos 10 to 1",
    "wrr-queue bandwidth 91 9",
    "no wrr-queue bandwidth",
    "wrr-queue cos-map 1 1 0 1 2",
    "wrr-queue cos-map 2 1 2 3",
    "priority-queue cos-map 1 5",
]
POOLS = {"cisco-car": CAR, "cisco-mqc": MQC, "cisco-gsr": GSR, "cisco-cat6500": CAT}


@st.composite
def ways(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """A platform, and twice lines of it in any order."""
    platform = draw(st.sampled_from(sorted(POOLS)))
    lines = st.lists(st.sampled_from([*COMMON, *POOLS[platform]]), max_size=40)
    return platform, draw(lines), draw(lines)


def after(platform: str, lines: list[str]) -> Configuration:
    """Where a router comes to by lines, those that it refuses left aside."""
    configuration = router(platform)
    entered(configuration, *lines)
    return configuration


def lines_of(section: Configuration | Node) -> object:
    """The lines below, in the order in which they matter: the others may stand in any."""
    top = section.top if isinstance(section, Configuration) else section
    groups: dict[str, list[object]] = {}
    for node in top.printed():
        group = node.fill(node.rule.ordered) if node.rule.ordered else ""
        header = node.key if node.mode else node.text
        groups.setdefault(group, []).append((header, lines_of(node)))
    groups[""] = sorted(groups.get("", []), key=repr)
    return {group: nodes for group, nodes in groups.items() if nodes}


@pytest.mark.slow
@settings(deadline=None)
@given(ways())
def test_what_is_printed_loads_and_is_printed_again(way: tuple[str, list[str], list[str]]) -> None:
    platform, lines, _ = way
    text = after(platform, lines).text()
    again = Configuration(load(platform))
    assert again.load(text.splitlines()) == []
    assert again.text() == text


@settings(deadline=None)
@given(ways())
@example(("cisco-cat6500", ["class C"], ["class-map match-any C", "match access-group 100"]))
def test_replacing_arrives_and_on_itself_does_nothing(way: tuple[str, list[str], list[str]]) -> None:
    platform, *lines = way
    now, wanted = (after(platform, each) for each in lines)
    read = Configuration(load(platform))
    read.load(wanted.text().splitlines())
    assert difference.commands(wanted, read) == []
    for _ in range(5):
        entered(now, *difference.flat(difference.commands(now, read)))
    assert difference.commands(now, read) == []
    assert lines_of(now) == lines_of(wanted)


@settings(deadline=None)
@given(ways())
def test_a_difference_is_shown_exactly_where_there_is_one(way: tuple[str, list[str], list[str]]) -> None:
    platform, *lines = way
    now, wanted = (after(platform, each) for each in lines)
    assert (difference.NOTHING in difference.contextual(now, wanted)) == (lines_of(now) == lines_of(wanted))
    assert difference.NOTHING in difference.contextual(now, now)


def test_the_difference_stands_under_its_section() -> None:
    now = router()
    wanted = now.copy()
    entered(wanted, "interface ATM1/0/0", "ip address 10.7.0.1 255.255.255.0", "no snmp-server community fake RO")
    assert difference.contextual(now, wanted) == [
        "!Contextual Config Diffs:",
        "interface ATM1/0/0",
        " +ip address 10.7.0.1 255.255.255.0",
        " -no ip address",
        "-snmp-server community fake RO",
    ]


def test_incremental_differences_tell_what_a_file_adds() -> None:
    lines = [
        "interface FastEthernet4/0/0",
        " no cdp enable",
        " shutdown",
        "ntp server 192.0.2.3",
        "no access-list 101",
    ]
    assert difference.incremental(router(), [*lines, "end"]) == [
        "!List of Commands:",
        "interface FastEthernet4/0/0",
        " shutdown",
        "no access-list 101",
        "end",
    ]
    assert difference.incremental(router(), BROWNFIELD.splitlines())[-1] == difference.NOTHING
