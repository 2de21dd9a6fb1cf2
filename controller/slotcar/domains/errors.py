"""What may be wrong between domains, in words that name the domain."""

from __future__ import annotations

from slotcar.base.problems import SlotcarError


class KeyUnusable(SlotcarError):
    """A domain's key or certificate cannot be used; the message names the file."""


class NotAuthentic(SlotcarError):
    """A message or a ticket is not what it has to be: of another domain, too old, forged, for somebody else."""


class TicketRefused(NotAuthentic):
    """A ticket does not cover what it is shown for."""


class SegmentRefused(SlotcarError):
    """A domain cannot carry its segment; the message has its own numbers."""


class NotThatWay(SlotcarError):
    """A request's way over the domains is none that can be asked for: a loop, a stranger, a link that is not agreed on."""


class ConnectionRefused(SlotcarError):
    """A connection over several domains did not come about, or did not change; the message says which domain said no."""


class ConnectionUndecided(ConnectionRefused):
    """A connection is not in force, and may still come to be; the message says who is waited for."""


class UnknownConnection(SlotcarError):
    def __init__(self, connection: str) -> None:
        super().__init__(f"there is no connection {connection}")
