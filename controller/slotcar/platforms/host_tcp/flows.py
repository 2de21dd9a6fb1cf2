"""The TCP flows of a host's reservations, and the window that each needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from ipaddress import IPv4Address
from typing import Any

from slotcar.base.problems import SlotcarError
from slotcar.base.units import MAX_RATE_BPS

US_BITS = 8_000_000


class NoFlows(SlotcarError):
    """A file of flows cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a host sends to a peer, and gets from it, by a reservation.

    Attributes:
        reservation: OWNER/NAME.
        peer: the other end's IPv4 address.
        out_bps, in_bps: the highest payload rates of its slots that are not over; 0 where that way is not reserved.
        rtt_us: the longest round trip.
        packet_size_bytes: of the whole IP packet.
    """

    reservation: str
    peer: str
    out_bps: int
    in_bps: int
    rtt_us: int
    packet_size_bytes: int = 1500

    def window_bytes(self, rate_bps: int) -> int:
        """What may be under way at a rate: round trip times bandwidth (D7.3 §4.2.2), rounded up."""
        return -(-self.rtt_us * rate_bps // US_BITS)


def flows_of(
    entries: Iterable[Mapping[str, Any]], host: str, addresses: Mapping[str, str], at: datetime
) -> tuple[Flow, ...]:
    """Of the entries' documents (`slotcar_client.wire.documents.Entry`) those of TCP that begin or end at the host, whose
    slots are not all over at that time; in the order of their names.

    Args:
        host: its name in the inventory; entries may have its address instead.
        addresses: IPv4 by name, of all hosts of the inventory.
    """
    own = {host, addresses[host]}
    flows = []
    for entry in entries:
        reservation = entry["reservation"]
        ends = [reservation[end]["host"] for end in ("source", "destination")]
        slots = [slot for slot in reservation["slots"] if datetime.fromisoformat(slot["end"]) > at]
        if reservation["protocol"] != "tcp" or reservation.get("claim") or not slots or not own & set(ends):
            continue
        rates = [max(slot[way] for slot in slots) for way in ("forward_bps", "reverse_bps")]
        if reservation["share"]:
            rates = [
                _share_bps(reservation, way, rate) for way, rate in zip(("forward", "reverse"), rates, strict=True)
            ]
        if ends[0] not in own:
            rates.reverse()
            ends.reverse()
        flows.append(
            Flow(
                reservation=f"{reservation['owner']}/{reservation['name']}",
                peer=addresses.get(ends[1], ends[1]),
                out_bps=rates[0],
                in_bps=rates[1],
                rtt_us=reservation["rtt_us"],
                packet_size_bytes=reservation["packet_size_bytes"],
            )
        )
    return tuple(sorted(flows, key=lambda flow: (flow.reservation, flow.peer)))


def _share_bps(reservation: Mapping[str, Any], way: str, rate_bps: int) -> int:
    """A background reservation may come to have its highest; one without a highest is tuned for what it always has."""
    most_bps = reservation["share"]["at_most_bps"]
    bounded = reservation["direction"] in (way, "both") and most_bps < MAX_RATE_BPS
    return max(rate_bps, most_bps) if bounded else rate_bps


def document_of(host: str, flows: Iterable[Flow]) -> dict[str, Any]:
    """What `slotcar host tuning` prints, and `read_flows` reads."""
    return {"host": host, "flows": [asdict(flow) for flow in flows]}


def read_flows(document: Any, host: str) -> tuple[Flow, ...]:
    """Flows of such a document.

    Raises:
        NoFlows: it is none, or is another host's.
    """
    if not isinstance(document, dict) or not isinstance(document.get("flows"), list):
        raise NoFlows("the file has no `flows`: make it with `slotcar host tuning HOST --format json`")
    if document.get("host") != host:
        raise NoFlows(f"the file is of {document.get('host')}, and this is {host}: make one for each host")
    flows = []
    for number, one in enumerate(document["flows"]):
        try:
            flow = Flow(**one)
            IPv4Address(flow.peer)
            for name in ("out_bps", "in_bps", "rtt_us", "packet_size_bytes"):
                if type(getattr(flow, name)) is not int or getattr(flow, name) < 0:
                    raise ValueError(f"{name} is no whole number from 0 (got {getattr(flow, name)!r})")
        except (TypeError, ValueError) as error:
            raise NoFlows(f"flows[{number}] of the file is no flow: {error}") from None
        flows.append(flow)
    return tuple(flows)
