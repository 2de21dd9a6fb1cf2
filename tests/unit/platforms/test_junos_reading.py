"""What a router with Junos answers, and what of it is understood, left alone or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unreadable, Unrenderable, renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.juniper_junos.document import label_of
from slotcar.platforms.netconf.tree import Node, parse
from tests.unit.platforms.junos_tree import NETCONF, Candidate

GOLDEN = Path(__file__).parents[2] / "golden"
INVENTORY = GOLDEN / "render" / "inventories" / "juniper-junos"
PREMIUM = (GOLDEN / "render" / "juniper-junos-premium" / "north-edge.configuration").read_text(encoding="utf-8")
OPERATORS = (GOLDEN / "brownfield" / "junos-edge.xml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def device() -> Device:
    return load_network(INVENTORY).devices["north-edge"]


def running(reply: str, device: Device) -> Configuration:
    (command,) = renderer_of(device).readback_commands(device)
    return renderer_of(device).running({command: reply}, device)


def data(inside: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<data xmlns="{NETCONF}">{inside}</data>'


def junos(inside: str) -> str:
    """As a router answers that is not set to `yang-compliant`."""
    return data(
        '<configuration xmlns="http://xml.juniper.net/xnm/1.1/xnm" xmlns:junos="http://xml.juniper.net/junos/24.4R0/junos"'
        f' junos:commit-seconds="1893456000">{inside}</configuration>'
    )


def refusal(reply: str, device: Device) -> str:
    with pytest.raises(Unrenderable) as refused:
        renderer_of(device).change(running(reply, device), running(data(PREMIUM), device), device)
    return str(refused.value)


def attached(name: str, inside: str, unit: str = "0") -> str:
    return (
        f"<interfaces><interface><name>{name}</name><unit><name>{unit}</name><family><inet><filter>{inside}</filter>"
        "</inet></family></unit></interface></interfaces>"
    )


def served(name: str, inside: str) -> str:
    return (
        f"<class-of-service><interfaces><interface><name>{name}</name>{inside}</interface></interfaces>"
        "</class-of-service>"
    )


# -- what is understood ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        data(PREMIUM),
        f'<rpc-reply xmlns="{NETCONF}" message-id="1"><data>{PREMIUM}</data></rpc-reply>',
        data("<!-- a remark -->" + PREMIUM.replace(">\n", ">\n\n\t")),
    ],
)
def test_a_reply_is_read_whatever_is_around_it(reply: str, device: Device) -> None:
    assert running(reply, device).text == PREMIUM


def test_a_reply_in_junos_own_namespace_means_the_same(device: Device) -> None:
    candidate = Candidate()
    change = renderer_of(device).change(running(junos(""), device), running(data(PREMIUM), device), device)
    candidate.edit(change.apply)
    assert "yang.juniper.net" not in candidate.reply
    assert running(candidate.reply, device).text == PREMIUM


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("<bandwidth-limit>4112000<", "<bandwidth-limit>4112k<"),
        ("<burst-size-limit>8000<", "<burst-size-limit>8k<"),
        ("<dscp>46</dscp>", "<dscp>ef</dscp>"),
        ("<protocol>udp<", "<protocol>17<"),
        ("<queue-num>4</queue-num>", '<j:comment xmlns:j="http://xml.juniper.net/junos/24.4R0/junos">hi</j:comment><queue-num>4</queue-num>'),
        ("<fill-level>40</fill-level>", "<fill-level>40</fill-level>\n"),
    ],
)  # fmt: skip
def test_what_a_device_says_otherwise_means_the_same(ours: str, theirs: str, device: Device) -> None:
    assert ours in PREMIUM
    assert running(data(PREMIUM.replace(ours, theirs)), device).text == PREMIUM


def test_the_order_of_terms_is_what_the_device_says(device: Device) -> None:
    first, last = (PREMIUM.index(f"<name>SLOTCAR-{name}</name>\n            <") for name in ("F2", "RESET"))
    turned = PREMIUM[:first] + PREMIUM[first:].replace("SLOTCAR-F2", "X", 1).replace("SLOTCAR-RESET", "SLOTCAR-F2", 1)
    turned = turned.replace("<name>X<", "<name>SLOTCAR-RESET<")
    assert first < last
    read = running(data(turned), device)
    assert read.text != PREMIUM
    change = renderer_of(device).change(read, running(data(PREMIUM), device), device)
    assert sum("operation" in line for line in change.apply) == 1


@pytest.mark.parametrize("inside", ["", "<configuration/>"])
def test_a_device_without_anything_is_unmanaged(inside: str, device: Device) -> None:
    assert running(data(inside), device).lines == ()


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("", "gave no reply"),
        ("error: syntax error", "it gave no XML"),
        (f'<rpc-reply xmlns="{NETCONF}"><ok/></rpc-reply>', "it gave no configuration"),
        (f'<!DOCTYPE data [<!ENTITY a "b">]><data xmlns="{NETCONF}">&a;</data>', "a document type"),
    ],
)
def test_what_is_no_configuration_is_refused(reply: str, complaint: str, device: Device) -> None:
    with pytest.raises(Unreadable, match=complaint) as refused:
        running(reply, device)
    assert str(refused.value).startswith("north-edge")


def test_a_reading_asks_for_no_secret(device: Device) -> None:
    (command,) = renderer_of(device).readback_commands(device)
    marker, _, filter_text = command.partition("<")
    assert marker == "get-config running "
    tree = parse(f"<{filter_text}", "filter")
    names = [one.name for one in tree.children]
    applied = {"apply-groups", "apply-groups-except"}
    assert names == [*sorted(applied), "groups", "class-of-service", "firewall", "interfaces", "forwarding-options"]
    table = tree.first("forwarding-options", "family", "inet") or tree
    assert {one.name for one in table.children} == {"filter", *applied}
    for kind, more in (("interface", set()), ("interface-range", {"member", "member-range"})):
        interface = tree.first("interfaces", kind)
        assert interface is not None
        assert {one.name for one in interface.children} == {"name", *applied, "per-unit-scheduler", "unit", *more}
        inet = interface.first("unit", "family", "inet")
        assert inet is not None
        assert {one.name for one in inet.children} == {"filter", "simple-filter", "policer", "address", *applied}
        assert [one.name for one in (inet.first("address") or inet).children] == ["name"]


def test_what_somebody_deactivated_is_put_in_force_again(device: Device) -> None:
    reply = data(PREMIUM.replace("<policer>\n", '<policer inactive="inactive">\n', 1))
    change = renderer_of(device).change(running(reply, device), running(data(PREMIUM), device), device)
    assert [line.strip() for line in change.apply if "operation" in line] == ['<policer nc:operation="replace">']


# -- an operator's own -------------------------------------------------------------------------------------------------


def test_an_operators_own_is_not_ours(device: Device) -> None:
    assert (
        running(junos(OPERATORS.partition("<configuration>")[2].partition("</configuration>")[0]), device).lines == ()
    )


def test_an_input_filter_is_refused_and_the_option_is_named(device: Device) -> None:
    words = refusal(junos(attached("ge-0/0/1", "<input><filter-name>EDGE-IN</filter-name></input>")), device)
    assert words == (
        "north-edge ge-0/0/1.0: `filter input EDGE-IN` is in the way of Slotcar's; say"
        " `input_filter:ge-0/0/1.0: EDGE-IN` in slotcar_options and Slotcar's term is asked before it; or take it away,"
        " or leave this interface out of the inventory"
    )


@pytest.mark.parametrize(
    "inside",
    [
        "<input-list>A</input-list><input-list>B</input-list>",
        "<input-chain>A</input-chain>",
        '<input inactive="inactive"><filter-name>A</filter-name></input>',
    ],
)
def test_filters_that_no_term_can_be_put_before_are_refused(inside: str, device: Device) -> None:
    words = refusal(junos(attached("ge-0/0/1", inside)), device)
    assert words.startswith("north-edge ge-0/0/1.0: `filter input A (input")
    assert "input_filter" not in words


def test_a_filter_on_the_way_out_or_elsewhere_is_none_of_our_business(device: Device) -> None:
    out = attached("ge-0/0/1", "<output><filter-name>EDGE-OUT</filter-name></output>")
    elsewhere = attached("ge-0/0/9", "<input><filter-name>EDGE-IN</filter-name></input>")
    other_unit = attached("ge-0/0/1", "<input><filter-name>EDGE-IN</filter-name></input>", unit="7")
    for reply in (out, elsewhere, other_unit):
        assert running(junos(reply), device).foreign == ()


@pytest.mark.parametrize(
    ("inside", "complaint"),
    [
        ("<scheduler-map>OPS</scheduler-map>", "scheduler-map OPS"),
        ("<shaping-rate><rate>50m</rate></shaping-rate>", "shaping-rate 50m"),
        (
            "<unit><name>0</name><classifiers><dscp><name>VOICE</name></dscp></classifiers></unit>",
            "classifiers dscp VOICE",
        ),
        (
            "<unit><name>*</name><rewrite-rules><inet-precedence><name>default</name></inet-precedence></rewrite-rules></unit>",
            "rewrite-rules inet-precedence default",
        ),
        ("<unit><name>0</name><forwarding-class>voice</forwarding-class></unit>", "forwarding-class voice"),
    ],
)
@pytest.mark.parametrize("name", ["ge-0/0/1", "ge-*"])
def test_class_of_service_of_an_operators_is_refused(name: str, inside: str, complaint: str, device: Device) -> None:
    assert f"`{complaint}` is in the way" in refusal(junos(served(name, inside)), device)
    other = running(junos(served("xe-9/0/0", inside)), device)
    assert other.foreign == ()


def test_what_a_group_gives_an_interface_is_refused(device: Device) -> None:
    inner = attached("&lt;ge-*&gt;", "<input><filter-name>BACKBONE-IN</filter-name></input>", unit="&lt;*&gt;")
    group = f"<groups><name>BACKBONE</name>{inner}</groups>"
    assert running(junos(group), device).foreign == (), "it is applied nowhere"
    words = refusal(junos(f"{group}<apply-groups>BACKBONE</apply-groups>"), device)
    assert "`filter input BACKBONE-IN` of the group BACKBONE is in the way" in words


@pytest.mark.parametrize(
    ("inside", "complaint"),
    [
        ("<class><name>VOICE</name><queue-num>4</queue-num></class>", "`forwarding-classes class VOICE queue-num 4`"),
        ("<queue><name>1</name><class-name>EF</class-name></queue>", "so write them as classes"),
        ("".join(f"<class><name>C{n}</name><queue-num>1</queue-num></class>" for n in range(10)), "has 10 classes"),
    ],
)
def test_queues_that_are_not_free_are_refused(inside: str, complaint: str, device: Device) -> None:
    words = refusal(
        junos(f"<class-of-service><forwarding-classes>{inside}</forwarding-classes></class-of-service>"), device
    )
    assert complaint in words
    assert words.endswith("choose other queues in slotcar_options, or free these")


# -- a term in an operator's filter ------------------------------------------------------------------------------------


@pytest.fixture
def extending(device: Device) -> Device:
    return device.model_copy(update={"options": {"input_filter:ge-0/0/1.0": "EDGE-IN"}})


def wanted(device: Device) -> Configuration:
    return renderer_of(device).configuration(intents_at((), load_network(INVENTORY))[device.name], device)


def test_the_term_stands_first_and_is_put_back_there(extending: Device) -> None:
    candidate = Candidate(OPERATORS)

    def push() -> None:
        change = renderer_of(extending).change(running(candidate.reply, extending), wanted(extending), extending)
        candidate.edit(change.apply)

    def terms() -> list[str]:
        (filter_,) = [one for one in candidate.root.iter("filter") if one.findtext("name") == "EDGE-IN"]
        return [str(one.findtext("name")) for one in filter_.iter("term")]

    push()
    assert terms() == ["SLOTCAR", "SPOOFED", "ALL"]
    (filter_,) = [one for one in candidate.root.iter("filter") if one.findtext("name") == "EDGE-IN"]
    filter_.append(filter_.find("term"))
    assert terms() == ["SPOOFED", "ALL", "SLOTCAR"]
    assert running(candidate.reply, extending) != wanted(extending)
    push()
    assert terms() == ["SLOTCAR", "SPOOFED", "ALL"]
    assert running(candidate.reply, extending) == wanted(extending)


def test_a_code_point_gets_nobody_past_an_operators_filter() -> None:
    """At an edge and at a border: what goes by a code point goes on to the operator's terms."""
    network = load_network(INVENTORY)
    for name, interface in (("north-edge", "ge-0/0/1.0"), ("hub", "ge-0/0/0.0"), ("south-gw", "xe-1/0/0.0")):
        router = network.devices[name]
        options = {**router.options, f"input_filter:{interface}": "EDGE-IN"}
        device = router.model_copy(update={"options": options})
        tree = renderer_of(device).configuration(intents_at((), network)[name], device).objects
        assert isinstance(tree, Node)
        filters = tree.first("firewall", "family", "inet")
        assert filters is not None
        (ours,) = [
            one for one in filters.all("filter") if one.text_of("name") == f"SLOTCAR-IN-{label_of(interface, name)}"
        ]
        actions = [term.first("then") for term in ours.all("term")]
        assert actions
        for action in actions:
            assert action is not None
            assert action.text_of("next") == "term"
            assert action.first("accept") is None
        assert "SLOTCAR-REST" not in [term.text_of("name") for term in ours.all("term")]
        code_points = [point.text for term in ours.all("term") for point in (term.first("from") or term).all("dscp")]
        assert len(code_points) == len(set(code_points)), "no packet meets two of them"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("<filter-name>EDGE-IN<", "<filter-name>OTHER<", "`filter input OTHER`"),
        ("<input><filter-name>EDGE-IN</filter-name></input>", "", "is not there, and `input_filter` says that it is"),
        ("<filter-name>MANAGEMENT<", "<filter-name>EDGE-IN<", "is attached to ge-0/0/9.0, too"),
    ],
)
def test_a_filter_that_is_elsewhere_than_the_option_says_is_refused(
    old: str, new: str, complaint: str, extending: Device
) -> None:
    assert old in OPERATORS
    before = running(Candidate(OPERATORS.replace(old, new)).reply, extending)
    with pytest.raises(Unrenderable) as refused:
        renderer_of(extending).change(before, wanted(extending), extending)
    assert complaint in str(refused.value)


