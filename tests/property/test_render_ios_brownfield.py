"""Slotcar's part among 600 lines of an operator's own: all of it is found, nothing else is, nothing else is told away."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, Unrenderable, renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.reservation.model import Reservation
from tests.support.examples import examples
from tests.support.rendering import all_away
from tests.unit.platforms.mqc_ios import MqcIos
from tests.unit.platforms.watching import between
from tests.unit.platforms.worlds import active, population, populations

GOLDEN = Path(__file__).parents[1] / "golden"
SHOW = "show running-config"
ENDS = {
    "mqc": {"src": "north-data", "dst": "south-data"},
    "gsr": {"src": "bo-data", "dst": "mi-data"},
}
FILES = {"north-edge": "mqc-campus.cfg", "bo-gsr": "gsr-backbone.cfg", "mi-gsr": "gsr-backbone.cfg"}
DEVICES = st.sampled_from(sorted(FILES))


@cache
def network(platform: str) -> Network:
    return load_network(GOLDEN / "render" / "inventories" / f"cisco-{platform}")


def device_of(name: str) -> tuple[Device, str]:
    platform = FILES[name][:3]
    return network(platform).devices[name], platform


def brownfield(name: str) -> list[str]:
    return (GOLDEN / "brownfield" / FILES[name]).read_text(encoding="utf-8").splitlines()


def wanted(name: str, chosen: dict[int, Reservation]) -> Configuration:
    device, platform = device_of(name)
    carried = {number: between(one, ENDS[platform]) for number, one in chosen.items()}
    where = network(platform)
    return renderer_of(device).configuration(intents_at(active(population(where, carried)), where)[name], device)


def running(name: str, lines: list[str]) -> Configuration:
    device, _ = device_of(name)
    return renderer_of(device).running({SHOW: "\n".join(lines)}, device)


def printed(name: str, configuration: Configuration, release: str) -> list[list[str]]:
    """Slotcar's part as the device prints it, by section."""
    device, _ = device_of(name)
    ios = MqcIos(device.interfaces)
    ios.run(configuration.lines)
    sections: list[list[str]] = []
    for line in ios.text(release).splitlines():
        if line.startswith(" "):
            sections[-1].append(line)
        elif line.split()[0] not in ("!", "end", "version", "hostname", "Building"):
            sections.append([line])
    return sections


def merged(lines: list[str], sections: list[list[str]], places: list[int]) -> list[str]:
    """The sections at any places between an operator's; lines of an interface behind what it has."""
    inserted = list(lines)
    for section, place in zip(sections, places, strict=False):
        if section[0].startswith("interface "):
            start = inserted.index(section[0])
            end = inserted.index("!", start)
            inserted[end:end] = [line for line in section[1:] if "SLOTCAR-" in line]
        else:
            tops = [n for n, line in enumerate(inserted[: inserted.index("banner motd ^C")]) if line == "!"]
            at = tops[place % len(tops)] + 1
            inserted[at:at] = [*section, "!"]
    return inserted


@given(name=DEVICES, chosen=populations, release=st.sampled_from(["12", "15", "16"]), data=st.data())
@examples(15, 60)
def test_what_is_slotcars_is_found_among_an_operators_and_nothing_else(
    name: str, chosen: dict[int, Reservation], release: str, data: st.DataObject
) -> None:
    own = wanted(name, chosen)
    sections = printed(name, own, release)
    places = data.draw(st.lists(st.integers(0, 10_000), min_size=len(sections), max_size=len(sections)))
    text = merged(brownfield(name), sections, places)
    owned = running(name, text)
    assert owned == own
    assert owned.foreign == running(name, brownfield(name)).foreign

    device, _ = device_of(name)
    numbers = {line.split()[1] for line in own.lines if line.startswith("access-list ")}
    for line in all_away(renderer_of(device), device, owned):
        mine = "SLOTCAR-" in line or line.split()[-1] in numbers
        assert mine or line.startswith("interface ")


@pytest.mark.parametrize("name", FILES)
def test_of_an_operators_configuration_nothing_is_slotcars(name: str) -> None:
    assert len(brownfield(name)) > 500
    assert running(name, brownfield(name)).lines == ()


@pytest.mark.parametrize("name", FILES)
def test_slotcars_goes_in_beside_an_operators(name: str) -> None:
    device, _ = device_of(name)
    assert not renderer_of(device).change(running(name, brownfield(name)), wanted(name, {}), device).empty


@pytest.mark.parametrize(
    ("name", "interface", "line", "message"),
    [
        (
            "north-edge",
            "GigabitEthernet0/1",
            "service-policy input OPS-MARK",
            "north-edge GigabitEthernet0/1: `service-policy input SLOTCAR-IN-GigabitEthernet0/1` is wanted where"
            " `service-policy input OPS-MARK` stands, which is not Slotcar's; take it away, or leave this interface out of"
            " the inventory",
        ),
        (
            "north-edge",
            "GigabitEthernet0/0",
            "service-policy output OPS-WAN",
            "north-edge GigabitEthernet0/0: `service-policy output SLOTCAR-OUT-GigabitEthernet0/0` is wanted where",
        ),
        ("north-edge", "GigabitEthernet0/2", "fair-queue 64 256 0", "where `fair-queue 64 256 0` stands"),
        ("bo-gsr", "POS1/0", "tx-cos OPS-TX", "where `tx-cos OPS-TX` stands"),
        ("mi-gsr", "POS3/0", "random-detect", "where `random-detect` stands"),
        (
            "mi-gsr",
            "",
            "rx-cos-slot 3 OPS-TABLE",
            "mi-gsr: `rx-cos-slot 3 OPS-TABLE` stands where Slotcar's slot table",
        ),
        ("mi-gsr", "", "rx-cos-slot all OPS-TABLE", "mi-gsr: `rx-cos-slot all OPS-TABLE` stands where"),
    ],
)
def test_what_stands_in_the_way_is_refused_in_words(name: str, interface: str, line: str, message: str) -> None:
    device, _ = device_of(name)
    lines = brownfield(name)
    at = lines.index(f"interface {interface}") + 1 if interface else lines.index("rx-cos-slot 7 OPS-TABLE")
    lines[at:at] = [f" {line}" if interface else line]
    with pytest.raises(Unrenderable) as refused:
        renderer_of(device).change(running(name, lines), wanted(name, {}), device)
    assert message in str(refused.value)


def test_a_list_of_an_operators_in_slotcars_range_is_told_and_kept() -> None:
    device, _ = device_of("bo-gsr")
    before = running("bo-gsr", brownfield("bo-gsr"))
    assert "access-list 2650" in before.foreign
    taken = renderer_of(device).stored(["access-list 2650 remark slotcar hep/a forward"], device)
    with pytest.raises(Unrenderable, match=r"bo-gsr: `access-list 2650` is wanted and is not Slotcar's"):
        renderer_of(device).change(before, taken, device)


def test_a_banner_is_no_configuration() -> None:
    lines = brownfield("bo-gsr")
    assert "rx-cos-slot 1 SLOTCAR-RX" in lines
    assert running("bo-gsr", lines).lines == ()
    without = [line for line in lines if line not in ("banner motd ^C", "^C")]
    assert running("bo-gsr", without).lines
