"""Hosts with cores and disks to reserve, out of an inventory: devices beside the routers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from slotcar.admission import capacities
from slotcar.admission.resource_id import ResourceId, describe
from slotcar.base.problems import InvalidInput
from slotcar.network import load_network
from slotcar.planning.plan import network_digest
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import intents_at

LAB = Path(__file__).parents[3] / "inventories" / "lab"


def with_host(folder: Path, **variables: object) -> Path:
    shutil.copytree(LAB, folder)
    (folder / "host_vars" / "lbnl-premium.yml").write_text(yaml.safe_dump(variables))
    return folder


def test_a_host_is_a_device_with_what_may_be_reserved(tmp_path: Path) -> None:
    folder = with_host(tmp_path / "i", slotcar_cpu=6, slotcar_disks={"vdb": {"read": "400 MB/s"}})
    network = load_network(folder)
    host = network.devices["lbnl-premium"]
    assert (host.platform, host.domain, host.interfaces) == ("linux-host", "lbnl", {})
    assert host.resources == {"cpu": {"": 6000}, "storage": {"vdb:read": 400_000_000}}
    known = capacities(network)
    cores, disk = ResourceId("cpu", "lbnl-premium"), ResourceId("storage", "lbnl-premium", "vdb:read")
    assert (known[cores], known[disk]) == (6000, 400_000_000)
    assert [ResourceId.parse(str(one)) for one in (cores, disk)] == [cores, disk]
    assert describe(disk) == "read bandwidth of vdb of lbnl-premium"
    intent = intents_at((), network)["lbnl-premium"]
    assert renderer_of(host).configuration(intent, host).lines == ()


def test_a_network_without_such_hosts_is_what_it_was() -> None:
    network = load_network(LAB)
    assert set(network.devices) == {"anl-edge", "anl-border", "esnet-hub", "lbnl-edge"}
    assert "resources" not in network.model_dump_json()
    assert network_digest(network).startswith("sha256:")


def test_a_wrong_capacity_is_told_with_its_place(tmp_path: Path) -> None:
    folder = with_host(tmp_path / "i", slotcar_cpu="many", slotcar_disks={"vdb": {"read": "400 Mbit/s"}})
    with pytest.raises(InvalidInput) as refusal:
        load_network(folder)
    problems = [f"{Path(one.file).name}:{one.line} {one.key}: {one.message}" for one in refusal.value.problems]
    assert problems == [
        "lbnl-premium.yml:1 lbnl-premium: slotcar_cpu: is not a number of cores",
        "lbnl-premium.yml:3 lbnl-premium: slotcar_disks.vdb: is not the bandwidth of a storage device",
    ]


def messages(refusal: pytest.ExceptionInfo[InvalidInput]) -> list[str]:
    return [f"{Path(one.file).name}:{one.line} {one.key}: {one.message}; {one.hint}" for one in refusal.value.problems]


def test_an_option_that_a_hosts_platform_has_not_is_refused(tmp_path: Path) -> None:
    folder = with_host(tmp_path / "i", slotcar_cpu=6, slotcar_options={"nonsense": 1, "marking": "dscp"})
    with pytest.raises(InvalidInput) as refusal:
        load_network(folder)
    assert messages(refusal) == [
        "lbnl-premium.yml:3 lbnl-premium: slotcar_options.marking: is no key that is known here; there is none",
        "lbnl-premium.yml:4 lbnl-premium: slotcar_options.nonsense: is no key that is known here; there is none",
    ]


def test_options_of_a_host_that_are_no_mapping_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refusal:
        load_network(with_host(tmp_path / "i", slotcar_cpu=6, slotcar_options="eem"))
    (message,) = messages(refusal)
    assert message == "lbnl-premium.yml:2 lbnl-premium: slotcar_options: is no mapping; leave it out: there is no key"


def test_options_that_a_host_inherits_with_routers_are_the_routers(tmp_path: Path) -> None:
    folder = with_host(tmp_path / "i", slotcar_cpu=6)
    every = folder / "group_vars" / "all.yml"
    written = yaml.safe_load(every.read_text()) if every.exists() else {}
    every.write_text(yaml.safe_dump(written | {"slotcar_options": {"mark_denominator": 5}}))
    network = load_network(folder)
    assert network.devices["anl-edge"].options == {"mark_denominator": 5}
    assert network.devices["lbnl-premium"].options == {}
