"""Requests on the line network, without the path room: two hops, an SLS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from slotcar.admission.model import Demand
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import AdmissionRequest
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.reservation.need import VolumeByDeadline

T0 = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
RESOURCES = (
    ResourceId("if", "r1:eth2", "out:ip-premium"),
    ResourceId("sls", "alpha-transit-ip-premium"),
    ResourceId("if", "r2:eth1", "in:ip-premium"),
)


def at(minutes: int) -> datetime:
    return T0 + timedelta(minutes=minutes)


def reservation(
    name: str = "a", rate_bps: int = 10, start: int = 0, end: int = 60, owner: str = "hep", **more: object
) -> Reservation:
    fields: dict[str, Any] = {
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
    return Reservation.constant(**fields)


def transfer(
    name: str, volume_bytes: int, by: int, start: int | None = None, owner: str = "hep", **more: Any
) -> Reservation:
    """A volume by a deadline; `by` and `start` are minutes."""
    need = VolumeByDeadline(volume_bytes=volume_bytes, by=at(by), start=None if start is None else at(start), **more)
    window = need.window_from(T0)
    return reservation(name, need.needed_bps(window), owner=owner, windows=(window,), need=need)


def request(
    reserved: Reservation | None = None, resources: tuple[ResourceId, ...] = RESOURCES, **more: object
) -> AdmissionRequest:
    """`rate_bps` of the reservation on every resource, headers left aside."""
    reserved = reserved or reservation()
    demands = tuple(Demand.constant(name, reserved.constant_rate_bps or 0) for name in resources)
    return AdmissionRequest(reservation=reserved, paths=(), demands=demands, actor="tester", **more)  # type: ignore[arg-type]
