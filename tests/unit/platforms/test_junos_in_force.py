"""What makes Slotcar's part of a Junos configuration without effect is seen before a push; what does not is no hindrance.

The router in software judges: wherever a push is not refused, what is in force there afterwards is what was wanted.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from lxml import etree

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unrenderable, renderer_of
from slotcar_lab.junos.machine import Machine
from slotcar_lab.junos.rpc import Session
from slotcar_lab.junos.tree import BASE
from tests.support.junos import startup

GOLDEN = Path(__file__).parents[2] / "golden" / "render"
PREMIUM = (GOLDEN / "juniper-junos-premium" / "north-edge.configuration").read_text(encoding="utf-8")
PORTS = ("ge-0/0/0", "ge-0/0/1", "ge-0/0/2", "xe-0/0/0")


@cache
def device() -> Device:
    return load_network(GOLDEN / "inventories" / "juniper-junos").devices["north-edge"]


class Router:
    """A router in software, asked as a push asks it, without a network."""

    def __init__(self, configuration: str) -> None:
        self.machine = Machine("north-edge", PORTS)
        self.machine.boot(configuration)

    def read(self, *, in_force: bool = False) -> Configuration:
        (command,) = renderer_of(device()).readback_commands(device())
        filter_text = command.removeprefix("get-config running ")
        machine = self.machine
        if in_force:
            machine = Machine("north-edge")
            machine.boot(etree.tostring(self.machine.in_force(), encoding="unicode"))
        session = Session(machine, 1, "reader", yang_compliant=False, kill=lambda _: False)
        request = f"<get-config><source><running/></source><filter>{filter_text}</filter></get-config>"
        answer = session.answer(f'<rpc xmlns="{BASE}">{request}</rpc>'.encode())
        return renderer_of(device()).running({command: answer}, device())

    def push(self) -> None:
        edit = "".join(line.strip() for line in renderer_of(device()).change(self.read(), wanted(), device()).apply)
        for configuration in etree.fromstring(edit) if edit else ():
            self.machine.edit(configuration, 1)
        self.machine.commit(1, "slotcar")

    def operator(self, inside: str) -> None:
        self.machine.edit(etree.fromstring(f"<configuration>{inside}</configuration>"), 2)
        self.machine.commit(2, "operator")


@cache
def wanted() -> Configuration:
    lines = PREMIUM.split("\n")
    return renderer_of(device()).stored([line for line in lines if line], device())


def refusal(configuration: str) -> str:
    """The words of a refused push; empty where what was wanted is in force after it."""
    router = Router(configuration)
    try:
        router.push()
    except Unrenderable as refused:
        return str(refused)
    assert router.read().lines == wanted().lines
    assert router.read(in_force=True).lines == wanted().lines, "it was pushed, and is without effect"
    return ""


def group(name: str, inside: str, attributes: str = "") -> str:
    return f"<groups {attributes}><name>{name}</name>{inside}</groups>"


OFF = 'inactive="inactive"'
INPUT = "<filter><input><filter-name>EDGE-IN</filter-name></input></filter>"
UNIT = f"<unit><name>0</name><family><inet>{INPUT}</inet></family></unit>"
ANY_UNIT = UNIT.replace("<name>0<", "<name>&lt;*&gt;<")
GE = f"<interfaces><interface><name>&lt;ge-*&gt;</name>{ANY_UNIT}</interface></interfaces>"
ONE = f"<interfaces><interface><name>ge-0/0/1</name>{UNIT}</interface></interfaces>"


def base(more: str = "", *, old: str = "", new: str = "") -> str:
    text = startup(device(), more)
    assert old in text
    return text.replace(old, new) if old else text


def spread(inside: str, *, members: str = "<member><name>ge-0/0/*</name></member>", attributes: str = "") -> str:
    return (
        f"<interfaces><interface-range {attributes}><name>CORE</name>{members}{inside}</interface-range></interfaces>"
    )


def applied(at: str, what: str = "apply-groups", name: str = "G", attributes: str = "") -> str:
    """A statement at an element of the interfaces of the start-up configuration, by the element's beginning."""
    return f"{at}<{what} {attributes}>{name}</{what}>"


