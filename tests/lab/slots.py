"""What the tests ask of the lab's routers and of a controller about one flow's slot."""

from __future__ import annotations

from lab.control import Lab
from lab.snapshot import snapshot
from tests.support.controllers import Controller

FLOW = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--protocol", "udp")


def reserve(controller: Controller, name: str, start: str, duration: str, rate: str = "32 Mbit/s") -> None:
    window = ("--start", start, "--duration", duration)
    controller.slotcar("create", "--owner", "test", "--name", name, *FLOW, "--rate", rate, *window)


def policed(lab: Lab) -> str:
    """The flow's filter at the edge, empty where there is none."""
    return lab.check("anl-edge", ["tc", "filter", "show", "dev", "eth2", "ingress", "pref", "20813"])


def snapshots(lab: Lab) -> dict[str, str]:
    return {router: snapshot(lab, router) for router in lab.topology.routers}
