"""What the policies of a 12000 count. Its cos-queue-groups print averages of their queues' lengths and drops, and no bytes:
where they queue, only the policers on the way in count."""

from __future__ import annotations

from slotcar.base.vocabulary import Service
from slotcar.platforms.cisco_gsr.marks import AF, EF, QBSS
from slotcar.platforms.ios.counters import ModularCounters
from slotcar.platforms.ios.objects import DEFAULT_CLASS

COUNTERS = ModularCounters(
    {EF: Service.IP_PREMIUM, AF: Service.ASSURED_RATE, QBSS: Service.QBSS, DEFAULT_CLASS: Service.BEST_EFFORT}
)