# -- ranges and groups -------------------------------------------------------------------------------------------------

BY_NAME = "<member><name>ge-0/0/1</name></member>"
BETWEEN = "<member-range><name>ge-0/0/1</name><end-range>ge-0/0/4</end-range></member-range>"


@pytest.mark.parametrize("members", ["<member><name>ge-0/0/*</name></member>", BY_NAME, BETWEEN])
def test_a_filter_of_an_interface_range_is_refused_with_its_name(members: str) -> None:
    words = refusal(base(spread(UNIT, members=members)))
    assert "`filter input EDGE-IN` of the interface-range CORE is in the way of Slotcar's" in words
    assert "input_filter" not in words


@pytest.mark.parametrize(
    "configuration",
    [
        base(spread(UNIT, members="<member><name>xe-*</name></member>")),
        base(spread(UNIT, members=BETWEEN.replace("ge-0/0/1", "ge-0/0/3"))),
        base(spread(UNIT, attributes='inactive="inactive"')),
        base(spread(UNIT.replace("<unit>", '<unit inactive="inactive">'))),
        base(spread(UNIT.replace("<name>0<", "<name>7<"))),
    ],
)
def test_a_range_that_gives_the_interface_no_filter_is_no_hindrance(configuration: str) -> None:
    assert refusal(configuration) == ""


PORT, PORT_UNIT, PORT_INET = (
    "<interface><name>ge-0/0/1</name>",
    "<name>ge-0/0/1</name><description>of the operator's own</description><unit><name>0</name>",
    "<name>ge-0/0/1</name><description>of the operator's own</description><unit><name>0</name><family><inet>",
)


@pytest.mark.parametrize(
    ("configuration", "source"),
    [
        (base(group("G", GE) + applied("")), "group G"),
        (base(group("G", GE), old=PORT, new=applied(PORT)), "group G"),
        (base(group("G", GE), old=PORT_UNIT, new=applied(PORT_UNIT)), "group G"),
        (base(group("G", GE), old=PORT_INET, new=applied(PORT_INET)), "group G"),
        (base(group("node0", ONE) + applied("", name="${node}")), "group node0"),
        (base(group("G", spread(UNIT)) + applied("")), "group G"),
        (base(group("G", GE) + spread(applied("") + "<unit><name>0</name></unit>")), "group G"),
    ],
)
def test_a_filter_of_a_group_is_refused_wherever_the_group_is_applied(configuration: str, source: str) -> None:
    assert f"`filter input EDGE-IN` of the {source} is in the way of Slotcar's" in refusal(configuration)


OUT = "<apply-groups-except>G</apply-groups-except>"
#: The second of the start-up configuration: the first is of its group.
ALL_PORTS = "</firewall>\n<interfaces>"


@pytest.mark.parametrize(
    "configuration",
    [
        base(group("G", GE)),
        base(group("G", GE, 'inactive="inactive"') + applied("")),
        base(group("G", GE) + applied("", attributes='inactive="inactive"')),
        base(group("G", GE.replace("<interface>", '<interface inactive="inactive">')) + applied("")),
        base(group("G", GE) + applied(""), old=ALL_PORTS, new=ALL_PORTS + OUT),
        base(group("G", GE.replace("ge-*", "ge-0/0/1")) + applied(""), old=PORT, new=PORT + OUT),
        base(group("G", GE.replace("ge-*", "ge-0/0/1")) + applied(""), old=PORT_UNIT, new=PORT_UNIT + OUT),
    ],
)  # fmt: skip
def test_a_group_that_is_inactive_or_excepted_is_no_hindrance(configuration: str) -> None:
    assert refusal(configuration) == ""


