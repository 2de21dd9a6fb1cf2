"""Reservations over several domains: what each domain has of them, and what they rest on."""

from slotcar.web.connections.pages import PAGES

__all__ = ["PAGES"]
