"""The links at the top of every page. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from slotcar.book.rules.roles import Caller, may_overview
from slotcar.policy.asking import may


@dataclass(frozen=True, slots=True)
class Link:
    """Attributes:
    key: what leads there from the keyboard, after `g`.
    """

    address: str
    words: str
    key: str
    here: bool = False


_EVERYBODY = (
    ("/", "Now", "n"), ("/reservations", "Reservations", "r"), ("/boundaries", "Boundaries", "b"),
    ("/request", "Request", "q"), ("/costs", "Costs", "t"), ("/plan", "Plan", "p"),
)  # fmt: skip
_WITH_OVERVIEW = (
    ("/approvals", "Approvals", "a"), ("/links", "Links", "l"), ("/map", "Map", "m"), ("/connections", "Connections", "e"),
    ("/devices", "Devices", "d"), ("/rollback", "Rollback", "k"), ("/policies", "Policies", "w"),
    ("/audits", "Audits", "s"),
)  # fmt: skip
#: By the page, the verb of the API without which it is not shown.
_SHOWN_BY = {
    "/": "list", "/reservations": "list", "/boundaries": "timeline", "/costs": "costs", "/plan": "plan",
    "/approvals": "approvals", "/links": "resources", "/map": "network", "/connections": "connections",
    "/devices": "device_states", "/rollback": "revisions", "/audits": "audits", "/usage": "usage", "/log": "events",
}  # fmt: skip
_LAST = (("/usage", "Use", "u"), ("/log", "Log", "o"), ("/account", "Account", "c"))


def links_for(caller: Caller, path: str) -> tuple[Link, ...]:
    """The links of the pages that the caller may see; `here` is the link whose page `path` belongs to."""
    links = (*_EVERYBODY, *(_WITH_OVERVIEW if may_overview(caller) else ()), *_LAST)
    return tuple(
        Link(address, words, key, path == address or (address != "/" and path.startswith(f"{address}/")))
        for address, words, key in links
        if address not in _SHOWN_BY or may(caller, _SHOWN_BY[address])
    )
