"""Reading inventories: those that are kept here, precedence, templates, secrets, scripts, and what is no inventory."""

from __future__ import annotations

import json
import subprocess
import sys
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.vocabulary import InterfaceRole, Service
from slotcar.network import load_network
from slotcar.network.model import Interface, InterfaceId, Network

INVENTORIES = Path(__file__).parents[3] / "inventories"
NAMES = ("lab", "demo", "garnet", "datagrid")

MINIMAL = """
all:
  vars: {slotcar_platform: linux-tc, slotcar_capacity: 100 Mbit/s, slotcar_shares: {ip-premium: 45 %}}
  children:
    domains:
      children:
        alpha:
          vars: {slotcar_capacity: 1 Gbit/s}
          hosts:
            r1:
              slotcar_interfaces:
                eth1: {address: 10.1.0.1/24, description: office}
                eth2: {address: 10.2.0.1/24, capacity: 10 Mbit/s, shares: {qbss: 0.5 %}, prefixes: [10.3.0.0/16]}
"""


def write(folder: Path, text: str = MINIMAL) -> Path:
    path = folder / "hosts.yml"
    path.write_text(text, encoding="utf-8")
    return path


def interface(network: Network, device: str, name: str) -> Interface:
    return network.interface(InterfaceId(device=device, name=name))


@pytest.fixture(scope="module")
def lab() -> Network:
    return load_network(INVENTORIES / "lab")


@pytest.mark.parametrize("name", NAMES)
def test_the_kept_inventories_load_and_every_link_has_two_ends(name: str) -> None:
    network = load_network(INVENTORIES / name)
    assert network.hosts
    assert network.devices
    for device in network.devices.values():
        for one in device.interfaces.values():
            if one.neighbour is not None:
                other = network.interface(one.neighbour)
                assert (other.neighbour, other.capacity_bps) == (one.id, one.capacity_bps)


def test_the_lab_is_what_its_files_say(lab: Network) -> None:
    link = interface(lab, "anl-border", "eth2")
    assert link.capacity_bps == 60_000_000
    assert link.role is InterfaceRole.INTER_DOMAIN
    assert link.overhead_bytes == 14
    assert link.share_bps(Service.IP_PREMIUM) == 48_000_000
    assert lab.devices["anl-border"].platform == "linux-tc"
    agreement = lab.sls["anl-esnet-ip-premium"]
    assert (agreement.upstream, agreement.downstream, agreement.rate_bps) == ("anl", "esnet", 45_000_000)
    assert lab.hosts["lbnl-premium"].domain == "lbnl"


def test_garnet_is_the_papers() -> None:
    network = load_network(INVENTORIES / "garnet")
    assert {device.platform for device in network.devices.values()} == {"cisco-car"}
    assert interface(network, "anl-7507-1", "ATM1/0/0").capacity_bps == 155_000_000
    vc = interface(network, "anl-7507-2", "ATM2/0/0.60")
    assert vc.capacity_bps == 60_000_000
    # 55 Mb/s of premium over the 60 Mb/s VC (GARA §5.3), 45 Mb/s in the laboratory (§5.2), to a part in a million.
    assert vc.share_bps(Service.IP_PREMIUM) == pytest.approx(55_000_000, abs=100)
    assert interface(network, "anl-7507-1", "ATM1/0/0").share_bps(Service.IP_PREMIUM) == pytest.approx(45e6, abs=100)
    assert (network.devices["lbnl-7507"].burst_floor_bytes, network.devices["lbnl-7507"].burst_ceiling_bytes) == (
        8_000,
        2_000_000,
    )


def test_datagrid_has_its_platforms_and_its_over_provisioned_networks() -> None:
    network = load_network(INVENTORIES / "datagrid")
    platforms = {device.platform for device in network.devices.values()}
    assert platforms == {"cisco-gsr", "cisco-cat6500", "linux-tc"}
    assert {domain.name for domain in network.domains.values() if domain.over_provisioned} == {"surfnet", "nnw"}
    assert network.devices["cern-lan"].burst_ceiling_bytes == 2_500_000


def test_a_capacity_comes_from_the_interface_or_its_group_or_all(tmp_path: Path) -> None:
    network = load_network(write(tmp_path))
    assert interface(network, "r1", "eth1").capacity_bps == 1_000_000_000
    assert interface(network, "r1", "eth2").capacity_bps == 10_000_000


