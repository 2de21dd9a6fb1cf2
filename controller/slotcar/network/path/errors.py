"""Why there is no path, in words."""

from __future__ import annotations

from slotcar.base.problems import SlotcarError


class NoPath(SlotcarError):
    """The endpoints are not known, not connected, or the way between them cannot carry the service.

    `key` is the reservation's key that is to blame, where there is one.
    """

    def __init__(self, message: str, key: str = "") -> None:
        self.key = key
        super().__init__(message)
