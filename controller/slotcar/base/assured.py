"""The classes of the assured rate: each with its code points, its share of a link, its queue and what it drops early.

A domain may have several (D7.3 §8.3 has four, by IP precedence 1 to 4). One that names none has one, without a name.
"""

from __future__ import annotations

from dataclasses import dataclass

from slotcar.base.vocabulary import ASSURED_DSCPS, DSCP, Service


@dataclass(frozen=True, slots=True, order=True)
class EarlyDrop:
    """What RED or WRED drops of one colour before its queue is full.

    Attributes:
        low_percent, high_percent: of the queue: nothing is dropped below the one, everything above the other.
        one_of: one of so many packets is dropped where the mean queue is at the upper one.
    """

    low_percent: int
    high_percent: int
    one_of: int


@dataclass(frozen=True, slots=True, order=True)
class AssuredClass:
    """One class of the assured rate, as a domain has it.

    Attributes:
        name: empty where the domain has one alone.
        number: its place among the domain's, from 0.
        share_ppm: of a link, parts per million; 0 where the class has no name, for the interface's share says it then.
        dscps: its code points by drop precedence, green first (RFC 2597); one to three.
        drops: for each code point, what is dropped early; empty for what the platform has of itself.
        queue_us: how long a full queue takes at the link's rate; None for what all queues have.
    """

    name: str = ""
    number: int = 0
    share_ppm: int = 0
    dscps: tuple[int, ...] = ASSURED_DSCPS
    drops: tuple[EarlyDrop, ...] = ()
    queue_us: int | None = None

    @property
    def key(self) -> str:
        """What its queue and its resources are called: `assured-rate`, or `assured-rate/gold`."""
        return class_key(Service.ASSURED_RATE, self.name)

    @property
    def colours(self) -> tuple[int, int, int]:
        """Code points of green, yellow and red traffic (RFC 2698). With two, yellow and red are the second; with one there
        is no mark for what exceeds the committed rate, and it becomes best effort."""
        green, *others = self.dscps
        if not others:
            return green, DSCP[Service.BEST_EFFORT], DSCP[Service.BEST_EFFORT]
        return green, others[0], others[-1]


#: The class of a domain that names none.
UNNAMED = AssuredClass()


def class_key(service: Service, assured_class: str) -> str:
    """The name of a service's queue, or of that of one of its classes.

    >>> class_key(Service.ASSURED_RATE, "gold"), class_key(Service.IP_PREMIUM, "")
    ('assured-rate/gold', 'ip-premium')
    """
    return f"{service.value}/{assured_class}" if assured_class else service.value
