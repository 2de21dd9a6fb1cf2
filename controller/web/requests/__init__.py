"""A request: what is free is asked as it is written, then it is held or reserved."""

from controller.web.requests.pages import PAGES

__all__ = ["PAGES"]
