"""`slotcar transfer` over three domains: what it reserves is a connection, reported to and ended in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar_client import Slotcar
from slotcar_transfer.holdings import Holding, holding_by, live_holding, reserved
from tests.integration.domains.test_over_https import VOLUME, Controllers, controllers
from tests.integration.domains.three import NAMES
from tests.support import transfers
from tests.support.patience import wait_for
from tests.support.transfers import GIVEN_BACK, content, fill

__all__ = ["controllers"]
SIZE = 2_000_000


@pytest.fixture
def anl(controllers: Controllers) -> Iterator[Slotcar]:
    with Slotcar(str(controllers.clients["anl"].base_url)) as client:
        yield client


def states(controllers: Controllers) -> dict[str, list[str]]:
    return {
        name: [one["state"] for one in controllers.ask(name, "GET", "/v1/reservations")["items"]] for name in NAMES
    }


def test_files_are_moved_by_slots_of_all_domains_and_given_back_in_all(
    controllers: Controllers, tmp_path: Path
) -> None:
    ends = transfers.World(tmp_path / "ends", hosts={"here": "anl-premium", "there": "lbnl-premium"})
    source = ends.folder / "source"
    fill(source, {"run/large": SIZE, "run/empty": 0})
    connected = {"SLOTCAR_API": str(controllers.clients["anl"].base_url), "SLOTCAR_TOKEN": ""}
    command = ("--owner", "hep", "--here", "anl-premium", "--by", "now + 10 min")
    with ends.serve("there"):
        moved = ends.run(str(source / "run"), "there:", *command, **connected)
    assert content(ends.root("there")) == content(source / "run")
    assert not moved.done["late"]
    assert any("in all domains as connection anl-" in words for words in moved.messages), moved.messages
    wait_for(lambda: all(set(each) <= GIVEN_BACK for each in states(controllers).values()), "all to be given back")
    assert all(states(controllers).values())
    (connection,) = controllers.ask("anl", "GET", "/v1/connections")["items"]
    assert connection["why"] == "anl: all of its volume is moved"


def test_what_a_transfer_has_over_domains_is_reported_found_again_and_ended(
    controllers: Controllers, anl: Slotcar
) -> None:
    holding = reserved(anl, VOLUME)
    assert holding.connection
    before = holding.entry["reservation"]["slots"]
    reported = holding.report("1 GB")
    assert reported.entry["reservation"]["slots"] != before
    (far,) = controllers.ask("lbnl", "GET", "/v1/reservations")["items"]
    assert far["reservation"]["slots"] == reported.entry["reservation"]["slots"]
    far_off, soon = datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) + timedelta(minutes=1)
    again = holding_by(anl, "run-7", "hep", far_off)
    assert again is not None
    assert again.connection == holding.connection
    assert holding_by(anl, "run-7", "hep", soon) is None
    wait_for(lambda: states(controllers) == {name: ["cancelled"] for name in NAMES}, "the end in all domains")


def test_a_domain_that_cancels_its_segment_ends_what_the_transfer_has(controllers: Controllers, anl: Slotcar) -> None:
    holding = reserved(anl, VOLUME)
    (far,) = controllers.ask("lbnl", "GET", "/v1/reservations")["items"]
    controllers.ask("lbnl", "POST", f"/v1/reservations/{far['handle']}/cancel", {"reason": "a fibre is cut"})
    controllers.agreements["lbnl"].tick()
    wait_for(lambda: holding.read().entry["state"] == "cancelled", "the transfer to see that it has nothing")
    assert live_holding(anl, "run-7", "hep") is None


def test_in_one_domain_it_is_a_reservation(anl: Slotcar) -> None:
    request = VOLUME | {"source": "anl-premium", "destination": "anl-traffic", "direction": "forward"}
    holding = reserved(anl, request)
    assert holding.connection == ""
    assert holding.deadline is not None
    Holding(anl, holding.entry).end("not needed")
    assert live_holding(anl, "run-7", "hep") is None
