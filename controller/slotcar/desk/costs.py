"""What transfers cost, from where to where, what is near what, and what was measured of it (D7.3 §5, §10)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import Window, iso
from slotcar.base.units import format_duration, parse_any_bps, parse_latency_us
from slotcar.base.vocabulary import RESERVED_SERVICES
from slotcar.book.rules import roles
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk, answers
from slotcar.desk.requests import Requests
from slotcar.measuring.costs.accuracy import accuracy
from slotcar.measuring.costs.best_ces import JobFile, best_ces, gatherings
from slotcar.measuring.costs.closeness import closeness
from slotcar.measuring.costs.documents import (
    accuracy_document,
    closest_document,
    cost_document,
    gatherings_document,
    nearness_document,
    probe_document,
    reserved_document,
    transfer_document,
)
from slotcar.measuring.costs.history import with_estimate
from slotcar.measuring.costs.known_ways import KnownWays, is_local, known_ways, way_between
from slotcar.measuring.costs.network_costs import ReservedCost, reserved_cost
from slotcar.measuring.costs.reading import USUAL_ALPHA_PPM, RequestReader, loss_ppm, past_instant
from slotcar.reservation import from_mapping
from slotcar.store.measurements import MeasuredWay, ProbeSample, TransferSample
from slotcar_client.wire import documents, verbs

#: So far ahead it is looked what a reservation could have: where a day is too short, a month.
_AHEAD = (timedelta(days=1), timedelta(days=31))
USUAL_SERVICE = "ip-premium"


@answers(verbs.Costs)
def costs(verb: verbs.Costs, desk: Desk, caller: Caller, now: datetime) -> documents.Costs:
    reader = _reader(desk, caller)
    source, destination = reader.ends(verb.source, verb.destination)
    volume_bytes, tolerance = reader.volume("volume", verb.volume), reader.tolerance(verb.tolerance)
    service = verb.service or USUAL_SERVICE
    if service not in RESERVED_SERVICES:
        reader.note("service", "is no service that is reserved", service, f"say one of {', '.join(RESERVED_SERVICES)}")
    reader.require_valid()
    ways = _ways(desk, [source], [destination], now, tolerance, verb.tool)
    way = ways.way(source, destination)
    cost = ways.cost(way, volume_bytes)
    reserved, why = _reserved(desk, way, volume_bytes, service, ways, caller, now)
    unknown = [] if cost else [_unknown(way, ways, tolerance, verb.tool)]
    return {
        "source": source,
        "destination": destination,
        "volume_bytes": volume_bytes,
        "best_effort": cost_document(cost) if cost else None,
        "reserved": reserved_document(service, reserved) if reserved else None,
        "closeness": nearness_document(closeness(ways.metrics(way), USUAL_ALPHA_PPM)),
        "unknown": [*unknown, *([why] if why else [])],
    }


@answers(verbs.Closest)
def closest(verb: verbs.Closest, desk: Desk, caller: Caller, now: datetime) -> documents.Closest:
    reader = _reader(desk, caller)
    ces, files = _computing(reader, verb.ces), _files(reader, verb)
    alpha_ppm, tolerance = reader.alpha_ppm(verb.alpha), reader.tolerance(verb.tolerance)
    reader.require_valid()
    sources = {replica for one in files for replica in one.replicas}
    ways = _ways(desk, sources, ces, now, tolerance, verb.tool)
    return closest_document(best_ces(ces, files, lambda source, ce: ways.near(source, ce, alpha_ppm)))


@answers(verbs.Gather)
def gather(verb: verbs.Gather, desk: Desk, caller: Caller, now: datetime) -> documents.Gatherings:
    reader = _reader(desk, caller)
    reader.storage("fragments", verb.fragments)
    fragments = reader.volumes("fragments", verb.fragments)
    if not fragments:
        reader.note("fragments", "names no storage element", "", "say how much each has, such as `cern-se: 2 GB`")
    ces = reader.computing(verb.ces)
    tolerance = reader.tolerance(verb.tolerance)
    reader.require_valid()
    ways = _ways(desk, fragments, {*fragments, *ces}, now, tolerance, verb.tool)
    return gatherings_document(gatherings(fragments, list(fragments), ces, ways.time_us))


@answers(verbs.EstimateAccuracy)
def estimate_accuracy(verb: verbs.EstimateAccuracy, desk: Desk, caller: Caller, now: datetime) -> documents.Accuracy:
    reader = _reader(desk, caller)
    tolerance = reader.tolerance(verb.tolerance)
    reader.require_valid()
    return accuracy_document(accuracy(desk.ledger.measurements.all_transfers(now - tolerance)))


@answers(verbs.RecordTransfer)
def record_transfer(
    verb: verbs.RecordTransfer, desk: Desk, caller: Caller, now: datetime
) -> documents.MeasuredTransfer:
    """
    Raises:
        NotAllowed: the caller may change nothing.
    """
    roles.require_may_change(caller)
    reader = _reader(desk, caller)
    source, destination = reader.ends(verb.source, verb.destination)
    volume_bytes = reader.volume("volume", verb.volume)
    start = reader.value("start", past_instant(now), verb.start, None)
    end = reader.value("end", past_instant(now), verb.end, now)
    if start is None and not any(one.key == "start" for one in reader.problems):
        reader.note("start", "is missing", "", "say when the first byte was sent")
    if start is not None and end is not None and start >= end:
        reader.note("end", "is not after the start", iso(end), f"it started at {iso(start)}")
    reader.require_valid()
    assert start is not None
    assert end is not None
    sample = TransferSample(
        way=way_between(desk.network, source, destination), volume_bytes=volume_bytes, started_at=start,
        ended_at=end, tool=verb.tool,
    )  # fmt: skip
    sample = with_estimate(sample, desk.ledger.measurements, desk.network)
    desk.ledger.measurements.add_transfer(sample)
    return transfer_document(sample)


@answers(verbs.RecordProbe)
def record_probe(verb: verbs.RecordProbe, desk: Desk, caller: Caller, now: datetime) -> documents.MeasuredProbe:
    """
    Raises:
        NotAllowed: no operator.
    """
    roles.require_operator(caller, "hand in what probes measured")
    reader = _reader(desk, caller)
    source, destination = reader.ends(verb.source, verb.destination)
    at = reader.value("at", past_instant(now), verb.at, now)
    rtt_us = reader.value("rtt", parse_latency_us, verb.rtt, None)
    throughput_bps = reader.value("throughput", parse_any_bps, verb.throughput, None)
    lost_ppm = reader.value("loss", loss_ppm, verb.loss, None)
    if verb.rtt is None and verb.throughput is None and verb.loss is None:
        reader.note("rtt", "is missing, and so are throughput and loss", "", "say at least one of them")
    reader.require_valid()
    sample = ProbeSample(
        way=way_between(desk.network, source, destination), at=at or now, tool=verb.tool, rtt_us=rtt_us,
        throughput_bps=throughput_bps, loss_ppm=lost_ppm,
    )  # fmt: skip
    desk.ledger.measurements.add_probe(sample)
    return probe_document(sample)


def _reader(desk: Desk, caller: Caller) -> RequestReader:
    return RequestReader(desk.network, {one["name"] for one in desk.send(verbs.Endpoints(), caller)["hosts"]})


def _computing(reader: RequestReader, names: Collection[str] | None) -> list[str]:
    ces = reader.computing(names)
    if not ces:
        hint = "name them, or give end systems the role `computing` in the inventory (slotcar_roles)"
        reader.note("ces", "names no computing element", "", hint)
    return ces


def _ways(
    desk: Desk, sources: Collection[str], destinations: Collection[str], now: datetime, tolerance: timedelta,
    tool: str | None,
) -> KnownWays:  # fmt: skip
    tools = (tool,) if tool else ()
    ledger, network = desk.ledger, desk.network
    return known_ways(ledger.measurements, network, sources, destinations, now, tolerance, tools)


def _reserved(
    desk: Desk, way: MeasuredWay, volume_bytes: int, service: str, ways: KnownWays, caller: Caller, now: datetime
) -> tuple[ReservedCost | None, str]:
    """With a reservation made now; or why there is none."""
    for ahead in _AHEAD:
        window = Window(now, now + ahead)
        written = {
            "name": "costs", "owner": "costs", "rate": "1 bit/s", "source": way.source, "protocol": "tcp",
            "destination": way.destination, "service": service, "direction": "forward",
            "start": iso(window.start), "end": iso(window.end),
        }  # fmt: skip
        try:
            answer = Requests(desk).enquire(from_mapping(written, now), caller, now)
        except SlotcarError as error:
            return None, f"a reservation cannot be had: {error}"
        cost = reserved_cost(volume_bytes, answer.directions[0].free.steps, ways.transfers_of(way))
        if cost is not None:
            return cost, ""
    return None, f"within {_AHEAD[-1].days} days not so much is free between {way.source} and {way.destination}"


def _files(reader: RequestReader, verb: verbs.Closest) -> list[JobFile]:
    sizes, in_use = reader.volumes("sizes", verb.sizes or {}), verb.in_use or {}
    for key, names in (("sizes", sizes), ("in_use", in_use)):
        for name in names:
            if name not in verb.files:
                reader.note(f"{key}.{name}", "is none of the files", name)
    if not verb.files:
        reader.note("files", "names no file", "", "say the storage elements that have each")
    for name, replicas in verb.files.items():
        if not replicas:
            reader.note(f"files.{name}", "names no storage element", "", "say those that have it")
    if sizes and set(sizes) != set(verb.files):
        reader.note("sizes", "says the size of some files only", "", "say it of all of them, or of none")
    return [
        JobFile(name, reader.storage(f"files.{name}", replicas), sizes.get(name, 1), in_use.get(name))
        for name, replicas in verb.files.items()
    ]


def _unknown(way: MeasuredWay, ways: KnownWays, tolerance: timedelta, tool: str | None) -> str:
    if is_local(ways.network, way):
        return f"{way.source} and {way.destination} are on one LAN, and nobody measured it"
    by = f" of {tool}" if tool else ""
    domains = f"their monitoring domains {way.source_domain} and {way.destination_domain}"
    return (
        f"no transfer without a reservation and no probe{by} from {way.source} to {way.destination}, or between {domains},"
        f" is of the last {format_duration(tolerance)}"
    )
