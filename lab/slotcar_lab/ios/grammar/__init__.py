"""What a Cisco router's command line takes, as data: one table per platform, and a check of texts against it."""

from __future__ import annotations

from slotcar_lab.ios.grammar.checking import Problem, check, refused
from slotcar_lab.ios.grammar.table import PLATFORMS, Grammar, ParsedLine, Refusal, load

__all__ = ["PLATFORMS", "Grammar", "ParsedLine", "Problem", "Refusal", "check", "load", "refused"]
