"""A controller, or a command, told to stop in the middle of a push: routers are left in order, and nothing is left over."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from slotcar.store import Ledger, open_ledger
from slotcar_lab.ios import HangAfter, Routers, Slow
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.controllers import SLOTCAR, Controller, heeds_interrupts
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.postgres import stop_server

FLOW = (
    "--source",
    "anl-premium",
    "--destination",
    "lbnl-premium:5001",
    "--protocol",
    "udp",
    "--owner",
    "test",
    "--direction",
    "both",
)
FIRST, LAST = "anl-7507-1", "lbnl-7507"


@dataclass
class Site:
    """GARNET's routers, and a state folder with an embedded database and a folder for temporary files of its own."""

    world: CiscoWorld
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    lines_before: int = 0

    def __post_init__(self) -> None:
        self.state, self.temporary = self.folder / "state", self.folder / "tmp"
        for one in (self.state, self.temporary):
            one.mkdir()

    def controller(self, **settings: str) -> Controller:
        controller = Controller(self.state, self.world.inventory, TMPDIR=str(self.temporary), **settings)
        self.environment = controller.environment
        return controller

    def reserve(self, controller: Controller, name: str) -> None:
        self.lines_before = len(self.world.routers[LAST].history)
        controller.slotcar(
            "create", "--name", name, *FLOW, "--rate", "10 Mbit/s", "--start", "now", "--duration", "1 h"
        )

    def processes(self) -> list[str]:
        """All that still runs for this state folder: Ansible, its workers, ssh, the database."""
        left = []
        for process in psutil.process_iter():
            try:
                own = process.environ().get("SLOTCAR_STATE_DIR") == str(self.state)
                if own and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                    left.append(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        return left

    def check_nothing_is_left(self) -> None:
        wait_for(lambda: not self.processes(), "what it started to end")
        assert not (self.state / "postgres" / "postmaster.pid").exists()
        assert [one.name for one in self.temporary.iterdir() if not one.name.startswith("ansible-")] == []
        assert list((self.state / "reading").iterdir()) == []

    def begins_to_push(self) -> bool:
        """Whether a line more has come to the last router than when it was standing."""
        return len(self.world.routers[LAST].history) > self.lines_before

    def carries(self) -> list[bool]:
        return ["eq 5001" in self.world.routers[name].running_text() for name in (FIRST, LAST)]

    def ledger(self) -> Ledger:
        return open_ledger(None, self.state)

    def kinds(self) -> list[str]:
        with self.ledger() as ledger:
            return [event.kind for event in ledger.events(limit=1000)]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="slotcar-stop-") as folder, Routers() as routers:
        Path(folder).chmod(0o711)
        site = Site(CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet", answer_s=60), Path(folder))
        yield site
        stop_server(site.state / "postgres")  # this process has asked it too


@pytest.mark.slow
def test_a_push_that_goes_on_is_finished_and_nothing_is_left(site: Site) -> None:
    with site.controller() as controller:
        controller.wait_settled()
        site.world.routers[LAST].fault(Slow(line_ms=150))
        site.reserve(controller, "drained")
        wait_for(site.begins_to_push, "the push to begin")
        controller.process.send_signal(signal.SIGTERM)
        assert controller.process.wait(PATIENCE_S) == 0, controller.log.read_text()
    site.check_nothing_is_left()
    assert site.carries() == [True, True]
    last = [kind for kind in site.kinds() if kind.startswith("push.")][-2:]
    assert last == ["push.verified", "push.verified"]
    check_closed(site.state)


@pytest.mark.slow
def test_a_push_that_does_not_end_is_taken_back(site: Site) -> None:
    with site.controller(SLOTCAR_STOP_TIMEOUT="60 s") as controller:
        controller.wait_settled()
        before = site.world.running()
        site.world.routers[LAST].fault(HangAfter(1))
        site.reserve(controller, "undone")
        wait_for(site.begins_to_push, "the push to begin")
        controller.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not any("/playbooks/push" in one for one in site.processes()), "the push to be given up")
        site.world.routers[LAST].heal()
        assert controller.process.wait(PATIENCE_S) == 0, controller.log.read_text()
    site.check_nothing_is_left()
    assert site.world.running() == before
    kinds = site.kinds()
    assert "push.rolled-back" in kinds
    assert "push.device-failed" not in kinds, "no device is to blame"


@pytest.mark.slow
def test_told_twice_it_ends_at_once_and_leaves_no_process(site: Site) -> None:
    with site.controller() as controller:
        controller.wait_settled()
        site.world.routers[LAST].fault(HangAfter(1))
        site.reserve(controller, "cut")
        wait_for(site.begins_to_push, "the push to begin")
        controller.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not controller.answers(), "the API to end")
        assert controller.process.poll() is None, "it waits for the push"
        controller.process.send_signal(signal.SIGTERM)
        assert controller.process.wait(PATIENCE_S) == 128 + signal.SIGTERM, controller.log.read_text()
    site.world.routers[LAST].heal()
    site.check_nothing_is_left()


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGHUP])
def test_a_command_that_pushes_finishes_too(site: Site, number: signal.Signals) -> None:
    """Ctrl-C, or the end of the login that it was said in."""
    environment = os.environ | {
        "SLOTCAR_STATE_DIR": str(site.state), "SLOTCAR_INVENTORY": str(site.world.inventory), "TMPDIR": str(site.temporary),
    }  # fmt: skip
    site.lines_before = len(site.world.routers[LAST].history)
    site.world.routers[LAST].fault(Slow(line_ms=60))
    with subprocess.Popen(
        [str(SLOTCAR), "push", "--yes"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=heeds_interrupts,
    ) as command:  # fmt: skip
        wait_for(site.begins_to_push, "the push to begin")
        command.send_signal(number)
        output, errors = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == 0, output + errors
    assert "told to stop: what goes on is finished" in errors
    assert "Pushed and verified" in output
    site.check_nothing_is_left()


def check_closed(folder: Path) -> None:
    """Nothing in a state folder is for the group or for others. Root's group may pass through to the database's folder."""
    assert not stat.S_IMODE(folder.stat().st_mode) & (0o077 if os.geteuid() else 0o067)
    opened = [
        f"{stat.S_IMODE(path.lstat().st_mode):o} {path}"
        for path in folder.rglob("*")
        if not path.is_symlink() and stat.S_IMODE(path.lstat().st_mode) & 0o077 and "controller-" not in path.name
    ]
    assert opened == []
