"""What IOS-XE's NETCONF answers, and what of it is understood, ignored or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unreadable, Unrenderable, renderer_of
from slotcar.platforms.cisco_iosxe_netconf.native import native_of
from slotcar.platforms.cisco_iosxe_netconf.tree import parse
from slotcar.platforms.intent import intents_at
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.modular_limits import LONGEST_NAME
from slotcar.platforms.ios.reading import owned_in
from slotcar.platforms.ios.tree import parse as parse_ios
from tests.unit.platforms.yang_tree import ACL, NATIVE, NETCONF, POLICY

RENDER = Path(__file__).parents[2] / "golden" / "render"
PREMIUM = (RENDER / "cisco-iosxe-netconf-premium" / "north-edge.configuration").read_text()


@pytest.fixture(scope="module")
def device() -> Device:
    return load_network(RENDER / "inventories" / "cisco-iosxe-netconf").devices["north-edge"]


def running(reply: str, device: Device) -> Configuration:
    (command,) = renderer_of(device).readback_commands(device)
    return renderer_of(device).running({command: reply}, device)


def data(inside: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<data xmlns="{NETCONF}">{inside}</data>'


@pytest.mark.parametrize(
    "reply",
    [
        data(PREMIUM),
        f'<rpc-reply xmlns="{NETCONF}" message-id="1"><data>{PREMIUM}</data></rpc-reply>',
        f'<nc:rpc-reply xmlns:nc="{NETCONF}"><nc:data>{PREMIUM}</nc:data></nc:rpc-reply>',
        data("<!-- a remark -->" + PREMIUM.replace(">\n", ">\n\n\t")),
    ],
)
def test_a_reply_is_read_whatever_is_around_it(reply: str, device: Device) -> None:
    assert running(reply, device).text == PREMIUM


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("<bc>8000</bc>", "<bc>8000</bc><be>8000</be>"),
        (
            "</exceed-drop>",
            "</exceed-drop><violate-drop><violate-action><drop/></violate-action></violate-drop>",
        ),
        ("<action-type>fair-queue</action-type>", "<action-type>fair-queue</action-type><fair-queue/>"),
        ("<dscp>af11</dscp>\n          <dscp>af12</dscp>", "<dscp>af12</dscp><dscp>af11</dscp>"),
        ("<cir>4112000</cir>\n                <bc>8000</bc>", "<bc>8000</bc><cir>4112000</cir>"),
    ],
)
def test_what_a_device_says_otherwise_means_the_same(ours: str, theirs: str, device: Device) -> None:
    premium = "".join(line.strip() for line in PREMIUM.splitlines())
    ours = "".join(line.strip() for line in ours.splitlines())
    assert ours in premium
    assert running(data(premium.replace(ours, theirs)), device).text == PREMIUM


def test_the_second_bucket_of_two_rates_is_not_taken_for_an_addition(device: Device) -> None:
    text = (RENDER / "cisco-iosxe-netconf-assured" / "north-edge.configuration").read_text()
    assert "<pir-be>" in text
    assert running(data(text), device).text == text


def test_the_order_of_classes_is_what_the_device_says(device: Device) -> None:
    lines = PREMIUM.splitlines()
    start = next(n for n, line in enumerate(lines) if "SLOTCAR-IN-GigabitEthernet0/1<" in line)
    ends = [n for n, line in enumerate(lines) if line == "      </class>" and n > start]
    first, rest = lines[start + 1 : ends[0] + 1], lines[ends[0] + 1 : ends[1] + 1]
    turned = [*lines[: start + 1], *rest, *first, *lines[ends[1] + 1 :]]
    read = running(data("\n".join(turned)), device)
    assert read.text != PREMIUM
    change = renderer_of(device).change(read, running(data(PREMIUM), device), device)
    assert sum("operation" in line for line in change.apply) == 1


@pytest.mark.parametrize("inside", ["", f'<native xmlns="{NATIVE}"/>', f'<native xmlns="{NATIVE}"><ip/></native>'])
def test_a_device_without_anything_is_unmanaged(inside: str, device: Device) -> None:
    assert running(data(inside), device).lines == ()


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("", "gave no reply"),
        ("% Invalid input", "it gave no XML"),
        ("<data", "it gave no XML"),
        (f'<rpc-reply xmlns="{NETCONF}"><ok/></rpc-reply>', "it gave no configuration"),
        ("<data><native/></data>", "it gave no configuration"),
        (f'<!DOCTYPE data [<!ENTITY a "b">]><data xmlns="{NETCONF}">&a;</data>', "a document type"),
        (f'<!DOCTYPE data SYSTEM "file:///etc/hostname"><data xmlns="{NETCONF}"/>', "a document type"),
    ],
)
def test_what_is_no_configuration_is_refused(reply: str, complaint: str, device: Device) -> None:
    with pytest.raises(Unreadable, match=complaint) as refused:
        running(reply, device)
    assert str(refused.value).startswith("north-edge")


def test_an_entity_of_the_system_is_never_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("never-read")
    text = f'<!DOCTYPE data [<!ENTITY a SYSTEM "file://{secret}">]><data xmlns="{NETCONF}">&a;</data>'
    with pytest.raises(Unreadable) as refused:
        parse(text, "r1")
    assert "never-read" not in str(refused.value)


def test_a_reading_asks_for_no_more_than_is_needed(device: Device) -> None:
    (command,) = renderer_of(device).readback_commands(device)
    marker, _, filter_text = command.partition("<")
    assert marker == "get-config running "
    tree = parse(f"<{filter_text}", "filter")
    assert [one.name for one in tree.children] == ["ip", "policy", "interface"]
    interfaces = tree.first("interface")
    assert interfaces is not None
    serving = ("service-policy", "fair-queue", "fair-queue-conf", "priority-queue", "trust", "interface_qos")
    assert {tuple(one.name for one in kind.children) for kind in interfaces.children} == {("name", *serving)}


def test_a_reply_to_an_older_slotcars_question_is_read(device: Device) -> None:
    """A revision that it archived is restored by the questions of then."""
    outputs = {"get-config running <native/>": data(PREMIUM)}
    assert renderer_of(device).running(outputs, device).text == PREMIUM


# -- an operator's own -------------------------------------------------------------------------------------------------


def attached(name: str, way: str, policy: str) -> str:
    return data(
        f'<native xmlns="{NATIVE}"><interface><GigabitEthernet><name>{name}</name><service-policy xmlns="{POLICY}">'
        f"<{way}>{policy}</{way}></service-policy></GigabitEthernet></interface></native>"
    )


@pytest.mark.parametrize("way", ["input", "output"])
def test_an_operators_policy_where_ours_would_go_is_refused(way: str, device: Device) -> None:
    read = running(attached("0/1", way, "OPS"), device)
    assert read.lines == ()
    assert read.foreign == (f"GigabitEthernet0/1: `service-policy {way} OPS`",)
    with pytest.raises(Unrenderable, match=f"`service-policy {way} OPS` stands, which is not Slotcar's"):
        renderer_of(device).change(read, running(data(PREMIUM), device), device)


def served(inside: str, name: str = "0/1") -> str:
    port = f"<GigabitEthernet><name>{name}</name>{inside}</GigabitEthernet>"
    return data(f'<native xmlns="{NATIVE}"><interface>{port}</interface></native>')


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        ("<fair-queue><incomplete/></fair-queue>", "fair-queue"),
        ("<fair-queue-conf><fair-queue>true</fair-queue></fair-queue-conf>", "fair-queue"),
        ("<priority-queue><out/></priority-queue>", "priority-queue out"),
    ],
)
def test_an_operators_queueing_where_ours_would_go_is_refused(inside: str, line: str, device: Device) -> None:
    read, wanted = running(served(inside), device), running(data(PREMIUM), device)
    with pytest.raises(Unrenderable, match=f"where `{line}` stands, which is not Slotcar's") as refused:
        renderer_of(device).change(read, wanted, device)
    (hindrance,) = renderer_of(device).hindrances(read, wanted, device)
    assert (hindrance.words, hindrance.certain) == (str(refused.value), True)


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        ("<trust><device>cisco-phone</device></trust>", "trust device cisco-phone"),
        ("<interface_qos><trust><device>cisco-phone</device></trust></interface_qos>", "qos trust device cisco-phone"),
    ],
)
def test_a_port_that_marks_by_what_is_connected_is_a_doubt(inside: str, line: str, device: Device) -> None:
    read, wanted = running(served(inside), device), running(data(PREMIUM), device)
    assert renderer_of(device).change(read, wanted, device).apply
    (doubt,) = renderer_of(device).hindrances(read, wanted, device)
    assert doubt.certain is False
    assert doubt.words.startswith(f"north-edge GigabitEthernet0/1: `{line}` may take the code points from packets")
    assert renderer_of(device).hindrances(running(served(inside, "0/9"), device), wanted, device) == ()


@pytest.mark.parametrize(
    "inside",
    [
        "<fair-queue/>", "<fair-queue-conf><fair-queue>false</fair-queue></fair-queue-conf>", "<trust/>",
        "<priority-queue><cos-map><id>1</id></cos-map></priority-queue>",
    ],
)  # fmt: skip
def test_what_serves_nothing_otherwise_is_no_hindrance(inside: str, device: Device) -> None:
    read, wanted = running(served(inside), device), running(data(PREMIUM), device)
    assert renderer_of(device).hindrances(read, wanted, device) == ()


def test_an_operators_policy_elsewhere_is_none_of_our_business(device: Device) -> None:
    read = running(attached("0/9", "input", "OPS"), device)
    assert read.foreign == ()
    assert renderer_of(device).change(read, running(data(PREMIUM), device), device).apply


def test_names_that_only_contain_the_prefix_are_an_operators(device: Device) -> None:
    inside = (
        f'<native xmlns="{NATIVE}"><policy><policy-map xmlns="{POLICY}"><name>MY-SLOTCAR-IN</name></policy-map>'
        f'<class-map xmlns="{POLICY}"><name>slotcar-F1</name><prematch>match-all</prematch></class-map></policy>'
        f'<ip><access-list><extended xmlns="{ACL}"><name>SLOTCARX</name></extended></access-list></ip></native>'
    )
    assert running(data(inside), device).lines == ()


def ios_of(*lines: str) -> Ios:
    """What lines of IOS say of Slotcar's."""
    return owned_in(parse_ios("\n".join(lines)))


