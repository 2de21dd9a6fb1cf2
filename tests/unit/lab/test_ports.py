"""Two labs on one machine keep out of each other's way, or say so."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab import controller, plan, ports
from slotcar_lab.errors import LabError
from slotcar_lab.topology import PORT_BASE_VARIABLE, Topology, garnet


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_router_gets_the_port_that_it_asks_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(PORT_BASE_VARIABLE, raising=False)
    assert [node.management_port for node in garnet().nodes][:4] == [2201, 2202, 2203, 2204]
    monkeypatch.setenv(PORT_BASE_VARIABLE, "20990")
    assert ports.of_routers(garnet(), tmp_path) == {
        "anl-edge": 20991, "anl-border": 20992, "esnet-hub": 20993, "lbnl-edge": 20994,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["many", "-1", "80", "65001", "2300.0"])
def test_a_base_that_is_no_port_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(PORT_BASE_VARIABLE, text)
    with pytest.raises(LabError, match="it must be a port number from 1024 to 65000, such as 2300"):
        garnet()


def test_a_port_that_is_taken_is_named_with_the_way_out(taken: int, tmp_path: Path) -> None:
    with pytest.raises(LabError) as refusal:
        ports.of_routers(garnet(first_port=taken), tmp_path)
    assert f"{taken} (anl-edge)" in str(refusal.value)
    assert f"set {PORT_BASE_VARIABLE} to the number before a free row, such as 2" in str(refusal.value)


def test_a_router_that_asks_for_none_keeps_its_own_from_lab_to_lab(tmp_path: Path) -> None:
    document = garnet().model_dump(mode="json")
    for node in document["nodes"]:
        node["management_port"] = 0
    topology = Topology.model_validate(document)
    by_router = ports.of_routers(topology, tmp_path)
    assert len(set(by_router.values())) == 4
    assert by_router == ports.of_routers(topology, tmp_path)
    assert set(by_router.values()) != set(ports.of_routers(topology, tmp_path / "other").values())


def test_on_a_shared_kernel_each_state_directory_has_its_own_namespaces(tmp_path: Path) -> None:
    one, other = (plan.prefix_for(tmp_path / name, own_kernel=False) for name in ("one", "other"))
    assert not one.startswith(other)
    assert not other.startswith(one)
    assert one.startswith(plan.PREFIX)
    assert plan.prefix_for(tmp_path, own_kernel=True) == plan.PREFIX


def test_only_hosts_pace_what_they_send() -> None:
    assert " fq " in plan.script(garnet(), "anl-premium")
    assert " fq " not in plan.script(garnet(), "anl-edge")


def test_a_controllers_port_is_no_other_labs_also_before_it_listens() -> None:
    port = controller.free_port()
    command = [sys.executable, "-c", "from slotcar_lab.controller import free_port; print(free_port())"]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(other) != port
    assert controller.free_port() != port