def test_what_a_group_puts_into_slotcars_own_filter_is_refused() -> None:
    term = "<term><name>FIRST</name><then><discard/></then></term>"
    firewall = f"<firewall><family><inet><filter><name>&lt;*&gt;</name>{term}</filter></inet></family></firewall>"
    words = refusal(base(group("G", firewall) + applied("")))
    assert "`filter SLOTCAR-IN-ge-0-0-1-0 term FIRST` of the group G is in the way of Slotcar's" in words


SERVED = "<scheduler-map>VOICE</scheduler-map>"


@pytest.mark.parametrize(
    ("name", "inside"),
    [("&lt;ge-*&gt;", SERVED), ("ge-0/0/1", f"<unit><name>0</name>{SERVED}</unit>")],
)
def test_class_of_service_of_a_group_is_refused(name: str, inside: str) -> None:
    service = f"<interfaces><interface><name>{name}</name>{inside}</interface></interfaces>"
    own = "<interfaces><interface><name>ge-0/0/1</name><unit><name>0</name></unit></interface>"
    scheduled = "<interfaces><interface><name>ge-0/0/1</name><per-unit-scheduler/></interface></interfaces>"
    configuration = base(
        group("G", f"<class-of-service>{service}</class-of-service>") + applied("") + scheduled,
        old="</forwarding-classes>\n  <interfaces>",
        new=f"</forwarding-classes>\n  {own}",
    )
    assert "`scheduler-map VOICE` of the group G is in the way of Slotcar's" in refusal(configuration)


def test_a_queue_that_a_group_gives_away_is_refused() -> None:
    classes = "<forwarding-classes><class><name>LATE</name><queue-num>4</queue-num></class></forwarding-classes>"
    words = refusal(base(group("G", f"<class-of-service>{classes}</class-of-service>") + applied("")))
    assert "`forwarding-classes class LATE queue-num 4` of the group G is in the way" in words


# -- asked before the filter, and after the queues ---------------------------------------------------------------------

POLICED = [
    ("<family><inet><policer><input>OPS</input></policer></inet></family>", "policer input OPS"),
    ("<family><inet><policer><output>OPS</output></policer></inet></family>", "policer output OPS"),
    ("<family><inet><simple-filter><input>OPS</input></simple-filter></inet></family>", "simple-filter input OPS"),
    ("<layer2-policer><input-policer>OPS</input-policer></layer2-policer>", "layer2-policer input-policer OPS"),
    ("<layer2-policer><output-policer>OPS</output-policer></layer2-policer>", "layer2-policer output-policer OPS"),
    (
        "<family><any><filter><input><filter-name>OPS</filter-name></input></filter></any></family>",
        "family any filter input OPS",
    ),
]


#: Of the operator's: Junos takes no reference to what is not defined.
OPS = (
    "<firewall><policer><name>OPS</name><if-exceeding><bandwidth-limit>1m</bandwidth-limit><burst-size-limit>20k"
    "</burst-size-limit></if-exceeding><then><discard/></then></policer></firewall>"
)


def _policed(inside: str) -> tuple[str, ...]:
    """The same statement at the interface itself, by a range, and by a group for each member of a cluster."""
    unit = f"<unit><name>0</name>{inside}</unit>"
    one = f"<interfaces><interface><name>ge-0/0/1</name>{unit}</interface></interfaces>"
    return one, spread(unit), group("node0", one) + applied("", name="${node}")


@pytest.mark.parametrize(("inside", "words"), POLICED, ids=[words for _, words in POLICED])
def test_what_polices_an_interface_beside_its_filter_is_refused(inside: str, words: str) -> None:
    for more, source in zip(
        _policed(inside), ("", " of the interface-range CORE", " of the group node0"), strict=True
    ):
        assert re.match(rf"north-edge ge-0/0/[01].0: `{words}`{source}, which ", refusal(base(OPS + more)))


