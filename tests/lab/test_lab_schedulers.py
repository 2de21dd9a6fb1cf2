"""hfsc and ets on real kernels: taken, changed in place, read back as given, undone to the byte, and they carry traffic;
and flows that filters know by a port of SCTP."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from slotcar.base.vocabulary import Protocol, Scheduler, Service
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, renderer_of
from slotcar.reservation.model import Endpoint
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.patience import HANG_S
from slotcar_lab.snapshot import snapshot
from tests.support.patience import wait_for
from tests.unit.platforms.worlds import entry, intents

pytestmark = pytest.mark.lab
ROUTER = "anl-edge"
PACKETS = 20
SCTP_ENDS = Path(__file__).parent / "sctp_ends.py"
FLOW = {
    "source": Endpoint(host="anl-premium"),
    "destination": Endpoint(host="lbnl-premium", port=5401),
    "rate_bps": 8_000_000,
}


@dataclass(frozen=True, slots=True)
class Router:
    """A router of the lab whose operator chose a scheduler, on lines that have just the interfaces' capacity."""

    lab: Lab
    network: Network
    device: Device

    @classmethod
    def chosen(cls, lab: Lab, network: Network, scheduler: Scheduler) -> Router:
        device = network.devices[ROUTER]
        options: dict[str, int | str | bool] = {
            f"line_rate:{name}": f"{one.capacity_bps} bit/s" for name, one in device.interfaces.items()
        }
        interfaces = {name: one.model_copy(update={"scheduler": scheduler}) for name, one in device.interfaces.items()}
        chosen = device.model_copy(update={"interfaces": interfaces, "options": options})
        return cls(lab, network.model_copy(update={"devices": network.devices | {ROUTER: chosen}}), chosen)

    def configuration(self, **flow: object) -> Configuration:
        entries = [entry(self.network, 1, **(FLOW | flow))] if flow else []
        return renderer_of(self.device).configuration(intents(self.network, *entries)[ROUTER], self.device)

    def read(self) -> Configuration:
        renderer = renderer_of(self.device)
        commands = renderer.readback_commands(self.device)
        answers = {command: self.lab.check(ROUTER, ["sh", "-c", command]) for command in commands}
        return renderer.running(answers, self.device)

    def run(self, lines: tuple[str, ...]) -> None:
        self.lab.check(ROUTER, ["tc", "-batch", "-"], stdin="".join(f"{line}\n" for line in lines))

    def become(self, running: Configuration, wanted: Configuration) -> tuple[Configuration, tuple[str, ...]]:
        """Makes the router so from what runs on it, sees that it is, and gives what runs now, and the undo."""
        change = renderer_of(self.device).change(running, wanted, self.device)
        self.run(change.apply)
        configuration = self.read()
        assert configuration.lines == wanted.lines
        return configuration, change.undo

    def premium_packets(self) -> int:
        """How many have left by premium's queue towards the other site."""
        shown = self.lab.check(ROUTER, ["tc", "-s", "qdisc", "show", "dev", "eth1"])
        match = re.search(r"qdisc bfifo 51c1: .*\n Sent \d+ bytes (\d+) pkt", shown)
        assert match, shown
        return int(match[1])


@pytest.fixture(scope="module")
def bare(lab: Lab) -> str:
    return snapshot(lab, ROUTER)


@pytest.mark.parametrize("scheduler", [Scheduler.HFSC, Scheduler.ETS])
def test_a_scheduler_is_made_changed_and_undone_as_told(
    lab: Lab, network: Network, bare: str, scheduler: Scheduler
) -> None:
    router = Router.chosen(lab, network, scheduler)
    unreserved, unmanage = router.become(router.read(), router.configuration())
    try:
        premium, end = router.become(unreserved, router.configuration(rate_bps=8_000_000))
        send = f"for n in {{1..{PACKETS}}}; do echo $n >/dev/udp/10.10.21.2/5401; done"
        lab.check("anl-premium", ["bash", "-c", send])
        wait_for(lambda: router.premium_packets() == PACKETS, "the flow's packets in premium's queue")
        assured = router.configuration(rate_bps=16_000_000, service=Service.ASSURED_RATE)
        _, back = router.become(premium, assured)
        router.run(back)
        assert router.read().lines == premium.lines
        router.run(end)
        assert router.read().lines == unreserved.lines
    finally:
        router.run(unmanage)
    assert snapshot(lab, ROUTER) == bare


def test_a_router_goes_from_one_scheduler_to_another_and_back(lab: Lab, network: Network, bare: str) -> None:
    routers = [Router.chosen(lab, network, scheduler) for scheduler in Scheduler]
    running, undos = [routers[0].read()], []
    try:
        for router in routers:
            read, undo = router.become(running[-1], router.configuration(rate_bps=8_000_000))
            running.append(read)
            undos.append(undo)
        while len(undos) > 1:
            routers[0].run(undos.pop())
            running.pop()
            assert routers[0].read() == running[-1]
    finally:
        for undo in reversed(undos):
            routers[0].run(undo)
    assert snapshot(lab, ROUTER) == bare


def carry_sctp(lab: Lab, port: int) -> None:
    with lab.start_python("lbnl-premium", SCTP_ENDS, "listen", str(port)) as listening:
        listening.wait_reported("listening", HANG_S)
        with lab.start_python(
            "anl-premium", SCTP_ENDS, "send", lab.topology.address_of("lbnl-premium"), str(port)
        ) as sending:
            assert sending.wait(HANG_S) == 0, sending.stderr
        assert listening.wait(HANG_S) == 0, listening.stderr


def test_a_flow_of_sctp_is_known_by_its_port(lab: Lab, network: Network, bare: str) -> None:
    """A connection to another port, from the same host to the same host, is best effort."""
    with suppress(LabError):  # a kernel of this machine's may have it built in
        lab.check("", ["modprobe", "sctp"])
    router = Router.chosen(lab, network, Scheduler.HTB)
    unreserved, unmanage = router.become(router.read(), router.configuration())
    try:
        _, end = router.become(unreserved, router.configuration(rate_bps=8_000_000, protocol=Protocol.SCTP))
        carry_sctp(lab, 5401)
        carried = router.premium_packets()
        assert carried >= PACKETS, "the packets of the association's own are the flow's, too"
        carry_sctp(lab, 5402)
        assert router.premium_packets() == carried
        router.run(end)
    finally:
        router.run(unmanage)
    assert snapshot(lab, ROUTER) == bare
