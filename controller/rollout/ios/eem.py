"""What a router does by itself at coming instants: for each step of a program a file with its change, and an applet of the
Embedded Event Manager that copies the file when its countdown ends (DESIGN rule 9).

A countdown is told in seconds from the moment in which it is set, so that the router's own clock need not be right. The
applet's last actions take the applet and its file away. Syntax: "Embedded Event Manager Command Reference", `event manager
applet`, `event timer`, `action cli`. No router has proved it; the emulator runs it (`lab/ios/events.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from controller.network.model import Device
from controller.render import renderer_of
from controller.render.model import Configuration
from controller.rollout.model import NO_PROGRAM

#: Key of `slotcar_options`: the router has an event manager.
EEM = "eem"
#: Of applets, and of their files; both are Slotcar's own.
PREFIX = "slotcar-end-"
#: What is armed where some of a program's applets are missing: equal to no program's name.
INCOMPLETE = "incomplete"
#: An applet that runs longer is ended by the router; its own default, 20 s, is too short for a long change.
MAXRUN_S = 120
_APPLET = re.compile(rf"^event manager applet ({PREFIX}(\d+)-(\d+)-([0-9a-f]{{16}}))(?: |$)", re.MULTILINE)


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
