"""Boundaries: what starts and ends when, how far each device is, and what changes on it."""

from controller.web.boundaries.pages import PAGES

__all__ = ["PAGES"]
