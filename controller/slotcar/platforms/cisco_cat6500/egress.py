"""A port's transmit queues, from its configured shares only: they stay as they are while reservations come and go.

Weights are those of D7.3 §8.1.1: share j = W(j) / sum of W, over-estimated where premium has no priority queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slotcar.base.vocabulary import RESERVED_SERVICES, Service
from slotcar.network.model import Device, InterfaceId
from slotcar.platforms.cisco_cat6500 import marks
from slotcar.platforms.cisco_cat6500.limits import PortType, approximates, port_type, where
from slotcar.platforms.intent.model import Egress
from slotcar.platforms.ios.objects import CosMap, Wrr, WrrQueue
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.platforms.weights import overestimated_ppm

MILLION = 1_000_000
#: The most that one queue can have, percent.
MOST_PERCENT = 99
#: The smallest part of the buffers, percent: D7.3 §8.2 prints 10; smaller ones harm TCP (§8.1.1).
LEAST_LIMIT = 10
#: WRED of a queue's two thresholds, percent of the queue. Out of profile as linux-tc; the second ends at 100.
OUT_OF_PROFILE, IN_PROFILE, EARLY, LATE = (20, 40), (70, 100), (25, 100), (100, 100)


@dataclass(frozen=True, slots=True)
class Threshold:
    """What one of a queue's thresholds drops: nothing of these CoS below `minimum` percent, everything above `maximum`."""

    minimum: int
    maximum: int
    cos: tuple[int, ...]


def queueing(egress: Egress, device: Device) -> tuple[Wrr | None, tuple[Approximation, ...]]:
    """The port's queues, and what they do otherwise than wanted. None where best effort is alone.

    Raises:
        Unrenderable: more classes than queues and no leave to approximate, or shares that leave no weight for the rest.
    """
    name = egress.interface.name
    place, kind = where(device.name, name), port_type(device, name)
    shares = {queue.service: queue.share_ppm for queue in egress.queues if queue.share_ppm > 0}
    shares.setdefault(Service.BEST_EFFORT, 0)
    if set(shares) == {Service.BEST_EFFORT}:
        return None, ()
    if not approximates(device):
        kind.capability.check_queues(len(shares), place)
    priority = kind.capability.priority_queue and Service.IP_PREMIUM in shares
    low, high = _split([one for one in Service if one in shares and not (priority and one is Service.IP_PREMIUM)])
    percents = _percents(shares, low, high, kind, place)
    limits = _limits([sum(shares[one] for one in queue) for queue in (low, high)], kind)
    shapes = _lower(low, shares, egress), _upper(high, shares)
    wrr = Wrr(
        percents,
        limits,
        tuple(_queue(number, shape, kind) for number, shape in enumerate(shapes, 1)),
        tuple(
            CosMap(number, n, one.cos)
            for number, shape in enumerate(shapes, 1)
            for n, one in enumerate(shape, 1)
            if one.cos
        ),
        (marks.COS_PREMIUM,) if priority else (),
    )
    return wrr, tuple(_shared_queues(egress.interface, kind, low, high, percents))


def _queue(number: int, shape: tuple[Threshold, ...], kind: PortType) -> WrrQueue:
    minima, maxima = (tuple(getattr(one, end) for one in shape) for end in ("minimum", "maximum"))
    return WrrQueue(number, minima, maxima) if kind.random_detect else WrrQueue(number, tail=maxima)


def _split(classes: list[Service]) -> tuple[list[Service], list[Service]]:
    """The classes of queue 1 and of queue 2. Three or four share: reserved ones above, best effort and QBSS below.

    A priority queue may have left best effort alone: then queue 2 has network control only.
    """
    if len(classes) == 2:
        return classes[1:], classes[:1]
    return [one for one in classes if one not in RESERVED_SERVICES], [
        one for one in classes if one in RESERVED_SERVICES
    ]


