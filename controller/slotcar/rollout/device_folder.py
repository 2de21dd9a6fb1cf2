"""The files about one device in a revision of the archive, or in a reading: each is named, read and written here only.

Playbooks, roles and people read the same files, with the controller dead; so their formats stay. JSON, or text with one
line of configuration a line:

| file | holds |
|---|---|
| `device.json` | the device as the inventory had it |
| `commands.json` | the commands that a reading runs |
| `before.txt`, `after.txt` | the configuration before the revision and after it |
| `apply.txt`, `undo.txt` | the change between the two, and its undo |
| `program.json` | `StagedProgram`: what the revision arms |
| `after-N.txt` | the configuration after N steps of that |
| `before.json`, `before-N.txt` | the same of the program that was armed until then, where the archive knows it |
| `ends.json` | `after`, `before`: when the slots end that are open in after.txt and before.txt; null where nobody knows |
| `ended-N.txt`, `before-ended-N.txt` | what is left of after.txt and before.txt after N of these ends, if nothing begins |
| `reservations.json` | the reservations that after.txt is for |
| `stage.sh` | of a Linux router: the script that puts the revision on it |
| `step-N.txt` | of an IOS router with an event manager: the change of step N |
| `armed-before.json` | of such a router: the applets that were armed when this revision was armed over them |
| `clock.json` | how far the device's clock was ahead of the controller's when the revision was staged |
| `reading.json` | the device's answers to commands.json |
| `compared.json` | when the reading began that the push was compared by |
| `refused.json` | what the device then had not done of its configuration, such as a bind to a process that is gone |
| `restored-from.txt` | what the device had when it was last given before.txt or after.txt again |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from slotcar.base.private_files import make_private_folder
from slotcar.base.problems import SlotcarError
from slotcar.base.texts import lines_of
from slotcar.network.model import Device
from slotcar.platforms.model import RefusedPart
from slotcar.rollout.ios.applets import Applet
from slotcar.rollout.model import ConfiguredReservation, DeviceRevision, Revision

BEFORE, AFTER, APPLY, UNDO = "before.txt", "after.txt", "apply.txt", "undo.txt"
DEVICE, COMMANDS, RESERVATIONS = "device.json", "commands.json", "reservations.json"
PROGRAM, REPLACED, ENDS = "program.json", "before.json", "ends.json"
COMPARED, REFUSED, RESTORED_FROM = "compared.json", "refused.json", "restored-from.txt"
CLOCK, READING, APPLETS_BEFORE, STAGE_SCRIPT = "clock.json", "reading.json", "armed-before.json", "stage.sh"
T = TypeVar("T")
_REVISION_PREFIX = "rev-"
#: Of `ENDS`, by side.
_Ends = dict[str, tuple[float, ...] | None]
_ENDED = {AFTER: "ended-{}.txt", BEFORE: "before-ended-{}.txt"}


class FolderUnreadable(SlotcarError):
    """A file of a device's folder is not there, or holds something else than was written to it. `path` is the file."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"{path} cannot be read: {why}")


def after_steps(steps: int) -> str:
    """The file with what a device has after so many steps of the revision's program."""
    return f"after-{steps}.txt" if steps else AFTER


def before_steps(steps: int) -> str:
    """The file with what a device would have after so many steps of the program that was armed before the revision."""
    return f"before-{steps}.txt" if steps else BEFORE


def after_ends(side: str, passed: int) -> str:
    """The file with what is left of `AFTER` or `BEFORE` when so many of its slots' ends have passed."""
    return _ENDED[side].format(passed) if passed else side


def _key(side: str) -> str:
    return side.removesuffix(".txt")


def step_file(number: int) -> str:
    return f"step-{number}.txt"