def test_an_interfaces_shares_stand_in_for_the_routers(tmp_path: Path) -> None:
    network = load_network(write(tmp_path))
    assert interface(network, "r1", "eth1").shares_ppm == {Service.IP_PREMIUM: 450_000}
    assert interface(network, "r1", "eth2").shares_ppm == {Service.QBSS: 5_000}


def test_behind_an_edge_are_its_subnet_and_its_prefixes(tmp_path: Path) -> None:
    edge = interface(load_network(write(tmp_path)), "r1", "eth2")
    assert edge.address == IPv4Interface("10.2.0.1/24")
    assert edge.behind == (IPv4Network("10.2.0.0/24"), IPv4Network("10.3.0.0/16"))
    assert edge.role is InterfaceRole.EDGE


def test_values_may_be_templates(tmp_path: Path) -> None:
    text = MINIMAL.replace(
        "slotcar_capacity: 1 Gbit/s", "rate_kbps: 64000, slotcar_capacity: '{{ rate_kbps }} kbit/s'"
    )
    assert interface(load_network(write(tmp_path, text)), "r1", "eth1").capacity_bps == 64_000_000


def test_the_order_of_the_files_text_does_not_matter(tmp_path: Path) -> None:
    turned = MINIMAL.replace(
        "slotcar_platform: linux-tc, slotcar_capacity: 100 Mbit/s,", "slotcar_capacity: 100 Mbit/s,"
    )
    turned = turned.replace("45 %}}", "45 %}, slotcar_platform: linux-tc}")
    first = load_network(write(tmp_path)).model_dump_json(exclude={"source"})
    assert load_network(write(tmp_path, turned)).model_dump_json(exclude={"source"}) == first


def test_one_secret_value_needs_no_password_where_it_is_not_used(tmp_path: Path) -> None:
    text = MINIMAL.replace("slotcar_capacity: 1 Gbit/s", f"ansible_password: {vaulted(tmp_path, 'hunter2')}")
    assert load_network(write(tmp_path, text)).devices.keys() == {"r1"}


def test_a_vaulted_value_is_read_with_the_vaults_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    inventory = write(tmp_path, MINIMAL.replace("1 Gbit/s", vaulted(tmp_path, "64 kbit/s")))
    network = load_network(inventory, vault_password_file=tmp_path / "password")
    assert interface(network, "r1", "eth1").capacity_bps == 64_000
    with pytest.raises(InvalidInput, match="ANSIBLE_VAULT_PASSWORD_FILE"):
        load_network(inventory)
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    assert load_network(inventory) == network


def vaulted(folder: Path, text: str) -> str:
    """The text as a one-line YAML value that Ansible Vault encrypted."""
    password = folder / "password"
    password.write_text("for this test only\n", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("ansible-vault")), "encrypt", "--vault-password-file", str(password)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return "!vault " + json.dumps(done.stdout)


@pytest.mark.slow
def test_a_script_is_an_inventory_and_may_print_on_its_error_stream(tmp_path: Path) -> None:
    answer = {
        "domains": {"children": ["alpha"]},
        "alpha": {"hosts": ["r1"], "vars": {"slotcar_platform": "linux-tc"}},
        "_meta": {"hostvars": {"r1": {"slotcar_interfaces": {"eth1": {"capacity": "1 Gbit/s"}}}}},
    }
    script = tmp_path / "inventory"
    script.write_text(f"#!/bin/sh\necho asking NetBox >&2\ncat <<'END'\n{json.dumps(answer)}\nEND\n", encoding="utf-8")
    script.chmod(0o755)
    assert interface(load_network(script), "r1", "eth1").capacity_bps == 1_000_000_000
    script.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="non-zero exit code 3"):
        load_network(script)


def test_what_is_not_there_is_no_inventory(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no such inventory"):
        load_network(tmp_path / "nowhere")


def test_a_broken_file_of_variables_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "alpha.yml").write_text("---\nslotcar_shares: [\n", encoding="utf-8")
    with pytest.raises(InvalidInput) as refusal:
        load_network(tmp_path)
    (problem,) = refusal.value.problems
    assert problem.file == str(tmp_path / "group_vars" / "alpha.yml")
    assert problem.line >= 2


def test_ansible_stays_out_of_this_process() -> None:
    code = (
        "import sys; from pathlib import Path; from slotcar.network import load_network;"
        f"load_network(Path({str(INVENTORIES / 'lab')!r})); print('ansible' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