# -- what Junos cannot -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("north-edge", {"premium_queue": 3}, "are not three queues of their own"),
        ("north-edge", {"premium_queue": 5}, "are not three queues of their own"),
        ("north-edge", {"premium_queue": 8}, "less than or equal to 7"),
        ("north-edge", {"network_control_percent": 40}, "the shares need 1110000000 bit/s"),
        ("north-edge", {"best_effort_class": "best effort"}, "best_effort_class"),
        ("south-gw", {"colour_aware": True}, None),
        ("hub", {"colour_aware": True}, "a colour-aware policer of Junos drops red alone"),
    ],
)
def test_an_option_that_cannot_be_is_refused(name: str, options: dict[str, object], complaint: str | None) -> None:
    network = load_network(INVENTORY)
    device = network.devices[name]
    configured = device.model_copy(update={"options": dict(device.options) | options})
    if complaint is None:
        assert "<color-aware/>" in renderer_of(device).configuration(intents_at((), network)[name], configured).text
        return
    with pytest.raises(Unrenderable) as refused:
        renderer_of(device).configuration(intents_at((), network)[name], configured)
    assert complaint in str(refused.value)


def test_units_need_a_port_that_schedules_them() -> None:
    device = load_network(INVENTORY).devices["north-gw"]
    wanted = renderer_of(device).configuration(intents_at((), load_network(INVENTORY))["north-gw"], device)
    before = running(junos(""), device)
    assert before.foreign == (
        "ge-0/0/1.100: `per-unit-scheduler` is missing at ge-0/0/1, which has other units than 0 in the inventory",
    )
    with pytest.raises(Unrenderable, match="`per-unit-scheduler` is missing at ge-0/0/1"):
        renderer_of(device).change(before, wanted, device)


