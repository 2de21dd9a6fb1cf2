"""Which ends a neighbour by NSI is asked for: traffic goes from the first to the second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.domains.nsi.requester import NsiNeighbour
from slotcar.domains.protocol import begun
from slotcar.domains.way import PeerRequest, plain
from slotcar.network.model import NsiSide
from slotcar.network.path import find_paths
from slotcar.reservation.model import Endpoint, Reservation
from tests.unit.domains.networks import lab_of

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
NETWORK = lab_of("esnet")
UNUSED: Any = None


@pytest.mark.parametrize("source", ["anl-premium", "lbnl-premium"])
@pytest.mark.parametrize("direction", Direction)
def test_the_neighbour_is_asked_for_the_way_that_the_traffic_goes(source: str, direction: Direction) -> None:
    destination = "lbnl-premium" if source == "anl-premium" else "anl-premium"
    reservation = Reservation.constant(
        name="tonight", owner="hep", source=Endpoint(host=source), destination=Endpoint(host=destination),
        protocol=Protocol.UDP, service=Service.IP_PREMIUM, direction=direction, rate_bps=10_000_000,
        windows=[Window(NOW, NOW + timedelta(hours=1))],
    )  # fmt: skip
    side = NsiSide(
        nsa="urn:lbnl", network="urn:lbnl:net", stps={"lbnl-edge:eth1": "urn:from-esnet", "lbnl-edge:eth2": "urn:site"}
    )
    neighbour = NsiNeighbour("lbnl", "esnet", side, UNUSED, NETWORK, UNUSED, UNUSED, UNUSED)
    form = plain(reservation, find_paths(reservation, NETWORK))
    request = PeerRequest(form, "hep", "esnet", ("anl",), written=reservation).to_text()
    asked_for = neighbour.criteria(begun("anl-1", "esnet", ("anl", "lbnl"), request, reservation.end, NOW)).service
    assert asked_for is not None
    enters_lbnl = (source == "anl-premium") is not (direction is Direction.REVERSE)
    ends = ("urn:from-esnet", "urn:site") if enters_lbnl else ("urn:site", "urn:from-esnet")
    assert (asked_for.source, asked_for.destination) == ends
    assert asked_for.bidirectional is (direction is Direction.BOTH)
