"""What platforms cannot express is refused at admission: by itself, as it stands, or beside whoever is open then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.book.model import Condition, Entry
from slotcar.book.timeline import active_at
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.errors import CannotExpress
from slotcar.planning.offline import entries_of
from slotcar.planning.platform_limits import FEW_FLOWS, PlatformLimits, after_admission, busiest
from slotcar.planning.routing import route
from slotcar.platforms import Unrenderable, renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.reservation.model import Endpoint, Reservation
from tests.support.examples import examples
from tests.support.networks import line_network
from tests.support.requests import T0, at, reservation

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "render"
#: An inventory of each platform whose flows share something, and two end systems of it.
COUNTED = {
    "car": (ROOT / "inventories" / "garnet", "anl-premium", "lbnl-premium"),
    "cat6500": (GOLDEN / "inventories" / "cisco-cat6500", "cern-se", "infn-se"),
    "gsr": (GOLDEN / "inventories" / "cisco-gsr", "bo-data", "mi-data"),
    "mqc": (GOLDEN / "inventories" / "cisco-mqc", "north-data", "south-data"),
    "mqc-before-hqf": (GOLDEN / "inventories" / "cisco-mqc", "north-data", "south-data"),
    "junos": (GOLDEN / "inventories" / "juniper-junos", "north-data", "south-data"),
    "netconf": (GOLDEN / "inventories" / "cisco-iosxe-netconf", "north-data", "south-data"),
}


@cache
def network(name: str) -> Network:
    loaded = load_network(COUNTED[name][0])
    if name != "mqc-before-hqf":
        return loaded
    older = {
        key: device.model_copy(update={"options": {**device.options, "hqf": False}})
        for key, device in loaded.devices.items()
    }
    return loaded.model_copy(update={"devices": older})


def request(name: str, number: int, **more: object) -> Reservation:
    _, source, destination = COUNTED[name]
    ends = {"source": Endpoint(host=source), "destination": Endpoint(host=destination, port=10_000 + number)}
    return reservation(f"n{number}", 8_000, **(ends | more))


def several(name: str, count: int, **more: object) -> tuple[Entry, ...]:
    return entries_of([request(name, number, **more) for number in range(1, count + 1)], network(name), T0)


def checked(name: str, entries: Sequence[Entry]) -> None:
    """The last of them beside the others, as the ledger asks it."""
    *others, last = entries
    condition = condition_of(name, last)
    assert condition is not None
    condition.check(last, others)


def condition_of(name: str, entry: Entry) -> Condition | None:
    return PlatformLimits(network(name)).condition(route(entry.reservation, network(name)))


FEW = [(name, service) for name in COUNTED for service in (Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS)]


@pytest.mark.parametrize(("name", "service"), [case for case in FEW if case != ("car", Service.ASSURED_RATE)])
def test_few_flows_fit_on_every_platform(name: str, service: Service) -> None:
    """What `FEW_FLOWS` says, so that the rendering may be spared: here it is not. (GARNET has no SLS for the one left
    out, which CAR polices as it does premium.)"""
    where = network(name)
    entries = several(name, FEW_FLOWS, service=service, source=Endpoint(host=COUNTED[name][1], port=20_000))
    device = where.devices[entries[0].paths[0].hops[0].device]
    intent = intents_at(active_at(entries, T0), where, T0, {device.name})[device.name]
    assert len(intent.flows) == FEW_FLOWS
    for options in ({}, {"microflow": True} if name == "cat" else {}):
        router = device.model_copy(update={"options": device.options | options})
        renderer_of(router).configuration(intent, router)


@pytest.mark.parametrize(
    ("name", "most", "words"),
    [
        ("car", 100, "anl-7507-1: 101 flows at once, and cisco-car has the 100 lists from"),
        ("gsr", 60, "classes wanted in one policy, 64 at most"),
        ("mqc-before-hqf", 60, "classes wanted in one policy, 64 at most"),
    ],
)
def test_one_too_many_is_refused_in_the_renderers_words(name: str, most: int, words: str) -> None:
    where = network(name)
    entries = several(name, most + 5)
    fits = max(count for count in range(most - 5, len(entries)) if renders(where, entries[:count]))
    checked(name, entries[:fits])
    with pytest.raises(CannotExpress) as refused:
        checked(name, entries[: fits + 1])
    assert words in str(refused.value)


def renders(where: Network, entries: Sequence[Entry]) -> bool:
    try:
        first = entries[0].paths[0].hops[0].device
        intent = intents_at(active_at(entries, T0), where, T0, {first})[first]
        renderer_of(where.devices[first]).configuration(intent, where.devices[first])
    except Unrenderable:
        return False
    return True


def test_those_that_are_open_at_another_time_are_in_nobodys_way() -> None:
    entries = several("car", 101)
    early = tuple(moved(one, minutes) for one, minutes in zip(entries[:100], [0, 60] * 50, strict=True))
    checked("car", (*early, entries[100]))
    with pytest.raises(CannotExpress):
        checked("car", (*(moved(one, 0) for one in entries[:100]), entries[100]))


def moved(entry: Entry, minutes: int) -> Entry:
    windows = tuple(
        Window(one.start + timedelta(minutes=minutes), one.end + timedelta(minutes=minutes))
        for one in entry.reservation.windows
    )
    return replace(entry, reservation=entry.reservation.over(windows))


def test_flows_for_the_same_packets_share_a_policer_and_its_limit() -> None:
    """Each by itself is within 200 Mb/s, the policer of an IOS before HQF; both at once are not."""
    where = fast("mqc-before-hqf")
    one, two = (
        reservation(name, 120_000_000, source=Endpoint(host="north-data"), destination=Endpoint(host="south-data"))
        for name in "ab"
    )
    entries = entries_of([one, two], where, T0)
    condition = PlatformLimits(where).condition(route(two, where))
    assert condition is not None
    condition.check(entries[1], ())
    with pytest.raises(CannotExpress, match=r"a policer's rate of .* wanted, 200 Mbit/s at most"):
        condition.check(entries[1], entries[:1])


def test_a_flow_that_is_too_much_by_itself_is_refused_before_the_ledger_is_asked() -> None:
    where = fast("mqc-before-hqf")
    ends = {"source": Endpoint(host="north-data"), "destination": Endpoint(host="south-data")}
    with pytest.raises(CannotExpress, match=r"a policer's rate of .* wanted, 200 Mbit/s at most"):
        PlatformLimits(where).condition(route(reservation("a", 300_000_000, **ends), where))


@pytest.mark.parametrize("name", ["mqc", "netconf"])
@pytest.mark.parametrize("service", [Service.IP_PREMIUM, Service.ASSURED_RATE])
def test_ten_gigabits_can_be_reserved_on_todays_routers(name: str, service: Service) -> None:
    """Headers make a policer's rate of 10.2 Gb/s of it, and releases of today take 64."""
    where = fast(name, 10**11)
    ends = {"source": Endpoint(host="north-data"), "destination": Endpoint(host="south-data"), "service": service}
    PlatformLimits(where).condition(route(reservation("a", 10_000_000_000, rtt_us=1_000, **ends), where))