def test_names_are_as_long_as_junos_takes(device: Device) -> None:
    intent = intents_at((), load_network(INVENTORY))["north-edge"]
    egress = intent.egress[0]
    long = "ge-0/0/0." + "1" * 60
    renamed = replace(egress, interface=egress.interface.model_copy(update={"name": long}))
    with pytest.raises(Unrenderable, match="names have 64 letters at most"):
        renderer_of(device).configuration(replace(intent, egress=(renamed,)), device)


@pytest.mark.parametrize("name", ["ge-0/0/0.x", "<ge>", "0/0", "ge 0"])
def test_what_is_no_interface_of_junos_is_refused(name: str, device: Device) -> None:
    intent = intents_at((), load_network(INVENTORY))["north-edge"]
    renamed = replace(intent.egress[0], interface=intent.egress[0].interface.model_copy(update={"name": name}))
    with pytest.raises(Unrenderable, match="that is not an interface of Junos"):
        renderer_of(device).configuration(replace(intent, egress=(renamed,)), device)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_a_policer_and_a_scheduler_give_no_less_than_was_promised(device: Device) -> None:
    network = load_network(INVENTORY)
    intent = intents_at((), network)["north-edge"]
    text = renderer_of(device).configuration(intent, device).text
    for egress in intent.egress:
        for queue in egress.queues:
            if queue.service.value in ("ip-premium", "assured-rate"):
                rate_bps = -(-egress.capacity_bps * queue.share_ppm // 1_000_000)
                assert f"<rate>{rate_bps}</rate>" in text


def test_what_is_out_of_range_is_refused_with_both_numbers(device: Device) -> None:
    from tests.unit.platforms.test_limits_car_linux import a_flow

    intent, router = a_flow("juniper-junos", cir_bps=100_000_000_001)
    with pytest.raises(Unrenderable, match=r"rate of 100.1 Gbit/s wanted, 100 Gbit/s at most"):
        renderer_of(router).configuration(intent, router)
