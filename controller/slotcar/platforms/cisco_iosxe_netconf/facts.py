"""What the rest of Slotcar asks of `cisco-iosxe-netconf`."""

from __future__ import annotations

from pydantic import field_validator

from slotcar.base.registry import Facts, TransportKind, Watch
from slotcar.base.units import UnitError
from slotcar.base.vocabulary import Marking
from slotcar.platforms.ios.facts import SHAPER, ModularOptions
from slotcar.platforms.ios.interface_names import full_name


class NetconfOptions(ModularOptions):
    """`slotcar_options` of a router that is configured by NETCONF: those of the modular QoS, as far as the models go."""

    @field_validator("colour_aware")
    @classmethod
    def _has_no_colours(cls, wanted: bool) -> bool:
        if wanted:
            message = "is not in the policy model, which has no colour-aware policer (conform-color)"
            raise UnitError(message, wanted, "leave it out, or use the platform cisco-mqc")
        return wanted


FACTS = Facts(
    transport=TransportKind.NETCONF,
    options=NetconfOptions,
    markings=(Marking.DSCP,),
    watch=Watch.NETCONF,
    interface_name=full_name,
    counts=True,
    bounds_delay=True,
    most_assured_classes=8,
    remarks=True,
    shaper=SHAPER,
)
