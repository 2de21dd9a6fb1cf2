"""Where the numbers of a reservation's configuration come from: the arithmetic of each, with its source. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.admission.arithmetic import payload_bytes, scaled_up
from slotcar.admission.resource_id import describe
from slotcar.base.registry import facts_of
from slotcar.base.timebase import iso
from slotcar.base.units import format_bytes, format_latency, format_rate
from slotcar.base.vocabulary import RESERVED_SERVICES, Protocol, Service
from slotcar.book.model import Entry
from slotcar.book.timeline import Active, active_at
from slotcar.network.model import Device, InterfaceId, Network
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.intent.flows import PEAK_FACTOR, committed, first_ingress
from slotcar.reservation.model import Reservation, Slot
from slotcar.views.configurations import Differences
from slotcar_client.wire import documents

#: What one TCP connection was measured to need of a policer's burst, as time at its rate: 2.5 MB at 50 Mb/s (D7.3 §8.1.1).
TCP_NEEDS_US = 400_000


@dataclass(frozen=True, slots=True)
class Number:
    """A number of one place, and how it came about."""

    place: str
    what: str
    value: int
    unit: str
    formula: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the numbers of one slot of a reservation come from.

    Attributes:
        numbers: in the order of the path, each way.
        lines: by device, what the reservation changes in its configuration, as a unified diff.
        notes: what each platform does with the numbers, and what the asker should know.
    """

    at: datetime
    numbers: tuple[Number, ...]
    lines: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def explain(entry: Entry, others: Sequence[Entry], network: Network, at: datetime) -> Explanation:
    """What an entry gets in the slot that is open at `at` or comes next, beside the others that are active then.

    Raises:
        Unrenderable: a platform cannot express what is wanted.
    """
    reservation = entry.reservation
    slot = next((one for one in reservation.slots if at < one.end), reservation.slots[-1])
    when = max(at, slot.start) if at < slot.end else slot.start
    others_active = [one for one in active_at(others, when) if one.entry.number != entry.number]
    this = active_at([entry], when)
    numbers = tuple(dict.fromkeys(_numbers(entry, slot, network, _policers(this, network, when))))
    diffs = (
        Differences(network)
        .between(others_active, when, sorted([*others_active, *this], key=lambda one: one.entry.number), when)
        .devices
    )
    platforms = dict.fromkeys(network.devices[one.device].platform for one in diffs)
    notes = [f"{name}: {words}" for name in platforms for words in facts_of(name).number_words]
    measured = burst_note(reservation)
    return Explanation(
        when, numbers, {one.device: one.diff for one in diffs}, (*([measured] if measured else []), *notes)
    )


def _policers(active: Sequence[Active], network: Network, at: datetime) -> dict[InterfaceId, tuple[int, int]]:
    """By the interface where a flow enters, the rate and the burst that its device is told."""
    return {
        flow.interface: renderer_of(network.devices[device]).policer(flow, network.devices[device])
        for device, intent in intents_at(active, network, at).items()
        for flow in intent.flows
        if flow.service in RESERVED_SERVICES
    }


def _numbers(
    entry: Entry, slot: Slot, network: Network, policers: Mapping[InterfaceId, tuple[int, int]]
) -> Iterator[Number]:
    reservation = entry.reservation
    if reservation.claim is not None:
        yield from _claimed(entry)
        return
    size, protocol = reservation.packet_size_bytes, reservation.protocol
    payload = payload_bytes(size, protocol)
    headers = f"{size - payload} bytes of IP and {protocol.value.upper()} headers a packet"
    for way, path in zip(reservation.ways, entry.paths, strict=True):
        rate_bps = slot.rate_bps(way)
        if not rate_bps or reservation.service not in RESERVED_SERVICES:
            continue
        rate = format_rate(rate_bps)
        yield Number("", f"payload, {way.value}", rate_bps, "bit/s", "")
        if (ingress := first_ingress(path, network)) is not None:
            device = network.devices[ingress.device]
            cir_bps, cbs_bytes = committed(reservation, rate_bps, device)
            configured_bps, configured_bytes = policers[ingress]
            yield Number(
                str(ingress), "policer", configured_bps, "bit/s",
                f"{rate} x {size} / {payload}: {headers} (GARA §5.1){_raised(cir_bps, configured_bps, 'bit/s', device)}",
            )  # fmt: skip
            if reservation.service is Service.ASSURED_RATE:
                yield Number(
                    str(ingress), "peak", cir_bps * PEAK_FACTOR, "bit/s", f"{PEAK_FACTOR} x the policer's (RFC 2698)"
                )
            quarter = "" if protocol.has_window else ", a quarter of that for UDP"
            yield Number(
                str(ingress), "burst", configured_bytes, "bytes",
                f"policer's rate x {format_latency(reservation.rtt_us)} of rtt / 8{quarter};"
                f" {format_bytes(device.burst_floor_bytes)} to {format_bytes(device.burst_ceiling_bytes)} (GARA §5.1)"
                f"{_raised(cbs_bytes, configured_bytes, 'bytes', device)}",
            )  # fmt: skip
        for hop in path.hops:
            if hop.device in path.unreserved_devices:
                continue
            extra = network.interface(hop.egress).overhead_bytes
            yield Number(
                str(hop.egress), "link", scaled_up(rate_bps, size + extra, payload), "bit/s",
                f"{rate} x ({size} + {extra}) / {payload}: {extra} bytes of framing a packet (D7.3 §8.1)",
            )  # fmt: skip


def _raised(committed_value: int, configured: int, unit: str, device: Device) -> str:
    """What a platform makes of a number, where that is another."""
    same = configured == committed_value
    return "" if same else f"; {committed_value:,} {unit}, which {device.platform} is told as {configured:,}"


def _claimed(entry: Entry) -> Iterator[Number]:
    for demand in entry.demands:
        resource = demand.resource
        yield Number(resource.place, describe(resource), demand.peak, resource.kind_of.unit, "as asked")


def burst_note(reservation: Reservation) -> str:
    """What was measured of bursts of one TCP connection, beside what the reservation's round-trip time gives; empty where
    nothing was, or it gives as much."""
    short = reservation.rtt_us < TCP_NEEDS_US and reservation.protocol is Protocol.TCP
    if not short or reservation.service is not Service.IP_PREMIUM:
        return ""
    held, needed = format_latency(reservation.rtt_us), format_latency(TCP_NEEDS_US)
    return (
        f"the burst holds {held} of the rate, which is the rtt that was said (GARA §5.1); D7.3 §8.1.1 measured that one TCP"
        f" connection out of a fast LAN needed {needed}"
    )


def explanation_document(entry: Entry, explanation: Explanation, *, with_lines: bool) -> documents.Explanation:
    """`with_lines`: what changes on devices, too."""
    return {
        "handle": entry.handle,
        "name": "/".join(entry.reservation.key),
        "at": iso(explanation.at),
        "numbers": [
            {
                "place": number.place,
                "what": number.what,
                "value": number.value,
                "unit": number.unit,
                "formula": number.formula,
            }
            for number in explanation.numbers
        ],
        "devices": [{"device": name, "diff": list(lines)} for name, lines in explanation.lines.items() if with_lines],
        "notes": list(explanation.notes),
    }
