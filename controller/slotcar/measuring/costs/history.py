"""Transfers that are over become the history that later estimates rest on, each with what would have been said of it."""

from __future__ import annotations

from dataclasses import replace

from slotcar.base.timebase import MICROSECOND
from slotcar.book.model import Entry, State
from slotcar.measuring.costs.known_ways import known_ways, way_between
from slotcar.network.model import Network
from slotcar.store.measurements import Measurements, TransferSample

#: Who moves what is reserved as a volume, and reports how much of it remains.
MOVER = "slotcar-transfer"


def note_finished(entry: Entry, measurements: Measurements, network: Network) -> None:
    """Keeps what a reserved volume took, where it is one that is moved.

    Raises:
        LedgerUnavailable.
    """
    moved = finished_transfer(entry, network)
    if moved is not None:
        measurements.add_transfer(with_estimate(moved, measurements, network))


def finished_transfer(entry: Entry, network: Network) -> TransferSample | None:
    """What a reserved volume took, all of which was reported moved; None of anything else, and where an end is no end
    system of the inventory.

    It counts from its first open slot to the report, and `reserved_bps` is what it was promised meanwhile.
    """
    reservation, progress = entry.reservation, entry.progress
    if entry.state is not State.ENDED or reservation.need is None or progress is None or progress.remaining_bytes:
        return None
    if reservation.source is None or reservation.destination is None:
        return None
    ends = (_host_of(str(reservation.source.host), network), _host_of(str(reservation.destination.host), network))
    slots = [one for one in reservation.slots if one.forward_bps and one.start < progress.at]
    if ends[0] is None or ends[1] is None or not slots:
        return None
    promised = sum(one.forward_bps * ((min(one.end, progress.at) - one.start) // MICROSECOND) for one in slots)
    length_us = (progress.at - slots[0].start) // MICROSECOND
    return TransferSample(
        way=way_between(network, ends[0], ends[1]), volume_bytes=reservation.need.volume_bytes,
        started_at=slots[0].start, ended_at=progress.at, tool=MOVER, reserved_bps=promised // max(1, length_us),
    )  # fmt: skip


def _host_of(written: str, network: Network) -> str | None:
    """The end system of a name or an address."""
    if written in network.hosts:
        return written
    return next((name for name, host in network.hosts.items() if str(host.address) == written), None)


def with_estimate(sample: TransferSample, measurements: Measurements, network: Network) -> TransferSample:
    """The transfer with what would have been said when it began, of what had been measured by then."""
    ways = known_ways(measurements, network, [sample.way.source], [sample.way.destination], sample.started_at)
    cost = ways.cost(sample.way, sample.volume_bytes)
    if cost is None:
        return sample
    ends = cost.nine_in_ten
    return replace(
        sample, estimated_us=cost.cost_us, low_us=cost.middle68.low, high_us=cost.middle68.high,
        least_us=ends.low if ends else None, most_us=ends.high if ends else None,
    )  # fmt: skip
