"""Limits, queues and weights of the Catalyst 6500, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from slotcar.base.vocabulary import Protocol, Service
from slotcar.network import load_network
from slotcar.network.model import Device, InterfaceId, Network
from slotcar.platforms import Unrenderable, renderer_of
from slotcar.platforms.cisco_cat6500 import limits
from slotcar.platforms.cisco_cat6500.egress import queueing
from slotcar.platforms.intent import QosIntent, intents_at
from slotcar.platforms.intent.egress import MILLION, RANK
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.ios.configuration import body
from slotcar.platforms.ios.objects import Interface
from slotcar.platforms.weights import overestimated_ppm
from tests.unit.platforms.worlds import active, numbered, wanted

PREMIUM, ASSURED, QBSS = Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS


@cache
def lans() -> Network:
    return load_network(Path(__file__).parents[2] / "golden" / "render" / "inventories" / "cisco-cat6500")


def device(name: str = "cern-lan", **options: str | int | bool) -> Device:
    one = lans().devices[name]
    return one.model_copy(update={"options": options})


def intent(name: str = "cern-lan") -> QosIntent:
    return intents_at((), lans())[name]


def egress(capacity_bps: int = 1_000_000_000, **percents: float) -> Egress:
    shares = {Service(name.replace("_", "-")): int(percent * 10_000) for name, percent in percents.items()}
    shares[Service.BEST_EFFORT] = MILLION - sum(shares.values())
    return Egress(
        InterfaceId(device="cern-lan", name="GigabitEthernet1/1"),
        capacity_bps,
        tuple(
            Queue(one, 0, shares.get(one, 0), capacity_bps, RANK[one], 1_250_000 if one is QBSS else 6_250_000)
            for one in sorted(RANK, key=RANK.__getitem__)
        ),
    )


def test_rates_are_multiples_of_the_hardwares_grain() -> None:
    """Catalyst 6500 IOS Configuration Guide 12.1E, p. 31-31."""
    table = {2_097_152: 32_768, 4_194_304: 65_536, 8_388_608: 131_072, 67_108_864: 1_048_576, 134_217_728: 2_097_152}
    assert {limit: limits.grain_bps(limit) for limit in table} == table
    assert limits.grain_bps(2_097_153) == 65_536
    assert limits.rate(50_000_000, "") == 48 * 1_048_576
    assert limits.rate(1, "") == 32_768
    assert limits.rate(2_097_153, "") == 33 * 65_536
    assert limits.rate(3_959_422_976, "") == 3_959_422_976


def test_a_rate_above_the_pfcs_is_refused() -> None:
    with pytest.raises(Unrenderable, match=r"^here: a policer's rate of 3.96 Gbit/s wanted, 3.959 Gbit/s at most$"):
        limits.rate(3_959_422_977, "here")


def test_bursts_are_what_was_measured_up_to_the_devices_ceiling() -> None:
    """D7.3 §8.1.1: 2.5 MB for one TCP flow at 50 Mb/s, 40 KB for UDP at 80 Mb/s."""
    catalyst = device()
    assert limits.burst(8_000, 50_000_000, Protocol.TCP, catalyst, "") == 2_500_000
    assert limits.burst(8_000, 80_000_000, Protocol.UDP, catalyst, "") == 40_000
    assert limits.burst(8_000, 300_000_000, Protocol.TCP, catalyst, "") == catalyst.burst_ceiling_bytes == 2_500_000
    assert limits.burst(8_000, 300_000_000, None, catalyst, "") == 75_000  # p. 31-46: rate / 4000
    assert limits.burst(9_000_000, 50_000_000, Protocol.TCP, catalyst, "") == 9_000_000
    with pytest.raises(Unrenderable, match=r"a policer's burst of 31.26 MB wanted, 31.25 MB at most"):
        limits.burst(31_250_001, 50_000_000, None, catalyst, "here")


def test_overestimation_meets_what_was_measured() -> None:
    """D7.3 §8.1.1: factor 8.5 at 20 Mb/s and 3 at 80 Mb/s of a gigabit link."""
    assert overestimated_ppm(20_000) == 170_000
    assert overestimated_ppm(80_000) == 240_000
    assert overestimated_ppm(50_000) == 205_000
    assert overestimated_ppm(1) == 170_000
    factors = [overestimated_ppm(share) / share for share in range(10_000, 700_000, 1_000)]
    assert factors == sorted(factors, reverse=True)
    assert all(factor > 1 for factor in factors)


@pytest.mark.parametrize(
    ("port", "shares", "weights"),
    [
        ("2q2t", {"ip_premium": 2}, (83, 17)),
        ("2q2t", {"ip_premium": 8}, (76, 24)),
        ("2q2t", {"ip_premium": 60}, (15, 85)),
        ("2q2t", {"ip_premium": 99}, (1, 99)),
        ("2q2t", {"assured_rate": 8}, (76, 24)),
        ("2q2t", {"qbss": 1}, (1, 99)),
        ("1p2q2t", {"ip_premium": 20}, (99, 1)),
        ("1p2q2t", {"assured_rate": 30}, (70, 30)),
        ("1p2q2t", {"ip_premium": 20, "assured_rate": 40}, (50, 50)),
        ("1p2q2t", {"ip_premium": 35, "assured_rate": 25}, (61, 39)),
        ("1p2q2t", {"ip_premium": 20, "qbss": 1}, (2, 98)),
    ],
)
def test_weights_give_the_reserved_its_share(port: str, shares: dict[str, float], weights: tuple[int, int]) -> None:
    lines, notes = queueing_lines(egress(**shares), device(port_type=port))
    assert lines[0] == f"wrr-queue bandwidth {weights[0]} {weights[1]}"
    assert notes == ()


def queueing_lines(wanted: Egress, switch: Device) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A port's queues as the switch is told of them."""
    wrr, approximations = queueing(wanted, switch)
    assert {one.device for one in approximations} <= {switch.name}
    return body(Interface("GigabitEthernet1/1", wrr=wrr)), tuple(one.words for one in approximations)


