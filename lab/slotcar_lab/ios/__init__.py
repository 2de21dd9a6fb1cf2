"""Cisco routers in software, for tests, measurements and the lab: a command line over SSH with IOS's manners.

NAPALM's `ios` driver and `cisco.ios` drive it as they are. It forwards no packet. What it takes is data:
`lab/slotcar_lab/ios/grammar/*.yml`.
"""

from __future__ import annotations

from slotcar_lab.ios.counters import Counters
from slotcar_lab.ios.faults import (
    DropOnCopy,
    DropOnLine,
    Fault,
    FullFlash,
    HangAfter,
    Meanwhile,
    RefuseLine,
    Slow,
    WrongPassword,
)
from slotcar_lab.ios.fleet import Router, Routers
from slotcar_lab.ios.grammar import PLATFORMS, Problem, check, refused
from slotcar_lab.ios.machine import Received

__all__ = [
    "PLATFORMS",
    "Counters",
    "DropOnCopy",
    "DropOnLine",
    "Fault",
    "FullFlash",
    "HangAfter",
    "Meanwhile",
    "Problem",
    "Received",
    "RefuseLine",
    "Router",
    "Routers",
    "Slow",
    "WrongPassword",
    "check",
    "refused",
]
