"""Files without a ledger: the ways and the rates that the controller would give them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.model import Entry
from slotcar.network.model import Network
from slotcar.planning.offline import Assumed, admitted_entries
from slotcar.planning.source import read_source
from slotcar.planning.terms import policy_of
from tests.support.narrow_datagrid import DATAGRID, narrow_datagrid
from tests.support.requests import T0

NOW = T0 - timedelta(hours=1)


@pytest.fixture(scope="module")
def narrow() -> Network:
    return narrow_datagrid()


def assumed(network: Network, folder: Path, most_paths: int, *documents: dict[str, Any]) -> Assumed:
    usual = {
        "owner": "eo", "source": "cern-ce", "destination": "infn-se", "protocol": "udp", "service": "ip-premium",
        "start": iso(T0),
    }  # fmt: skip
    file = folder / "asked.yml"
    file.write_text(json.dumps({"version": 1, "reservations": [usual | one for one in documents]}))
    settings = Settings(state_dir=folder, inventory=DATAGRID, paths=most_paths)
    source = read_source([file], NOW, network, most_paths=most_paths)
    return admitted_entries(source, network, policy_of(settings, network), NOW, most_paths)


def geant(entry: Entry) -> list[str]:
    return [hop.device for hop in entry.paths[0].hops if hop.device.startswith("geant-")]


FIRST, SECOND = ({"name": name, "rate": "40 Mbit/s", "duration": "PT2H"} for name in ("first", "second"))


def test_where_the_shortest_is_full_another_way_is_taken_and_told(narrow: Network, tmp_path: Path) -> None:
    plan = assumed(narrow, tmp_path, 3, FIRST, SECOND)
    assert [geant(entry) for entry in plan.entries] == [
        ["geant-ch", "geant-it"],
        ["geant-ch", "geant-de", "geant-it"],
    ]
    (note,) = plan.notes
    assert note.startswith("eo/second takes the path ")
    assert "geant-ch > geant-de > geant-it" in note


def test_what_would_be_refused_is_told_and_taken_as_it_is(narrow: Network, tmp_path: Path) -> None:
    plan = assumed(narrow, tmp_path, 1, FIRST, SECOND)
    assert [geant(entry) for entry in plan.entries] == [["geant-ch", "geant-it"]] * 2
    (note,) = plan.notes
    assert note.startswith("eo/second would be refused beside the others")


def test_a_volume_has_the_rates_that_admission_finds(narrow: Network, tmp_path: Path) -> None:
    volume = {"name": "bulk", "volume": "9 GB", "by": iso(T0 + timedelta(hours=2))}
    plan = assumed(narrow, tmp_path, 1, volume)
    assert plan.entries[0].reservation.slots
    assert plan.notes == ()
