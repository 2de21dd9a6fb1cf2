"""Requests on the line network, without the path room: two hops, an SLS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from controller.admission.model import Demand
from controller.ledger.model import AdmissionRequest
from controller.reservation.model import Endpoint, Reservation
from controller.timebase import Window
from controller.vocabulary import Protocol, Service

T0 = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
RESOURCES = ("if:r1:eth2:out:ip-premium", "sls:alpha-transit-ip-premium", "if:r2:eth1:in:ip-premium")


def at(minutes: int) -> datetime:
    return T0 + timedelta(minutes=minutes)


def reservation(
    name: str = "a", rate_bps: int = 10, start: int = 0, end: int = 60, owner: str = "hep", **more: object
) -> Reservation:
    return Reservation.model_validate(
        {
            "name": name,
            "owner": owner,
            "source": Endpoint(host="src"),
            "destination": Endpoint(host="dst"),
            "protocol": Protocol.UDP,
            "service": Service.IP_PREMIUM,
            "rate_bps": rate_bps,
            "windows": (Window(at(start), at(end)),),
            **more,
        }
    )


def request(
    asked: Reservation | None = None, resources: tuple[str, ...] = RESOURCES, **more: object
) -> AdmissionRequest:
    """`rate_bps` of the reservation on every resource, headers left aside."""
    asked = asked or reservation()
    demands = tuple(Demand(name, asked.rate_bps) for name in resources)
    return AdmissionRequest(reservation=asked, paths=(), demands=demands, actor="tester", **more)  # type: ignore[arg-type]
