"""A shell on this machine in a Linux router's place, and the revisions that tests arm on it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slotcar.book.timeline import Active
from slotcar.rollout import steps
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.linux import scripts
from slotcar.rollout.linux.shell import ShellAnswer
from slotcar.rollout.linux.transport import LinuxTransport
from slotcar.rollout.model import NO_PROGRAM, DeviceRevision, Program, Revision
from slotcar.rollout.transport import Order
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.requests import T0
from tests.unit.rollout.support import NETWORK, revision

DEVICE = NETWORK.devices["r1"]


#: By how much the router's clock is set ahead where a step is to fall due: the machine may take as long to arm it.
SOON_S = 600
#: How `device.sh` asks how long the router has been up.
UPTIME = "read -r since _ </proc/uptime"
#: A wait of a second or more ends early: whoever waits looks at the clock again, and it may have been set ahead.
SLEEP = '#!/bin/sh\ncase $1 in 0.*) exec {sleep} "$1" ;; esac\nexec {sleep} 0.05\n'


class Router:
    """A shell on this machine, with a folder of its own and a `tc` that only notes what it was asked.

    Its clock goes as this machine's does until it is set ahead: however slow the machine, nothing falls due before that.
    """

    def __init__(self, folder: Path) -> None:
        self.place = Path(scripts.remote_dir("r1"))
        self._ran = folder / "ran"
        fake = folder / "bin" / "tc"
        fake.parent.mkdir()
        fake.write_text(
            f"#!/bin/sh\nfor last; do :; done\n[ ! -e {folder}/broken ] || exit 1\n[ ! -e {folder}/slow ] || sleep 1\n"
            f'[ "$last" != - ] || {{ last=step; cat >> {folder}/given; }}\necho "${{last##*/}}" >> {self._ran}\n'
        )
        fake.chmod(0o755)
        sleep = fake.with_name("sleep")
        sleep.write_text(SLEEP.format(sleep=shutil.which("sleep")))
        sleep.chmod(0o755)
        self._ahead = folder / "ahead"
        self._ahead.write_text("0\n")
        self._environment = os.environ | {"PATH": f"{fake.parent}:{os.environ['PATH']}"}
        self.broken, self.given, self.slow = folder / "broken", folder / "given", folder / "slow"

    def advance(self, by_s: int) -> None:
        """Sets its clock ahead: what was armed for the time until then is due."""
        self._ahead.write_text(f"{int(self._ahead.read_text()) + by_s}\n")

    def run(self, command: str, text: str = "") -> ShellAnswer:
        ahead = f"{UPTIME}; read -r ahead_s <{self._ahead}; since=$((${{since%.*}} + ahead_s)).${{since#*.}}"
        done = subprocess.run(
            ["sh", "-c", command],
            input=text.replace(UPTIME, ahead), env=self._environment,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        return ShellAnswer(done.returncode, done.stdout, done.stderr)

    def run_and_hang_up(self, command: str, when: Path) -> None:
        """The login ends, and with it whoever reads the answers, as soon as that is there."""
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        wait_for(when.exists, f"{when.name} to be there")
        assert process.stdout is not None
        process.stdout.close()
        os.killpg(process.pid, signal.SIGHUP)
        assert process.wait(PATIENCE_S) == 0

    @property
    def ran(self) -> list[str]:
        return self._ran.read_text().split() if self._ran.exists() else []

    @property
    def armed(self) -> str:
        return self.run(scripts.state_command(DEVICE)).stdout.split()[0]


def part_of(whole: Revision) -> DeviceRevision:
    return whole.devices["r1"]


def revision_of(
    *some: Active, ends_in_s: float = 3600, replaces: str = NO_PROGRAM, fence: int | None = None
) -> Revision:
    """A revision of r1 whose first slot ends in so many seconds by this machine's clock."""
    whole = revision(T0, *some)
    part = whole.devices["r1"]
    program = part.program
    if program.instants:
        shift = datetime.now(UTC) + timedelta(seconds=ends_in_s) - program.instants[0]
        program = Program(
            tuple(one + shift for one in program.instants),
            program.configurations,
            program.initial_lines,
            program.boundaries,
        )
    part = replace(part, program=program, replaces=replaces)
    name = f"{whole.id}-{time.monotonic_ns()}"
    return Revision(name, T0, {"r1": part}, fence)


def folder_of(pushed: Revision, tmp_path: Path) -> DeviceFolder:
    return DeviceFolder(Archive(tmp_path / "state").write(pushed) / "r1")


def stage(router: Router, folder: DeviceFolder) -> None:
    asyncio.run(steps.stage(LinuxTransport(router, DEVICE), Order(folder)))


def activate(router: Router, folder: DeviceFolder) -> bool:
    """Whether it changed anything."""
    return asyncio.run(steps.activate(LinuxTransport(router, DEVICE), Order(folder))).changed


def arm(router: Router, pushed: Revision, tmp_path: Path) -> None:
    folder = folder_of(pushed, tmp_path)
    stage(router, folder)
    activate(router, folder)
