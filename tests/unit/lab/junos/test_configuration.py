"""What the router in software does with edits, and what a configuration comes to."""

from __future__ import annotations

import pytest
from lxml import etree

from slotcar_lab.junos.inheritance import effective, members
from slotcar_lab.junos.statements import amount, paths, statements
from slotcar_lab.junos.text import compared, printed
from slotcar_lab.junos.tree import BASE, Element, Refused, edit, empty


def xml(inside: str) -> Element:
    text = f'<configuration xmlns:nc="{BASE}">{inside}</configuration>'
    return etree.fromstring(text, etree.XMLParser(remove_blank_text=True))


def edited(*edits: str, takes_insert: bool = True) -> Element:
    root = empty()
    for one in edits:
        edit(root, xml(one), takes_insert=takes_insert)
    return root


def text(root: Element) -> str:
    return " ".join(printed(root).split())


def filter_of(*terms: str, attributes: str = "") -> str:
    inner = "".join(f"<term {attributes}><name>{name}</name><then><accept/></then></term>" for name in terms)
    return f"<firewall><family><inet><filter><name>F</name>{inner}</filter></inet></family></firewall>"


def port(name: str, inside: str, attributes: str = "") -> str:
    return f"<interfaces><interface {attributes}><name>{name}</name>{inside}</interface></interfaces>"


INPUT = "<filter><input><filter-name>{}</filter-name></input></filter>"
FILTERED = f"<unit><name>0</name><family><inet>{INPUT}</inet></family></unit>"

# -- edits -------------------------------------------------------------------------------------------------------------


def test_an_edit_merges_replaces_and_removes() -> None:
    root = edited(port("ge-0/0/1", "<description>a</description><mtu>9000</mtu>"), port("ge-0/0/1", "<mtu>1500</mtu>"))
    assert text(root) == "interfaces { interface ge-0/0/1 { description a; mtu 1500; } }"
    edit(root, xml(port("ge-0/0/1", "<mtu>9100</mtu>", 'nc:operation="replace"')))
    assert text(root) == "interfaces { interface ge-0/0/1 { mtu 9100; } }"
    edit(root, xml(port("ge-0/0/1", "", 'nc:operation="remove"')))
    edit(root, xml(port("ge-0/0/1", "", 'nc:operation="remove"')))
    assert text(root) == "", "a container goes with its last statement"


def test_what_stays_although_it_holds_nothing() -> None:
    root = edited(port("ge-0/0/1", FILTERED.format("F")))
    edit(
        root,
        xml(
            port(
                "ge-0/0/1", '<unit><name>0</name><family><inet><filter nc:operation="delete"/></inet></family></unit>'
            )
        ),
    )
    assert text(root) == "interfaces { interface ge-0/0/1 { unit 0 { family { inet; } } } }"


