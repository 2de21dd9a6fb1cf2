"""What modular QoS routers and 12000s are told promises no less than was reserved, and what they cannot do is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.units import format_rate
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, Unreadable, Unrenderable, renderer_of
from slotcar.platforms.cisco_gsr.egress import mtu_bytes, weights_of
from slotcar.platforms.cisco_gsr.limits import WEIGHT_BYTES
from slotcar.platforms.intent.model import QosIntent
from slotcar_lab.ios.grammar import check
from tests.unit.platforms import worlds
from tests.unit.platforms.watching import between

GOLDEN = Path(__file__).parents[2] / "golden"
PLATFORMS = ("cisco-mqc", "cisco-gsr")
#: D7.3 §8.3 as numbers: percent by precedence, then (least, most, denominator) of WRED by precedence.
D73_PERCENTS = {1: 4, 2: 4, 3: 4, 4: 16, 0: 75}
D73_GUARANTEED, D73_DEFAULT = (2000, 3000, 1), (500, 1000, 1)


def device_of(network: Network, name: str, **options: object) -> Device:
    router = network.devices[name]
    return router.model_copy(update={"options": {**router.options, **options}})


def rendered(
    platform: str, *entries: object, name: str = "r1", capacity_bps: int = 100_000_000, **options: object
) -> Configuration:
    network = worlds.network(platform, capacity_bps)
    device = device_of(network, name, **options)
    return renderer_of(device).configuration(worlds.intents(network, *entries)[name], device)  # type: ignore[arg-type]


def bodies(configuration: Configuration, policy: str) -> dict[str, list[str]]:
    """Lines of each class of a policy map."""
    classes: dict[str, list[str]] = {}
    inside, name = False, ""
    for line in configuration.lines:
        if not line.startswith(" "):
            inside = line == f"policy-map {policy}"
        elif inside and line.startswith(" class "):
            name = line.split()[1]
            classes[name] = []
        elif inside:
            classes[name].append(line.strip())
    return classes


@given(one=worlds.reservations, platform=st.sampled_from(PLATFORMS))
def test_a_policer_passes_no_less_than_was_reserved(one: object, platform: str) -> None:
    network = worlds.network(platform)
    (entry,) = worlds.population(network, {7: one})  # type: ignore[dict-item]
    for name, intent in worlds.intents(network, entry).items():
        device = network.devices[name]
        configuration = renderer_of(device).configuration(intent, device)
        for flow in intent.flows:
            (*_, line) = bodies(configuration, f"SLOTCAR-IN-{flow.interface.name}")[f"SLOTCAR-F{flow.number}"]
            settings = dict(zip(line.split()[1:], line.split()[2:], strict=False))
            if flow.service in (Service.IP_PREMIUM, Service.ASSURED_RATE):
                assert int(settings["cir"]) >= flow.cir_bps
                assert int(settings["bc"]) >= flow.cbs_bytes
                assert int(settings["cir"]) < max(8_001, flow.cir_bps + 1)
            if "pir" in settings:
                assert int(settings["pir"]) >= flow.pir_bps
                assert int(settings["be"]) >= flow.pbs_bytes


@pytest.mark.parametrize("platform", PLATFORMS)
def test_shares_are_rounded_up_and_stay_while_reservations_come(platform: str) -> None:
    network = worlds.network(platform)
    entry = worlds.entry(network, rate_bps=3_000_000)
    quiet, busy = rendered(platform), rendered(platform, entry)
    out = "SLOTCAR-OUT-eth2"
    assert bodies(quiet, out) == bodies(busy, out) != {}
    assured = "SLOTCAR-AF1" if platform == "cisco-mqc" else "SLOTCAR-AF"
    assert "bandwidth percent 30" in bodies(quiet, out)[assured]
    shares = {Service.IP_PREMIUM: 290_323, Service.ASSURED_RATE: 300_001}
    intent = worlds.intents(network)["r1"]
    queues = tuple(replace(q, share_ppm=shares.get(q.service, q.share_ppm)) for q in intent.egress[0].queues)
    intent = replace(intent, egress=(replace(intent.egress[0], queues=queues),))
    device = network.devices["r1"]
    text = renderer_of(device).configuration(intent, device).text
    assert "bandwidth percent 31\n" in text
    assert ("priority percent 30\n" if platform == "cisco-mqc" else "priority\n") in text


def test_what_d73_prints_for_a_12000_is_what_its_shares_give() -> None:
    """D7.3 §8.3, in meaning: its class-map for each precedence is ours by service. The assured rate has two of its
    precedences; its precedence 4 has 16 % and premium here 13 %, which is what is left, as the print's sum is 103."""
    network = load_network(GOLDEN / "render" / "inventories" / "cisco-gsr")
    device = network.devices["bo-gsr"]
    intent = worlds.intents(network)["bo-gsr"]
    classes = bodies(renderer_of(device).configuration(intent, device), "SLOTCAR-OUT-POS1/0")
    assert sum(D73_PERCENTS.values()) == 103
    assert f"bandwidth percent {D73_PERCENTS[1]}" in classes["SLOTCAR-QBSS"]
    assert f"bandwidth percent {D73_PERCENTS[2] + D73_PERCENTS[3]}" in classes["SLOTCAR-AF"]
    assert f"bandwidth percent {D73_PERCENTS[0]}" in classes["class-default"]
    assert "random-detect precedence {} {} {} {}".format(3, *D73_GUARANTEED) in classes["SLOTCAR-AF"]
    assert "random-detect precedence {} {} {} {}".format(0, *D73_DEFAULT) in classes["class-default"]
    assert all("random-detect" in body for name, body in classes.items() if name != "SLOTCAR-EF")


