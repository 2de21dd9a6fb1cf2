"""The request's form where domains have classes of the assured rate: it offers their names, and asks for the one chosen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Network
from tests.integration.web.conftest import Open

EXAMPLE = Path(__file__).parents[3] / "examples" / "assured-classes" / "hosts.yml"


@pytest.fixture(scope="module")
def network() -> Network:
    return load_network(EXAMPLE)


def test_the_form_offers_the_classes_and_a_reservation_is_of_the_one_that_was_chosen(open_site: Open) -> None:
    site = open_site(inventory=EXAMPLE)
    operator = site.signed_in("operator")
    form = operator.get("/request").text
    offered = re.search(r'<select name="assured_class">(.*?)</select>', form)
    assert offered
    assert re.findall(r"<option[^>]*>(\w+)</option>", offered[1]) == ["none", "bronze", "gold", "silver", "video"]
    entry = site.reserve(
        "logs", source="west-data", destination="east-data:5001", service="assured-rate", assured_class="bronze",
        rate="1 Mbit/s",
    )  # fmt: skip
    assert "assured-rate/bronze" in operator.get(f"/reservations/{entry.handle}").text
    assert "assured-rate/bronze" in operator.get("/reservations").text
