"""A Linux router that goes by IP precedence: the same services, each by the code point that its neighbours know."""

from __future__ import annotations

import re

from hypothesis import given

from slotcar.base.vocabulary import CODE_POINTS, Marking, service_of
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, renderer_of
from slotcar.reservation.model import Reservation
from tests.support.examples import examples
from tests.unit.platforms.kernel import Kernel
from tests.unit.platforms.worlds import intents, network, population, populations, successions

NAMES = ("r1", "r2", "r3")
#: A code point that is matched or set, in a filter's line.
POINT = re.compile(r"(?:ip_tos|dsfield set) (0x[0-9a-f]+)")


def by_precedence(where: Network, name: str) -> Device:
    return where.devices[name].model_copy(update={"options": {"marking": "precedence"}})


def configuration(where: Network, chosen: dict[int, Reservation], name: str, marking: Marking) -> Configuration:
    device = by_precedence(where, name) if marking is Marking.PRECEDENCE else where.devices[name]
    return renderer_of(device).configuration(intents(where, *population(where, chosen))[name], device)


@given(succession=successions())
@examples(10, 40)
def test_a_change_is_taken_by_the_kernel_read_back_as_written_and_undone(
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
) -> None:
    where = network("linux-tc")
    for name in NAMES:
        device = by_precedence(where, name)
        renderer = renderer_of(device)
        first, second = (configuration(where, chosen, name, Marking.PRECEDENCE) for chosen in succession)
        kernel = Kernel(device.interfaces)
        kernel.run(renderer.change(Configuration(name, device.platform), first, device).apply)
        before = kernel.snapshot()
        change = renderer.change(first, second, device)
        kernel.run(change.apply)
        outputs = kernel.outputs(renderer.readback_commands(device), device)
        assert renderer.running(outputs, device).lines == second.lines
        kernel.run(change.undo)
        assert kernel.snapshot() == before


@given(chosen=populations)
@examples(10, 40)
def test_each_filter_speaks_of_the_service_that_it_spoke_of_by_dscp(chosen: dict[int, Reservation]) -> None:
    """Same filters, same treatment, for the same service; only the code points are others'."""
    where = network("linux-tc")
    known = {dscp for points in CODE_POINTS[Marking.PRECEDENCE].values() for dscp in points}
    for name in NAMES:
        by_marking = {marking: services(configuration(where, chosen, name, marking), marking) for marking in Marking}
        assert set(by_marking[Marking.PRECEDENCE]) == set(by_marking[Marking.DSCP])
        lines = configuration(where, chosen, name, Marking.PRECEDENCE).lines
        assert {int(one, 16) >> 2 for line in lines for one in POINT.findall(line)} <= known
        assert all("/0xe0" in line for line in lines if "ip_tos" in line), "the three bits of the precedence alone"


def services(configuration: Configuration, marking: Marking) -> list[str]:
    """The filters with services in the place of code points; the handle of one that matches a code point is that one."""
    filters = []
    for line in configuration.lines:
        if line.startswith("filter "):
            text = POINT.sub(lambda match: service_of(int(match[1], 16) >> 2, marking).value, line)
            text = re.sub(r"/0x(e0|fc)", "", text)
            filters.append(re.sub(r"handle \S+", "", text) if "ip_tos" in line else text)
    # An assured rate's yellow and red are one by precedence: their filters differ in nothing but GRED's profile.
    return [re.sub(r"classid :3", "classid :2", text) for text in filters]
