"""What a router does by itself at coming instants: for each step of a program a file with its change, and an applet of the
Embedded Event Manager that copies the file when its countdown ends (DESIGN rule 9).

A countdown is told in seconds from the moment in which it is set, so that the router's own clock need not be right. The
applet's last actions take the applet and its file away. Syntax: "Embedded Event Manager Command Reference", `event manager
applet`, `event timer`, `action cli`. No router has proved it; the emulator runs it (`lab/ios/events.py`).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from controller.network.model import Device
from controller.render import renderer_of
from controller.render.model import Configuration
from controller.rollout.fanout.families import EEM
from controller.rollout.fanout.login import DeviceError
from controller.rollout.model import NO_PROGRAM

if TYPE_CHECKING:
    from controller.rollout.ios.files import Files
    from controller.rollout.ios.shell import Shell

#: Of applets, and of their files; both are Slotcar's own.
PREFIX = "slotcar-end-"
#: What is armed where some of a program's applets are missing: equal to no program's name.
INCOMPLETE = "incomplete"
#: An applet that runs longer is ended by the router; its own default, 20 s, is too short for a long change.
MAXRUN_S = 120
#: What is due already is done at once, step after step.
SOON_S = 1.0
SHOW = "show running-config | include ^event manager applet|^file prompt quiet"
_APPLET = re.compile(rf"^event manager applet ({PREFIX}(\d+)-(\d+)-([0-9a-f]{{16}}))(?: |$)", re.MULTILINE)
_QUIET = re.compile(r"^file prompt quiet\s*$", re.MULTILINE)
#: Beside the folder's other files: what was armed when the revision was staged.
STAGED_OVER = "armed-before.txt"


@dataclass(frozen=True, slots=True)
class Applet:
    """One step of a program. `at` is in seconds since the epoch; `program` names what is left before the step."""

    name: str
    program: str
    at: float
    lines: tuple[str, ...]

    @property
    def file(self) -> str:
        return f"{self.name}.cfg"


# -- pure --------------------------------------------------------------------------------------------------------------


def has_manager(device: Device) -> bool:
    """Whether the inventory says that the device has an event manager (EEM 3.1: IOS 15.0(1)M, IOS-XE)."""
    return device.options.get(EEM) is True


def applets(ids: Sequence[str], instants: Sequence[float], changes: Sequence[tuple[str, ...]]) -> tuple[Applet, ...]:
    """
    Args:
        ids: a program's names after each number of steps; one more than there are steps.
        instants: of the steps, seconds since the epoch.
        changes: the steps' lines.
    """
    total = len(instants)
    steps = zip(ids, instants, changes, strict=False)
    return tuple(
        Applet(f"{PREFIX}{number}-{total}-{program}", program, at, lines)
        for number, (program, at, lines) in enumerate(steps, 1)
    )


def armed_names(running: str) -> tuple[str, ...]:
    """Slotcar's applets in a running configuration."""
    return tuple(found[1] for found in _APPLET.finditer(running))


def armed_id(running: str) -> str:
    """The name of the program that is left on a router; `none` without one, `incomplete` where a step of it is missing."""
    steps = sorted((int(found[2]), int(found[3]), found[4]) for found in _APPLET.finditer(running))
    if not steps:
        return NO_PROGRAM
    first, total, program = steps[0]
    whole = [(number, total) for number in range(first, total + 1)]
    return program if [(number, of) for number, of, _ in steps] == whole else INCOMPLETE


def registration(applet: Applet, delay_s: float, path: str, *, asks: bool) -> tuple[str, ...]:
    """The lines that register an applet; the countdown begins when its section is left.

    Args:
        path: of its file.
        asks: `copy` asks for the name of its target: nobody is there to answer.
    """
    actions = [
        "enable",
        *(("configure terminal", "file prompt quiet", "end") if asks else ()),
        f"copy {path} running-config",
        f"delete /force {path}",
        "configure terminal",
        *(("no file prompt quiet",) if asks else ()),
        removal(applet.name),
        "end",
    ]
    return (
        f"event manager applet {applet.name} authorization bypass",
        *(f' action {10 * number:03} cli command "{action}"' for number, action in enumerate(actions, 1)),
        f" event timer countdown time {delay_s:.3f} maxrun {MAXRUN_S}",
    )


