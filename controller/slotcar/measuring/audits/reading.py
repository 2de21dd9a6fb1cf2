"""What a probe handed in, read; every mistake of it at once, with its key. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from slotcar.base.model_errors import nearest
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import iso, to_us
from slotcar.measuring.audits.documents import NO_FIGURES
from slotcar.measuring.audits.streams import MeasuredStream
from slotcar.measuring.costs.reading import RequestReader, past_instant
from slotcar.measuring.metrics.model import Stamp
from slotcar.network.model import Network
from slotcar.store.audits import AuditedWay
from slotcar_client.wire import verbs

#: One stretch of a probe is a minute; what is longer was kept back for some reason, and is still taken.
LONGEST_US = 3_600_000_000


def stream_of(verb: verbs.RecordStream, network: Network, now: datetime) -> MeasuredStream:
    """
    Raises:
        InvalidInput.
    """
    reader = RequestReader(network, ())
    sls = network.sls.get(verb.sls)
    if sls is None:
        reader.note("sls", "is no SLS of the inventory", verb.sls, nearest(verb.sls, sorted(network.sls)))
    elif not sls.has_figures:
        reader.note("sls", f"has nothing to audit: {NO_FIGURES}", verb.sls, "say them in its slotcar_sls")
    if not verb.source:
        reader.note("source", "is missing", "", "name the probe that sends")
    if verb.source == verb.destination:
        reader.note("destination", "is the source itself: nothing crosses the network", verb.destination)
    start = reader.value("start", past_instant(now), verb.start, now)
    if not verb.packets and not verb.unanswered:
        reader.note("packets", "is empty, and no packet is unanswered", "", "hand in what was measured")
    reader.problems.extend(_wrong_packets(verb.packets))
    reader.require_valid()
    start_us = to_us(start)
    stream = MeasuredStream(
        way=AuditedWay(verb.sls, verb.source, verb.destination), start_us=start_us, interval_us=verb.interval_us,
        clock_error_us=verb.clock_error_us, variation_error_us=verb.variation_error_us,
        packets=tuple(_stamp(one, start_us) for one in verb.packets), unstamped=verb.unstamped,
        unanswered=verb.unanswered, remarked=verb.remarked, untold=verb.untold,
    )  # fmt: skip
    last_us = max((one.sent_us for one in stream.packets), default=start_us)
    if last_us > to_us(now):
        raise InvalidInput([Problem("request", 0, "packets", "were sent in the future", "", f"it is {iso(now)} here")])
    return stream


def _stamp(packet: Sequence[int | None], start_us: int) -> Stamp:
    sequence, after_us, delay_us = packet
    assert sequence is not None
    assert after_us is not None
    sent_us = start_us + after_us
    return Stamp(sequence, sent_us, None if delay_us is None else sent_us + delay_us)


def _wrong_packets(packets: Sequence[Sequence[int | None]]) -> Iterator[Problem]:
    """The first one alone: what is wrong of one is so of all."""
    last: int | None = None
    for place, packet in enumerate(packets):
        key = f"packets[{place}]"
        if len(packet) != 3 or packet[0] is None or packet[1] is None:
            yield Problem(
                "request", 0, key, "is no packet", str(list(packet)), "say [number, sent after, delay or null]"
            )
            return
        if not 0 <= packet[1] <= LONGEST_US:
            yield Problem("request", 0, key, "was sent before the stream began, or an hour after", str(packet[1]))
            return
        if last is not None and packet[0] <= last:
            yield Problem("request", 0, key, "has no greater number than the one before it", str(packet[0]))
            return
        last = packet[0]