def test_a_policer_that_is_deactivated_or_elsewhere_is_no_hindrance() -> None:
    inside, _ = POLICED[0]
    own, spread_out, of_a_group = _policed(inside.replace("<policer>", f"<policer {OFF}>"))
    elsewhere = own.replace("ge-0/0/1", "ge-0/0/7").replace(OFF, "")
    assert [refusal(base(OPS + one)) for one in (own, spread_out, of_a_group, elsewhere)] == [""] * 4


def test_class_of_service_of_all_interfaces_is_refused() -> None:
    served = "<interfaces><interface><name>all</name><scheduler-map>VOICE</scheduler-map></interface></interfaces>"
    words = refusal(base(f"<class-of-service>{served}</class-of-service>"))
    assert "`scheduler-map VOICE` is in the way of Slotcar's" in words


# -- deactivated hierarchies -------------------------------------------------------------------------------------------

UNIT_0 = "<interface {}><name>ge-0/0/1</name><unit {}><name>0</name><family {}><inet {}/></family></unit></interface>"


def unit_0(place: int, outer: str = "interfaces") -> str:
    off = ["inactive='inactive'" if number == place else "" for number in range(4)]
    return f"<{outer}>{UNIT_0.format(*off)}</{outer}>"


DEACTIVATED = [
    (f"<class-of-service {OFF}/>", "class-of-service"),
    (f"<class-of-service><forwarding-classes {OFF}/></class-of-service>", "class-of-service forwarding-classes"),
    (f"<class-of-service><interfaces {OFF}/></class-of-service>", "class-of-service interfaces"),
    (f"<firewall {OFF}/>", "firewall"),
    (f"<firewall><family><inet {OFF}/></family></firewall>", "firewall family inet"),
    (f"<interfaces {OFF}/>", "interfaces"),
    (unit_0(0), "interfaces ge-0/0/1"),
    (unit_0(1), "interfaces ge-0/0/1 unit 0"),
    (unit_0(3), "interfaces ge-0/0/1 unit 0 family inet"),
]


@pytest.mark.parametrize(("inside", "words"), DEACTIVATED, ids=[words for _, words in DEACTIVATED])
def test_what_is_deactivated_before_the_first_push_is_named(inside: str, words: str) -> None:
    router = Router(base())
    router.machine.edit(etree.fromstring(f"<configuration>{inside}</configuration>"), 2)
    router.machine.candidate.find("groups").getparent().remove(router.machine.candidate.find("groups"))
    with pytest.raises(Unrenderable) as refused:
        _committed(router).push()
    sentence = f"north-edge: `{words}` is deactivated, and so is all that Slotcar puts into it; activate it"
    assert str(refused.value).startswith(sentence)


def _committed(router: Router) -> Router:
    """Whatever an operator's references come to: what is deactivated may have been named by something else."""
    commits = router.machine.commits
    commits.insert(0, replace(commits[0], configuration=router.machine.candidate))
    return router


@pytest.mark.parametrize(("inside", "words"), DEACTIVATED[2:3] + DEACTIVATED[5:])
def test_what_is_deactivated_while_slotcars_is_inside_is_named_and_not_edited_for_ever(
    inside: str, words: str
) -> None:
    router = Router(base())
    router.push()
    router.operator(inside)
    with pytest.raises(Unrenderable, match=f"`{words}` is deactivated"):
        router.push()
    router.operator(inside.replace(OFF, 'active="active"').replace("inactive='inactive'", 'active="active"'))
    router.push()
    assert router.read(in_force=True).lines == wanted().lines


def test_what_is_deactivated_elsewhere_is_no_hindrance() -> None:
    other = f"<interfaces><interface {OFF}><name>ge-9/0/9</name></interface></interfaces>"
    served = f"<interfaces><interface {OFF}><name>ge-*</name>{SERVED}</interface></interfaces>"
    assert refusal(base(f"{other}<class-of-service>{served}</class-of-service>")) == ""
