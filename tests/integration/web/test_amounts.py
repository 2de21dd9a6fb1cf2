"""Pages say an amount in its resource's unit: cores are no rate of a line, and no bytes are bits."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
import yaml

from slotcar.network.model import Network
from tests.integration.api.conftest import START
from tests.integration.web.conftest import Site
from tests.support.controllers import NO_TLS
from tests.support.networks import with_end_system
from tests.support.patience import PATIENCE_S

HOST = "lbnl-premium"
CORES, DISK = f"cpu:{HOST}", f"storage:{HOST}:vdb:read"
#: Of each resource: all of it, what others take, what a group's member takes, and what that leaves.
AMOUNTS = {
    CORES: ("6 cores", "0 cores", "2.5 cores", "3.5 cores"), DISK: ("400 MB/s", "0 B/s", "100 MB/s", "300 MB/s"),
}  # fmt: skip
IN_USE_PERCENT = {CORES: 42, DISK: 25}


@pytest.fixture(scope="module")
def network(network: Network) -> Network:
    return with_end_system(network, HOST)


def group(cores: float = 2.5, rate: str = "1 Mbit/s") -> dict[str, Any]:
    flow = {"source": "anl-premium", "destination": f"{HOST}:5001", "protocol": "udp", "service": "ip-premium"}
    members = [
        {"name": "line", "network": flow | {"rate": rate}},
        {"name": "cores", "cpu": {"host": HOST, "cores": cores}},
        {"name": "disk", "storage": {"host": HOST, "device": "vdb", "read": "100 MB/s"}},
    ]
    return {"name": "run", "owner": "hep", "start": START.isoformat(), "duration": "1 h", "members": members}


def reserved(site: Site, rate: str = "1 Mbit/s") -> dict[str, Any]:
    """The members of a group, by name."""
    token = {"Authorization": f"Bearer {site.tokens['operator']}"}
    answer = httpx.post(
        f"{site.base_url}/v1/groups", json=group(rate=rate), headers=token, timeout=PATIENCE_S, verify=NO_TLS
    )
    assert answer.status_code == 201, answer.text
    return {one["member"]: one for one in answer.json()["members"]}


def cells(page: str, resource: str) -> list[str]:
    """Of a table's row, those after its heading that are numbers."""
    row = page.partition(f"{resource}</a></th>")[2].partition("</tr>")[0]
    return re.findall(r'<td class="number nowrap">([^<]*)</td>', row)


@pytest.mark.parametrize("resource", AMOUNTS)
def test_a_resources_page_has_its_unit(site: Site, resource: str) -> None:
    reserved(site)
    operator = site.signed_in("operator")
    page = operator.get(f"/links/{resource}").text
    whole, _, taken, left = AMOUNTS[resource]
    for term, amount in {"Capacity": whole, "Reserved at most": taken, "Free throughout": left}.items():
        assert f"<dt>{term}</dt><dd>{amount}" in page
    assert re.findall(r'<td class="number nowrap">([^<]*)</td>', page)[2:4] == [taken, left], "the step of the slot"
    assert "bit/s" not in page.partition("<h1")[2]
    document = operator.get(f"/chart/steps?resource={resource}&from=now&until=now%2B1d").json()
    assert document["unit"] == {CORES: "millicores", DISK: "bytes_per_s"}[resource]


def test_a_devices_page_has_each_resources_unit(site: Site) -> None:
    reserved(site)
    page = site.signed_in("operator").get(f"/devices/{HOST}").text
    for resource, (whole, *_, left) in AMOUNTS.items():
        assert cells(page, resource) == [whole, left]


def test_what_a_member_takes_is_approved_in_its_resources_unit(site: Site) -> None:
    members = reserved(site, rate="21 Mbit/s")
    operator = site.signed_in("operator")
    for member, resource in {"cores": CORES, "disk": DISK}.items():
        assert members[member]["state"] == "awaiting-approval"
        page = operator.get(f"/approvals/{members[member]['handle']}").text
        assert cells(page, resource) == [*AMOUNTS[resource]]
        assert f"{resource}, {IN_USE_PERCENT[resource]} % in use" in page


def test_a_members_page_says_no_rate(site: Site) -> None:
    page = site.signed_in("operator").get(f"/reservations/{reserved(site)['cores']['handle']}").text
    assert cells(page, CORES) == ["2.5 cores"]
    for words in ("payload rates", "rate times time", "bit/s"):
        assert words not in page.partition("<h1")[2], words


def test_a_plan_refuses_cores_in_cores(site: Site) -> None:
    text = yaml.safe_dump({"version": 1, "together": [group(cores=8)]})
    page = site.signed_in("operator").post("/plan", data={"text": text, "set": "web"}).text
    assert f"the cores of {HOST}: 8 cores asked, 6 cores free." in page
    assert "6 cores would fit." in page


def test_a_plan_refuses_a_rate_in_bits(site: Site) -> None:
    text = yaml.safe_dump({"version": 1, "together": [group(rate="60 Mbit/s")]})
    page = site.signed_in("operator").post("/plan", data={"text": text, "set": "web"}).text
    assert re.search(r"SLS anl-esnet-ip-premium: [0-9.]+ Mbit/s asked, 45 Mbit/s free\.", page)
    assert re.search(r"[0-9.]+ Mbit/s would fit\.", page)
