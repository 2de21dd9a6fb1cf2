"""What a platform cuts, and what it cannot hold back, is said where it is so, with both numbers, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slotcar.base.vocabulary import Service
from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.intent.model import QosIntent
from tests.unit.platforms import worlds
from tests.unit.platforms.test_cat6500 import device as catalyst
from tests.unit.platforms.test_cat6500 import ends, lans
from tests.unit.platforms.worlds import active, numbered, wanted

INVENTORIES = Path(__file__).parents[2] / "golden" / "render" / "inventories"
CEILING = "ip-premium ceiling"
NO_CEILING = "strict priority has no ceiling for ip-premium: the policers at the edges alone hold it to its share,"


def words_by_aspect(intent: QosIntent, device: Device, **options: object) -> dict[str, str]:
    chosen = device.model_copy(update={"options": {**device.options, **options}})
    approximations = renderer_of(chosen).configuration(intent, chosen).approximations
    assert {one.device for one in approximations} <= {device.name}
    assert not any(device.name in one.words for one in approximations)
    return {one.aspect: one.words for one in approximations}


def of_line(platform: str, capacity_bps: int, **options: object) -> dict[str, str]:
    """Of a router between two links, with shares that the oldest IOS takes."""
    network = worlds.network(platform, capacity_bps)
    intent = worlds.intents(network)["r2"]
    egress = tuple(
        replace(
            one,
            queues=tuple(
                replace(queue, share_ppm=min(queue.share_ppm, 400_000))
                if queue.service is Service.IP_PREMIUM
                else queue
                for queue in one.queues
            ),
        )
        for one in intent.egress
    )
    return words_by_aspect(replace(intent, egress=egress), network.devices["r2"], **options)


def test_queues_longer_than_ios_takes_are_cut_and_that_is_said() -> None:
    assert of_line("cisco-mqc", 10_000_000_000) == {
        f"{name} queue lengths": f"{name}: queues and thresholds of WRED, in full packets, are cut to"
        " assured-rate 4096 of 5334, best-effort 4096 of 5334, qbss 819 of 1067"
        for name in ("eth1", "eth2")
    }
    assert of_line("cisco-mqc", 980_000_000) == {}
    assert set(of_line("cisco-mqc", 984_000_000)) == {"eth1 queue lengths", "eth2 queue lengths"}


def test_what_ios_is_heard_from_netconf_is_cut_alike() -> None:
    network = load_network(INVENTORIES / "cisco-iosxe-netconf")
    name, intent = next((name, one) for name, one in worlds.intents(network).items() if one.egress)
    egress = intent.egress[0]
    queues = (replace(one, queue_bytes=8_000_000) for one in egress.queues)
    intent = replace(intent, egress=(replace(egress, queues=tuple(queues)),))
    (words,) = words_by_aspect(intent, network.devices[name]).values()
    assert words.endswith("best-effort 4096 of 5334, qbss 819 of 5334")


def test_before_hqf_wred_alone_is_cut() -> None:
    assert of_line("cisco-mqc", 1_000_000_000, hqf=False)["eth1 queue lengths"] == (
        "eth1: thresholds of WRED, in full packets, are cut to assured-rate 4096 of 4167, best-effort 4096 of 4167"
    )


def test_buffers_longer_than_junos_takes_are_cut_and_that_is_said() -> None:
    """QBSS's queue is a fifth of best effort's 50 ms of the link: at 1 % of the link it drains in a second."""
    assert of_line("juniper-junos", 1_000_000_000) == {
        f"{name} queue lengths": f"{name}: queues are cut to 500 ms of their rates: qbss 625000 of 1250000 bytes"
        for name in ("eth1", "eth2")
    }
    assert of_line("juniper-junos", 10_000_000_000) == {}, "no queue is wanted that is longer than 8 MB"


@pytest.mark.parametrize(
    ("name", "options", "share"),
    [
        ("core-gsr", {}, "20 %"),
        ("bo-gsr", {}, "13 %"),
        ("mi-gsr", {}, None),
        ("mi-gsr", {"low_latency": "strict"}, "20 %"),
    ],
)
def test_a_12000_has_no_ceiling_for_premium_in_strict_priority(
    name: str, options: dict[str, str], share: str | None
) -> None:
    network = load_network(INVENTORIES / "cisco-gsr")
    words = words_by_aspect(worlds.intents(network)[name], network.devices[name], **options).get(CEILING)
    assert words == (f"{NO_CEILING} {share} of the link" if share else None)


def test_where_premium_has_several_shares_each_is_said_with_its_interfaces() -> None:
    network = load_network(INVENTORIES / "cisco-gsr")
    intent = worlds.intents(network)["bo-gsr"]
    first, *others = intent.egress
    queues = (replace(one, share_ppm=50_000) if one.service is Service.IP_PREMIUM else one for one in first.queues)
    several = replace(intent, egress=(replace(first, queues=tuple(queues)), *others))
    words = words_by_aspect(several, network.devices["bo-gsr"])[CEILING]
    assert words == f"{NO_CEILING} 5 % of GigabitEthernet2/0, 13 % of GigabitEthernet2/1 and POS1/0"


def test_a_catalyst_has_no_ceiling_for_premium_in_its_priority_queue() -> None:
    intent = intents_at((), lans())["cern-lan"]
    words = words_by_aspect(intent, catalyst(approximate=True))[CEILING]
    assert words.startswith(
        "strict priority has no ceiling for ip-premium: the policers at the edges alone hold it to "
    )
    assert CEILING not in words_by_aspect(intent, catalyst(approximate=True, port_type="2q2t"))


@pytest.mark.parametrize(
    ("cir_bps", "pir_bps", "words"),
    [
        (1_000_000, 2_000_000, None),
        (2_500_000_000, 5_000_000_000, "its peak rate is 3959422976 bit/s, 5000000000 wanted"),
        (
            10_000,
            20_000,
            "its committed and its peak rate are one, 32768 bit/s, 10000 and 20000 wanted: all that exceeds it is"
            " dropped as early as what exceeds the peak rate",
        ),
    ],
)
def test_a_catalyst_says_what_it_makes_of_a_peak_rate(cir_bps: int, pir_bps: int, words: str | None) -> None:
    requests = [wanted("copy", **ends(), service=Service.ASSURED_RATE)]
    intent = intents_at(active(numbered(requests, lans(), [1])), lans())["cern-lan"]
    flow = replace(intent.flows[0], cir_bps=cir_bps, pir_bps=pir_bps)
    intent = replace(intent, flows=(flow,))
    aspect = f"{flow.interface.name} hep/copy forward peak rate"
    by_aspect = words_by_aspect(intent, catalyst(approximate=True))
    assert by_aspect.get(aspect) == (words and f"{flow.interface.name}: hep/copy forward: {words}")
    assert aspect not in words_by_aspect(intent, catalyst(approximate=True, marking="precedence")), "one excess there"
