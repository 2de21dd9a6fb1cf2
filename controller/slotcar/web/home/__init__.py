"""The first page: what happens next and where, what is in trouble, what waits for a decision."""

from slotcar.web.home.pages import PAGES

__all__ = ["PAGES"]
