"""What the rest of Slotcar asks of `resource-manager`: places whose managers have call-outs of their own."""

from __future__ import annotations

from slotcar.base.registry import DeviceOptions, Facts, TransportKind
from slotcar.base.vocabulary import Marking

FACTS = Facts(
    transport=TransportKind.CALL_OUTS,
    options=DeviceOptions,
    markings=(Marking.DSCP,),
    acts_with=None,  # a controller must be there at the instant
    flows_share=False,
)
