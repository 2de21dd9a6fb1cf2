"""What waits for a decision, and the decision: on top of the capacity, with what it changes on which device."""

from controller.web.approvals.pages import PAGES

__all__ = ["PAGES"]
