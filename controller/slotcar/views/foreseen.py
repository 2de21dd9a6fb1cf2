"""What whoever asks for a reservation should know before its slot: that it can never get what it says. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slotcar.admission.rates import crossings
from slotcar.admission.resource_id import ResourceId, describe
from slotcar.admission.resources import background_factors
from slotcar.base.units import format_rate, format_rate_about
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction
from slotcar.book.shares import LEAST_BPS
from slotcar.network.model import Network
from slotcar.network.path.model import Path, ends_of
from slotcar.reservation.model import BackgroundShare, Reservation

_MILLION = 1_000_000


def foreseen(reservation: Reservation, paths: Sequence[Path], network: Network) -> tuple[str, ...]:
    """Sentences about a reservation on its paths; none where nothing is to be said, or the inventory has no such paths."""
    own = foreseen_of_itself(reservation)
    if own or reservation.claim is not None:
        return own
    try:
        notes = (
            list(_nothing_left(reservation, paths, network))
            if reservation.share is not None
            else list(_above_the_line(reservation, paths, network))
        )
    except KeyError:
        return ()
    return tuple(dict.fromkeys(notes))


def foreseen_of_itself(reservation: Reservation) -> tuple[str, ...]:
    """The sentences that need no network."""
    share = reservation.share
    if share is None or not _gets_nothing(share, share.at_most_bps):
        return ()
    most, least = format_rate(share.at_most_bps), format_rate(LEAST_BPS)
    return (
        f"never gets a rate: share.at_most is {most}, and a background reservation has none below {least}; its packets are"
        f" best effort; say at_least, or at_most of {least} or more",
    )


def _gets_nothing(share: BackgroundShare, most_bps: int) -> bool:
    return share.at_least_bps == 0 and most_bps < LEAST_BPS


def _nothing_left(reservation: Reservation, paths: Sequence[Path], network: Network) -> Iterator[str]:
    """Of a background reservation, a place that never has enough for it."""
    share, least = reservation.share, format_rate(LEAST_BPS)
    for path in paths if share else ():
        crossed = crossings(reservation, path, network)
        factors = background_factors(network, (one.resource for one in crossed))
        for one in crossed:
            there_bps = _capacity_bps(one.resource, reservation, network) * factors[one.resource] // _MILLION
            if share and _gets_nothing(share, one.rate_bps(there_bps)):
                yield (
                    f"never gets a rate: background has at most {format_rate_about(there_bps)} of {describe(one.resource)},"
                    f" and a background reservation has none below {least}; its packets are best effort"
                )


def _capacity_bps(resource: ResourceId, reservation: Reservation, network: Network) -> int:
    place = resource.interface
    agreement = network.sls.get(resource.place)
    return (
        (agreement.rate_bps if agreement else 0)  # one that is opened with the reservation is not there yet
        if place is None
        else network.interface(place).share_bps(reservation.service, reservation.assured_class or "")
    )


def _above_the_line(reservation: Reservation, paths: Sequence[Path], network: Network) -> Iterator[str]:
    """Of a service that reserves nothing, a rate that no line of its path carries."""
    if reservation.service in RESERVED_SERVICES:
        return
    for way, path in zip(reservation.ways, paths, strict=True):
        wanted_bps = max((slot.rate_bps(way) for slot in reservation.slots), default=0)
        if wanted_bps:
            yield from _narrower(reservation, way, path, wanted_bps, network)


def _narrower(
    reservation: Reservation, way: Direction, path: Path, wanted_bps: int, network: Network
) -> Iterator[str]:
    lines = [network.interface(end) for end in ends_of([path])]
    narrowest = min(lines, key=lambda one: one.capacity_bps, default=None)
    if narrowest is not None and wanted_bps > narrowest.capacity_bps:
        line_words = format_rate(narrowest.capacity_bps)
        yield (
            f"asks for {format_rate(wanted_bps)} {way.value}, and {narrowest.id} has {line_words} in all:"
            f" {reservation.service.value} reserves nothing, and what is more is lost"
        )
