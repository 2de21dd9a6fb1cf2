"""Precedences: what a 12000 tells services by (D7.3 §8.3), and the class maps for them."""

from __future__ import annotations

from slotcar.base.assured import AssuredClass
from slotcar.base.vocabulary import PRECEDENCE, Service
from slotcar.platforms.ios.objects import PREFIX

PREMIUM = PRECEDENCE[Service.IP_PREMIUM]
SCAVENGER = PRECEDENCE[Service.QBSS]
BEST_EFFORT = PRECEDENCE[Service.BEST_EFFORT]
#: Assured rate, in and out of its profile. No service of the vocabulary has the precedence below its own.
IN, OUT = PRECEDENCE[Service.ASSURED_RATE], PRECEDENCE[Service.ASSURED_RATE] - 1
#: Standing classes and the precedences in each, in the order in which they are asked.
EF, AF, AF_IN, QBSS = (f"{PREFIX}{name}" for name in ("EF", "AF", "AF-IN", "QBSS"))
POINTS: dict[str, tuple[int, ...]] = {EF: (PREMIUM,), AF: (OUT, IN), AF_IN: (IN,), QBSS: (SCAVENGER,)}
#: WRED thresholds in packets and the drop denominator, as D7.3 §8.3 prints them for a 2.5 Gb/s interface: guaranteed
#: traffic, and the rest. For a shorter queue they shrink with it.
GUARANTEED = (2_000, 3_000, 1)
UNGUARANTEED = (500, 1_000, 1)
PROFILES = {IN: GUARANTEED, OUT: UNGUARANTEED, SCAVENGER: UNGUARANTEED, BEST_EFFORT: UNGUARANTEED}
#: The queue that those thresholds are for.
PROFILED_BYTES = 8_000_000


def precedences_of(one: AssuredClass) -> tuple[int, ...]:
    """The precedences of an assured class, each once, the conforming one first."""
    if not one.name:
        return IN, OUT
    return tuple(dict.fromkeys(dscp // 8 for dscp in one.dscps))


def exceeding_of(one: AssuredClass) -> int:
    """What exceeds the committed rate becomes: best effort where the class has one precedence alone."""
    return (*precedences_of(one), BEST_EFFORT)[1]
