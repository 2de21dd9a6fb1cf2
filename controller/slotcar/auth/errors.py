"""What is wrong with an issuer. Nothing here loads what checks signatures."""

from __future__ import annotations

from slotcar.base.problems import SlotcarError


class ProviderUnreachable(SlotcarError):
    """An issuer does not answer, or answers what cannot be used; later it may."""
