"""What was counted, beside what was reserved: of a reservation, of a link, in sums, and what is not used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import MICROSECOND, Window, from_us, iso
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction
from slotcar.book.model import Entry
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import Active, active_at
from slotcar.network.model import Device, InterfaceId, Network
from slotcar.platforms.counting import counting_of
from slotcar.platforms.intent.flows import policed_paths
from slotcar.store import Ledger
from slotcar.store.counts import CountedStep, CountedSum
from slotcar.views.usage import months_of
from slotcar_client.wire import documents

MILLION = 1_000_000
#: How long a flow is counted before it is called unused, and how far back that is looked at.
LEAST_COUNTED, LOOKED_BACK = timedelta(minutes=15), timedelta(days=1)
UNUSED_PERCENT = 10
NOTHING_READ = "nothing of this time was read of it"


@dataclass(frozen=True, slots=True)
class CountedUse:
    """Questions to what was counted; whoever asks has seen to it that the caller may.

    Raises (every method):
        LedgerUnavailable.
    """

    ledger: Ledger
    network: Network

    def of_reservation(self, entry: Entry, window: Window, now: datetime) -> documents.ReservationUsage:
        steps = self.ledger.counts.of_entry(entry.number, window)
        reservation = entry.reservation
        ways = policed_paths(reservation, entry.paths, self.network) if entry.paths else ()
        return {
            "handle": entry.handle, "owner": reservation.owner, "name": reservation.name,
            "service": reservation.service.value, "since": iso(window.start), "until": iso(window.end),
            "flows": [self._flow(entry, way, ingress, steps, window, now) for way, _, ingress in ways],
        }  # fmt: skip

    def _flow(
        self,
        entry: Entry,
        way: Direction,
        ingress: InterfaceId | None,
        steps: Iterable[CountedStep],
        window: Window,
        now: datetime,
    ) -> documents.CountedFlow:
        own = [one for one in steps if one.direction == way.value]
        device = self.network.devices.get(ingress.device) if ingress else None
        return {
            "direction": way.value,  # type: ignore[typeddict-item]
            "device": ingress.device if ingress else None, "interface": ingress.name if ingress else None,
            "open_s": round(_open_time(entry, window, now).total_seconds()),
            "unknown": "" if own else why_unknown(device),
            "total": total_of(own),
            "items": [part_of(one) for one in own],
        }  # fmt: skip

    def of_link(self, device: str, interface: str, window: Window) -> documents.LinkUsage:
        """Of an interface that the device has."""
        one = self.network.devices[device].interfaces[interface]
        steps = self.ledger.counts.of_link(device, interface, window)
        by_service: dict[str, list[CountedStep]] = {}
        for step in steps:
            by_service.setdefault(step.service, []).append(step)
        return {
            "device": device, "interface": interface, "capacity_bps": one.capacity_bps,
            "since": iso(window.start), "until": iso(window.end),
            "unknown": "" if steps else why_unknown(self.network.devices[device]),
            "items": link_parts(steps, one.capacity_bps),
            "services": [
                {"service": name, "items": link_parts(own, one.capacity_bps)} for name, own in sorted(by_service.items())
            ],
        }  # fmt: skip

    def sums(self, by: documents.CountedBy, window: Window, owner: str | None) -> documents.CountedUsages:
        months = months_of(window)
        domains: Mapping[str, str] = {name: one.domain for name, one in self.network.devices.items()}
        sums = self.ledger.counts.sums(by, months, domains, owner)
        return {"by": by, "items": [_month(one, months[one.place]) for one in sums]}

    def unused(self, owner: str | None, below_percent: int, now: datetime) -> documents.UnusedReservations:
        """Those that free most first."""
        live = self.ledger.live_between(now)
        entries = BackgroundShares(self.network)(live, Window(now, now + MICROSECOND))
        active = {
            one.entry.number: one
            for one in active_at(entries, now)
            if owner in (None, one.entry.reservation.owner) and one.entry.reservation.service in RESERVED_SERVICES
        }
        totals = self.ledger.counts.totals(dict.fromkeys(active, now - LOOKED_BACK), now)
        items = [
            _unused(active[number], total, now)
            for number, total in totals.items()
            if is_unused(total, active[number].entry, below_percent)
        ]
        items.sort(key=lambda one: -one["frees_bits"])
        return {"since": iso(now - LOOKED_BACK), "below_percent": below_percent, "items": items}


def why_unknown(device: Device | None) -> str:
    if device is None:
        return "no managed device polices it"
    if counting_of(device) is None:
        return f"Slotcar reads no counters of {device.platform}"
    return NOTHING_READ


def total_of(steps: Sequence[CountedStep]) -> documents.Counted:
    return {
        "counted_s": sum(one.counted_us for one in steps) // MILLION,
        "reserved_bits": sum(one.reserved_bits for one in steps),
        "in_profile_bytes": sum(one.in_profile_bytes for one in steps),
        "out_of_profile_bytes": sum(one.out_of_profile_bytes for one in steps),
        "dropped_bytes": sum(one.dropped_bytes for one in steps),
    }


def part_of(one: CountedStep) -> documents.CountedPart:
    return {
        "start": iso(from_us(one.start_us)), "end": iso(from_us(one.start_us + one.step_s * MILLION)),
        **total_of([one]), "dropped_packets": one.dropped_packets,
        "remarks": remarks_of([one]),
    }  # fmt: skip


def link_parts(steps: Iterable[CountedStep], capacity_bps: int) -> list[documents.LinkPart]:
    """The services together, step by step."""
    by_step: dict[tuple[int, int], list[CountedStep]] = {}
    for one in steps:
        by_step.setdefault((one.start_us, one.step_s), []).append(one)
    parts: list[documents.LinkPart] = []
    for (start_us, step_s), ones in sorted(by_step.items()):
        counted_us, sent_bytes = max(one.counted_us for one in ones), sum(one.in_profile_bytes for one in ones)
        parts.append({
            "start": iso(from_us(start_us)), "end": iso(from_us(start_us + step_s * MILLION)),
            "counted_s": counted_us // MILLION, "reserved_bits": sum(one.reserved_bits for one in ones),
            "sent_bytes": sent_bytes, "free_bits": max(0, capacity_bps * counted_us // MILLION - 8 * sent_bytes),
            "dropped_packets": sum(one.dropped_packets for one in ones),
            "remarks": remarks_of(ones),
        })  # fmt: skip
    return parts


def remarks_of(steps: Iterable[CountedStep]) -> list[documents.CounterRemark]:
    return cast("list[documents.CounterRemark]", sorted({remark for one in steps for remark in one.remarks}))


def used_bytes(total: CountedStep) -> int:
    return total.in_profile_bytes + total.out_of_profile_bytes


def used_part(total: documents.Counted) -> int | None:
    """Of what was reserved in the time that was counted, percent; None where nothing was counted."""
    used = total["in_profile_bytes"] + total["out_of_profile_bytes"]
    return used * 800 // total["reserved_bits"] if total["reserved_bits"] else None


def is_unused(total: CountedStep, entry: Entry, below_percent: int) -> bool:
    """Whether it was counted for long enough in each direction, and less than the part of its reserved bits was used."""
    return is_counted_enough(total, entry) and used_bytes(total) * 8 * 100 < total.reserved_bits * below_percent


def is_counted_enough(total: CountedStep, entry: Entry) -> bool:
    return total.counted_us >= LEAST_COUNTED // MICROSECOND * len(entry.reservation.direction.ways)


def _open_time(entry: Entry, window: Window, now: datetime) -> timedelta:
    until = min(window.end, now)
    parts = (min(slot.end, until) - max(slot.start, window.start) for slot in entry.reservation.slots)
    return sum((part for part in parts if part > timedelta()), timedelta())


def _month(one: CountedSum, window: Window) -> documents.CountedUsage:
    return {
        "month": f"{window.start:%Y-%m}", "start": iso(window.start), "end": iso(window.end), "name": one.name,
        "reservations": one.reservations, "counted_s": one.counted_us // MILLION, "reserved_bits": one.reserved_bits,
        "in_profile_bytes": one.in_profile_bytes, "out_of_profile_bytes": one.out_of_profile_bytes,
        "dropped_bytes": one.dropped_bytes,
    }  # fmt: skip


def _unused(active: Active, total: CountedStep, now: datetime) -> documents.UnusedReservation:
    entry, slots = active.entry, active.entry.reservation.slots
    left = ((slot, slot.end - max(slot.start, now)) for slot in slots if slot.end > now)
    frees_bits = sum((slot.forward_bps + slot.reverse_bps) * (time // MICROSECOND) // MILLION for slot, time in left)
    return {
        **total_of([total]), "handle": entry.handle, "owner": entry.reservation.owner, "name": entry.reservation.name,
        "service": entry.reservation.service.value, "until": iso(slots[-1].end),
        "forward_bps": active.slot.forward_bps, "reverse_bps": active.slot.reverse_bps, "frees_bits": frees_bits,
        "frees": [_freed(one.resource, one.amount(active.slot_number)) for one in entry.demands],
    }  # fmt: skip


def _freed(resource: ResourceId, amount: int) -> documents.FreedAmount:
    return {"resource": str(resource), "unit": resource.kind_of.unit, "amount": amount}