shares = st.fixed_dictionaries(
    {
        Service.ASSURED_RATE: st.integers(1, 60),
        Service.QBSS: st.integers(1, 10),
        Service.BEST_EFFORT: st.integers(1, 90),
    }
)


@given(percents=shares, interface=st.sampled_from(["POS1/0", "GigabitEthernet2/0"]))
def test_quanta_of_a_cos_queue_group_give_each_promise_its_share(percents: dict[Service, int], interface: str) -> None:
    mtu = mtu_bytes(interface)
    weights = weights_of(percents, mtu, "gsr")
    quanta = {service: mtu + (weight - 1) * WEIGHT_BYTES for service, weight in weights.items()}
    for service in (Service.ASSURED_RATE, Service.QBSS):
        assert quanta[service] * percents[Service.BEST_EFFORT] >= quanta[Service.BEST_EFFORT] * percents[service]
    extra = WEIGHT_BYTES * (len(quanta) - 1)
    for service in (Service.ASSURED_RATE, Service.QBSS):  # no more than one step from the share, either way
        assert quanta[service] * sum(percents.values()) >= (sum(quanta.values()) - extra) * percents[service]


def test_an_alternating_low_latency_queue_sends_premiums_share() -> None:
    configuration = rendered_inventory("cisco-gsr", "mi-gsr")
    text = configuration.text.partition("cos-queue-group SLOTCAR-POS3/0\n")[2].partition("cos-queue-group")[0]
    weights = [int(weight) for weight in re.findall(r"^ queue \d (\d+)$", text, re.M)]
    (premium,) = (int(weight) for weight in re.findall(r"queue low-latency alternate-priority (\d+)", text))
    others = sum(4_470 + (weight - 1) * 512 for weight in weights)
    sent = len(weights) * (4_470 + (premium - 1) * 512)
    assert 20 * (others + sent) <= 100 * sent


def rendered_inventory(platform: str, name: str, **options: object) -> Configuration:
    network = load_network(GOLDEN / "render" / "inventories" / platform)
    device = device_of(network, name, **options)
    return renderer_of(device).configuration(worlds.intents(network)[name], device)


