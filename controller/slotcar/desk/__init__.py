"""Prepares and runs a verb for a caller, and answers with its document: a family of verbs is a module here."""

from slotcar.desk import (
    connections,
    costs,
    devices,
    groups,
    offers,
    plans,
    policies,
    reservations,
    usage,
    views,
    webhooks,
)
from slotcar.desk.desk import ANSWERS, Desk

__all__ = [
    "ANSWERS",
    "Desk",
    "connections",
    "costs",
    "devices",
    "groups",
    "offers",
    "plans",
    "policies",
    "reservations",
    "usage",
    "views",
    "webhooks",
]
