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
from slotcar.store.audits import HOUR_S, KEPT, AuditedWay
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
    reader.problems.extend(_wrong_counts(verb))
    reader.require_valid()
    oldest = now - KEPT[HOUR_S]
    if start < oldest:
        hint = f"hours are kept for {KEPT[HOUR_S].days} days"
        raise InvalidInput([Problem("request", 0, "start", f"is before {iso(oldest)}", verb.start, hint)])
    start_us = to_us(start)
    stream = MeasuredStream(
        way=AuditedWay(verb.sls, verb.source, verb.destination), start_us=start_us, interval_us=verb.interval_us,
        clock_error_us=verb.clock_error_us, variation_error_us=verb.variation_error_us,
        packets=tuple(_stamp(one, start_us) for one in verb.packets), unstamped=verb.unstamped,
        unanswered=verb.unanswered, remarked=verb.remarked, untold=verb.untold,
    )  # fmt: skip
    if stream.until_us - 1 > to_us(now):
        key = "packets" if verb.packets else "unanswered"
        raise InvalidInput([Problem("request", 0, key, "were sent in the future", "", f"it is {iso(now)} here")])
    return stream


def _stamp(packet: Sequence[int | None], start_us: int) -> Stamp:
    sequence, after_us, delay_us = packet
    assert sequence is not None
    assert after_us is not None
    sent_us = start_us + after_us
    return Stamp(sequence, sent_us, None if delay_us is None else sent_us + delay_us)


def _wrong_counts(verb: verbs.RecordStream) -> Iterator[Problem]:
    """Numbers that are more than there can be."""
    if verb.unstamped and not verb.packets:
        hint = "hand in the packets beside them"
        yield Problem("request", 0, "unstamped", "arrived, but no packet did by which it is known when", "", hint)
    arrived = verb.unstamped + sum(len(one) == 3 and one[2] is not None for one in verb.packets)
    for key, number in (("remarked", verb.remarked), ("untold", verb.untold)):
        if number > arrived:
            hint = f"{arrived} packets arrived"
            yield Problem("request", 0, key, "is more than arrived", str(number), hint)


def _wrong_packets(packets: Sequence[Sequence[int | None]]) -> Iterator[Problem]:
    """The first one alone: what is wrong of one is so of all."""
    last: tuple[int, int] | None = None
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
        if last is not None and packet[0] <= last[0]:
            yield Problem("request", 0, key, "has no greater number than the one before it", str(packet[0]))
            return
        if last is not None and packet[1] < last[1]:
            hint = "say them in the order of time; a clock that is set back begins another stream"
            yield Problem("request", 0, key, "was sent before the one before it", str(packet[1]), hint)
            return
        last = packet[0], packet[1]
