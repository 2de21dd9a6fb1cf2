"""Reservations and intents for the renderer's tests, made with the rooms that make them in earnest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from hypothesis import strategies as st

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.book.model import Entry
from slotcar.book.timeline import Active
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.platforms.intent import QosIntent, intents_at
from slotcar.reservation.model import Endpoint, Reservation
from tests.support.networks import line_network

START, END = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC)


@cache
def network(platform: str, capacity_bps: int = 100_000_000) -> Network:
    return line_network(capacity_bps=capacity_bps, platform=platform, sls_bps=capacity_bps // 5)


def wanted(name: str = "flow", **changes: Any) -> Reservation:
    values: dict[str, Any] = {
        "name": name,
        "owner": "hep",
        "source": Endpoint(host="src"),
        "destination": Endpoint(host="dst", port=5001),
        "protocol": Protocol.UDP,
        "service": Service.IP_PREMIUM,
        "rate_bps": 1_000_000,
        "windows": (Window(START, END),),
    }
    return Reservation.constant(**(values | changes))


def entry(where: Network, number: int = 1, **changes: Any) -> Entry:
    return numbered([wanted(**changes)], where, [number])[0]


def numbered(requests: Sequence[Reservation], where: Network, numbers: Sequence[int]) -> list[Entry]:
    entries = entries_of(requests, where, START)
    return [replace(one, number=number) for one, number in zip(entries, numbers, strict=True)]


def active(entries: Sequence[Entry]) -> list[Active]:
    return [Active(one, 0) for one in entries]


def intents(where: Network, *entries: Entry) -> dict[str, QosIntent]:
    return intents_at(active(entries), where)


def without_interface(intent: QosIntent, name: str) -> QosIntent:
    """The intent of a device whose operator took one interface out of the inventory."""
    return replace(
        intent,
        flows=tuple(one for one in intent.flows if one.interface.name != name),
        aggregates=tuple(one for one in intent.aggregates if one.interface.name != name),
        egress=tuple(one for one in intent.egress if one.interface.name != name),
        untrusted=tuple(one for one in intent.untrusted if one.name != name),
    )


def as_all_platforms_match(one: Reservation) -> Reservation:
    """Of SCTP without ports, which most platforms' lists do not know (`test_sctp.py`)."""
    if one.protocol is not Protocol.SCTP:
        return one
    return one.model_copy(update={"source": Endpoint(host="src"), "destination": Endpoint(host="dst")})


ports = st.sampled_from([None, 22, 80, 5001, 5002])
reservations = st.builds(
    wanted,
    name=st.just("flow"),
    source=ports.map(lambda port: Endpoint(host="src", port=port)),
    destination=ports.map(lambda port: Endpoint(host="dst", port=port)),
    protocol=st.sampled_from(Protocol),
    direction=st.sampled_from(Direction),
    service=st.sampled_from(Service),
    rate_bps=st.one_of(st.integers(1, 3_000_000), st.sampled_from([999_999, 1_000_001, 36_000_000])),
    packet_size_bytes=st.sampled_from([128, 1028, 1499, 1500]),
    rtt_us=st.sampled_from([1, 1_000, 50_000, 300_000]),
).map(as_all_platforms_match)
#: A ledger's number for each reservation: some are kept from one instant to the next, some come, some go.
populations = st.dictionaries(st.sampled_from([1, 2, 3, 50, 51, 101]), reservations, max_size=4)


def population(where: Network, chosen: dict[int, Reservation]) -> list[Entry]:
    named = [one.model_copy(update={"name": f"flow-{number}"}) for number, one in chosen.items()]
    return numbered(named, where, list(chosen))


@st.composite
def successions(draw: st.DrawFn) -> tuple[dict[int, Reservation], dict[int, Reservation]]:
    """Two instants: some reservations stay, some are modified, some are handed on to a successor for the same packets."""
    before = draw(populations)
    after = draw(populations)
    for number, one in before.items():
        fate = draw(st.sampled_from(["gone", "stays", "handed on"]))
        if fate == "stays":
            after[number] = one
        elif fate == "handed on":
            after[number + 1000] = one
    return before, after
