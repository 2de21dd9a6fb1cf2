"""What a datagram of syslog means: which device of the inventory tells of a change of its configuration.

`%SYS-5-CONFIG_I` and the others are IOS's ("System Message Guide", SYS and PARSER); what stands before them is RFC 3164's
or IOS's own header: a priority, a number, an origin (`logging origin-id`), a time. None of it is authenticated: what
follows from a datagram is a reading of the device, no more often than `pending` allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from slotcar.base.problems import printable
from slotcar.rollout.ios.applets import PREFIX

#: RFC 5426 §3.2: no receiver must take more than 2048 octets; what is asked for stands before that.
LONGEST_DATAGRAM = 2048
_CHANGES = re.compile(
    r"%(?P<name>SYS-\d-CONFIG_I|SYS-\d-CONFIG_P|PARSER-\d-CFGLOG_LOGGEDCMD|SYS-\d-RESTART)\s*:\s*(?P<words>.*)"
)
_WORD = re.compile(r"[A-Za-z0-9._:-]+")
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Addresses:
    """Which device sends from an address; None where several do."""

    by_address: Mapping[str, str | None]
    names: frozenset[str]

    def device(self, source: str, header: str) -> str | None:
        """The device whose name stands in the message's header, as a syslog server that passes messages on leaves it; else
        the one that has the address."""
        words = {word.strip(".:") for word in _WORD.findall(header)}
        named = self.names & (words | {word.partition(".")[0] for word in words})
        return next(iter(named)) if len(named) == 1 else self.by_address.get(source)


def change_in(datagram: bytes, source: str, addresses: Addresses) -> tuple[str, str] | None:
    """The device and, in words, what it tells; None where it is no change, nobody's, or a router's own step."""
    text = datagram[:LONGEST_DATAGRAM].decode("utf-8", "replace")
    match = _CHANGES.search(text)
    if match is None or f"(EEM:{PREFIX}" in match["words"]:
        return None
    device = addresses.device(source, text[: match.start()])
    return None if device is None else (device, printable(f"%{match['name']}: {match['words'].strip()}")[:_LONGEST])
