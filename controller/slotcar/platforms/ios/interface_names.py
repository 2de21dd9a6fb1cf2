"""Interfaces by the names that IOS prints: it takes `Te0/0/1`, and a configuration says `TenGigabitEthernet0/0/1`."""

from __future__ import annotations

import re
from difflib import get_close_matches

from slotcar.base.units import UnitError

#: Types of interfaces (IOS and IOS-XE, "interface"). One that is not here is taken as it is written.
TYPES = (
    "Ethernet", "FastEthernet", "GigabitEthernet", "TwoGigabitEthernet", "FiveGigabitEthernet", "TenGigabitEthernet",
    "TwentyFiveGigE", "FortyGigabitEthernet", "FiftyGigE", "HundredGigE", "TwoHundredGigE", "FourHundredGigE",
    "AppGigabitEthernet", "ATM", "POS", "Serial", "Hssi", "Fddi", "TokenRing", "SRP", "Loopback", "Tunnel", "Vlan",
    "Port-channel", "BDI", "BVI", "Dialer", "Multilink", "Virtual-Template", "Null", "Cellular", "Async",
)  # fmt: skip
#: What IOS prints as a short name although more than one type begins so.
_SHORT = {"tw": "TwoGigabitEthernet", "fo": "FortyGigabitEthernet", "po": "Port-channel", "f": "FastEthernet"}
_NAME = re.compile(r"([A-Za-z][A-Za-z-]*?)(\d[\d/.:]*)")
#: A type so near to a known one is a slip of the pen.
_NEAR = 0.85


def full_name(written: str) -> str:
    """The name that a configuration has.

    >>> full_name("Te0/0/1"), full_name("gi1/0.100"), full_name("POS1/0/0")
    ('TenGigabitEthernet0/0/1', 'GigabitEthernet1/0.100', 'POS1/0/0')

    Raises:
        UnitError: the type is short for several, or misspelt, or there is no number.
    """
    match = _NAME.fullmatch(written)
    if match is None:
        raise UnitError("is no name of an interface of IOS", written, "say the type and the number, such as `Gi0/1`")
    kind, number = match[1].lower(), match[2]
    known = {one.lower(): one for one in TYPES}
    if whole := known.get(kind) or _SHORT.get(kind):
        return whole + number
    meant = [one for one in TYPES if one.lower().startswith(kind)]
    if len(meant) == 1:
        return meant[0] + number
    if meant:
        raise UnitError("is short for several interfaces", written, f"say which: {', '.join(meant)}")
    if near := get_close_matches(kind, known, 1, _NEAR):
        raise UnitError("is no name of an interface of IOS", written, f"did you mean `{known[near[0]]}{number}`?")
    return written
