"""What a router does by itself at coming instants: for each step of a program a file with its change, and an applet of the
Embedded Event Manager that copies the file when its countdown ends (docs/design.md rule 9).

A countdown is told in seconds from the moment in which it is set, so that the router's own clock need not be right. The
applet's last actions take the applet and its file away. Its description says when it is due, by the controller's clock.
Syntax: "Embedded Event Manager Command Reference", `event manager applet`, `description`, `event timer`, `action cli`,
`event manager environment`. No router has proved it; the emulator runs it (`lab/ios/events.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from controller.network.model import Device
from controller.registry import facts_of
from controller.rollout.model import NO_PROGRAM, Step

#: Key of `slotcar_options`: the router has an event manager.
EEM = "eem"
#: Of applets, and of their files; both are Slotcar's own.
PREFIX = "slotcar-step-"
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
#: In a device's folder of a revision: what was armed when this was armed over it. Without it, it never was.
TAKEN = "armed-before.json"
_APPLET = re.compile(
    rf"^event manager applet ({PREFIX}(\d+)-(\d+)-([0-9a-f]{{16}}))(?: [^\n]*)?\n(?: description slotcar-due (\S+))?",
    re.MULTILINE,
)
_FENCE = re.compile(rf"^event manager environment {FENCE}(\d+) ", re.MULTILINE)
_QUIET = re.compile(r"^file prompt quiet\s*$", re.MULTILINE)


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
        """From the answer to `SHOW`, or from a whole running configuration."""
        text = running.replace("\r", "")
        found = [
            Armed(one[1], int(one[2]), int(one[3]), one[4], _instant(one[5]))
            for one in _APPLET.finditer(f"{text}\n")
        ]  # fmt: skip
        applets = sorted(found, key=lambda one: (one.number, one.total, one.program))
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


def _instant(told: str | None) -> float | None:
    try:
        return datetime.fromisoformat(told).timestamp() if told else None
    except ValueError:
        return None


def armed_id(running: str) -> str:
    """The name of the program that is left on a router, out of its running configuration."""
    return Registered.of(running).id


def has_manager(device: Device) -> bool:
    """Whether the inventory says that the device has an event manager (EEM 3.1: IOS 15.0(1)M, IOS-XE)."""
    return facts_of(device.platform).acts_with == EEM and device.options.get(EEM) is True


@dataclass(frozen=True, slots=True)
class Staged:
    """What a device's folder of a revision says about what is to be armed.

    Attributes:
        applets: the steps; `ids`, the names of what is left after each number of them.
        replaces: the name of what must be armed until then.
        fence: the number of the controller's lead; None for an operator's own hand.
        changes: whether the configuration changes, too.
    """

    applets: tuple[Applet, ...]
    ids: tuple[str, ...]
    replaces: str
    fence: int | None
    changes: bool

    @classmethod
    def of(cls, folder: Path) -> Staged:
        """
        Raises:
            OSError: the folder is not whole.
        """
        told = json.loads((folder / "program.json").read_text(encoding="utf-8"))
        instants, ids, fence = told["instants"], tuple(told["ids"]), told.get("fence")
        changes = [
            tuple((folder / _file(number)).read_text(encoding="utf-8").splitlines())
            for number in range(1, len(instants) + 1)
        ]
        changed = bool((folder / "apply.txt").read_text(encoding="utf-8").strip())
        return cls(applets(ids, instants, changes), ids, told["replaces"], fence, changed)


def _file(number: int) -> str:
    return f"step-{number}.txt"


def files(steps: Sequence[Step], *, acted: bool) -> dict[str, str]:
    """What `Staged` needs beside a folder's other files, by name.

    Args:
        acted: the device did this by itself: before it nothing is to be armed again.
    """
    found = {_file(number): "".join(f"{line}\n" for line in step.lines) for number, step in enumerate(steps, 1)}
    return found | ({TAKEN: before_text(())} if acted else {})


def before_text(armed: Sequence[Applet]) -> str:
    return json.dumps([asdict(one) for one in armed])


def armed_before(folder: Path) -> tuple[Applet, ...] | None:
    """What was armed when a revision was; None where the device never took the revision."""
    try:
        told: list[dict[str, Any]] = json.loads((folder / TAKEN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return tuple(Applet(**{**one, "lines": tuple(one["lines"])}) for one in told)


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