@pytest.mark.parametrize(
    ("platform", "name", "options", "message"),
    [
        ("cisco-gsr", "bo-gsr", {"queues": 3}, "bo-gsr GigabitEthernet2/0: 4 classes wanted, 3 queues"),
        (
            "cisco-gsr",
            "bo-gsr",
            {"low_latency": "alternate"},
            "low_latency: alternate needs queueing: cos-queue-group",
        ),
        ("cisco-gsr", "bo-gsr", {"queueing": "wfq"}, "slotcar_options.queueing: is not known here (got wfq)"),
        ("cisco-gsr", "bo-gsr", {"first_flow_acl": 2650}, "first_flow_acl: leads out of the extended lists"),
        ("cisco-mqc", "hub", {"hqf": False}, "hub GigabitEthernet0/0/0: "),
    ],
)
def test_what_a_platform_has_not_is_refused(
    platform: str, name: str, options: dict[str, object], message: str
) -> None:
    if message == "hub GigabitEthernet0/0/0: ":
        network = load_network(GOLDEN / "render" / "inventories" / "cisco-mqc")
        intent = more_assured(worlds.intents(network)[name])
        device = device_of(network, name, **options)
        message += "the shares need 81 % (EF 30, AF1 50, QBSS 1), 75 at most"
    else:
        network = load_network(GOLDEN / "render" / "inventories" / platform)
        intent, device = worlds.intents(network)[name], device_of(network, name, **options)
    with pytest.raises(Unrenderable) as refused:
        renderer_of(device).configuration(intent, device)
    assert message in str(refused.value)


def more_assured(intent: QosIntent) -> QosIntent:
    egress = tuple(
        replace(
            one,
            queues=tuple(
                replace(q, share_ppm=500_000) if q.service is Service.ASSURED_RATE else q for q in one.queues
            ),
        )
        for one in intent.egress
    )
    return replace(intent, egress=egress)


def test_with_too_few_queues_an_approximation_is_said_in_words() -> None:
    configuration = rendered_inventory("cisco-gsr", "core-gsr")
    assert tuple(one.words for one in configuration.approximations) == (
        "assured-rate has two colours by IP precedence: what exceeds the committed rate is dropped first, below"
        " the peak rate and above it alike",
        "POS1/0: qbss waits in best effort's queue: 4 classes, 3 queues",
        "POS2/0: qbss waits in best effort's queue: 4 classes, 3 queues",
        "strict priority has no ceiling for ip-premium: the policers at the edges alone hold it to its share,"
        " 20 % of the link",
    )
    assert "SLOTCAR-QBSS" not in configuration.text


@pytest.mark.parametrize("rate_bps", [200_000_000, 200_000_001])
def test_a_rate_over_what_the_policer_takes_is_refused(rate_bps: int) -> None:
    network = worlds.network("cisco-mqc", 10**9)
    intent = worlds.intents(network, worlds.entry(network))["r1"]
    intent = replace(intent, flows=tuple(replace(flow, cir_bps=rate_bps) for flow in intent.flows))
    device = device_of(network, "r1", hqf=False)
    queues = [replace(one, queues=tuple(replace(q, share_ppm=0) for q in one.queues)) for one in intent.egress]
    intent = replace(intent, egress=tuple(queues))
    if rate_bps <= 200_000_000:
        assert f"police cir {rate_bps} " in renderer_of(device).configuration(intent, device).text
    else:
        message = "r1 eth1, hep/flow forward: a policer's rate of 200.1 Mbit/s wanted, 200 Mbit/s at most"
        with pytest.raises(Unrenderable, match=message):
            renderer_of(device).configuration(intent, device)


def test_more_flows_than_lists_or_classes_are_refused() -> None:
    network = worlds.network("cisco-gsr")
    intent = worlds.intents(network, worlds.entry(network))["r1"]
    for count, message in (
        (101, "101 flows at once, and cisco-gsr has the 100 lists from 2600 on"),
        (62, "65 classes"),
    ):
        many = replace(intent, flows=tuple(replace(intent.flows[0], number=n) for n in range(count)))
        with pytest.raises(Unrenderable, match=message):
            renderer_of(network.devices["r1"]).configuration(many, network.devices["r1"])


@pytest.mark.parametrize(("capacity_bps", "hqf"), [(7_999, True), (200_000_000, False)])
def test_a_rate_that_the_shaper_has_not_is_refused(capacity_bps: int, hqf: bool) -> None:
    network = worlds.network("cisco-mqc")
    intent = worlds.intents(network)["r2"]
    egress = replace(intent.egress[0], capacity_bps=capacity_bps)
    device = device_of(network, "r2", shape="eth1", hqf=hqf)
    with pytest.raises(Unrenderable, match=f"r2 eth1: shaping to {format_rate(capacity_bps)} wanted, 8 kbit/s to "):
        renderer_of(device).configuration(replace(intent, aggregates=(), egress=(egress,)), device)


