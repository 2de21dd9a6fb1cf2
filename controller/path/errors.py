"""Why there is no path, in words."""

from __future__ import annotations

from controller.problems import SlotcarError


class NoPath(SlotcarError):
    """The endpoints are not known, not connected, or the way between them cannot carry the service."""
