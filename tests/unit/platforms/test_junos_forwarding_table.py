"""Filters of Junos's forwarding table, to which every packet is put behind Slotcar's, are seen before a push."""

from __future__ import annotations

import pytest

from slotcar.platforms import renderer_of
from tests.unit.platforms.test_junos_in_force import OFF, Router, applied, base, device, group, refusal, wanted

FROM = "<from><protocol>tcp</protocol></from>"


def term(then: str, conditions: str = "", name: str = "ALL") -> str:
    return f"<term><name>{name}</name>{conditions}<then>{then}</then></term>"


def table(*terms: str, way: str = "input", at: str = "{}", attributes: str = "") -> str:
    """With a filter FT of these terms at the forwarding table."""
    attached = f"<filter><{way}>FT</{way}></filter>"
    holder = f"<forwarding-options {attributes}><family><inet>{attached}</inet></family></forwarding-options>"
    ft = f"<filter><name>FT</name>{''.join(terms)}</filter>"
    edge = "<filter><name>EDGE-IN</name>"
    return base(at.format(holder), old=edge, new=ft + edge)


def doubts(configuration: str) -> list[str]:
    read = Router(configuration).read()
    return [one.words for one in renderer_of(device()).hindrances(read, wanted(), device()) if not one.certain]


NEXT = term("<forwarding-class>best-effort</forwarding-class><next>term</next>", name="MARK")


@pytest.mark.parametrize("way", ["input", "output"])
@pytest.mark.parametrize(
    "terms",
    [
        [term("<discard/>")],
        [term("<policer>CUSTOMER</policer><accept/>")],
        [term("<forwarding-class>best-effort</forwarding-class>")],
        [NEXT, term("<accept/>")],
        [term("<discard/>", FROM, "TCP")],
        [term("<count>all</count><next>term</next>")],
    ],
    ids=["discards", "polices", "marks", "marks-and-goes-on", "accepts-nothing", "counts-and-accepts-nothing"],
)
def test_a_filter_of_the_forwarding_table_that_takes_every_packet_is_refused(terms: list[str], way: str) -> None:
    words = refusal(table(*terms, way=way))
    assert words.startswith(
        f"north-edge: `forwarding-options family inet filter {way} FT` discards, polices or marks every"
    )


def test_a_filter_that_a_group_brings_to_the_forwarding_table_is_refused_with_the_groups_name() -> None:
    words = refusal(table(term("<discard/>"), at=group("G", "{}") + applied("")))
    assert "`forwarding-options family inet filter input FT` of the group G discards" in words


@pytest.mark.parametrize(
    "terms",
    [
        [term("<discard/>", FROM, "TCP"), term("<accept/>")],
        [term("<accept/>", FROM, "TCP"), term("<discard/>")],
        [term("<accept/>", FROM, "TCP")],
        [term("<policer>CUSTOMER</policer>", FROM, "TCP"), term("<count>all</count>")],
        ["<term><name>CALL</name><filter>EDGE-IN</filter></term>", term("<discard/>")],
    ],
)
def test_one_that_takes_some_packets_is_a_doubt(terms: list[str]) -> None:
    configuration = table(*terms)
    assert refusal(configuration) == ""
    (words,) = doubts(configuration)
    assert "`forwarding-options family inet filter input FT` may discard, police or mark packets of reserved" in words


@pytest.mark.parametrize(
    "configuration",
    [
        table(term("<accept/>")),
        table(
            term("<count>tcp</count>", FROM, "TCP"),
            term("<count>all</count><next>term</next>", name="N"),
            term("<log/>"),
        ),
        table(term("<discard/>"), attributes=OFF),
        table(term("<discard/>"), at=group("G", "{}")),
    ],
    ids=["accepts", "counts-and-logs", "deactivated", "of-a-group-that-is-not-applied"],
)
def test_one_that_changes_nothing_or_is_not_in_force_is_no_hindrance(configuration: str) -> None:
    assert (refusal(configuration), doubts(configuration)) == ("", [])
