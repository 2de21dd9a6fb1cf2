"""The quanta of ets: how many bytes each band behind the strict one sends in a round (deficit round robin).

The part of a band is its quantum over the round. Of what is promised it is rounded up, an assured rate's is over-estimated
as D7.3 §8.1.1 found it to need, and best effort has the rest of the round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slotcar.base.vocabulary import RESERVED_SERVICES, Service
from slotcar.network.variables import format_share
from slotcar.platforms.intent.model import QBSS_LEAST_PPM, Egress
from slotcar.platforms.linux_tc.limits import ETS
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.platforms.weights import overestimated_ppm

MILLION = 1_000_000
#: The shortest round in which 1 %, QBSS's guarantee, is the least quantum: short, because a band waits for the others'.
ROUND_BYTES = 25_600
#: Over-estimating takes from best effort, and leaves it this much of the round where it was guaranteed as much.
LEFT_PPM = 10_000
#: What the shares must leave best effort, of the link: below it no round that ets takes is fine enough.
LEAST_LEFT_PPM = 1_000
#: Bands whose share is less than the least quantum take the difference off best effort, whose part is this many times their
#: quanta, where ets can.
REST_PER_SMALL = 12
BEST_EFFORT, QBSS = Service.BEST_EFFORT.value, Service.QBSS.value


@dataclass(frozen=True, slots=True)
class Round:
    """`shares_ppm`: each band's guarantee, of what premium leaves; `quanta` what it sends in a round, bytes. Both in the
    bands' order."""

    shares_ppm: dict[str, int]
    quanta: dict[str, int]

    @property
    def length(self) -> int:
        return sum(self.quanta.values())


def round_of(egress: Egress, where: str) -> Round:
    """
    Raises:
        Unrenderable: the shares leave best effort too little; refused at every plan, not only once all of it is reserved.
    """
    _check_shares(egress, where)
    rates = {queue.key: queue.rate_bps for queue in egress.queues if queue.service is not Service.IP_PREMIUM}
    left_bps = sum(rates.values())
    shares = {key: -(-rate_bps * MILLION // left_bps) for key, rate_bps in rates.items()}
    promised = {key: ppm for key, ppm in shares.items() if key != BEST_EFFORT}
    room_ppm = MILLION - shares.get(QBSS, 0) - min(shares[BEST_EFFORT], LEFT_PPM)
    promised |= _overestimated({key: ppm for key, ppm in promised.items() if key != QBSS}, room_ppm)
    rest_ppm = MILLION - sum(promised.values())
    least = ETS.weight.floor
    # Long enough that the rest is a quantum.
    length = max(ROUND_BYTES, -(-2 * (least + 1) * MILLION // rest_ppm))
    small = sum(length * ppm < least * MILLION for ppm in promised.values())
    rest_bytes = min(REST_PER_SMALL * least * small, ETS.weight.ceiling * rest_ppm // MILLION)
    length = max(length, -(-rest_bytes * MILLION // rest_ppm))
    quanta = dict.fromkeys(shares, 0) | {key: max(least, -(-length * ppm // MILLION)) for key, ppm in promised.items()}
    quanta[BEST_EFFORT] = length - sum(quanta.values())
    for key, quantum in quanta.items():
        ETS.weight.at_least(quantum, where, f"a quantum for {key}", "bytes")
    return Round(shares, quanta)


def _overestimated(shares: dict[str, int], room_ppm: int) -> dict[str, int]:
    """What classes of the assured rate get of the round: over-estimated, as far as there is room for it."""
    wanted = {key: overestimated_ppm(ppm) if ppm else 0 for key, ppm in shares.items()}
    total, more = sum(shares.values()), sum(wanted.values()) - sum(shares.values())
    extra = max(0, min(sum(wanted.values()), room_ppm) - total)
    return {key: ppm + ((wanted[key] - ppm) * extra // more if more else 0) for key, ppm in shares.items()}


def _check_shares(egress: Egress, where: str) -> None:
    reserved_ppm = sum(queue.share_ppm for queue in egress.queues if queue.service in RESERVED_SERVICES)
    qbss_ppm = [max(QBSS_LEAST_PPM, queue.share_ppm) for queue in egress.queues if queue.service is Service.QBSS]
    left_ppm = MILLION - reserved_ppm - sum(qbss_ppm)
    if left_ppm < LEAST_LEFT_PPM:
        raise Unrenderable(
            f"{where}: ets serves best-effort by weight, and the other shares leave it {format_share(max(0, left_ppm))}"
            f" of the link; {format_share(LEAST_LEFT_PPM)} at least is wanted"
        )


def approximations(egress: Egress, round_: Round) -> Iterator[Approximation]:
    """What ets does otherwise than wanted, and by how much."""
    place = egress.interface
    premium = next(queue for queue in egress.queues if queue.service is Service.IP_PREMIUM)
    if premium.ceiling_bps < egress.capacity_bps:
        words = (
            f"{place.name}: ets has no ceiling for ip-premium: {premium.ceiling_bps} bit/s are held by the policers at the"
            " edges alone"
        )
        yield Approximation(place.device, f"{place.name} ip-premium ceiling", words)
    parts = ", ".join(
        f"{key} {percent(quantum, round_.length)} for {percent(round_.shares_ppm[key], MILLION)}"
        for key, quantum in round_.quanta.items()
    )
    words = f"{place.name}: ets shares what ip-premium leaves by weight, not by rank: {parts} guaranteed"
    yield Approximation(place.device, f"{place.name} ets shares", words)


def percent(part: int, whole: int) -> str:
    """A part to a hundredth of a percent, for people."""
    return format_share(part * 10_000 // whole * 100)