def removal(name: str) -> str:
    return f"no event manager applet {name}"


def applets_of(folder: Path) -> tuple[Applet, ...]:
    """Those of a revision's folder: `program.json`, and `after.txt`, `after-1.txt`, ... for what each step makes of what.

    Raises:
        OSError: the folder is not whole. Unrenderable: a step cannot be made.
    """
    told = json.loads((folder / "program.json").read_text(encoding="utf-8"))
    device = Device.model_validate_json((folder / "device.json").read_text(encoding="utf-8"))
    names = ["after.txt", *(f"after-{number}.txt" for number in range(1, len(told["instants"]) + 1))]
    texts = [tuple((folder / name).read_text(encoding="utf-8").splitlines()) for name in names]
    states = [Configuration(device.name, device.platform, lines) for lines in texts]
    renderer = renderer_of(device)
    changes = [renderer.change(before, after, device).apply for before, after in pairwise(states)]
    return applets(told["ids"], told["instants"], changes)


# -- on the router -----------------------------------------------------------------------------------------------------


class Manager:
    """One router's event manager, over an open login. `now` gives seconds since the epoch."""

    def __init__(self, name: str, shell: Shell, files: Files, now: Callable[[], float] = time.time) -> None:
        self._name = name
        self._shell = shell
        self._files = files
        self._now = now

    async def stage(self, folder: Path) -> None:
        """Puts the steps' files on the router, and notes what is armed on it. Nothing is armed yet.

        Raises:
            DeviceError: it takes no files, and so cannot act by itself.
        """
        from controller.rollout.ios.files import text_of

        have = armed_id(await self._shell.ask(SHOW))
        (folder / STAGED_OVER).write_text(have, encoding="utf-8")
        wanted = applets_of(folder)
        if wanted and wanted[0].program == have:
            return
        for applet in wanted:
            if not await self._files.put(applet.file, text_of(applet.lines)):
                raise DeviceError(
                    f"{self._name}: it cannot be armed: {self._files.path(applet.file)} cannot be written"
                )

    async def arm(self, folder: Path) -> bool:
        """Registers the program of a staged revision in place of the one that is armed; whether it had another one.

        Raises:
            DeviceError: what is armed is not what was when the revision was staged; or an applet is refused, and then the
                former ones are left.
        """
        wanted, running = applets_of(folder), await self._shell.ask(SHOW)
        have, want = armed_id(running), wanted[0].program if wanted else NO_PROGRAM
        if have == want:
            return False
        expected = _read(folder / STAGED_OVER)
        if have != expected:
            raise DeviceError(
                f"{self._name}: what it will do by itself was changed since it was staged; nothing was changed"
            )
        old = armed_names(running)
        mine = {applet.name for applet in wanted}
        await self._remove([name for name in old if name in mine])
        try:
            await self._register(wanted, asks=not _QUIET.search(running))
        except DeviceError:
            await self._remove(sorted(mine))
            raise
        await self._remove([name for name in old if name not in mine])
        if armed_id(await self._shell.ask(SHOW)) != want:
            raise DeviceError(f"{self._name}: it did not register what it was to do by itself")
        await self._tidy({applet.file for applet in wanted})
        return True

    async def disarm(self) -> bool:
        """Takes away all that the router would do by itself; whether there was something."""
        names = armed_names(await self._shell.ask(SHOW))
        await self._remove(names)
        await self._tidy(set())
        return bool(names)

    async def _register(self, wanted: Sequence[Applet], *, asks: bool) -> None:
        for number, applet in enumerate(wanted):
            path, soon_s = self._files.path(applet.file), SOON_S * (number + 1)
            # Section by section: each delay is counted from when it is told.
            delay_s = max(soon_s, applet.at - self._now())
            await self._shell.configure(registration(applet, delay_s, path, asks=asks))

    async def _remove(self, names: Sequence[str]) -> None:
        if names:
            await self._shell.configure([removal(name) for name in names])

    async def _tidy(self, keep: set[str]) -> None:
        for name in await self._files.names(PREFIX):
            if name not in keep:
                await self._files.forget(name)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else NO_PROGRAM
