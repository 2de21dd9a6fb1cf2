"""What a reservation can never get is said: of a share, and of a service that reserves nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.offline import plan_offline
from slotcar.planning.plan_file import plan_document
from slotcar.planning.plan_lines import What, step_lines
from slotcar.planning.source import read_source
from slotcar.planning.step import PlanStep
from slotcar.planning.terms import policy_of
from slotcar.views.foreseen import foreseen_of_itself

LAB = Path(__file__).parents[3] / "inventories" / "lab"
NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def network() -> Network:
    return load_network(LAB)


def step(network: Network, folder: Path, **keys: Any) -> PlanStep:
    usual = {
        "name": "cms", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
        "service": "ip-premium", "start": "2027-03-01T22:00:00+01:00", "duration": "2 h",
    }  # fmt: skip
    file = folder / "one.yml"
    file.write_text(json.dumps({"version": 1, "reservations": [usual | keys]}))
    source, policy = read_source([file], NOW, network), policy_of(Settings(), network)
    plan = plan_offline(source, network, policy, NOW, most_paths=1, no_ledger_yet=True)
    assert plan_document(plan)["steps"][0]["notes"] == list(plan.steps[0].notes)
    return plan.steps[0]


def test_a_share_below_the_least_rate_is_said(network: Network, tmp_path: Path) -> None:
    one = step(network, tmp_path, share={"at_most": "10 kbit/s"})
    (note,) = one.notes
    assert note.startswith(
        "never gets a rate: share.at_most is 10 kbit/s, and a background reservation has none below"
    )
    assert [line.text for line in step_lines(one) if line.what is What.NOTE] == [note]
    assert one.reservation is not None
    assert foreseen_of_itself(one.reservation) == (note,)


@pytest.mark.parametrize(
    "share", [{"at_most": "64 kbit/s"}, {"at_least": "10 kbit/s", "at_most": "20 kbit/s"}, {"weight": 2}]
)
def test_a_share_that_may_get_something_is_not(share: dict[str, Any], network: Network, tmp_path: Path) -> None:
    assert step(network, tmp_path, share=share).notes == ()


def test_a_share_of_a_place_that_has_nothing_for_it_is_said(network: Network, tmp_path: Path) -> None:
    border = network.devices["anl-border"]
    interfaces = {name: one.model_copy(update={"background_ppm": 1_000}) for name, one in border.interfaces.items()}
    narrow = network.model_copy(
        update={"devices": network.devices | {"anl-border": border.model_copy(update={"interfaces": interfaces})}}
    )
    notes = step(narrow, tmp_path, share={"at_most": "1 Mbit/s"}).notes
    assert notes
    assert all(one.startswith("never gets a rate: background has at most ") for one in notes)
    assert any(" on anl-border " in one for one in notes)


@pytest.mark.parametrize("service", ["best-effort", "qbss"])
def test_a_rate_above_the_narrowest_line_is_said_of_what_reserves_nothing(
    service: str, network: Network, tmp_path: Path
) -> None:
    (note,) = step(network, tmp_path, service=service, rate="500 Mbit/s").notes
    assert note.startswith("asks for 500 Mbit/s forward, and ")
    assert f" has 60 Mbit/s in all: {service} reserves nothing, and what is more is lost" in note
    assert step(network, tmp_path, service=service, rate="60 Mbit/s").notes == ()
    assert step(network, tmp_path, service=service).notes == ()


def test_each_way_is_said_by_itself(network: Network, tmp_path: Path) -> None:
    both = {"forward": "1 Mbit/s", "reverse": "500 Mbit/s"}
    (note,) = step(network, tmp_path, service="best-effort", rate=both, direction="both").notes
    assert note.startswith("asks for 500 Mbit/s reverse, and ")
