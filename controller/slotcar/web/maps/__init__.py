"""The map: devices where the inventory places them, links coloured by use, drawn on the server."""

from slotcar.web.maps.pages import PAGES

__all__ = ["PAGES"]
