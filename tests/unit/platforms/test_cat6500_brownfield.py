"""Among an operator's configuration: Slotcar's lines are found, others are left alone, those in the way are refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unreadable, Unrenderable, renderer_of
from slotcar.platforms.ios.configuration import ios_of, printed
from slotcar.views.configurations import configurations_at
from tests.golden.test_render import Case, entries
from tests.support.rendering import all_away

GOLDEN = Path(__file__).parents[2] / "golden"
OPERATORS = (GOLDEN / "brownfield" / "cat6500.cfg").read_text(encoding="utf-8")
SHOW = "show running-config"


@cache
def wanted() -> tuple[Device, Configuration]:
    case = Case.read(GOLDEN / "render" / "cisco-cat6500-several-flows")
    network = load_network(case.inventory)
    configurations = configurations_at(entries(case.folder / "reservations.yml", network), network, case.at)
    return network.devices["cern-lan"], configurations["cern-lan"]


def read(text: str) -> Configuration:
    device, _ = wanted()
    return renderer_of(device).running({SHOW: text}, device)


def inserted(text: str, head: str, *lines: str) -> str:
    """`text` with lines below the block's head, or before the routing where there is none."""
    if f"\n{head}\n" in text:
        return text.replace(f"\n{head}\n", "\n".join(["", head, *lines, ""]), 1)
    return text.replace("\nrouter ospf 1\n", "\n".join(["", head, *lines, "router ospf 1", ""]), 1)


def woven(configuration: Configuration) -> str:
    text = OPERATORS
    for one in ios_of(configuration).objects():
        text = inserted(text, *printed(one))
    return text


def test_nothing_of_an_operators_is_slotcars() -> None:
    assert len(OPERATORS.splitlines()) >= 500
    assert read(OPERATORS).lines == ()
    assert read(OPERATORS).foreign == ()


def test_everything_of_slotcars_is_found_among_it() -> None:
    device, configuration = wanted()
    assert read(woven(configuration)) == configuration
    assert read(woven(configuration)).foreign == ()
    assert renderer_of(device).change(read(woven(configuration)), configuration, device).empty


def test_nothing_of_an_operators_is_named_in_a_change_or_on_the_way_out() -> None:
    device, configuration = wanted()
    renderer = renderer_of(device)
    change = renderer.change(read(OPERATORS), configuration, device)
    removal = all_away(renderer, device, read(woven(configuration)))
    for line in (*change.apply, *change.undo, *removal):
        words = line.removeprefix("no ").split()
        if not line.startswith(" ") and words[0] != "interface":
            assert "SLOTCAR-" in line or words[:3] == ["mls", "qos", "map"]
        elif words[0] == "interface":
            assert words[1] in device.interfaces


@pytest.mark.parametrize(
    ("head", "line", "reason"),
    [
        (
            "interface GigabitEthernet1/1",
            " service-policy input OFFICES",
            "GigabitEthernet1/1 has `service-policy input",
        ),
        ("interface GigabitEthernet1/1", " wrr-queue bandwidth 50 200", "has `wrr-queue bandwidth 50 200`"),
        ("interface GigabitEthernet2/1", " priority-queue cos-map 1 4 5", "GigabitEthernet2/1 has `priority-queue"),
        ("interface GigabitEthernet1/2", " mls qos trust cos", "GigabitEthernet1/2 has `mls qos trust cos`"),
        ("interface GigabitEthernet1/2", " mls qos vlan-based", "GigabitEthernet1/2 has `mls qos vlan-based`"),
        ("interface GigabitEthernet1/2", " no mls qos", "GigabitEthernet1/2 has `no mls qos`"),
        ("mls qos map dscp-cos  10 11 to 4", "", "mls qos map has `mls qos map dscp-cos 10 11 to 4`"),
    ],
)
def test_an_operators_lines_in_the_way_are_refused_and_named(head: str, line: str, reason: str) -> None:
    device, configuration = wanted()
    running = read(inserted(OPERATORS, head, *filter(None, [line])))
    assert running.lines == ()
    assert len(running.foreign) == 1
    with pytest.raises(Unrenderable) as refusal:
        renderer_of(device).change(running, configuration, device)
    assert reason in str(refusal.value)
    assert "which is not Slotcar's" in str(refusal.value)
    nothing = Configuration(device.name, device.platform)
    assert renderer_of(device).change(running, nothing, device).empty


def test_entries_as_by_default_are_in_nobodys_way() -> None:
    assert read(inserted(OPERATORS, "mls qos map dscp-cos  10 12 14 to 1")).foreign == ()


def test_a_switch_without_mls_qos_is_the_operators_to_prepare() -> None:
    device, configuration = wanted()
    running = read(OPERATORS.replace("\nmls qos\n", "\n"))
    with pytest.raises(Unrenderable, match=r"cern-lan: `mls qos` is not on; turning it on re-marks"):
        renderer_of(device).change(running, configuration, device)


def test_a_switch_that_only_queues_is_refused_because_nothing_would_be_policed() -> None:
    device, configuration = wanted()
    running = read(inserted(OPERATORS, "mls qos queueing-only"))
    with pytest.raises(
        Unrenderable, match="cern-lan: `mls qos queueing-only` is on, and nothing is policed or marked"
    ):
        renderer_of(device).change(running, configuration, device)


def test_what_slotcar_set_and_an_operator_changed_is_told_as_a_difference() -> None:
    device, configuration = wanted()
    text = woven(configuration).replace("wrr-queue bandwidth 61 39", "wrr-queue bandwidth 50 50", 1)
    change = renderer_of(device).change(read(text), configuration, device)
    assert change.apply == ("interface GigabitEthernet1/1", " wrr-queue bandwidth 61 39", " exit")
    assert change.undo == ("interface GigabitEthernet1/1", " wrr-queue bandwidth 50 50", " exit")


def test_classes_in_a_wrong_order_are_told_and_mended() -> None:
    device, configuration = wanted()
    lines = list(configuration.lines)
    bound, unbound = lines.index(" class SLOTCAR-F6"), lines.index(" class SLOTCAR-F2")
    lines[bound : bound + 2], lines[unbound : unbound + 2] = lines[unbound : unbound + 2], lines[bound : bound + 2]
    wrong = renderer_of(device).stored(lines, device)
    running = read(woven(wrong))
    assert running.lines != configuration.lines
    change = renderer_of(device).change(running, configuration, device)
    assert " no class SLOTCAR-F2" in change.apply
    assert " no class SLOTCAR-F6" not in change.apply


def test_a_port_that_left_the_inventory_is_still_cleared() -> None:
    device, configuration = wanted()
    fewer = device.model_copy(
        update={"interfaces": {name: one for name, one in device.interfaces.items() if name != "GigabitEthernet1/2"}}
    )
    running = renderer_of(fewer).running({SHOW: woven(configuration)}, fewer)
    assert running.lines == configuration.lines


def test_policers_in_other_words_are_the_same() -> None:
    _, configuration = wanted()
    text = woven(configuration)
    shown = text.replace("8258 8258 conform-action", "8258 8258 pir 16515072   conform-action")
    shown = shown.replace("46 exceed-action drop", "46    exceed-action drop violate-action drop")
    assert shown != text
    assert read(shown) == configuration


def test_an_answer_without_a_configuration_is_unreadable() -> None:
    with pytest.raises(
        Unreadable, match="cern-lan: `show running-config` gave no configuration: % Authorization failed"
    ):
        read("% Authorization failed.")
