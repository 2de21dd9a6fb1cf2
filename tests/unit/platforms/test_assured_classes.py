"""Classes of the assured rate on routers: taken, read back, undone to the byte, and counted apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.base.assured import AssuredClass, EarlyDrop
from slotcar.base.vocabulary import Scheduler
from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, renderer_of
from slotcar.platforms.cisco_mqc.counters import COUNTERS as MQC_COUNTERS
from slotcar.platforms.ios.class_names import key_of_queue
from slotcar.platforms.juniper_junos.facts import JunosOptions
from slotcar.platforms.linux_tc.queues import minors_of
from slotcar.views.configurations import configurations_at
from tests.golden.test_render import Case, entries
from tests.unit.platforms.kernel import Kernel

GOLDEN = Path(__file__).parents[2] / "golden" / "render"
LINUX = [GOLDEN / "linux-tc-assured-classes", GOLDEN / "linux-tc-assured-classes-d73"]


def read(kernel: Kernel, device: Device) -> Configuration:
    renderer = renderer_of(device)
    return renderer.running(kernel.outputs(renderer.readback_commands(device), device), device)


def wanted(folder: Path) -> tuple[Network, dict[str, Configuration], dict[str, Configuration]]:
    case = Case.read(folder)
    network = load_network(case.inventory)
    reserved = entries(case.reservations, network)
    return network, configurations_at((), network, case.at), configurations_at(reserved, network, case.at)


@pytest.mark.parametrize("folder", LINUX, ids=lambda folder: folder.name)
def test_a_linux_router_is_read_back_as_it_was_told_and_undone_to_the_byte(folder: Path) -> None:
    network, unreserved, reserved = wanted(folder)
    for name, device in network.devices.items():
        kernel, renderer = Kernel(device.interfaces), renderer_of(device)
        bare = kernel.snapshot()
        manage = renderer.change(read(kernel, device), unreserved[name], device)
        kernel.run(manage.apply)
        managed = kernel.snapshot()
        assert read(kernel, device).lines == unreserved[name].lines
        begin = renderer.change(read(kernel, device), reserved[name], device)
        kernel.run(begin.apply)
        assert read(kernel, device).lines == reserved[name].lines
        assert renderer.stored(reserved[name].lines, device).lines == reserved[name].lines
        kernel.run(begin.undo)
        assert kernel.snapshot() == managed
        kernel.run(manage.undo)
        assert kernel.snapshot() == bare


@pytest.mark.parametrize("scheduler", Scheduler)
def test_every_class_has_a_number_of_its_own(scheduler: Scheduler) -> None:
    network = load_network(LINUX[0] / "hosts.yml")
    one = network.devices["west-router"].interfaces["eth2"]
    classes = tuple(AssuredClass(f"c{number}", number, dscps=(8 + number,)) for number in range(8))
    minors = minors_of(one.model_copy(update={"scheduler": scheduler, "assured_classes": classes}))
    assert len(set(minors.values())) == len(minors) == 11


def test_a_class_that_says_nothing_of_early_drop_has_that_of_every_assured_rate() -> None:
    gold = AssuredClass("gold", dscps=(18, 20))
    silver = AssuredClass("silver", dscps=(26,), drops=(EarlyDrop(50, 90, 4),))
    assert (gold.drops, silver.drops[0].one_of) == ((), 4)
    lines = wanted(LINUX[0])[1]["east-router"].lines
    drops = [line.split(" gred ")[1] for line in lines if "eth2" in line and " DP " in line]
    assert [line.split(" avpkt ")[0] for line in drops] == [
        "limit 3887500b min 1555000b max 3110000b",  # silver: 40 and 80 %, of every assured rate's green
        "limit 3887500b min 2332500b max 3498750b",  # gold: its own
        "limit 3887500b min 1166250b max 2332500b",
        "limit 3887500b min 388750b max 1166250b",
    ]
    assert [line.split("probability ")[1].split()[0] for line in drops] == ["0.02", "0.05", "0.1", "0.5"]


def test_queues_are_counted_by_class() -> None:
    assert key_of_queue("SLOTCAR-AC-gold", MQC_COUNTERS.classes) == "assured-rate/gold"
    assert key_of_queue("SLOTCAR-AF1", MQC_COUNTERS.classes) == "assured-rate"
    assert key_of_queue("SLOTCAR-X-40", MQC_COUNTERS.classes) is None


def test_junos_gives_classes_the_queues_that_are_nobodys() -> None:
    assert JunosOptions().queues_of_classes(4) == (5, 1, 2, 7)
    assert JunosOptions(premium_queue=7, assured_queue=1).queues_of_classes(4) == (1, 2, 4, 5)
