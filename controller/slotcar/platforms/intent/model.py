"""`QosIntent`: what one device must do at an instant, vendor-neutral, every number already computed."""

from __future__ import annotations

import typing
from dataclasses import dataclass

from slotcar.base.assured import UNNAMED, AssuredClass, class_key
from slotcar.base.flow_match import FlowMatch as FlowMatch
from slotcar.base.vocabulary import DSCP, Service
from slotcar.managers import Allocation
from slotcar.network.model import InterfaceId
from slotcar.network.shaping import Shaper

if typing.TYPE_CHECKING:
    from slotcar.book.model import Entry
    from slotcar.reservation.model import Slot

#: D7.3 §8.1.3: QBSS has "a minimum bandwidth guarantee 1%".
QBSS_LEAST_PPM = 10_000


class ActiveReservation(typing.Protocol):
    """A reservation that is active at the instant asked for, with its slot that is open then."""

    @property
    def entry(self) -> Entry: ...

    @property
    def slot_number(self) -> int: ...

    @property
    def slot(self) -> Slot: ...


@dataclass(frozen=True, slots=True, order=True)
class EdgeFlow:
    """A reserved flow on its first ingress: classify, meter, police, mark.

    Attributes:
        number: stable on the device for the flow's whole life (ledger number and direction); object handles use it.
        label: `owner/name direction`, for descriptions and remarks.
        cir_bps: committed layer-3 rate, headers counted (GARA §5.1).
        cbs_bytes: committed burst (GARA §5.1).
        pir_bps, pbs_bytes: peak rate and burst of RFC 2698; used by assured-rate only, else equal to the committed.
        assured: of assured-rate, its class in the domain of the interface.
    """

    interface: InterfaceId
    number: int
    label: str
    match: FlowMatch
    service: Service
    cir_bps: int
    cbs_bytes: int
    pir_bps: int
    pbs_bytes: int
    assured: AssuredClass = UNNAMED


@dataclass(frozen=True, slots=True, order=True)
class AggregatePolicer:
    """An SLS at an inter-domain ingress: the behaviour aggregate's rate limit (GARA §4.2).

    Attributes:
        assured: of assured-rate, its class in the domain of the interface.
        arriving: the code points that were agreed on with the neighbour, by drop precedence, where they are others than the
            domain's own, which they become here; else empty.
    """

    interface: InterfaceId
    sls: str
    service: Service
    rate_bps: int
    burst_bytes: int
    excess: str
    assured: AssuredClass = UNNAMED
    arriving: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        return class_key(self.service, self.assured.name)

    @property
    def own(self) -> tuple[int, ...]:
        """The code points in this domain: green, yellow and red of an assured rate, else one."""
        return self.assured.colours if self.service is Service.ASSURED_RATE else (DSCP[self.service],)


@dataclass(frozen=True, slots=True, order=True)
class Queue:
    """The queue of one service, or of one class of the assured rate, on an egress interface.

    Attributes:
        rate_bps: guaranteed layer-2 rate: what the admitted set needs at this instant.
        share_ppm: the service's configured share of the link, the most that `rate_bps` can become.
        ceiling_bps: the most that it may use when others leave bandwidth over.
        rank: 0 is served first.
        queue_bytes: queue length limit.
        assured: of assured-rate, the class that it is of.
        shaper: what it is held to towards a neighbour's SLS; None: nothing is.
    """

    service: Service
    rate_bps: int
    share_ppm: int
    ceiling_bps: int
    rank: int
    queue_bytes: int
    assured: AssuredClass = UNNAMED
    shaper: Shaper | None = None

    @property
    def key(self) -> str:
        """What it is called: its service, with its class where there are several."""
        return class_key(self.service, self.assured.name)


@dataclass(frozen=True, slots=True, order=True)
class Egress:
    """All queues of one egress interface, by rank."""

    interface: InterfaceId
    capacity_bps: int
    queues: tuple[Queue, ...]

    @property
    def has_classes(self) -> bool:
        """Whether the assured rate is several named classes here."""
        return any(queue.assured.name for queue in self.queues)


@dataclass(frozen=True, slots=True)
class QosIntent:
    """A device's whole QoS at one instant. Equal intents render to equal bytes."""

    device: str
    platform: str
    flows: tuple[EdgeFlow, ...]
    aggregates: tuple[AggregatePolicer, ...]
    egress: tuple[Egress, ...]
    #: Edge interfaces, on which unentitled code points are reset to best effort (D7.3 §3.2.1, policing).
    untrusted: tuple[InterfaceId, ...]
    #: Of a place of resource managers: what reservations have of it.
    allocations: tuple[Allocation, ...] = ()
    #: The classes of the assured rate in the device's domain; one without a name where it names none.
    assured: tuple[AssuredClass, ...] = (UNNAMED,)

    @property
    def guarded(self) -> dict[str, tuple[int, ...]]:
        """The code points that must have been given, by the service or the class whose queue they lead into."""
        return {Service.IP_PREMIUM.value: (DSCP[Service.IP_PREMIUM],)} | {one.key: one.dscps for one in self.assured}

    def promised(self, interface: InterfaceId) -> set[str]:
        """The services and classes that an SLS of this interface is for."""
        return {one.key for one in self.aggregates if one.interface == interface and not one.arriving}
