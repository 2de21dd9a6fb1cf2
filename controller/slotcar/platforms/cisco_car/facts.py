"""What the rest of Slotcar asks of `cisco-car`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictInt

from slotcar.base.registry import Facts, TransportKind, Watch
from slotcar.base.vocabulary import Marking, Service
from slotcar.platforms.ios.facts import FlowLists
from slotcar.platforms.ios.interface_names import full_name

#: CAR's own lists by precedence (1 to 99), one for each of the eight.
FIRST_PRECEDENCE_ACL, PRECEDENCE_ACLS = 60, 8


class CarOptions(FlowLists):
    """`slotcar_options` of a router with CAR.

    Attributes:
        first_precedence_acl: the first of 8 `access-list rate-limit`, one for each precedence.
    """

    first_precedence_acl: Annotated[StrictInt, Field(ge=1, le=100 - PRECEDENCE_ACLS)] = FIRST_PRECEDENCE_ACL


FACTS = Facts(
    classes_words="fair-queue tos tells four queues apart by two bits of the precedence, and two of them are those of"
    " ip-premium and best-effort: leave it without classes",
    counts=True,
    bounds_delay=True,
    transport=TransportKind.IOS,
    options=CarOptions,
    markings=(Marking.PRECEDENCE,),
    watch=Watch.SYSLOG,
    interface_name=full_name,
    # ToS-based WFQ goes by the two lower bits of the precedence: 1 and 7 are served as premium's 5.
    served_as={1: Service.IP_PREMIUM, 7: Service.IP_PREMIUM},
    resets=frozenset({Service.QBSS}),
    number_words=("rates go in steps of 8 kbit/s, and a burst is at least the rate / 2000 (rate-limit, IOS 12.1)",),
)
