"""Interfaces of IOS by the names that IOS prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.units import UnitError
from slotcar.network import load_network
from slotcar.platforms.ios.interface_names import TYPES, full_name

INVENTORY = """---
all:
  vars:
    slotcar_platform: cisco-mqc
    slotcar_shares: {ip-premium: 50 %}
    slotcar_capacity: 10 Gbit/s
  children:
    domains:
      children:
        anl:
          hosts:
            edge:
              slotcar_options: {shape: "Te0/0/1"}
              slotcar_interfaces:
                Te0/0/0: {address: 10.1.0.1/24}
                Te0/0/1: {address: 10.9.0.1/30, neighbour: "core:gi0/1"}
            core:
              slotcar_interfaces:
                Gi0/1: {address: 10.9.0.2/30, neighbour: "edge:TenGigabitEthernet0/0/1"}
                GigabitEthernet0/2: {address: 10.2.0.1/24}
    slotcar_hosts:
      hosts:
        src: {slotcar_address: 10.1.0.2, slotcar_attached_to: "edge:Te0/0/0"}
        dst: {slotcar_address: 10.2.0.2, slotcar_attached_to: "core:Gi0/2"}
"""


def loaded(tmp_path: Path, text: str = INVENTORY) -> object:
    file = tmp_path / "hosts.yml"
    file.write_text(text)
    return load_network(file).model_dump(exclude={"source"})


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("Te0/0/1", "TenGigabitEthernet0/0/1"), ("te1/1/4.100", "TenGigabitEthernet1/1/4.100"),
        ("Gi0/1", "GigabitEthernet0/1"), ("fa4/0/0", "FastEthernet4/0/0"), ("Hu0/1/0", "HundredGigE0/1/0"),
        ("Po10", "Port-channel10"), ("pos1/0/0", "POS1/0/0"), ("Tw1/0/1", "TwoGigabitEthernet1/0/1"),
        ("Twe1/0/1", "TwentyFiveGigE1/0/1"), ("Se0/0:0", "Serial0/0:0"), ("Vl12", "Vlan12"),
        ("Ucse1/0", "Ucse1/0"),
    ],
)  # fmt: skip
def test_a_short_name_is_expanded(written: str, full: str) -> None:
    assert full_name(written) == full
    assert full_name(full) == full


@pytest.mark.parametrize("kind", TYPES)
def test_a_full_name_stays_in_any_case(kind: str) -> None:
    assert full_name(f"{kind.lower()}1/0") == full_name(f"{kind}1/0") == f"{kind}1/0"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("T0/1", "is short for several interfaces (got T0/1); say which: TwoGigabitEthernet, TenGigabitEthernet"),
        ("TenGigabitEthernt0/1", "did you mean `TenGigabitEthernet0/1`?"),
        ("Gi", "is no name of an interface of IOS (got Gi); say the type and the number"),
        ("0/1", "is no name of an interface of IOS"),
    ],
)
def test_what_is_no_name_is_said(written: str, words: str) -> None:
    with pytest.raises(UnitError, match=re.escape(words)):
        full_name(written)


def test_an_inventory_with_short_names_is_the_one_with_full_names(tmp_path: Path) -> None:
    full = INVENTORY
    for short, whole in (("Te0", "TenGigabitEthernet0"), ("gi0", "GigabitEthernet0"), ("Gi0", "GigabitEthernet0")):
        full = full.replace(short, whole)
    assert loaded(tmp_path) == loaded(tmp_path, full)
    edge = load_network(tmp_path / "hosts.yml").devices["edge"]
    assert list(edge.interfaces) == ["TenGigabitEthernet0/0/0", "TenGigabitEthernet0/0/1"]
    assert edge.options["shape"] == "TenGigabitEthernet0/0/1"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "Te0/0/0: {add",
            "TenGigabitEthernt0/0/0: {add",
            r"hosts.yml:15: .*TenGigabitEthernt0/0/0.*did you mean `TenGigabit",
        ),
        ("GigabitEthernet0/2: ", "gigabitethernet0/1: ", "is the interface Gi0/1 once more"),
    ],
)
def test_a_name_that_is_none_or_there_twice_is_told_with_its_line(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput) as refused:
        loaded(tmp_path, INVENTORY.replace(old, new))
    assert re.search(words, str(refused.value)), str(refused.value)
