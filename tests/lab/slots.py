"""What the tests ask of the lab's routers and of a controller about one flow's slot."""

from __future__ import annotations

from slotcar_lab.control import Lab
from tests.support.controllers import Controller
from tests.support.patience import wait_for

FLOW = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--protocol", "udp")


def reserve(controller: Controller, name: str, start: str, duration: str, rate: str = "32 Mbit/s") -> None:
    window = ("--start", start, "--duration", duration)
    controller.slotcar("create", "--owner", "test", "--name", name, *FLOW, "--rate", rate, *window)


def policed(lab: Lab) -> str:
    """The flow's filter at the edge, empty where there is none."""
    return lab.check("anl-edge", ["tc", "filter", "show", "dev", "eth2", "ingress", "pref", "20813"])


def wait_policed(lab: Lab, words: str = "dst_port 5001") -> None:
    wait_for(lambda: words in policed(lab), f"{words} at the edge", pause_s=0.3)


def wait_not_policed(lab: Lab) -> None:
    wait_for(lambda: not policed(lab), "the flow's end on the edge router", pause_s=0.3)
