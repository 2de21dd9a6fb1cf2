"""Options that platforms with IOS's command line have in common."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, field_validator

from slotcar.base.registry import RouterWithHardware, ShaperFacts, names_in
from slotcar.base.units import UnitError, parse_rate_bps
from slotcar.base.vocabulary import ETHERNET_HEADER_BYTES

ACTS_WITH = "eem"
ACTS_WORDS = "cisco-mqc with `slotcar_options: {eem: true}`"
#: Numbers of lists for flows that are Slotcar's unless the options say otherwise.
FIRST_FLOW_ACL, FLOW_ACLS = 2_600, 100
#: Extended lists, and those of the expanded range.
_EXTENDED = (range(100, 200), range(2_000, 2_700))


class FlowLists(RouterWithHardware):
    """Options of platforms that know a flow by a numbered list.

    Attributes:
        first_flow_acl: the first of 100 extended lists for flows.
    """

    first_flow_acl: StrictInt = FIRST_FLOW_ACL

    @field_validator("first_flow_acl")
    @classmethod
    def _are_extended_lists(cls, first: int) -> int:
        if not any(first in one and first + FLOW_ACLS - 1 in one for one in _EXTENDED):
            hint = f"extended lists are 100 to 199 and 2000 to 2699, and Slotcar takes {FLOW_ACLS} of them"
            raise UnitError("leads out of the extended lists", first, hint)
        return first

    @property
    def flow_acls(self) -> range:
        return range(self.first_flow_acl, self.first_flow_acl + FLOW_ACLS)


class ModularOptions(RouterWithHardware):
    """Options of platforms with IOS's modular QoS, by command line or by NETCONF.

    Attributes:
        hqf: it has the hierarchical queueing framework (IOS 12.4(20)T and later).
        ecn: its WRED can mark instead of dropping (IOS 12.2(8)T and later).
        shape: names, apart by blanks or commas, of interfaces whose line is faster than their capacity.
        colour_aware: one policer for all colours of an assured SLS (RFC 2697).
        police_at_most: the highest rate that its policer takes, bit/s; None: as the releases' references say.
        shape_at_most: likewise of `shape average`.
    """

    NAME_INTERFACES: ClassVar = ("shape",)

    hqf: StrictBool = True
    ecn: StrictBool = True
    shape: Annotated[str, Field(strict=True)] = ""
    colour_aware: StrictBool = False
    police_at_most: Annotated[int, BeforeValidator(parse_rate_bps)] | None = None
    shape_at_most: Annotated[int, BeforeValidator(parse_rate_bps)] | None = None

    @property
    def shaped(self) -> tuple[str, ...]:
        return names_in(self.shape)


def _grain_bps(_: int) -> int:
    return 8_000


#: `shape average` of a class (IOS 12.2T command reference). It counts the header at least, and what more it counts makes it
#: slower, and never faster.
SHAPER = ShaperFacts(_grain_bps, ETHERNET_HEADER_BYTES)
