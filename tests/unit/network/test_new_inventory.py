"""What `slotcar init` writes is an inventory, with the devices, links, end systems and shares that were said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slotcar.base.problems import InvalidInput
from slotcar.base.vocabulary import Service
from slotcar.cli.app import app
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.network.new_inventory import (
    NewDevice,
    NewInventory,
    files_of,
    parse_device,
    parse_host,
    parse_link,
    parse_pair,
)

LINK = "edge-a:eth1 10.0.0.1/30, edge-b:eth1 10.0.0.2/30, 100 Mbit/s"
HOST = "alice 10.1.0.2, edge-a:eth2 10.1.0.1/24, 1 Gbit/s"
BOB = "bob 10.2.0.2, edge-b:eth2 10.2.0.1/24, 1 Gbit/s"
WHOLE = NewInventory(
    domain="site",
    devices=(parse_device("edge-a=linux-tc@192.0.2.1:2222"), parse_device("edge-b=linux-tc")),
    links=(parse_link(LINK),),
    hosts=(parse_host(HOST), parse_host(BOB)),
    user="slotcar",
)
OPTIONS = ("--device", "edge-a=linux-tc", "--device", "edge-b=linux-tc", "--link", LINK, "--host", HOST, "--host", BOB)


def network_of(new: NewInventory, folder: Path) -> Network:
    for name, text in files_of(new).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return load_network(folder)


def test_it_is_read_back_as_it_was_said(tmp_path: Path) -> None:
    network = network_of(WHOLE, tmp_path)
    assert set(network.devices) == {"edge-a", "edge-b"}
    (link,) = [one for one in network.devices["edge-a"].interfaces.values() if one.neighbour is not None]
    assert (str(link.neighbour), link.capacity_bps, str(link.address)) == ("edge-b:eth1", 100_000_000, "10.0.0.1/30")
    assert link.share_bps(Service.IP_PREMIUM) == 40_000_000
    assert {name: str(host.attached_to) for name, host in network.hosts.items()} == {
        "alice": "edge-a:eth2",
        "bob": "edge-b:eth2",
    }


def test_addresses_users_and_comments_are_in_the_files() -> None:
    files = files_of(WHOLE)
    assert "ansible_host: 192.0.2.1\nansible_port: 2222\n" in files["host_vars/edge-a.yml"]
    assert "ansible_user: slotcar\n" in files["group_vars/domains.yml"]
    assert "ansible_become: true\n" in files["group_vars/domains.yml"]
    assert "ansible_become" not in files_of(replace(WHOLE, user="root"))["group_vars/domains.yml"]
    assert all("# " in text for text in files.values())


def test_routers_of_several_platforms_say_their_own() -> None:
    files = files_of(replace(WHOLE, devices=(*WHOLE.devices, NewDevice("core", "cisco-mqc"))))
    assert "slotcar_platform: cisco-mqc" in files["host_vars/core.yml"]
    assert "slotcar_platform" not in files["group_vars/domains.yml"]


def test_what_a_platform_needs_to_be_logged_in_to_is_said_of_its_routers_alone() -> None:
    core = NewDevice("core", "cisco-mqc")
    mixed = files_of(replace(WHOLE, devices=(*WHOLE.devices, core)))
    assert "ansible_become: true\n" in mixed["host_vars/edge-a.yml"]
    assert "ansible_become: true\n" not in mixed["host_vars/core.yml"] + mixed["group_vars/domains.yml"]
    for words in ("ansible_password", "slotcar_known_hosts", "ansible_become_password", "slotcar_flash"):
        assert f"# {words}: " in mixed["host_vars/core.yml"]
        assert words not in mixed["host_vars/edge-a.yml"]
    alone = files_of(replace(WHOLE, devices=(core,), links=(), hosts=()))
    assert "# slotcar_flash: " in alone["group_vars/domains.yml"]
    assert "ansible_become: " not in "".join(alone.values())
    peer = files_of(replace(WHOLE, devices=(NewDevice("core", "juniper-junos"),), links=(), hosts=()))
    assert "# slotcar_known_hosts: " in peer["group_vars/domains.yml"]
    assert "slotcar_flash" not in "".join(peer.values())


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_device, "edge-a"), (parse_device, "=linux-tc"), (parse_device, "a=linux-tc@"),
        (parse_device, "a b=linux-tc"),
        (parse_link, "edge-a:eth1 10.0.0.1/30, 1 Gbit/s"),
        (parse_link, "edge-a 10.0.0.1/30, edge-b:e 10.0.0.2/30, 1 Gbit/s"),
        (parse_host, "alice, edge-a:eth2 10.1.0.1/24, 1 Gbit/s"), (parse_host, "alice 10.1.0.2"),
        (lambda text: parse_pair("--share", text, "ip-premium=40 %"), "ip-premium"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_an_example(parse: object, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be read \(got .*\); say \S"):
        parse(text)  # type: ignore[operator]


def test_a_link_of_an_unknown_router_is_refused() -> None:
    with pytest.raises(InvalidInput, match="edge-b"):
        files_of(replace(WHOLE, devices=WHOLE.devices[:1]))


def test_the_command_writes_it_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "inventory")
    done = CliRunner().invoke(app, ["init", folder, *OPTIONS])
    assert done.exit_code == 0, done.output
    assert set(load_network(Path(folder)).devices) == {"edge-a", "edge-b"}
    assert CliRunner().invoke(app, ["init", folder, *OPTIONS]).exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["inventory"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--device", "edge-a=linux"], "one of the platforms: "),
        (["--device", "edge-a=linux-tc", "--device", "edge-a=linux-tc"], "each device once"),
        (["--link", LINK.replace("Mbit/s", "Mb")], "say Mbit/s for megabits"),
        (["--link", LINK.replace("/30", "")], "with its prefix length"),
        (["--link", LINK, "--link", LINK], "another interface for each link"),
        (["--host", HOST.replace("10.1.0.2", "10.1.0.x")], "an IPv4 address"),
        (["--host", HOST, "--host", HOST.replace("1 Gbit/s", "2 Gbit/s")], "the same as before: edge-a:eth2"),
    ],
)
def test_a_mistake_is_said_and_nothing_is_written(tmp_path: Path, options: list[str], words: str) -> None:
    devices = [] if "--device" in options else ["--device", "edge-a=linux-tc", "--device", "edge-b=linux-tc"]
    done = CliRunner().invoke(app, ["init", str(tmp_path / "inventory"), *devices, *options])
    assert words in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_the_network_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "inventory"
    done = CliRunner().invoke(app, ["init", str(folder), *OPTIONS, "--share", "ip-premium=140 %"])
    assert done.exit_code != 0
    with pytest.raises(InvalidInput, match=r"inventory/group_vars/domains\.yml:\d+: "):
        raise done.exception or InvalidInput([])
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_a_device_must_be_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["init", str(tmp_path / "inventory")])
    assert done.exit_code == 2
    assert "--device" in done.output
