"""Reservations: the list, and one with its slots, path, commands and history."""

from slotcar.web.reservations.pages import PAGES

__all__ = ["PAGES"]
