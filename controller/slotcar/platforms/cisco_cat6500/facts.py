"""What the rest of Slotcar asks of `cisco-cat6500`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import StrictBool

from slotcar.base.registry import Facts, RouterWithHardware, TransportKind, Watch
from slotcar.base.vocabulary import Marking
from slotcar.platforms.ios.interface_names import full_name


class CatalystOptions(RouterWithHardware):
    """`slotcar_options` of a Catalyst 6500.

    Attributes:
        port_type: the transmit queues of its ports; 1p2q2t are Gigabit Ethernet modules of D7.3's time.
        approximate: classes may share a queue where they are more than the queues, and the excess of an assured SLS may
            become DSCP 14 where best effort was wanted.
        microflow: `police flow` for premium flows with both ports bound.
    """

    PER_INTERFACE: ClassVar = ("port_type", "transmit_ring")

    port_type: Literal["1p2q2t", "2q2t"] = "1p2q2t"
    approximate: StrictBool = False
    microflow: StrictBool = False


FACTS = Facts(
    classes_words="a port has two queues by weight, and an assured rate takes both thresholds of its:"
    " keep the classes behind this switch",
    transport=TransportKind.IOS,
    options=CatalystOptions,
    markings=(Marking.DSCP, Marking.PRECEDENCE),
    watch=Watch.SYSLOG,
    police_floor_bps=32_768,
    interface_name=full_name,
    counts=True,
    bounds_delay=True,
    number_words=(
        "rates go in the hardware's steps, and a burst is at least the rate / 4000 (configuration guide 12.1E)",
        "a flow's burst is at least what was measured on this hardware, as far as the device's ceiling lets it: 400 ms of"
        " its rate for TCP, 4 ms for UDP (D7.3 §8.1.1)",
    ),
)
