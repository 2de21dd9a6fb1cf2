"""What a router does by itself at coming instants: for each step of a program a file with its change, and an applet of the
Embedded Event Manager that copies the file when its countdown ends (docs/design.md rule 9).

A countdown is told in seconds from the moment in which it is set, so that the router's own clock need not be right. The
applet's last actions take the applet and its file away. Its description says when it is due, by the controller's clock.
Syntax: "Embedded Event Manager Command Reference", `event manager applet`, `description`, `event timer`, `action cli`,
`event manager environment`. No router has proved it; the emulator runs it (`lab/slotcar_lab/ios/events.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from slotcar.base.registry import facts_of
from slotcar.network.model import Device
from slotcar.rollout.device_folder import DeviceFolder, step_file
from slotcar.rollout.ios.applets import PREFIX, Applet, applets
from slotcar.rollout.model import NO_PROGRAM, Step

#: Key of `slotcar_options`: the router has an event manager.
EEM = "eem"
#: A controller that led left one of these behind, with its number; the greatest counts (ADR 6).
FENCE = "slotcar_fence_"
#: What is armed where some of a program's applets are missing: equal to no program's name.
INCOMPLETE = "incomplete"
#: An applet that runs longer is ended by the router; its own default, 20 s, is too short for a long change.
MAXRUN_S = 120
#: The question that a reading asks: the applets stand in its answer, beside the configuration.
RUNNING = "show running-config"
#: All that is asked of the event manager itself, out of the running configuration.
SHOW = (
    f"{RUNNING} | include ^event manager applet {PREFIX}|^ description slotcar-due|^event manager environment {FENCE}"
    "|^file prompt quiet"
)
#: The applets that run at this moment, or are about to.
ACTIVE = "show event manager policy active"
_APPLET = re.compile(
    rf"^event manager applet ({PREFIX}(\d+)-(\d+)-([0-9a-f]{{16}}))(?: [^\n]*)?\n(?: description slotcar-due (\S+))?",
    re.MULTILINE,
)
_FENCE = re.compile(rf"^event manager environment {FENCE}(\d+) ", re.MULTILINE)
_QUIET = re.compile(r"^file prompt quiet\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Armed:
    """An applet of Slotcar's that is registered: step `number` of `total`. `at` is None where it does not say."""

    name: str
    number: int
    total: int
    program: str
    at: float | None


@dataclass(frozen=True, slots=True)
class Registered:
    """What a router's running configuration says about the event manager.

    Attributes:
        applets: Slotcar's, in the order of their steps.
        fences: the numbers of the leads that were here.
        quiet: nobody is asked for the name of a copy's target.
    """

    applets: tuple[Armed, ...]
    fences: tuple[int, ...]
    quiet: bool

    @classmethod
    def of(cls, running: str) -> Registered:
        """Reads the answer to `SHOW`, or a whole running configuration."""
        text = running.replace("\r", "")
        registered = [
            Armed(one[1], int(one[2]), int(one[3]), one[4], _instant(one[5]))
            for one in _APPLET.finditer(f"{text}\n")
        ]  # fmt: skip
        applets = sorted(registered, key=lambda one: (one.number, one.total, one.program))
        fences = sorted(int(one[1]) for one in _FENCE.finditer(text))
        return cls(tuple(applets), tuple(fences), bool(_QUIET.search(text)))

    @property
    def id(self) -> str:
        """The name of the program that is left; `none` without one, `incomplete` where a step of it is missing."""
        if not self.applets:
            return NO_PROGRAM
        first = self.applets[0]
        whole = [(number, first.total) for number in range(first.number, first.total + 1)]
        return first.program if [(one.number, one.total) for one in self.applets] == whole else INCOMPLETE

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.applets)


def _instant(written: str | None) -> float | None:
    try:
        return datetime.fromisoformat(written).timestamp() if written else None
    except ValueError:
        return None


def armed_id(running: str) -> str:
    """The name of the program that is left on a router, out of its running configuration."""
    return Registered.of(running).id


def has_manager(device: Device) -> bool:
    """Whether the inventory says that the device has an event manager (EEM 3.1: IOS 15.0(1)M, IOS-XE)."""
    return facts_of(device.platform).acts_with == EEM and device.options.get(EEM) is True


def staged_applets(folder: DeviceFolder) -> tuple[Applet, ...]:
    """The applets for the program of a device's folder.

    Raises:
        FolderUnreadable: the folder is not whole.
    """
    program = folder.program()
    changes = [folder.lines(step_file(number)) for number in range(1, len(program.instants) + 1)]
    return applets(program.ids, program.instants, changes)


def write_steps(folder: DeviceFolder, steps: Sequence[Step], *, acted: bool) -> None:
    """What `staged_applets` needs beside a folder's other files.

    Args:
        acted: the device did this by itself: before it nothing is to be armed again.
    """
    folder.write_lines({step_file(number): step.lines for number, step in enumerate(steps, 1)})
    if acted:
        folder.write_applets_before(())


def id_of(some: Sequence[Applet]) -> str:
    """The name of a program of these."""
    return some[0].program if some else NO_PROGRAM


def registration(applet: Applet, delay_s: Callable[[], float], path: str, *, asks: bool) -> Iterator[str]:
    """The lines that register an applet; the countdown, the last of them, begins when its section is left.

    Args:
        delay_s: asked when that line is, so that the time which the others take is no part of it.
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
    due = datetime.fromtimestamp(applet.at, UTC).isoformat(timespec="milliseconds")
    yield f"event manager applet {applet.name} authorization bypass"
    yield f" description slotcar-due {due}"
    for number, action in enumerate(actions, 1):
        yield f' action {10 * number:03} cli command "{action}"'
    yield f" event timer countdown time {delay_s():.3f} maxrun {MAXRUN_S}"


def removal(name: str) -> str:
    return f"no event manager applet {name}"


def fence_line(fence: int) -> str:
    return f"event manager environment {FENCE}{fence} leads"


def fence_removal(fence: int) -> str:
    return f"no event manager environment {FENCE}{fence}"
