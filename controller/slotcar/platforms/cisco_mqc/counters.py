"""What the policies of `cisco-mqc` count."""

from __future__ import annotations

from slotcar.base.vocabulary import Service
from slotcar.platforms.ios.counters import ModularCounters
from slotcar.platforms.ios.modular import AF1, EF, QBSS
from slotcar.platforms.ios.objects import DEFAULT_CLASS

COUNTERS = ModularCounters(
    {EF: Service.IP_PREMIUM, AF1: Service.ASSURED_RATE, QBSS: Service.QBSS, DEFAULT_CLASS: Service.BEST_EFFORT}
)