# -- what the models have not ------------------------------------------------------------------------------------------


def test_a_colour_aware_policer_is_refused_in_words() -> None:
    network = load_network(RENDER / "inventories" / "cisco-iosxe-netconf")
    hub = network.devices["hub"]
    configured = hub.model_copy(update={"options": dict(hub.options) | {"colour_aware": True}})
    with pytest.raises(Unrenderable, match=r"hub: slotcar_options.colour_aware: .*no colour-aware policer"):
        renderer_of(hub).configuration(intents_at((), network)["hub"], configured)


@pytest.mark.parametrize("name", ["Serial0/0", "Port-channel1.100", "ATM1/0.1", "Wlan"])
def test_an_interface_without_a_place_for_a_policy_is_refused(name: str) -> None:
    owned = ios_of(f"interface {name}", " service-policy input SLOTCAR-IN")
    with pytest.raises(Unrenderable, match=rf"r1 {name}: the policy model has no service-policy there"):
        native_of(owned, "r1")


@pytest.mark.parametrize("name", ["Port-channel1", "GigabitEthernet0/0/0.100", "TwentyFiveGigE1/0/1", "Tunnel10"])
def test_an_interface_is_named_by_its_kind_and_number(name: str) -> None:
    native = native_of(ios_of(f"interface {name}", " service-policy input SLOTCAR-IN"), "r1")
    assert native is not None
    (interface,) = native.children[0].children
    assert interface.name + interface.text_of("name") == name


