"""Traffic for `make domains`: a premium flow from ANL through ESnet to LBNL beside a load that fills the line.

Three controllers push to the routers of their own domains. ANL and ESnet open an SLS while they run, which ESnet's router
polices at the border and all of the flow rests on. The flow is sent without a reservation, with one that the
domains made as a chain, and with one that a client made as an agent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotcar_client import Slotcar
from slotcar_client.agent import reserve_over
from slotcar_client.wire.verbs import Connect, Controller, EndConnection, OpenSls
from slotcar_lab import control, requirements, topology, traffic
from slotcar_lab.control import Lab
from slotcar_lab.demo.figures import KEPT, LOST
from slotcar_lab.demo.run import LOAD, PREMIUM, QUEUE_S, RATES_BPS
from slotcar_lab.errors import LabError
from slotcar_lab.patience import HANG_S
from slotcar_lab.traffic import Totals

#: At an eighth of the lab's rates, as `inventories/demo` has them.
RESERVATION = {
    "name": "traffic", "owner": "hep", "source": "anl-premium", "destination": f"lbnl-premium:{PREMIUM[2]}",
    "protocol": "udp", "service": "ip-premium", "rate": "4 Mbit/s", "packet_size": "1428 B", "rtt": "200 ms",
    "start": "now + 10 s", "duration": "PT1H",
}  # fmt: skip
#: What no inventory has until the domains have agreed on it.
OPENED: dict[str, Any] = {
    "name": "anl-esnet-ip-premium", "upstream": "anl", "service": "ip-premium", "rate": "5625 kbit/s",
    "burst": "62500 B", "ingress": "esnet-hub:eth1", "egress": ["esnet-hub:eth2"],
    "validity": {"start": "now", "end": "now + 1 d"},
}  # fmt: skip
#: As `tc` shows its rate on the router.
POLICED = "rate 5625Kbit"
LASTS_S = 12.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What was sent of the premium flow, and what came. `is_reserved`: by all three domains, on their routers."""

    name: str
    is_reserved: bool
    totals: Totals

    @property
    def ratio(self) -> float:
        return self.totals.received_packets / max(1, self.totals.sent_packets)

    @property
    def is_as_it_should_be(self) -> bool:
        return self.ratio >= KEPT if self.is_reserved else self.ratio <= LOST


def lab_up(folder: Path, say: Callable[[str], None]) -> Lab:
    backend = control.choose_backend(say)
    requirements.ensure(backend, say, install=True)
    return control.up(topology.garnet(RATES_BPS), folder, backend, say)


def show_traffic(controllers: Mapping[str, Slotcar], lab: Lab, say: Callable[[str], None]) -> bool:
    """Whether the flow kept its rate with a reservation, and lost it without."""
    _wait_until(
        lambda: all(one.send(Controller())["settled"] for one in controllers.values()), "the routers' baseline"
    )
    say("ANL opens an SLS of 5625 kbit/s into ESnet, whose router is to police it where ANL's traffic comes in:")
    _open_sls(controllers, lab)
    say("A premium flow of 4 Mbit/s beside a load of 6 Mbit/s through a line of 7.5 Mbit/s:")
    stages = [_stage("no reservation", lab, is_reserved=False)]
    chain = controllers["anl"].send(Connect(RESERVATION))["connection"]
    stages.append(_reserved("a chain", controllers, lab, chain, "traffic"))
    agent = reserve_over(controllers, "anl", RESERVATION | {"name": "by-agent-with-traffic"})["connection"]
    stages.append(_reserved("an agent", controllers, lab, agent, "by-agent-with-traffic"))
    return all(stage.is_as_it_should_be for stage in stages)


def _open_sls(controllers: Mapping[str, Slotcar], lab: Lab) -> None:
    router, interface = OPENED["ingress"].split(":")

    def is_policed() -> bool:
        return POLICED in lab.check(router, ["tc", "filter", "show", "dev", interface, "ingress"])

    before = is_policed()
    opened = controllers["anl"].send(OpenSls(OPENED))
    _wait_until(is_policed, "the policer of the SLS on the router at the border")
    mark = "NO " if before else "yes"
    print(f"  {mark}  {opened['name']} is agreed on, and policed at {opened['ingress']}", flush=True)


def _reserved(name: str, controllers: Mapping[str, Slotcar], lab: Lab, connection: str, reservation: str) -> Stage:
    _wait_until(lambda: _in_place(controllers, reservation), "the slot on the routers of all three domains")
    stage = _stage(name, lab, is_reserved=True)
    controllers["anl"].send(EndConnection(connection, "shown"))
    return stage


def _stage(name: str, lab: Lab, *, is_reserved: bool) -> Stage:
    with _flow(lab, LOAD, LASTS_S + 4.0), _flow(lab, PREMIUM, LASTS_S) as premium:
        stage = Stage(name, is_reserved, premium.wait(HANG_S))
    mark = "yes" if stage.is_as_it_should_be else "NO "
    totals = stage.totals
    print(
        f"  {mark}  {name:15} {totals.received_packets} of {totals.sent_packets} packets came, {stage.ratio:.1%}",
        flush=True,
    )
    return stage


def _flow(lab: Lab, flow: tuple[str, str, int, int, int], duration_s: float) -> traffic.Flow:
    source, destination, port, rate_bps, payload_bytes = flow
    return traffic.start_udp(
        lab, source, destination, port=port, rate_bps=rate_bps, payload_bytes=payload_bytes, duration_s=duration_s,
        queue_s=QUEUE_S,
    )  # fmt: skip


def _in_place(controllers: Mapping[str, Slotcar], reservation: str) -> bool:
    entries = [next(iter(one.reservations(name=reservation, limit=1)), None) for one in controllers.values()]
    return all(entry is not None and entry["slot"] and entry["slot"]["state"] == "in-place" for entry in entries)


def _wait_until(is_so: Callable[[], bool], what: str) -> None:
    """
    Raises:
        LabError: it did not become so in as long as only a hang takes.
    """
    end_s = time.monotonic() + HANG_S
    while not is_so():
        if time.monotonic() > end_s:
            raise LabError(f"it was waited for {what}, in vain")
        time.sleep(0.2)