def test_a_routers_own_limit_is_an_option_and_the_highest_rate_that_fits_is_said() -> None:
    where = fast("mqc", 10**11, police_at_most="10 Gbit/s")
    ends = {"source": Endpoint(host="north-data"), "destination": Endpoint(host="south-data"), "rtt_us": 1_000}

    def words_of(rate_bps: int) -> str:
        with pytest.raises(CannotExpress) as refused:
            PlatformLimits(where).condition(route(reservation("a", rate_bps, **ends), where))
        return str(refused.value)

    words = words_of(10_000_000_000)
    assert (
        "a policer's rate of 10.2 Gbit/s wanted, 10 Gbit/s at most; 9.813 Gbit/s is the highest rate that fits"
        in words
    )
    PlatformLimits(where).condition(route(reservation("a", 9_813_000_000, **ends), where))
    words_of(9_814_000_000)


def test_admission_answers_before_the_platform() -> None:
    """The platform's answer is a condition that is asked once there is room."""
    where = fast("mqc-before-hqf")
    ends = {"source": Endpoint(host="north-data"), "destination": Endpoint(host="south-data")}
    routed = route(reservation("a", 300_000_000, **ends), where)
    condition = after_admission(PlatformLimits(where).condition, routed)
    assert condition is not None
    assert condition.few < 0, "it is asked also where nobody else is there"
    with pytest.raises(CannotExpress, match=r"200 Mbit/s at most; .* is the highest rate that fits"):
        condition.check(routed.entry("", 1, T0), ())


