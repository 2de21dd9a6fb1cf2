"""What an operator wrote as `description` of a domain, an interface or an SLS, from the inventory to who looks at it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from slotcar.admission.resource_id import ResourceId
from slotcar.network import Network, load_network
from slotcar.planning.plan import network_digest
from slotcar.views.topology import description_of, network_document

LAB = Path(__file__).parents[3] / "inventories" / "lab"
SLS, LINK = "sls:anl-esnet-ip-premium", "if:anl-border:eth2:out:ip-premium"


def described(folder: Path, domain: str, agreement: str, interface: str) -> Network:
    shutil.copytree(LAB, folder)
    for file, key, name, text in (
        ("group_vars/anl.yml", "slotcar_domain", "", domain),
        ("group_vars/esnet.yml", "slotcar_sls", "anl-esnet-ip-premium", agreement),
        ("host_vars/anl-border.yml", "slotcar_interfaces", "eth2", interface),
    ):
        variables = yaml.safe_load((folder / file).read_text())
        part = variables.setdefault(key, {})
        (part[name] if name else part)["description"] = text
        (folder / file).write_text(yaml.safe_dump(variables))
    return load_network(folder)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return described(tmp_path_factory.mktemp("one") / "i", "Argonne", "renewed every January", "UBR VC to ESnet")


def test_a_network_has_them(network: Network) -> None:
    assert network.domains["anl"].description == "Argonne"
    assert network.sls["anl-esnet-ip-premium"].description == "renewed every January"
    assert network.devices["anl-border"].interfaces["eth2"].description == "UBR VC to ESnet"
    assert network.domains["esnet"].description == ""


def test_a_plan_stays_valid_when_one_changes(network: Network, tmp_path: Path) -> None:
    other = described(tmp_path / "i", "Argonne National Laboratory", "", "to ESnet")
    assert other != network
    assert network_digest(other) == network_digest(network) == network_digest(load_network(LAB))


def test_the_document_of_the_network_has_them(network: Network) -> None:
    document = network_document(network)
    (border,) = (one for one in document["devices"] if one["name"] == "anl-border")
    assert {one["name"]: one["description"] for one in border["interfaces"]}["eth2"] == "UBR VC to ESnet"
    assert {one["name"]: one["description"] for one in document["domains"]}["anl"] == "Argonne"
    assert {one["name"]: one["description"] for one in document["sls"]}[
        "anl-esnet-ip-premium"
    ] == "renewed every January"


def test_a_resource_has_its_interfaces_or_its_agreements(network: Network) -> None:
    assert description_of(ResourceId.parse(SLS), network) == "renewed every January"
    assert description_of(ResourceId.parse(LINK), network) == "UBR VC to ESnet"
    assert description_of(ResourceId.parse("sls:of-yesterday"), network) == ""
    assert description_of(ResourceId.parse("if:of:yesterday:out:ip-premium"), network) == ""
    assert description_of(ResourceId.parse("cpu:anl-border"), network) == ""
