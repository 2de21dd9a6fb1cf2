"""A reservation to a multicast group, over the API and the page: one tree, counted once, beside what else is reserved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.base.timebase import iso
from slotcar_client import Slotcar
from slotcar_transfer.identity import Identity
from slotcar_transfer.reporting import Display
from slotcar_transfer.spreading import Options, Spread
from slotcar_transfer.uftp import BLOCK_BYTES, PACKET_BYTES
from tests.integration.api.conftest import START, Serve, at, body, created, problem

DATAGRID = Path(__file__).resolve().parents[3] / "inventories" / "datagrid"
RECEIVERS = ["frascati-se", "infn-se", "lyon-se"]


@pytest.fixture
def datagrid(serve: Serve) -> httpx.Client:
    return serve(DATAGRID)


def to_many(**more: Any) -> dict[str, Any]:
    ends = {"source": "cern-se", "destination": "239.1.2.3:1044", "receivers": RECEIVERS, "protocol": "udp"}
    return {"name": "copies", "direction": None, **ends, **more}


def test_a_group_is_reserved_looked_at_and_given_back(datagrid: httpx.Client) -> None:
    enquiry = body(**to_many(name=None, owner=None, rate=None))
    free = datagrid.post("/v1/enquiries", json=enquiry).json()
    assert "directions" in free, free
    (most,) = free["directions"]
    assert {"cern-lan", "garr-bo", "geant-fr"} <= set(most["routers"])
    entry = created(datagrid, **to_many(rate=f"{most['highest_rate_bps']} bit/s"))
    assert entry["reservation"]["receivers"] == RECEIVERS
    assert [path["destination"] for path in entry["paths"]] == RECEIVERS
    assert len({one["resource"] for one in entry["demands"]}) == len(entry["demands"])
    assert len({one["rate_bps"] for one in entry["demands"] if one["resource"].startswith("if:cern-lan:")}) == 1
    boundary = datagrid.get(f"/v1/boundaries/{iso(START)}").json()
    assert "permit udp host 10.40.11.2 host 239.1.2.3 eq 1044" in str(boundary)
    second_tree = body(**to_many(name="more", rate="1 Mbit/s", receivers=["infn-se"], destination="239.1.2.4"))
    problem(datagrid.post("/v1/reservations", json=second_tree), 409, "refused")
    changed = datagrid.patch(at(entry), json={"rate": "5 Mbit/s"}, headers={"If-Match": "*"})
    assert changed.status_code == 200, changed.text
    assert (
        created(datagrid, **to_many(name="beside", rate="1 Mbit/s", destination="239.1.2.4"))["state"] == "committed"
    )
    of_another = body(**to_many(name="same-packets", owner="bio", rate="1 Mbit/s", receivers=["knmi-se"]))
    assert "239.1.2.3:1044" in problem(datagrid.post("/v1/reservations", json=of_another), 409, "flow-taken")["detail"]


def test_the_mover_reserves_the_volume_for_the_tree(datagrid: httpx.Client, tmp_path: Path) -> None:
    """Of two receivers one has all already: the tree is for the other alone; at the end what is left is given back."""
    identity = Identity(tmp_path / "home")
    identity.make("cern")
    pem = identity.certificate.read_text()
    ends = {"infn": ("10.40.21.2", "infn-se"), "lyon": ("10.40.65.2", "lyon-se")}
    peers = [identity.trust(name, pem, address, 7010, host) for name, (address, host) in ends.items()]
    (tmp_path / "raw").write_bytes(bytes(3_000_000))
    with Slotcar(str(datagrid.base_url)) as slotcar:
        by = datetime.now(UTC) + timedelta(minutes=5)
        options = Options("239.1.2.3", 1044, here="cern-se", by=by, slotcar=slotcar, owner="hep")
        spread = Spread([tmp_path / "raw"], peers, identity, options, Display(), tmp_path / "state")
        reserved = spread.reserve({"infn": frozenset(), "lyon": frozenset({"raw"})})
        assert reserved is not None
        entry = slotcar.reservation(reserved.handle)
        wanted = entry["reservation"]
        assert (entry["state"], wanted["protocol"], wanted["receivers"]) == ("committed", "udp", ["lyon-se"])
        assert wanted["destination"] == {"host": "239.1.2.3", "port": 1044}
        assert wanted["packet_size_bytes"] == PACKET_BYTES
        assert wanted["need"] is not None
        assert wanted["need"]["volume_bytes"] > 3_000_000 * PACKET_BYTES // BLOCK_BYTES
        assert reserved.steering.profile is not None
        assert reserved.steering.profile.highest_bps > 0
        reserved.give_back(done=True)
        assert slotcar.reservation(reserved.handle)["state"] in ("ended", "cancelled")


def test_who_gets_it_is_said_or_it_is_refused(datagrid: httpx.Client) -> None:
    nobody = problem(datagrid.post("/v1/reservations", json=body(**to_many(receivers=None))), 422, "invalid-input")
    assert [(one["key"], one["message"]) for one in nobody["errors"]] == [("receivers", "are not said")]
    back = problem(datagrid.post("/v1/reservations", json=body(**to_many(direction="both"))), 422, "invalid-input")
    assert [one["key"] for one in back["errors"]] == ["direction"]
