"""Requests and capacities of hosts, as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from slotcar.managers import ManagerError, Place, WrongVariable, managers
from slotcar.managers.hosts import CPU, STORAGE, CpuRequest, StorageRequest

DISKS = {"slotcar_disks": {"vdb": {"read": "400 MB/s", "write": "250 MB/s"}}}


def test_hosts_are_managers_like_any_other() -> None:
    """By the entry points of `slotcar`; an environment from before needs its installation once more."""
    assert {"cpu": CPU, "storage": STORAGE}.items() <= managers().items()


@pytest.mark.parametrize(("cores", "millicores"), [(4, 4000), (2.5, 2500), ("0.001", 1)])
def test_cores_are_counted_in_thousandths(cores: Any, millicores: int) -> None:
    assert CPU.amounts(CpuRequest(host="h", cores=cores), {"": 8000}) == {"": millicores}


def test_a_percentage_is_of_what_may_be_reserved_and_rounded_up() -> None:
    assert CPU.amounts(CpuRequest(host="h", percent="33.33 %"), {"": 1000}) == {"": 334}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "document",
    [
        {"cores": 0}, {"cores": -1}, {"cores": True}, {"cores": "many"}, {"cores": 5000}, {"percent": "101 %"},
        {"percent": 50}, {"cores": 1, "percent": "1 %"}, {}, {"cores": 1, "bind": {}}, {"cores": 1, "core": 2},
        {"cores": 1, "bind": {"unit": "a.service", "user": "b"}}, {"cores": 1, "bind": {"user": "a; reboot"}},
    ],
)  # fmt: skip
def test_what_is_no_request_of_cores_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CpuRequest.model_validate({"host": "h"} | document)


@pytest.mark.parametrize(
    "bind",
    [
        {"user": "root"}, {"user": "0"}, {"user": "00"}, {"user": "1000"}, {"process": 1}, {"unit": "slotcar-rest"},
        {"unit": "slotcar"}, {"unit": "slotcar-g_7q2m.slice"}, {"unit": "slotcar-g_7q2m-after.scope"},
        {"unit": "slotcar.service"}, {"unit": "g-7q2m5k3c9d4e8f1a"}, {"unit": "init.scope"},
        {"unit": "system.slice"}, {"unit": "user.slice"}, {"unit": "-.slice"}, {"unit": "user-0.slice"},
        {"unit": "user@0.service"}, {"unit": "ssh.service"}, {"unit": "sshd.service"}, {"unit": "sshd@3.service"},
        {"unit": "systemd-logind.service"},
    ],
)  # fmt: skip
def test_what_is_the_machines_own_is_bound_by_nobody(bind: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CpuRequest.model_validate({"host": "h", "cores": 1, "bind": bind})


@pytest.mark.parametrize(
    ("bind", "bound"),
    [
        ({"user": "mover"}, "user:mover"), ({"unit": "slotcar-transfer.service"}, "unit:slotcar-transfer.service"),
        ({"unit": "user-1000.slice"}, "unit:user-1000.slice"), ({"process": 2}, "process:2"), (None, ""),
    ],
)  # fmt: skip
def test_what_is_bound_is_said_in_one_word(bind: dict[str, Any] | None, bound: str) -> None:
    assert CPU.bound(CpuRequest.model_validate({"host": "h", "cores": 1, "bind": bind})) == bound


@pytest.mark.parametrize("text", ["200 Mbit/s", "200 Mb/s", "200", 200, "0 B/s", "-1 MB/s"])
def test_storage_is_in_bytes_a_second(text: Any) -> None:
    with pytest.raises(ValidationError):
        StorageRequest(host="h", device="vdb", read=text)


def test_storage_has_a_part_for_each_way() -> None:
    capacities = STORAGE.capacities(Place("h", DISKS))
    assert capacities == {"vdb:read": 400_000_000, "vdb:write": 250_000_000}
    request = StorageRequest.model_validate({"host": "h", "device": "vdb", "read": "100 MB/s"})
    assert STORAGE.amounts(request, capacities) == {"vdb:read": 100_000_000}


def test_a_disk_that_is_not_there_is_named_with_those_that_are() -> None:
    request = StorageRequest.model_validate({"host": "h", "device": "vdc", "write": "1 MB/s"})
    with pytest.raises(ManagerError, match="h has no write bandwidth of vdc to reserve: its slotcar_disks names vdb"):
        STORAGE.amounts(request, STORAGE.capacities(Place("h", DISKS)))


@pytest.mark.parametrize(
    "variables",
    [
        {"slotcar_cpu": "a lot"}, {"slotcar_cpu": 0}, {"slotcar_disks": []}, {"slotcar_disks": {"vdb": "fast"}},
        {"slotcar_disks": {"vdb": {"read": "1 Gbit/s"}}}, {"slotcar_disks": {"../sda": {"read": "1 MB/s"}}},
    ],
)  # fmt: skip
def test_a_wrong_variable_is_named(variables: dict[str, Any]) -> None:
    (name,) = variables
    manager = CPU if name == "slotcar_cpu" else STORAGE
    with pytest.raises(WrongVariable, match=name):
        manager.capacities(Place("h", variables))


def test_amounts_are_told_in_the_words_of_a_file() -> None:
    assert (CPU.format_amount(2500), CPU.format_amount(1000)) == ("2.5 cores", "1 core")
    assert STORAGE.format_amount(100_000_000) == "100 MB/s"