@pytest.mark.parametrize(
    ("inside", "complaint"),
    [
        ("<firewal/>", "[edit] 'firewal': syntax error"),
        (
            port("ge-0/0/1", '<mtu nc:operation="delete"/>'),
            "[edit interfaces interface ge-0/0/1] 'mtu': statement not found",
        ),
        (
            port("ge-0/0/1", "<mtu>9</mtu>"),
            "[edit interfaces interface ge-0/0/1] 'mtu': value 9 is not within range (256..16000)",
        ),
        ("<interfaces><interface/></interfaces>", "[edit interfaces] 'interface': missing argument"),
        (
            port("ge-0/0/1", "<disable>yes</disable>"),
            "[edit interfaces interface ge-0/0/1] 'disable': syntax error: 'yes'",
        ),
        (port("ge-0/0/1", '<mtu nc:operation="swap">1500</mtu>'), "'mtu': unknown operation 'swap'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(inside: str, complaint: str) -> None:
    with pytest.raises(Refused) as refused:
        edited(inside)
    assert str(refused.value) == complaint


def test_create_is_refused_where_it_is_there() -> None:
    with pytest.raises(Refused, match="statement already exists"):
        edited(port("ge-0/0/1", ""), port("ge-0/0/1", "", 'nc:operation="create"'))


def test_terms_keep_their_order_and_a_new_one_comes_where_it_says() -> None:
    def terms(root: Element) -> list[str]:
        return [str(one.findtext("name")) for one in root.iter("term")]

    assert terms(edited(filter_of("B", "A"), filter_of("C"))) == ["B", "A", "C"]
    first = filter_of("C", attributes='insert="first"')
    assert terms(edited(filter_of("B", "A"), first)) == ["C", "B", "A"]
    assert terms(edited(filter_of("B", "A"), first, takes_insert=False)) == ["B", "A", "C"]
    assert terms(edited(filter_of("B", "A"), filter_of("C", attributes='insert="before" name="A"'))) == ["B", "C", "A"]
    replaced = filter_of("B", attributes='nc:operation="replace"')
    assert terms(edited(filter_of("B", "A"), replaced)) == ["A", "B"], "what is replaced is removed and put in again"


def test_what_is_inactive_stays_so_until_somebody_activates_or_replaces_it() -> None:
    root = edited(port("ge-0/0/1", "<mtu>1500</mtu>", 'inactive="inactive"'), port("ge-0/0/1", "<mtu>9000</mtu>"))
    assert text(root) == "interfaces { inactive: interface ge-0/0/1 { mtu 9000; } }"
    edit(root, xml(port("ge-0/0/1", "", 'active="active"')))
    assert text(root) == "interfaces { interface ge-0/0/1 { mtu 9000; } }"


def test_a_difference_is_said_as_junos_says_it() -> None:
    old, new = edited(port("ge-0/0/1", "<mtu>1500</mtu>")), edited(port("ge-0/0/1", "<mtu>9000</mtu>"))
    assert compared(old, new) == "[edit interfaces interface ge-0/0/1]\n-    mtu 1500;\n+    mtu 9000;\n"
    assert compared(old, old) == ""


@pytest.mark.parametrize(
    ("written", "number"), [("10m", 10_000_000), ("1.5k", 1500), ("7", 7), ("x", None), ("-1", None)]
)
def test_amounts_are_decimal(written: str, number: int | None) -> None:
    assert amount(written) == number


def test_the_table_has_what_a_broker_and_its_operators_write() -> None:
    named = {"/".join(path) for path, _ in paths(statements())}
    assert {
        "firewall/policer/if-exceeding/bandwidth-limit",
        "interfaces/interface-range/member-range/end-range",
    } <= named
    assert {"groups/class-of-service/interfaces/interface/unit/classifiers/dscp"} <= named


# -- what it comes to --------------------------------------------------------------------------------------------------


def in_force(*inside: str, ports: tuple[str, ...] = (), node: str = "node0") -> str:
    return text(effective(edited(*inside), ports, node))


def group(name: str, inside: str, attributes: str = "") -> str:
    return f"<groups {attributes}><name>{name}</name>{inside}</groups>"


WILD = port("&lt;ge-*&gt;", FILTERED.format("G").replace("<name>0<", "<name>&lt;*&gt;<"))
HAS = "interface ge-0/0/1 { unit 0 { family { inet { filter { input { filter-name G; } } } } } }"
BARE = port("ge-0/0/1", "<unit><name>0</name></unit>")


@pytest.mark.parametrize(
    ("inside", "given"),
    [
        (group("A", WILD) + BARE, False),
        (group("A", WILD) + "<apply-groups>A</apply-groups>" + BARE, True),
        (group("A", WILD, 'inactive="inactive"') + "<apply-groups>A</apply-groups>" + BARE, False),
        (group("A", WILD) + '<apply-groups inactive="inactive">A</apply-groups>' + BARE, False),
        (group("A", WILD) + BARE.replace("<interfaces>", "<interfaces><apply-groups>A</apply-groups>"), True),
        (group("A", WILD) + BARE.replace("<unit>", "<apply-groups>A</apply-groups><unit>"), True),
        (
            group("A", WILD)
            + "<apply-groups>A</apply-groups>"
            + BARE.replace("<unit>", "<apply-groups-except>A</apply-groups-except><unit>"),
            False,
        ),
        (group("node0", WILD) + "<apply-groups>${node}</apply-groups>" + BARE, True),
        (group("node1", WILD) + "<apply-groups>${node}</apply-groups>" + BARE, False),
    ],
)
def test_a_group_gives_what_it_is_applied_to(inside: str, given: bool) -> None:
    assert (HAS in in_force(inside)) is given


def test_what_an_interface_says_itself_stands_before_its_groups() -> None:
    own = port("ge-0/0/1", FILTERED.format("OWN"))
    both = group("A", WILD) + group("B", WILD.replace(">G<", ">B<")) + "<apply-groups>B</apply-groups>"
    assert "filter-name OWN" in in_force(both + own)
    assert "filter-name B" in in_force(both + BARE)
    inner = BARE.replace("<unit>", "<apply-groups>A</apply-groups><unit>")
    assert "filter-name G" in in_force(both + inner), "an inner apply-groups before an outer one"


def test_what_a_range_says_is_said_of_its_members() -> None:
    spread = (
        "<interfaces><interface-range><name>CORE</name><member><name>ge-0/0/*</name></member>"
        f"{FILTERED.format('G')}</interface-range></interfaces>"
    )
    assert HAS in in_force(spread, BARE)
    assert HAS in in_force(spread, ports=("ge-0/0/1", "xe-0/0/1"))
    assert "xe-0/0/1" not in in_force(spread, ports=("ge-0/0/1", "xe-0/0/1"))
    assert "filter-name OWN" in in_force(spread, port("ge-0/0/1", FILTERED.format("OWN")))
    wild = group("A", WILD) + spread.replace(
        FILTERED.format("G"), "<apply-groups>A</apply-groups><unit><name>0</name></unit>"
    )
    assert HAS in in_force(wild, BARE)


def test_members_are_named_by_wildcard_or_between_two() -> None:
    one = etree.fromstring(
        "<interface-range><member><name>xe-[01]/0/0</name></member><member-range><name>ge-0/0/2</name>"
        "<end-range>ge-0/0/10</end-range></member-range></interface-range>"
    )
    ports = [*(f"ge-0/0/{n}" for n in (1, 2, 9, 10, 11)), "xe-1/0/0", "xe-2/0/0"]
    assert members(one, ports) == ["ge-0/0/2", "ge-0/0/9", "ge-0/0/10", "xe-1/0/0"]


def test_what_is_deactivated_is_not_in_force_with_all_in_it() -> None:
    assert in_force(port("ge-0/0/1", FILTERED.format("F"), 'inactive="inactive"')) == ""
    half = FILTERED.format("F").replace("<inet>", '<inet inactive="inactive">')
    assert in_force(port("ge-0/0/1", half)) == "interfaces { interface ge-0/0/1 { unit 0; } }"
