"""Links and SLSs: what is reserved and free of each over time."""

from slotcar.web.links.pages import PAGES

__all__ = ["PAGES"]
