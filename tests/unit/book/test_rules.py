"""The operator's rules by themselves: what waits, whose packets, who may use what, how much is too much."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission.model import Admitted, Demand, covering
from slotcar.base.flow_match import FlowMatch
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.book.rules.amounts import Amount, amount_of, amount_of_change, volume_bits
from slotcar.book.rules.endpoints import EndpointOwners
from slotcar.book.rules.errors import EndpointNotAllowed, FlowTaken, HoldTooLong, QuotaExceeded
from slotcar.book.rules.flows import FlowClaim, check_flows
from slotcar.book.rules.gate import Gate, needs_approval
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Quota, Usage, check_quota, usage_of
from slotcar.network.path.model import Path
from slotcar.reservation.model import BackgroundShare, Reservation, constant_slots
from tests.support.requests import T0, at, reservation, transfer

PATH = Path("src", "dst", "10.0.0.2", "10.0.3.2", Service.IP_PREMIUM, (), ())
WIRE = {"link": 120}


@pytest.mark.parametrize(
    ("more", "wire_bps", "waits"),
    [
        ({}, 120, False),
        ({"rate_bps": 99}, 119, False),
        ({"rate_bps": 101}, 120, True),
        ({}, 121, True),
        ({"end": 61}, 120, True),
        ({"start": 5}, 120, False),
        ({"start": 100, "end": 160}, 120, False),
        ({"direction": Direction.BOTH}, 120, True),
        ({"protocol": Protocol.TCP}, 120, True),
        ({"service": Service.ASSURED_RATE}, 120, True),
    ],
    ids=["same", "less", "rate", "wire", "longer", "shorter", "moved", "volume", "packets", "service"],
)
def test_what_is_more_than_was_approved_waits(more: dict[str, object], wire_bps: int, waits: bool) -> None:
    old = reservation("a", 100)
    new = reservation("a", **{"rate_bps": 100, **more})  # type: ignore[arg-type]
    amount = amount_of_change(old, new, (PATH,), {"link": wire_bps}, at(-10))
    approved = amount_of(old, (PATH,), WIRE)
    assert needs_approval(Gate(rate_bps=50), amount, approved) is waits
    assert needs_approval(Gate(rate_bps=1_000), amount, approved) is False, "below the gate nothing waits"


def test_what_was_used_counts_with_what_is_left() -> None:
    old, moved = reservation("a", 100, 0, 60), reservation("a", 100, 30, 90)
    approved = amount_of(old, (PATH,), WIRE)
    for now, waits in ((0, False), (1, True), (60, True)):
        amount = amount_of_change(old, moved, (PATH,), WIRE, at(now))
        assert needs_approval(Gate(rate_bps=50), amount, approved) is waits, now


PORTS = st.sampled_from([None, 1, 2])
MATCHES = st.builds(
    FlowMatch, st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from(list(Protocol)), PORTS, PORTS
)


@given(MATCHES, MATCHES)
def test_flows_overlap_exactly_if_some_packet_matches_both(one: FlowMatch, other: FlowMatch) -> None:
    packets = {
        (source, destination, protocol, sport, dport)
        for source in "ab" for destination in "xy" for protocol in Protocol for sport in (1, 2, 3) for dport in (1, 2, 3)
    }  # fmt: skip

    def matched(match: FlowMatch) -> set[object]:
        return {
            packet for packet in packets
            if packet[:3] == (match.source_address, match.destination_address, match.protocol)
            and match.source_port in (None, packet[3]) and match.destination_port in (None, packet[4])
        }  # fmt: skip

    assert one.overlaps(other) == bool(matched(one) & matched(other))


SLOTS = st.lists(st.integers(0, 12), min_size=2, max_size=6, unique=True).map(
    lambda cuts: [Window(at(a), at(b)) for a, b in zip(sorted(cuts)[::2], sorted(cuts)[1::2], strict=False)]
)
RATES = st.dictionaries(st.sampled_from(["r", "s", "t"]), st.integers(1, 5), min_size=1)
TAKEN = st.builds(
    lambda rates, slots: Admitted(tuple(Demand.constant(*one) for one in rates.items()), tuple(slots)), RATES, SLOTS
)


def taken(parts: tuple[Admitted, ...], resource: str, minute: int) -> int:
    return sum(
        demand.amount(number)
        for part in parts for number, window in enumerate(part.windows) if window.contains(at(minute))
        for demand in part.demands if demand.resource == resource
    )  # fmt: skip


@given(TAKEN, TAKEN)
def test_what_covers_two_takes_the_greater_of_them_at_every_instant(one: Admitted, other: Admitted) -> None:
    parts = (covering(one, other),)
    for minute in range(13):
        for resource in "rst":
            wanted = max(taken((one,), resource, minute), taken((other,), resource, minute))
            assert taken(parts, resource, minute) == wanted


def test_a_volume_counts_each_reserved_direction() -> None:
    assert volume_bits(reservation("a", 10).slots) == 10 * 3600
    assert volume_bits(reservation("a", 10, direction=Direction.BOTH).slots) == 2 * 10 * 3600


def background(
    at_most_bps: int | None, direction: Direction = Direction.FORWARD, end: int = 60, **more: object
) -> Amount:
    return amount_of(_share(at_most_bps, direction, end, **more), (PATH,), {})


def _share(at_most_bps: int | None, direction: Direction, end: int, **more: object) -> Reservation:
    bounds = {} if at_most_bps is None else {"at_most_bps": at_most_bps}
    return reservation("b", 5, 0, end, share=BackgroundShare(at_least_bps=5, **bounds), direction=direction, **more)


def test_a_background_reservation_counts_with_what_it_can_get() -> None:
    """GARA §4.1's gets what is left, and so may any other without a bound: its floor of 5 says nothing."""
    gate = Gate(rate_bps=50)
    assert needs_approval(gate, background(None), None)
    assert needs_approval(gate, background(51), None)
    assert not needs_approval(gate, background(50), None)
    assert needs_approval(gate, background(80), background(60)), "more than was approved"
    assert not needs_approval(gate, background(60), background(80)), "less than was approved"
    assert needs_approval(gate, background(80, end=61), background(80)), "longer"
    assert needs_approval(gate, background(80, packet_size_bytes=64), background(80)), "more on the wire"
    old, new = (_share(80, Direction.FORWARD, end) for end in (60, 60))
    assert not needs_approval(gate, amount_of_change(old, new, (PATH,), {}, at(30)), background(80))


