"""What can go wrong with the lab, in words."""

from __future__ import annotations

from slotcar.base.problems import SlotcarError


class LabError(SlotcarError):
    """The lab cannot do what was asked; the message says what is missing or what to do."""
