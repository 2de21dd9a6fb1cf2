"""What the how-tos tell an operator to do is done here, in their order, on the lab's routers."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from slotcar_lab.control import Lab
from tests.lab.conftest import ROOT, Controllers
from tests.support import prefork
from tests.support.controllers import SLOTCAR, Controller, slotcar
from tests.support.documents import File, steps
from tests.support.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.lab
HOWTO = ROOT / "docs" / "howto"
OVER = ("--owner", "hep", "--all")


def follow(document: Path, folder: Path, environment: dict[str, str]) -> list[str]:
    """Writes the document's files and runs its commands in `folder`; what each command printed."""
    path = os.pathsep.join((str(SLOTCAR.parent), environment.get("PATH", os.defpath)))
    printed = []
    for step in steps(document):
        if isinstance(step, File):
            file = folder / step.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text, encoding="utf-8")
            continue
        done = run(step.line, folder, environment | {"PATH": path})
        assert done.returncode == step.code, f"{step.line}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    assert printed
    return printed


def run(line: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A line of the document, by a shell unless it is `slotcar` with words and quotes alone."""
    if line.startswith("slotcar ") and not set(line) & set("|&;<>$`(){}*?~"):
        return prefork.run(shlex.split(line)[1:], environment, PATIENCE_S, cwd=folder)
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_an_operators_how_to(controller: Controller, tmp_path: Path) -> None:
    printed = "".join(follow(HOWTO / "operate.md", tmp_path, controller.environment))
    assert "hep/greedy" in printed
    assert "nearest window" in printed or "would fit" in printed
    # Behind the state stands what is still on the routers, where a controller answers.
    words = [line.split() for line in controller.slotcar("status", *OVER).splitlines()[1:]]
    states = {name: state.rstrip(",") for name, _, state, *_ in words}
    assert states == {"hep/cms": "cancelled", "hep/atlas": "cancelled", "hep/lhcb": "cancelled"}


def held_without_a_ledger(state_dir: Path) -> list[str]:
    """The routers that rollbacks hold, which the next controller records."""
    events = [json.loads(file.read_text()) for file in (state_dir / "unrecorded").glob("*.json")]
    return sorted({event["device"] for event in events if event["kind"] == "device.held"})


@pytest.mark.slow  # in short: tests/lab/test_main_job_orphaned.py
def test_the_how_to_of_an_emergency(lab: Lab, controllers: Controllers) -> None:
    def queues(router: str) -> bool:
        return "51c0" in lab.check(router, ["tc", "qdisc", "show"])

    flow = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--protocol", "udp", "--owner", "hep")
    controller = controllers.settled()
    before = controller.verified()
    controller.slotcar("create", "--name", "cms", *flow, "--rate", "10 Mbit/s", "--duration", "1 h")
    wait_for(lambda: controller.verified() > before, "the push to be verified")
    controller.kill()
    follow(HOWTO / "emergency-rollback.md", ROOT, controller.environment)
    slotcar("cancel", "hep/cms", "--yes", environment=controller.environment)
    slotcar(
        "release",
        *held_without_a_ledger(Path(controller.environment["SLOTCAR_STATE_DIR"])),
        "--yes",
        environment=controller.environment,
    )
    controllers.settled()
    assert all(queues(router) for router in lab.topology.routers), "the standing queues, on all routers"