@pytest.mark.parametrize(("direction", "ways"), [(Direction.FORWARD, 1), (Direction.REVERSE, 1), (Direction.BOTH, 2)])
def test_a_quota_counts_what_a_background_reservation_can_get(direction: Direction, ways: int) -> None:
    usage = usage_of(_share(50, direction, 60), is_held=False)
    assert (usage.windows, usage.volume_bits) == (1, ways * 50 * 3600)
    assert usage.volume_bits == background(50, direction).volume_bits
    unbounded = usage_of(_share(None, direction, 60), is_held=False)
    with pytest.raises(QuotaExceeded, match="counts with its at_most"):
        check_quota("hep", Quota(volume_bits=10**18), Usage(), unbounded)


def test_a_quota_refuses_what_grows_and_not_what_was_too_much_already() -> None:
    quota = Quota(reservations=2, volume_bits=80_000)
    check_quota("hep", quota, Usage(1), Usage(2))
    check_quota("hep", quota, Usage(9, volume_bits=99_999), Usage(8, volume_bits=99_999))
    with pytest.raises(QuotaExceeded) as refused:
        check_quota("hep", quota, Usage(1, volume_bits=80_000), Usage(2, volume_bits=80_008))
    assert str(refused.value) == (
        "owner hep may have 10 kB of rate times time, has 10 kB, and asks for 1 B more: give some back first;"
        " a background reservation counts with its at_most"
    )
    with pytest.raises(QuotaExceeded, match="may have 2 live reservations, has 2, and asks for 1 more"):
        check_quota("hep", quota, Usage(2), Usage(3))


def test_a_hold_ends_by_what_the_operator_says() -> None:
    policy = Policy(longest_hold=timedelta(hours=1))
    policy.check_hold(reservation(), T0, at(60))
    with pytest.raises(
        HoldTooLong, match="hep/a: would be held until 2027-03-01T13:01:00Z, and a hold lasts at most 1 h"
    ):
        policy.check_hold(reservation(), T0, at(61))


@pytest.mark.parametrize(
    ("owner", "address", "allowed"),
    [
        ("hep", "10.0.0.2", True),
        ("astro", "10.0.0.2", False),
        ("astro", "10.0.0.200", True),
        ("hep", "10.0.0.200", False),
        ("hep", "10.0.0.66", True),
        ("anyone", "10.9.0.1", True),
    ],
    ids=["host", "host not prefix", "longest prefix", "not of it", "prefix", "everybody"],
)
def test_an_endpoint_has_its_hosts_owners_or_the_longest_prefixes(owner: str, address: str, allowed: bool) -> None:
    wide, narrow = IPv4Network("10.0.0.0/24"), IPv4Network("10.0.0.128/25")
    owners = EndpointOwners({IPv4Address("10.0.0.2"): ("hep",)}, ((narrow, ("astro",)), (wide, ("hep", "astro"))))
    path = Path("src", "dst", "10.9.0.9", address, Service.IP_PREMIUM, (), ())
    request = reservation(owner=owner)
    if allowed:
        owners.check(request, (path,))
    else:
        with pytest.raises(EndpointNotAllowed, match=f"does not let owner {owner} reserve from or to dst"):
            owners.check(request, (path,))


@pytest.mark.parametrize(("asked_start", "taken"), [(10, True), (59, True), (60, False)])
def test_a_volume_has_its_packets_up_to_its_deadline_wherever_its_profile_lies(asked_start: int, taken: bool) -> None:
    moving = transfer("bulk", 750, 60, owner="hep")
    early = moving.model_copy(update={"slots": constant_slots([Window(at(0), at(5))], 100, moving.direction)})
    fixed = reservation("fixed", 10, asked_start, asked_start + 30, owner="eo")
    claims = [FlowClaim(one, (PATH,)) for one in (fixed, early)]
    if taken:
        with pytest.raises(FlowTaken):
            check_flows(claims[:1], claims[1:], T0, name_other=True)
    else:
        check_flows(claims[:1], claims[1:], T0, name_other=True)
