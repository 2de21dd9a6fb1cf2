"""What waits for a decision, and the decision: on top of the capacity, with what it changes on which device."""

from slotcar.web.approvals.pages import PAGES

__all__ = ["PAGES"]
