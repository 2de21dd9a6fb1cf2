"""What a reservation asks of the resources that its path crosses, and what the network has of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from slotcar.admission import capacities, demands, interface_resource, sls_resource
from slotcar.admission.model import describe
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.network.model import Domain, InterfaceId, Network
from slotcar.network.path.model import Hop, Path
from slotcar.reservation.model import Endpoint, Reservation
from tests.support.networks import line_network

WINDOW = Window(datetime(2027, 3, 1, tzinfo=UTC), datetime(2027, 3, 2, tzinfo=UTC))
PREMIUM_SLS = ("alpha-transit-ip-premium", "transit-omega-ip-premium")


def port(device: str, name: str) -> InterfaceId:
    return InterfaceId(device=device, name=name)


def path(*devices: str, back: bool = False, sls: tuple[str, ...] = PREMIUM_SLS, **more: frozenset[str]) -> Path:
    """Along the line, or back."""
    ingress, egress = ("eth2", "eth1") if back else ("eth1", "eth2")
    hops = tuple(Hop(name, port(name, ingress), port(name, egress)) for name in devices)
    return Path("src", "dst", "10.0.0.2", "10.0.3.2", Service.IP_PREMIUM, hops, sls, **more)


def reservation(**more: object) -> Reservation:
    fields: dict[str, Any] = {
        "name": "a",
        "owner": "hep",
        "source": Endpoint(host="src"),
        "destination": Endpoint(host="dst"),
        "protocol": Protocol.UDP,
        "service": Service.IP_PREMIUM,
        "rate_bps": 1_472_000,
        "windows": (WINDOW,),
        **more,
    }
    return Reservation.constant(**fields)


def one_router(**changes: object) -> Network:
    """A line of one router whose interfaces have something changed."""
    network = line_network(1)
    device = network.devices["r1"]
    ports = {name: interface.model_copy(update=changes) for name, interface in device.interfaces.items()}
    return network.model_copy(update={"devices": {"r1": device.model_copy(update={"interfaces": ports})}})


def rates(request: Reservation, *paths: Path, network: Network | None = None) -> dict[str, int]:
    return {str(demand.resource): demand.peak for demand in demands(request, paths, network or line_network())}


def test_headers_are_counted_on_links_and_slss() -> None:
    """A link carries IP, UDP and Ethernet (1538 of 1472 bytes); an SLS is a layer-3 rate (1500)."""
    assert rates(reservation(), path("r1", "r2", "r3")) == {
        "if:r1:eth1:in:ip-premium": 1_538_000,
        "if:r1:eth2:out:ip-premium": 1_538_000,
        "if:r2:eth1:in:ip-premium": 1_538_000,
        "if:r2:eth2:out:ip-premium": 1_538_000,
        "if:r3:eth1:in:ip-premium": 1_538_000,
        "if:r3:eth2:out:ip-premium": 1_538_000,
        "sls:alpha-transit-ip-premium": 1_500_000,
        "sls:transit-omega-ip-premium": 1_500_000,
    }


def test_d73_counts_60_bytes_a_frame() -> None:
    network = one_router(overhead_bytes=32)
    amounts = rates(reservation(), path("r1", sls=()), network=network)
    assert set(amounts.values()) == {1_472_000 + 60_000}


def test_both_directions_ask_apart() -> None:
    back = path("r3", "r2", "r1", back=True, sls=("omega-transit-ip-premium", "transit-alpha-ip-premium"))
    amounts = rates(reservation(direction=Direction.BOTH), path("r1", "r2", "r3"), back)
    assert amounts["if:r1:eth2:out:ip-premium"] == amounts["if:r1:eth2:in:ip-premium"] == 1_538_000
    assert len(amounts) == 16


def test_a_resource_crossed_twice_is_asked_for_twice_over_in_one_demand() -> None:
    amounts = rates(reservation(), path("r1", "r2", "r1", sls=()))
    assert amounts["if:r1:eth2:out:ip-premium"] == 2 * 1_538_000
    assert amounts["if:r2:eth2:out:ip-premium"] == 1_538_000


def test_an_over_provisioned_domain_is_crossed_without_reservation() -> None:
    """D7.3 §3.2.1."""
    network = line_network()
    domains = network.domains | {"transit": Domain(name="transit", over_provisioned=True)}
    network = network.model_copy(update={"domains": domains})
    amounts = rates(reservation(), path("r1", "r2", "r3", sls=()), network=network)
    assert sorted({name.split(":")[1] for name in amounts}) == ["r1", "r3"]


def test_a_device_that_the_path_marks_unreserved_is_crossed_without_reservation() -> None:
    amounts = rates(reservation(), path("r1", "r2", "r3", sls=(), unreserved_devices=frozenset({"r3"})))
    assert sorted({name.split(":")[1] for name in amounts}) == ["r1", "r2"]


@pytest.mark.parametrize("service", [Service.BEST_EFFORT, Service.QBSS])
def test_services_without_a_promise_ask_for_nothing(service: Service) -> None:
    assert rates(reservation(service=service), path("r1", "r2", "r3")) == {}


def test_an_interface_that_the_network_has_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        rates(reservation(), path("r1", "r2", "r9"))


def test_capacities_are_shares_of_links_each_way_and_agreed_rates() -> None:
    by_name = {str(resource): capacity for resource, capacity in capacities(line_network()).items()}
    assert by_name["if:r1:eth2:out:ip-premium"] == by_name["if:r1:eth2:in:ip-premium"] == 45_000_000
    assert by_name["if:r1:eth2:out:assured-rate"] == 30_000_000
    assert by_name["sls:alpha-transit-ip-premium"] == 40_000_000
    assert not [name for name in by_name if name.endswith(("best-effort", "qbss"))]


def test_a_service_without_a_share_has_capacity_0() -> None:
    assert set(capacities(one_router(shares_ppm={Service.QBSS: 10_000})).values()) == {0}


def test_resources_have_names_that_people_can_read() -> None:
    assert describe(interface_resource(port("r1", "Gi0/0:1"), "in", Service.IP_PREMIUM)) == (
        "ip-premium on r1 Gi0/0:1, inbound"
    )
    assert describe(sls_resource("esnet-lbnl")) == "SLS esnet-lbnl"