@pytest.mark.parametrize("capacity_bps", [50_000_000, 50_007_999])
def test_a_shaped_share_is_no_less_than_that_of_the_capacity(capacity_bps: int) -> None:
    network = worlds.network("cisco-mqc")
    intent = worlds.intents(network)["r2"]
    egress = replace(intent.egress[0], capacity_bps=capacity_bps)
    device = device_of(network, "r2", shape="eth1, eth2")
    text = renderer_of(device).configuration(replace(intent, egress=(egress,)), device).text
    assert "shape average 50000000\n  service-policy SLOTCAR-OUT-eth1\n" in text
    (percent,) = (int(match) for match in re.findall(r"priority percent (\d+)", text))
    assert percent * 50_000_000 >= 45 * capacity_bps
    assert "service-policy output SLOTCAR-SHAPE-eth1\n" in text


def test_a_name_that_ios_has_no_room_for_is_refused() -> None:
    network = worlds.network("cisco-mqc")
    intent = worlds.intents(network)["r2"]
    name = "HundredGigabitEthernet0/0/0/12.1234"
    egress = replace(intent.egress[0], interface=intent.egress[0].interface.model_copy(update={"name": name}))
    with pytest.raises(Unrenderable, match="names have 40 letters at most"):
        renderer_of(network.devices["r2"]).configuration(replace(intent, egress=(egress,)), network.devices["r2"])


def test_a_vc_of_atm_is_refused() -> None:
    network = worlds.network("cisco-mqc")
    intent = worlds.intents(network)["r2"]
    egress = replace(intent.egress[0], interface=intent.egress[0].interface.model_copy(update={"name": "ATM1/0.60"}))
    with pytest.raises(Unrenderable, match=r"r2 ATM1/0.60: the policy of an ATM VC stands under its `pvc`"):
        renderer_of(network.devices["r2"]).configuration(replace(intent, egress=(egress,)), network.devices["r2"])


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_answer_without_a_configuration_is_quoted(platform: str) -> None:
    device = worlds.network(platform).devices["r1"]
    with pytest.raises(Unreadable, match="r1: `show running-config` gave no configuration: % Invalid input"):
        renderer_of(device).running({"show running-config": "% Invalid input"}, device)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_ports_and_code_points_read_back_by_name_or_number(platform: str) -> None:
    network = worlds.network(platform)
    entry = worlds.entry(network, protocol=Protocol.TCP, destination=worlds.Endpoint(host="dst", port=80))
    device = network.devices["r1"]
    wanted = renderer_of(device).configuration(worlds.intents(network, entry)["r1"], device)
    assert "eq 80\n" in wanted.text
    shown = (
        wanted.text.replace("eq 80\n", "eq www\n")
        .replace(" ip dscp ef", " ip dscp 46")
        .replace(" permit", " 10 permit")
    )
    shown = shown if platform == "cisco-mqc" else wanted.text.replace("eq 80\n", "eq www\n")
    assert renderer_of(device).running({"show running-config": shown}, device) == wanted


def test_every_12000_of_datagrid_is_rendered() -> None:
    """D7.3's backbones, with a flow both ways between sites whose gateways they are."""
    network = load_network(Path(__file__).parents[3] / "inventories" / "datagrid")
    ends = {"src": "ral-se", "dst": "cern-se"}
    request = between(worlds.wanted(service=Service.ASSURED_RATE, direction=Direction.BOTH), ends)
    (entry,) = worlds.population(network, {1: request})
    intents = worlds.intents(network, entry)
    rendered_ones = [name for name, intent in intents.items() if intent.platform == "cisco-gsr"]
    assert len(rendered_ones) == 13
    for name in rendered_ones:
        device = network.devices[name]
        configuration = renderer_of(device).configuration(intents[name], device)
        assert check("cisco-gsr", configuration.text) == []
        outputs = [line for line in configuration.lines if line.startswith(" service-policy output ")]
        assert len(outputs) == len(device.interfaces)
    ral = renderer_of(network.devices["ral-gw"]).configuration(intents["ral-gw"], network.devices["ral-gw"])
    assert "conform-action set-prec-transmit 3 exceed-action set-prec-transmit 2\n" in ral.text
