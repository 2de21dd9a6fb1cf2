"""Service termination points (STPs): the ends that NSI knows, and which of this inventory's end systems they are.

An STP is called `NETWORK:PORT?LABELS`. This domain's ports are its end systems, by their inventory's names; a label has no
sense here, since what is reserved is IP.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil

from slotcar.base.problems import in_one_line
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.domains.nsi.messages import Criteria, NsiSchedule, PointToPoint
from slotcar.domains.nsi.names import Fault
from slotcar.domains.nsi.rules import NsiRefused
from slotcar.domains.tickets import LARGEST_CLOCK_DIFFERENCE
from slotcar.network import Network
from slotcar.reservation.model import Endpoint, Reservation

MBPS = 1_000_000
#: Parameters of a request that say what NSI has no element for, and what each is where it is left out.
SERVICE, PROTOCOL, SOURCE_PORT, DESTINATION_PORT = "service", "protocol", "sourcePort", "destinationPort"
PARAMETERS = (SERVICE, PROTOCOL, SOURCE_PORT, DESTINATION_PORT)


def host_of(stp: str, network: Network, network_id: str) -> str:
    """The end system of an STP of this domain's network.

    Raises:
        NsiRefused: it is of another network, has a label, or is none of its ports.
    """
    name, _, label = stp.partition("?")
    prefix, _, port = name.rpartition(":")
    if prefix != network_id:
        raise NsiRefused(Fault.UNKNOWN_STP, f"{_shown(stp)} is no STP of {network_id}")
    if label:
        raise NsiRefused(Fault.UNKNOWN_STP, f"{_shown(stp)} has a label: ports of {network_id} have none")
    if port not in network.hosts:
        raise NsiRefused(Fault.UNKNOWN_STP, f"{network_id} has no port {_shown(port)}")
    return port


def stp_of(host: str, network_id: str) -> str:
    return f"{network_id}:{host}"


def criteria_with_times(criteria: Criteria, before: Criteria | None, now: datetime, open_end: timedelta) -> Criteria:
    """The criteria with a whole service and with both times.

    What a modification leaves out is as before. A start that is left out is now, and so is one that is past by no more than
    clocks differ; an end that is left out is `open_end` later.

    Raises:
        NsiRefused: the start is past, the end is not after it, or there is no service.
    """
    schedule, service = criteria.schedule, criteria.service
    if before is not None:
        schedule = NsiSchedule(schedule.start or before.schedule.start, schedule.end or before.schedule.end)
        service = service or before.service
    if service is None:
        raise NsiRefused(Fault.MISSING_PARAMETER, "the request has no p2ps")
    if criteria.capacity_mbps is not None:
        service = PointToPoint(
            criteria.capacity_mbps, service.source, service.destination, service.bidirectional, service.symmetric,
            service.parameters,
        )  # fmt: skip
    start = schedule.start or now
    has_begun = before is not None and start == before.schedule.start
    if not has_begun and start < now:
        if now - start > LARGEST_CLOCK_DIFFERENCE:
            raise NsiRefused(Fault.PAYLOAD, f"the start, {start.isoformat()}, is past: it is {now.isoformat()} here")
        start = now
    end = schedule.end or max(start, now) + open_end
    if end <= max(start, now):
        raise NsiRefused(Fault.PAYLOAD, f"the end, {end.isoformat()}, is not after the start, or past")
    kind = criteria.service_type or (before.service_type if before else "")
    return Criteria(criteria.version, NsiSchedule(start, end), service, kind)


def reservation_of(criteria: Criteria, name: str, owner: str, network: Network, network_id: str) -> Reservation:
    """What this domain's ledger is asked for.

    Raises:
        NsiRefused: an STP, or a parameter, that it does not know.
    """
    service, schedule = criteria.service, criteria.schedule
    assert service is not None
    assert schedule.start is not None
    assert schedule.end is not None
    parameters = dict(service.parameters)
    if unknown := sorted(parameters.keys() - set(PARAMETERS)):
        raise NsiRefused(Fault.UNSUPPORTED_PARAMETER, f"there is no parameter {_shown(unknown[0])} here")
    if service.capacity_mbps <= 0:
        raise NsiRefused(Fault.PAYLOAD, f"a capacity of {service.capacity_mbps} Mbit/s is none")
    try:
        kind, protocol = (
            Service(parameters.get(SERVICE, Service.IP_PREMIUM)),
            Protocol(parameters.get(PROTOCOL, Protocol.UDP)),
        )
        source_port, destination_port = (
            int(parameters[port]) if port in parameters else None for port in (SOURCE_PORT, DESTINATION_PORT)
        )
        return Reservation.constant(
            name=name,
            owner=owner,
            source=Endpoint(host=host_of(service.source, network, network_id), port=source_port),
            destination=Endpoint(host=host_of(service.destination, network, network_id), port=destination_port),
            protocol=protocol,
            service=kind,
            direction=Direction.BOTH if service.bidirectional else Direction.FORWARD,
            windows=[Window(schedule.start, schedule.end)],
            rate_bps=service.capacity_mbps * MBPS,
        )
    except ValueError as error:
        raise NsiRefused(Fault.UNSUPPORTED_PARAMETER, in_one_line(str(error))[:300]) from error


def capacity_mbps(rate_bps: int) -> int:
    """No less than the rate: NSI has whole Mbit/s."""
    return ceil(rate_bps / MBPS)


def _shown(text: str) -> str:
    return text if text.isprintable() and len(text) <= 120 else "what was said"
