"""Boundaries: what starts and ends when, how far each device is, and what changes on it."""

from slotcar.web.boundaries.pages import PAGES

__all__ = ["PAGES"]