def _percents(
    shares: dict[Service, int], low: list[Service], high: list[Service], kind: PortType, place: str
) -> tuple[int, int]:
    """Weights of both queues, percent. What is promised is rounded up: the reserved, or else QBSS's least bandwidth."""
    if not high:
        return MOST_PERCENT, 100 - MOST_PERCENT
    priority_ppm = 0 if Service.IP_PREMIUM in high else shares.get(Service.IP_PREMIUM, 0)
    left_ppm = max(1, MILLION - priority_ppm)
    promised = high if any(one in RESERVED_SERVICES for one in high) else low
    share_ppm = -(-sum(shares[one] for one in promised) * MILLION // left_ppm)
    percent = max(1, -(-share_ppm // 10_000))
    if percent > MOST_PERCENT:
        raise Unrenderable(
            f"{place}: {' and '.join(promised)} need {percent} % of what strict priority leaves, and the weights of"
            f" two queues give {MOST_PERCENT} % at most"
        )
    if promised is high and not kind.capability.priority_queue:
        percent = min(MOST_PERCENT, -(-overestimated_ppm(share_ppm) // 10_000))
    return (100 - percent, percent) if promised is high else (percent, 100 - percent)


def _limits(shares_ppm: list[int], kind: PortType) -> tuple[int, int]:
    """Parts of the port's buffers, percent, after the shares. Beside them the priority queue has as much as queue 2:
    so D7.3's 80 and 10 on a 1p2q2t port (§8.2) are the whole."""
    ones = 2 if kind.capability.priority_queue else 1
    low_ppm, high_ppm = shares_ppm
    wanted = -(-100 * high_ppm // max(1, ones * high_ppm + low_ppm))
    high = min(max(wanted, LEAST_LIMIT), (100 - LEAST_LIMIT) // ones)
    return 100 - ones * high, high


def _unpromised(shares: dict[Service, int]) -> list[int]:
    """CoS that go where best effort goes: nobody's, and those of a service without a share."""
    classes = [marks.COS_BEST_EFFORT, *marks.COS_OTHER]
    if Service.ASSURED_RATE not in shares:
        classes += [marks.COS_OUT, marks.COS_IN]
    if Service.IP_PREMIUM not in shares:
        classes.append(marks.COS_PREMIUM)
    return classes


def _lower(low: list[Service], shares: dict[Service, int], egress: Egress) -> tuple[Threshold, Threshold]:
    """Queue 1. QBSS beside best effort is dropped first: at the ratio of both queues' lengths (D7.3 §8.1.3)."""
    if Service.BEST_EFFORT not in low:
        return Threshold(*LATE, ()), Threshold(*LATE, (marks.COS_QBSS,))
    lengths = {queue.service: queue.queue_bytes for queue in egress.queues}
    qbss, best = lengths.get(Service.QBSS, 0), lengths.get(Service.BEST_EFFORT, 0)
    maximum = min(100, max(1, 100 * qbss // max(1, best)))
    minimum = max(1, maximum * EARLY[0] // 100)
    return (
        Threshold(minimum, maximum, (marks.COS_QBSS,)),
        Threshold(*EARLY, tuple(sorted(_unpromised(shares)))),
    )


def _upper(high: list[Service], shares: dict[Service, int]) -> tuple[Threshold, Threshold]:
    """Queue 2: what it is for, and network control."""
    control = marks.COS_CONTROL
    if Service.BEST_EFFORT in high:
        return Threshold(*EARLY, ()), Threshold(*EARLY, tuple(sorted((*_unpromised(shares), *control))))
    premium = (marks.COS_PREMIUM,) if Service.IP_PREMIUM in high else ()
    if Service.ASSURED_RATE not in high:
        return Threshold(*LATE, ()), Threshold(*LATE, tuple(sorted((*premium, *control))))
    conforming = tuple(sorted((marks.COS_IN, *premium, *control)))
    return Threshold(*OUT_OF_PROFILE, (marks.COS_OUT,)), Threshold(*IN_PROFILE, conforming)


def _shared_queues(
    interface: InterfaceId, kind: PortType, low: list[Service], high: list[Service], percents: tuple[int, int]
) -> Iterator[Approximation]:
    losses = (
        "qbss is dropped first and has no bandwidth of its own",
        "excess of the assured rate is dropped at 40 % of the queue, so premium waits for it",
    )
    for number, services in ((2, high), (1, low)):
        if len(services) > 1:
            words = (
                f"{interface.name}: {' and '.join(services)} share queue {number} of a {kind.name} port with"
                f" {percents[number - 1]} % of the weights; {losses[number - 1]}"
            )
            yield Approximation(interface.device, f"{interface.name} queue {number}", words)