def text_of(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def revision_name(revision: Revision) -> str:
    """The name that a Linux router gives the folder that it keeps of a revision."""
    return f"{_REVISION_PREFIX}{revision.id}"


@dataclass(frozen=True, slots=True)
class StagedProgram:
    """`program.json`.

    Attributes:
        name: of the revision, on a Linux router.
        instants: when each step is due, seconds since the epoch.
        ids: the names of what is left after each number of steps; one more than there are steps.
        replaces: the name of what must be armed until then.
        fence: the number of the controller's lead; None for an operator's own hand.
    """

    name: str
    instants: tuple[float, ...]
    ids: tuple[str, ...]
    replaces: str
    fence: int | None = None

    @property
    def revision(self) -> str:
        return self.name.removeprefix(_REVISION_PREFIX)


@dataclass(frozen=True, slots=True)
class ReplacedProgram:
    """`before.json`: of what was armed before the revision, `instants` and `ids` as in `StagedProgram`."""

    instants: tuple[float, ...]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlotEnds:
    """When the slots end that are open in a configuration, in seconds since the epoch; `left` has the lines of the
    configuration after each of these ends, if nothing begins."""

    instants: tuple[float, ...] = ()
    left: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceFolder:
    """Methods that read raise FolderUnreadable; those that write raise OSError."""

    path: Path

    @property
    def name(self) -> str:
        """The device's."""
        return self.path.name

    # -- written with the revision -------------------------------------------------------------------------------------

    def write_questions(self, device: Device, commands: Sequence[str]) -> None:
        """Writes all that a reading needs."""
        make_private_folder(self.path)
        self._write(DEVICE, device.model_dump_json())
        self._write(COMMANDS, json.dumps(list(commands)))

    def write_revision(self, part: DeviceRevision, revision: Revision) -> None:
        """Writes the revision, without what comes from the archive's earlier ones (`write_replaced`, `write_ends`)."""
        self.write_questions(part.device, part.commands)
        change, program = part.change, part.program
        self.write_lines({BEFORE: change.before.lines, AFTER: change.after.lines})
        self.write_lines({APPLY: change.apply, UNDO: change.undo})
        self.write_lines({after_steps(number): one.lines for number, one in enumerate(program.configurations, 1)})
        instants = tuple(instant.timestamp() for instant in program.instants)
        staged = StagedProgram(revision_name(revision), instants, program.ids, part.replaces, revision.fence)
        self._write(PROGRAM, json.dumps(asdict(staged)))
        self._write(RESERVATIONS, json.dumps([_reservation_json(one) for one in part.reservations]))

    def write_replaced(self, replaced: ReplacedProgram, configurations: Sequence[Sequence[str]]) -> None:
        """`configurations`: what the device would have after each step."""
        self.write_lines({before_steps(number): lines for number, lines in enumerate(configurations, 1)})
        self._write(REPLACED, json.dumps(asdict(replaced)))

    def write_ends(self, ends: Mapping[str, SlotEnds | None]) -> None:
        """Writes the ends of `AFTER` and of `BEFORE`; None where they are not known."""
        for side, one in ends.items():
            remaining = one.left if one else ()
            self.write_lines({after_ends(side, number): lines for number, lines in enumerate(remaining, 1)})
        instants = {_key(side): one.instants if one else None for side, one in ends.items()}
        self._write(ENDS, json.dumps(instants))

    def write_lines(self, files: Mapping[str, Iterable[str]]) -> None:
        for name, lines in files.items():
            self._write(name, text_of(lines))

    def write_stage_script(self, script: str) -> None:
        self._write(STAGE_SCRIPT, script)

    # -- written while the revision is pushed, or the device is read ---------------------------------------------------

    def write_reading(self, outputs: Mapping[str, str]) -> None:
        """Whole or not at all: a reader never sees half of it."""
        self._write(f"{READING}.part", json.dumps(outputs))
        (self.path / f"{READING}.part").replace(self.path / READING)

    def write_compared(self, began_s: float) -> None:
        """Writes when the reading began that a push was compared by, in seconds of this machine's monotonic clock."""
        self._write(COMPARED, json.dumps({"began_s": began_s}))

    def write_refused(self, refused: Sequence[RefusedPart]) -> None:
        self._write(REFUSED, json.dumps([asdict(one) for one in refused]))

    def write_restored_from(self, lines: Iterable[str]) -> None:
        self._write(RESTORED_FROM, text_of(lines))

    def forget_restored_from(self) -> None:
        (self.path / RESTORED_FROM).unlink(missing_ok=True)

    def write_clock(self, ahead_us: int | None) -> None:
        """Writes how far the device's clock is ahead; None where the device does not say."""
        self._write(CLOCK, json.dumps({"ahead_us": ahead_us}))

    def write_applets_before(self, applets: Sequence[Applet]) -> None:
        self._write(APPLETS_BEFORE, json.dumps([asdict(one) for one in applets]))

    # -- read ----------------------------------------------------------------------------------------------------------

    def has(self, file: str) -> bool:
        return (self.path / file).is_file()

    def lines(self, file: str) -> tuple[str, ...]:
        return tuple(lines_of(self._text(file)))

    def device(self) -> Device:
        return self._read(DEVICE, Device)

    def commands(self) -> list[str]:
        return self._read(COMMANDS, list[str])

    def program(self) -> StagedProgram:
        return self._read(PROGRAM, StagedProgram)

    def replaced_program(self) -> ReplacedProgram | None:
        """The program that was armed before; None where the archive does not know it."""
        return self._read(REPLACED, ReplacedProgram) if self.has(REPLACED) else None

    def slot_ends(self, side: str) -> tuple[float, ...] | None:
        """When the slots of `AFTER` or `BEFORE` end, seconds since the epoch; None where nobody knows."""
        if self.has(ENDS):
            return self._read(ENDS, _Ends).get(_key(side))
        # An older Slotcar kept no ends; without lines, or without reservations, there are none.
        nothing_reserved = side == AFTER and self.has(RESERVATIONS) and not self._read(RESERVATIONS, list[object])
        return () if nothing_reserved or not self._text(side).strip() else None

    def reservations(self) -> tuple[ConfiguredReservation, ...]:
        """The reservations of the revision; none where an older Slotcar wrote the folder."""
        return self._read(RESERVATIONS, tuple[ConfiguredReservation, ...]) if self.has(RESERVATIONS) else ()

    def stage_script(self) -> str:
        return self._text(STAGE_SCRIPT)

    def reading(self) -> dict[str, str]:
        return self._read(READING, dict[str, str])

    def clock_ahead_us(self) -> int | None:
        """How far the device's clock was ahead; None where the device did not say, or was never asked."""
        return self._read(CLOCK, dict[str, int | None]).get("ahead_us") if self.has(CLOCK) else None

    def compared_s(self) -> float | None:
        """When the device was compared; None where it was not compared yet."""
        return self._read(COMPARED, dict[str, float]).get("began_s") if self.has(COMPARED) else None

    def refused(self) -> tuple[RefusedPart, ...]:
        """What the device did not do of the configuration that it was compared by."""
        return self._read(REFUSED, tuple[RefusedPart, ...]) if self.has(REFUSED) else ()

    def applets_before(self) -> tuple[Applet, ...] | None:
        """The applets that were armed before; None where the device never took the revision."""
        return self._read(APPLETS_BEFORE, tuple[Applet, ...]) if self.has(APPLETS_BEFORE) else None

    def _write(self, file: str, text: str) -> None:
        (self.path / file).write_text(text, encoding="utf-8", newline="")

    def _text(self, file: str) -> str:
        try:
            with (self.path / file).open(encoding="utf-8", newline="") as text:  # a return alone ends no line
                return text.read()
        except OSError as error:
            raise FolderUnreadable(self.path / file, (error.strerror or str(error)).lower()) from error
        except UnicodeDecodeError as error:
            raise FolderUnreadable(self.path / file, "it is not text") from error

    def _read(self, file: str, kind: type[T]) -> T:
        text = self._text(file)
        try:
            content: T = _adapter(kind).validate_json(text)  # type: ignore[arg-type]
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "all of it"
            why = f"it is not what was written there ({where}: {first['msg'].lower()})"
            raise FolderUnreadable(self.path / file, why) from error
        return content


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _reservation_json(one: ConfiguredReservation) -> dict[str, object]:
    instants = {"start": one.start, "end": one.end}
    return asdict(one) | {key: at.astimezone(UTC).isoformat() if at else None for key, at in instants.items()}
