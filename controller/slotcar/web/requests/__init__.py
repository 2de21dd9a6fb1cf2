"""A request: what is free is asked as it is written, then it is held or reserved."""

from slotcar.web.requests.pages import PAGES

__all__ = ["PAGES"]