@pytest.mark.parametrize(
    "lines",
    [
        ("ip access-list extended SLOTCAR-F1", " permit ip any any"),
        ("class-map match-all SLOTCAR-X", " match protocol http"),
        ("policy-map SLOTCAR-X", " class SLOTCAR-F1", "  police 8000"),
        ("policy-map SLOTCAR-X", " class SLOTCAR-F1", "  compression header ip"),
    ],
)
def test_a_statement_without_a_place_is_an_error_and_not_left_out(lines: tuple[str, ...]) -> None:
    with pytest.raises(Unrenderable, match=f"the models have no place for `{lines[-1].strip()}`"):
        native_of(ios_of(*lines), "r1")


def test_a_label_is_escaped_and_read_again(device: Device) -> None:
    label = "remark a<b & \"c\" 'd'"
    native = native_of(ios_of("ip access-list extended SLOTCAR-F1", f" {label}"), "r1")
    assert native is not None
    text = "\n".join(native.lines())
    assert "a&lt;b &amp; " in text
    assert running(data(text), device).text == f"{text}\n"


def test_names_are_as_long_as_the_command_line_takes() -> None:
    network = load_network(RENDER / "inventories" / "cisco-iosxe-netconf")
    device = network.devices["north-edge"]
    intent = intents_at((), network)["north-edge"]
    long = "GigabitEthernet0/0/0." + "1" * LONGEST_NAME
    egress = intent.egress[0]
    renamed = replace(egress, interface=egress.interface.model_copy(update={"name": long}))
    with pytest.raises(Unrenderable, match=f"{LONGEST_NAME} letters at most"):
        renderer_of(device).configuration(replace(intent, egress=(renamed,)), device)
