"""What the rest of Slotcar asks of `juniper-junos`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StrictBool, StrictInt, model_validator

from slotcar.base.registry import Facts, RouterWithHardware, ShaperFacts, TransportKind, Watch, names_in
from slotcar.base.units import UnitError
from slotcar.base.vocabulary import ETHERNET_HEADER_BYTES, Marking

#: Queues of Junos's own forwarding classes `best-effort` and `network-control`; the others are Slotcar's to choose from.
RESERVED_QUEUES = (0, 3)
Queue = Annotated[StrictInt, Field(ge=0, le=7)]
ClassName = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


class JunosOptions(RouterWithHardware):
    """`slotcar_options` of a router with Junos.

    Attributes:
        premium_queue, assured_queue, qbss_queue: the queue of each of Slotcar's three forwarding classes.
        best_effort_class, network_control_class: the router's own forwarding classes of queues 0 and 3.
        network_control_percent: what is left to the router's own control traffic on every interface, beside the shares.
        ecn: its schedulers can mark instead of dropping.
        colour_aware: one policer for all colours of an assured SLS (RFC 2697).
        shape: names, apart by blanks or commas, of interfaces whose line is faster than their capacity.
        input_filter: an operator's filter that is attached to the interface and gets Slotcar's term in front; written
            `input_filter:INTERFACE`.
    """

    PER_INTERFACE: ClassVar[tuple[str, ...]] = ("input_filter", "transmit_ring")
    NAME_INTERFACES: ClassVar = ("shape",)

    premium_queue: Queue = 4
    assured_queue: Queue = 5
    qbss_queue: Queue = 6
    best_effort_class: ClassName = "best-effort"
    network_control_class: ClassName = "network-control"
    network_control_percent: Annotated[StrictInt, Field(ge=1, le=50)] = 5
    ecn: StrictBool = False
    colour_aware: StrictBool = False
    shape: Annotated[str, Field(strict=True)] = ""
    input_filter: ClassName | None = None

    @model_validator(mode="after")
    def _has_three_queues(self) -> JunosOptions:
        queues = (self.premium_queue, self.assured_queue, self.qbss_queue)
        if len({*queues, *RESERVED_QUEUES}) < len(queues) + len(RESERVED_QUEUES):
            words = ", ".join(map(str, queues))
            raise UnitError(
                "are not three queues of their own", words, "choose three of 1, 2 and 4 to 7: Junos's own are 0 and 3"
            )
        return self

    def queues_of_classes(self, count: int) -> tuple[int, ...]:
        """The queues of so many classes of the assured rate, in their order: its own first, then nobody's."""
        taken = {*RESERVED_QUEUES, self.premium_queue, self.assured_queue, self.qbss_queue}
        return (self.assured_queue, *(queue for queue in range(8) if queue not in taken))[:count]

    @property
    def shaped(self) -> tuple[str, ...]:
        return names_in(self.shape)


def _grain_bps(_: int) -> int:
    return 1


FACTS = Facts(
    transport=TransportKind.NETCONF,
    options=JunosOptions,
    markings=(Marking.DSCP,),
    number_words=("a burst is at least what the rate brings in 5 ms (Junos, Traffic Policers User Guide)",),
    watch=Watch.NETCONF,
    counts=True,
    bounds_delay=True,
    most_assured_classes=4,
    remarks=True,
    shaper=ShaperFacts(_grain_bps, ETHERNET_HEADER_BYTES),
    classes_words="Junos has eight queues: its own two, and those of ip-premium and qbss; name four classes at most",
)
