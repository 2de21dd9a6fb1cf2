"""Timeline: the ledger's entries in, slot boundaries and the active set out. Knows no device."""

from slotcar.timeline.timeline import Active, active_at, boundaries, next_boundary

__all__ = ["Active", "active_at", "boundaries", "next_boundary"]