COMBINATIONS = [
    {name: percent for name, percent in shares.items() if percent}
    for premium in (0, 1, 20, 60)
    for assured in (0, 1, 25)
    for qbss in (0, 1, 5)
    if (shares := {"ip_premium": premium, "assured_rate": assured, "qbss": qbss})
]


@pytest.mark.parametrize("port", ["1p2q2t", "2q2t"])
@pytest.mark.parametrize("shares", COMBINATIONS, ids=str)
def test_every_class_of_service_has_one_place_and_every_value_is_in_range(port: str, shares: dict[str, float]) -> None:
    lines, _ = queueing_lines(egress(**shares), device(port_type=port, approximate=True))
    if not shares:
        assert lines == ()
        return
    words = [line.split() for line in lines]
    places = [int(cos) for line in words if line[1] == "cos-map" for cos in line[3 if line[0][0] == "p" else 4 :]]
    assert sorted(places) == list(range(8))
    low, high = (int(one) for one in words[0][2:])
    assert low + high == 100
    assert min(low, high) >= 1
    sizes = [int(one) for one in words[1][2:]]
    assert sizes[0] + sizes[1] * (2 if port == "1p2q2t" else 1) == 100
    assert min(sizes) >= 10
    for line in words[2:]:
        if "threshold" in line[-4] or line[1] == "threshold":
            assert all(1 <= int(one) <= 100 for one in line[-2:])
    minima, maxima = ([line[-2:] for line in words if f"{end}-threshold" in line] for end in ("min", "max"))
    for least, most in zip(minima, maxima, strict=True):
        assert all(int(one) <= int(other) for one, other in zip(least, most, strict=True))
        assert most[1] == "100"
    assert ("priority-queue cos-map 1 5" in lines) == (port == "1p2q2t" and "ip_premium" in shares)


def test_more_classes_than_queues_are_refused_or_approximated_in_words() -> None:
    four = egress(ip_premium=20, assured_rate=40, qbss=1)
    with pytest.raises(Unrenderable, match=r"^cern-lan GigabitEthernet1/1: 4 classes wanted, 3 queues$"):
        queueing_lines(four, device())
    with pytest.raises(Unrenderable, match=r"^cern-lan GigabitEthernet1/1: 4 classes wanted, 2 queues$"):
        queueing_lines(four, device(port_type="2q2t"))
    _, one = queueing_lines(four, device(approximate=True))
    assert [note.split(" share ")[0] for note in one] == ["GigabitEthernet1/1: best-effort and qbss"]
    lines, two = queueing_lines(four, device(approximate=True, **{"port_type:GigabitEthernet1/1": "2q2t"}))
    assert [note.partition(": ")[2].split(" share ")[0] for note in two] == [
        "ip-premium and assured-rate",
        "best-effort and qbss",
    ]
    assert "85 % of the weights" in two[0]
    assert "15 % of the weights" in two[1]
    assert lines[0] == "wrr-queue bandwidth 15 85"


