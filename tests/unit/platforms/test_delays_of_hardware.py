"""What routers with hardware are taken to give premium, as each serves it; and what nothing is promised of, in words."""

from __future__ import annotations

import pytest

from slotcar.admission.service_curves import ServiceCurve, TokenBucket, sending_ns
from slotcar.base.registry import FOLDERS, facts_of
from slotcar.base.vocabulary import Service
from slotcar.network.model import Device, InterfaceId
from slotcar.platforms import Unrenderable, service_curve
from slotcar.platforms.intent.egress import Load, egress_of
from tests.support.networks import line_network

LINE_BPS = 100_000_000
#: A full packet with Ethernet's overhead.
PACKET = 1_538
#: By platform an interface's name there.
NAMES = {
    "cisco-car": "Serial1/0", "cisco-mqc": "GigabitEthernet0/1", "cisco-gsr": "GigabitEthernet1/0",
    "cisco-cat6500": "GigabitEthernet1/1", "cisco-iosxe-netconf": "GigabitEthernet0/1", "juniper-junos": "ge-0/0/1.0",
}  # fmt: skip


def router(platform: str, name: str = "", **options: int | str | bool) -> Device:
    bare = line_network(platform=platform).devices["r2"]
    name = name or NAMES[platform]
    one = bare.interfaces["eth2"].model_copy(update={"id": InterfaceId(device="r2", name=name)})
    return bare.model_copy(update={"interfaces": {name: one}, "options": options})


def curve(device: Device, service: Service = Service.IP_PREMIUM) -> ServiceCurve:
    (interface,) = device.interfaces.values()
    egress = egress_of(interface, Load())
    queue = next(one for one in egress.queues if one.service is service)
    return service_curve(egress, queue, device, TokenBucket())


def test_every_router_says_what_its_queues_are_given() -> None:
    assert {name for name in FOLDERS if facts_of(name).bounds_delay} == set(FOLDERS) == {*NAMES, "linux-tc"}


@pytest.mark.parametrize(
    "platform", ["cisco-mqc", "cisco-gsr", "cisco-cat6500", "cisco-iosxe-netconf", "juniper-junos"]
)
def test_strict_priority_waits_for_the_packets_in_the_hardware_and_has_the_line(platform: str) -> None:
    device = router(platform, transmit_ring=3)
    (interface,) = device.interfaces.values()
    packet = 1_500 + interface.overhead_bytes
    assert curve(device) == ServiceCurve(LINE_BPS, sending_ns(4 * packet, LINE_BPS), output_bytes=packet)
    own = router(platform, **{"transmit_ring": 3, f"transmit_ring:{NAMES[platform]}": 0})
    assert curve(own).latency_ns == sending_ns(packet, LINE_BPS)


def test_alternate_priority_gives_at_least_the_share_and_waits_for_a_round() -> None:
    strict = router("cisco-gsr", transmit_ring=2)
    alternate = router("cisco-gsr", transmit_ring=2, queueing="cos-queue-group", low_latency="alternate")
    (interface,) = alternate.interfaces.values()
    assert interface.share_bps(Service.IP_PREMIUM) <= curve(alternate).rate_bps < LINE_BPS
    assert curve(alternate).latency_ns > curve(strict).latency_ns


def test_weighted_fair_queueing_gives_the_share() -> None:
    device = router("cisco-car", transmit_ring=0)
    (interface,) = device.interfaces.values()
    rate_bps = curve(device).rate_bps
    assert interface.share_bps(Service.IP_PREMIUM) <= rate_bps <= LINE_BPS // 2
    packet = 1_500 + interface.overhead_bytes
    assert curve(device).latency_ns == sending_ns(3 * packet, LINE_BPS)


@pytest.mark.parametrize("platform", NAMES)
def test_without_the_length_of_the_hardware_s_row_nothing_is_promised(platform: str) -> None:
    with pytest.raises(Unrenderable, match=r"say `slotcar_options: \{transmit_ring: PACKETS\}`"):
        curve(router(platform))


@pytest.mark.parametrize("platform", NAMES)
def test_of_an_assured_rate_it_is_said_why_nothing_is_promised(platform: str) -> None:
    with pytest.raises(
        Unrenderable, match=r"nothing bounds the delay of assured-rate, wh.*; ip-premium's can be promised"
    ):
        curve(router(platform, transmit_ring=3), Service.ASSURED_RATE)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (router("cisco-mqc", transmit_ring=3, shape="GigabitEthernet0/1"), "it is shaped"),
        (router("cisco-mqc", "GigabitEthernet0/1.7", transmit_ring=3), "it is shaped"),
        (router("juniper-junos", transmit_ring=3, shape="ge-0/0/1.0"), "it is shaped"),
        (router("juniper-junos", "ge-0/0/1.7", transmit_ring=3), "it is shaped"),
        (router("cisco-cat6500", transmit_ring=3, port_type="2q2t"), "a 2q2t port has no priority queue"),
        (router("cisco-car", "Serial1/0.7", transmit_ring=3), "its queues are the whole interface's"),
    ],
)
def test_what_waits_for_more_than_a_scheduler_is_refused_in_words(device: Device, words: str) -> None:
    with pytest.raises(Unrenderable, match=words):
        curve(device)