def fast(name: str, capacity_bps: int = 10**10, **options: str) -> Network:
    """The same network over links of 10 Gb/s."""
    where = network(name)
    devices = {
        key: device.model_copy(
            update={
                "interfaces": {
                    port: one.model_copy(update={"capacity_bps": capacity_bps})
                    for port, one in device.interfaces.items()
                },
                "options": {k: v for k, v in device.options.items() if k != "shape"} | options,
            }
        )
        for key, device in where.devices.items()
    }
    # A shaper of that IOS ends far below: the VLAN is an interface of its own here.
    plain = (
        where.model_copy(update={"devices": devices})
        .model_dump_json()
        .replace("GigabitEthernet0/1.100", "GigabitEthernet9/0")
    )
    return Network.model_validate_json(plain)


def test_a_router_that_cannot_be_told_even_what_stands_takes_no_reservation() -> None:
    where = network("gsr")
    first = next(iter(where.devices))
    broken = where.devices[first].model_copy(update={"options": {"queueing": "round-robin"}})
    other = where.model_copy(update={"devices": {**where.devices, first: broken}})
    crossing = request("gsr", 1)
    if first not in {hop.device for path in route(crossing, other).paths for hop in path.hops}:
        pytest.fail("the reservation must cross the router")
    limits = PlatformLimits(other)
    for _ in range(2):  # the second time from memory
        with pytest.raises(
            CannotExpress, match=f"{first}: slotcar_options.queueing: is not known here .got round-robin"
        ):
            limits.condition(route(crossing, other))


def test_linux_routers_leave_nothing_to_ask_under_the_lock() -> None:
    where = line_network()
    assert PlatformLimits(where).condition(route(reservation("a", 8_000), where)) is None


def test_what_a_domain_classified_before_it_was_over_provisioned_is_asked_of_too() -> None:
    """Those flows are classified further on by now, and their entries still name the device that did it."""
    where = line_network(platform="cisco-mqc")
    alpha = where.domains["alpha"].model_copy(update={"over_provisioned": True})
    now = where.model_copy(update={"domains": {**where.domains, "alpha": alpha}})
    for network_then, devices in ((where, {"r1"}), (now, {"r1", "r2"})):
        condition = PlatformLimits(network_then).condition(route(reservation("a", 8_000), network_then))
        assert condition is not None
        assert (condition.devices, condition.few) == (devices, FEW_FLOWS)


@st.composite
def slots(draw: st.DrawFn) -> list[tuple[Window, ...]]:
    """Windows of several entries, each in order of time and apart."""
    chosen = []
    for _ in range(draw(st.integers(1, 6))):
        edges = sorted(draw(st.lists(st.integers(0, 12), min_size=2, max_size=6, unique=True)))
        pairs = zip(edges[::2], edges[1::2], strict=False)
        chosen.append(tuple(Window(at(start), at(end)) for start, end in pairs))
    return chosen


@given(open_windows=slots())
@examples(75, 300)
def test_no_set_of_open_entries_is_missed(open_windows: list[tuple[Window, ...]]) -> None:
    """Beside brute force over every minute."""
    (base,) = several("car", 1)
    entries = [
        replace(base, number=number, reservation=base.reservation.over(windows))
        for number, windows in enumerate(open_windows)
    ]
    own, others = entries[0], entries[1:]
    busiest_sets = busiest(own, others)
    open_at = {
        minute: frozenset(
            one.number for one in others if any(window.contains(at(minute)) for window in one.reservation.windows)
        )
        for minute in range(13)
        if any(window.contains(at(minute)) for window in own.reservation.windows)
    }
    for numbers in open_at.values():
        assert not numbers or any(numbers <= other for _, other in busiest_sets)
    for instant, numbers in busiest_sets:
        assert any(window.contains(instant) for window in own.reservation.windows)
        assert numbers == open_at[int((instant - T0).total_seconds() // 60)]
        assert not any(numbers < other for _, other in busiest_sets)