def test_shares_that_leave_no_weight_are_refused() -> None:
    with pytest.raises(Unrenderable, match="assured-rate need 100 % of what strict priority leaves"):
        queueing_lines(egress(ip_premium=20, assured_rate=79.9), device())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"port_type": "1p3q1t"},
            r"slotcar_options.port_type: is not known here .got 1p3q1t.; say '1p2q2t' or '2q2t'",
        ),
        (
            {"port_type:GigabitEthernet1/2": "x"},
            r"cern-lan: slotcar_options.port_type:GigabitEthernet1/2: is not known here .got x.",
        ),
        (
            {"port_type:GigabitEthernet9/2": "2q2t"},
            r"port_type:GigabitEthernet9/2: is no key that is known here; did you mean `port_type:Gigabit",
        ),
        ({"marking": "cos"}, r"cern-lan: slotcar_options.marking is cos; known are dscp, precedence"),
    ],
)
def test_options_that_nobody_knows_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(Unrenderable, match=problem):
        renderer_of(device()).configuration(intent(), device(**options))


def test_a_vlan_is_no_port() -> None:
    one = intent().egress[0]
    vlan = replace(one, interface=InterfaceId(device="cern-lan", name="Vlan10"))
    with pytest.raises(Unrenderable, match="cern-lan Vlan10: a Catalyst's queues are a port's, and this is none"):
        renderer_of(device()).configuration(replace(intent(), egress=(vlan,)), device())


def test_an_sls_whose_name_is_too_long_or_odd_is_refused() -> None:
    for name in ("x" * 24, "two words"):
        bad = replace(intent(), aggregates=(replace(intent().aggregates[0], sls=name),))
        with pytest.raises(Unrenderable, match=f"the SLS {name} cannot name a policer: at most 23 letters"):
            renderer_of(device()).configuration(bad, device())
    good = replace(intent(), aggregates=(replace(intent().aggregates[0], sls="x" * 23),))
    assert f"SLOTCAR-{'x' * 23} " in renderer_of(device()).configuration(good, device()).text


def test_re_marking_of_an_assured_rates_sls_needs_leave_to_approximate() -> None:
    strict = device("infn-lan").model_copy(update={"options": {}})
    shares = replace(intent("infn-lan"), egress=())
    with pytest.raises(Unrenderable, match="exceeds the SLS cern-infn-assured becomes DSCP 14"):
        renderer_of(strict).configuration(shares, strict)
    loose = device("infn-lan", approximate=True)
    (note,) = renderer_of(loose).configuration(shares, loose).approximations
    assert "becomes DSCP 14, dropped first in its class, and not best effort" in note.words


def test_more_policers_than_the_pfc_holds_are_refused() -> None:
    (flow,) = intents_at(
        active(numbered([wanted(**ends())], lans(), [1])),
        lans(),
    )["cern-lan"].flows
    many = tuple(replace(flow, number=n, match=replace(flow.match, destination_port=n)) for n in range(1, 1_025))
    full = replace(intent(), flows=many, aggregates=())
    with pytest.raises(Unrenderable, match="cern-lan: 1024 policers at once, and the PFC holds 1023"):
        renderer_of(device()).configuration(full, device())
    renderer_of(device()).configuration(replace(full, flows=many[1:]), device())
    pinned = tuple(
        replace(one, cbs_bytes=8_000 + n, match=replace(one.match, source_port=9)) for n, one in enumerate(many[:64])
    )
    with pytest.raises(Unrenderable, match="64 different microflow policers at once, and the PFC holds 63"):
        renderer_of(device()).configuration(replace(full, flows=pinned), device(microflow=True))


def ends() -> dict[str, object]:
    host = wanted().source.model_copy
    return {"source": host(update={"host": "cern-se"}), "destination": host(update={"host": "cern-ce"})}
