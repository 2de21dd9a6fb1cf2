"""What a router does by itself in virtual time: it opens files of the guest's own, and never waits for this machine."""

from __future__ import annotations

from importlib.resources import files

import pytest

from slotcar.rollout.linux.scripts import command, remote_dir
from slotcar_lab.control import Lab
from slotcar_lab.lateness import MACHINE, lags_cs
from tests.lab.test_virtual_time import machine_busy

pytestmark = pytest.mark.lab
ROUTER, INTERFACE = "router", "eth2"
STEPS, PERIOD_S = 12, 5
#: Of the guest's time, what a step's own programs take.
STEP_CS = 3
TRACING = "/sys/kernel/tracing"
QUESTIONS = f"{TRACING}/events/9p/9p_client_req/enable"


def stage(lab: Lab, first: int) -> str:
    """Stages a step every five seconds, the first at an instant (s since the epoch), as `device.sh` says at its head.

    Returns:
        The command that arms them.
    """
    place, numbers = remote_dir(ROUTER), range(1, STEPS + 1)
    program = {
        "agenda": "".join(f"{number} {(first + (number - 1) * PERIOD_S) * 100}\n" for number in numbers),
        "ids": "".join(f"after-{number}\n" for number in (0, *numbers)),
        "replaces": "none\n",
        "fence": "-\n",
        "apply.txt": "",
        **{f"{number}.txt": f"qdisc replace dev {INTERFACE} root bfifo limit {number}000\n" for number in numbers},
    }
    lab.check(ROUTER, ["mkdir", "-p", f"{place}/rev-1"])
    for name, text in program.items():
        lab.check(ROUTER, ["tee", f"{place}/rev-1/{name}"], stdin=text)
    lab.check(
        ROUTER, ["tee", f"{place}/device.sh"], stdin=files("slotcar.rollout.linux").joinpath("device.sh").read_text()
    )
    since_boot, since_epoch = lab.check(ROUTER, command(ROUTER, "clock").split()).split()
    return command(ROUTER, "activate", "rev-1", str(int(since_epoch) - int(since_boot)))


def test_steps_are_on_time_beside_other_work_and_ask_this_machine_nothing(virtual_lab: Lab) -> None:
    lab = virtual_lab
    lab.check(
        MACHINE, ["sh", "-c", f"mountpoint -q {TRACING} || mount -t tracefs tracefs {TRACING}; echo 1 >{QUESTIONS}"]
    )
    first = int(lab.clock.now()) + 4 * PERIOD_S
    arm = stage(lab, first)
    lags = []
    # A shell that stays: what one that has ended left behind is ended, too.
    with machine_busy(), lab.popen(ROUTER, ["sh", "-c", f"{arm}; cat"], stdin=True):
        lab.clock.wait_until(first - 2.0)
        lab.check(MACHINE, ["sh", "-c", f": >{TRACING}/trace"])
        for number in range(STEPS):
            lab.clock.wait_until(first + number * PERIOD_S + 2.0)
            lags.append(lags_cs(lab, [ROUTER])[ROUTER])
        questions = lab.check(MACHINE, ["sed", "-n", "/9p_client_req/p", f"{TRACING}/trace"])
    assert f"limit {STEPS}000b" in lab.check(ROUTER, ["tc", "qdisc", "show", "dev", INTERFACE])
    lab.check(ROUTER, ["tc", "qdisc", "del", "dev", INTERFACE, "root"])
    assert max(lags) <= STEP_CS, lags
    assert questions == ""
