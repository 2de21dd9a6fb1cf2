"""Revisions on disk: everything that the playbooks need, readable with the controller and the database dead.

`revisions/ID/DEVICE/` is what a push does on one device (`device_folder.py` names its files).
`taken-back` says that the push failed and that its devices were given back what they had: they never had after.txt.
`rollback-of` names the revision that an operator took back by this one.
`known-good/DEVICE/` is the same of the last push that was verified.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from slotcar.base.private_files import close_state_folder
from slotcar.base.problems import InvalidInput, Problem
from slotcar.network.model import Device
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration, RefusedPart
from slotcar.rollout import staging
from slotcar.rollout.device_folder import (
    AFTER,
    BEFORE,
    DEVICE,
    DeviceFolder,
    FolderUnreadable,
    ReplacedProgram,
    SlotEnds,
    after_ends,
    after_steps,
)
from slotcar.rollout.looks import LAST_LOOK
from slotcar.rollout.model import ConfiguredReservation, DeviceRevision, NotKept, Program, Revision, Wanted
from slotcar.rollout.slot_ends import ends_to_come, file_at
from slotcar.rollout.writing import writing

REVISIONS, KNOWN_GOOD, READINGS, UNRECORDED = "revisions", "known-good", "reading", "unrecorded"
TAKEN_BACK, ROLLBACK_OF = "taken-back", "rollback-of"
#: How the names of revisions begin: they sort by time.
STAMP = "%Y%m%dT%H%M%S.%fZ"
_REVISION = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}")
#: A reading takes seconds: what is older is of a controller that was killed.
_OLD_READING_S = 3600


def revision_id(at: datetime, parts: Mapping[str, DeviceRevision]) -> str:
    """Sorts by time; two different pushes at one instant differ."""
    text = json.dumps({name: [part.change.apply, part.program.id] for name, part in sorted(parts.items())})
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{at.astimezone(UTC):{STAMP}}-{digest}"


class Archive:
    """The folders below a controller's state folder.

    Raises (every method that writes):
        InvalidInput: the folder cannot be written, the disk is full.
    """

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir.absolute()

    def folder(self, revision: str) -> Path:
        return self._state_dir / REVISIONS / revision

    @property
    def state_dir(self) -> Path:
        return self._state_dir

    @property
    def known_good(self) -> Path:
        return self._state_dir / KNOWN_GOOD

    @property
    def unrecorded(self) -> Path:
        """The file of events that no ledger has recorded yet (`unrecorded.py`)."""
        return self._state_dir / UNRECORDED

    def write(self, revision: Revision) -> Path:
        """The whole revision; half-written ones have another name and are never used."""
        folder = self.folder(revision.id)
        part = folder.with_name(f"{folder.name}.part")
        with writing(part):
            shutil.rmtree(part, ignore_errors=True)
            for name, device in revision.devices.items():
                target = DeviceFolder(part / name)
                target.write_revision(device, revision)
                staging.write_scripts(target, device, revision)
                self._write_replaced(target, device.replaces)
                self._write_ends(target, device)
            shutil.rmtree(folder, ignore_errors=True)  # of an earlier try
            part.rename(folder)
        return folder

    def device_folder(self, revision: str, device: str) -> DeviceFolder:
        return DeviceFolder(self.folder(revision) / device)

    def _last(self, device: str) -> DeviceFolder | None:
        """Of the device's last revision."""
        folders = (self.device_folder(one, device) for one in reversed(self.revisions()))
        return next((one for one in folders if one.has(DEVICE)), None)

    def _good(self, device: str) -> DeviceFolder:
        return DeviceFolder(self.known_good / device)

    def _write_replaced(self, folder: DeviceFolder, armed: str) -> None:
        """What is left of what a device had armed; nothing where that is not what was last seen to be right on it."""
        good = self._good(folder.name)
        try:
            program = good.program()
            first = program.ids.index(armed)
            remaining = [good.lines(after_steps(first + steps)) for steps in range(1, len(program.ids) - first)]
        except (FolderUnreadable, ValueError):
            return
        folder.write_replaced(ReplacedProgram(program.instants[first:], program.ids[first:]), remaining)

    def _write_ends(self, folder: DeviceFolder, part: DeviceRevision) -> None:
        """When the slots end that are open after the revision, and those that were before it, as far as that is known."""
        after = tuple(one.lines for one in part.ends.configurations)
        before = part.change.before.lines
        nothing_reserved = after[-1] if after else part.change.after.lines
        coming: SlotEnds | None = SlotEnds()
        if before not in ((), nothing_reserved):
            coming = ends_to_come(self._good(folder.name), before)
            if coming is None and (
                last := self._last(folder.name)
            ):  # a rollback's revision: that is never kept as good
                coming = ends_to_come(last, before)
        instants = tuple(instant.timestamp() for instant in part.ends.instants)
        folder.write_ends({AFTER: SlotEnds(instants, after), BEFORE: coming})

    def clocks_of(self, revision: Revision) -> dict[str, int]:
        """How far devices' clocks were ahead of this machine's when the revision was activated, in microseconds."""
        ahead_us = {}
        for name in revision.devices:
            with contextlib.suppress(FolderUnreadable):
                ahead_us[name] = self.device_folder(revision.id, name).clock_ahead_us()
        return {name: one for name, one in ahead_us.items() if one is not None}

    def compared_of(self, revision: Revision) -> dict[str, float]:
        """When the readings began that the devices were compared by, in seconds of this machine's monotonic clock."""
        began_s = {}
        for name in revision.devices:
            with contextlib.suppress(FolderUnreadable):
                began_s[name] = self.device_folder(revision.id, name).compared_s()
        return {name: one for name, one in began_s.items() if one is not None}

    def refused_of(self, revision: Revision) -> dict[str, tuple[RefusedPart, ...]]:
        """What devices did not do of what they were given, by device; only those that refused something.

        Raises:
            FolderUnreadable: a device's words were not kept whole.
        """
        refused = {name: self.device_folder(revision.id, name).refused() for name in revision.devices}
        return {name: parts for name, parts in refused.items() if parts}

    def close_to_others(self) -> None:
        """Takes others' rights from what an earlier version left open: all devices' configurations are in it."""
        close_state_folder(self._state_dir, (REVISIONS, KNOWN_GOOD, READINGS, LAST_LOOK, UNRECORDED))

    @contextlib.contextmanager
    def reading(
        self, devices: Iterable[Device], beside: Callable[[Device], Sequence[str]] = lambda _: ()
    ) -> Iterator[Path]:
        """A new folder for the answers of one reading, with what the playbook needs to ask; gone afterwards.

        Args:
            beside: what is asked of a device beside its configuration.
        """
        parent = self._state_dir / READINGS
        with writing(parent / "new"):
            _forget_old_readings(parent)
            folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            with writing(folder):
                for device in devices:
                    DeviceFolder(folder / device.name).write_questions(
                        device, [*staging.commands(device), *beside(device)]
                    )
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep_as_good(self, revision: Revision) -> None:
        """The devices of a verified revision have this from now on.

        Raises:
            NotKept.
        """
        with (
            _all_done(),
            writing(self.known_good, "the devices have the push, and an emergency rollback needs it here"),
        ):
            for name in revision.devices:
                target = self.known_good / name
                fresh, old = target.with_name(f".{name}.new"), target.with_name(f".{name}.old")
                shutil.rmtree(fresh, ignore_errors=True)
                shutil.rmtree(old, ignore_errors=True)
                shutil.copytree(self.folder(revision.id) / name, fresh)
                if target.exists():
                    target.rename(old)
                fresh.rename(target)
                shutil.rmtree(old, ignore_errors=True)

    def keep_acted(self, revision: Revision) -> None:
        """Keeps what nobody pushed, and devices were seen to have done by themselves.

        Raises:
            NotKept.
        """
        with _all_done():
            self.write(revision)
            self.keep_as_good(revision)

    def keep_only_as_good(self, revision: Revision) -> None:
        """As `keep_as_good`, of what nobody did: it is none of the archive's revisions.

        Raises:
            NotKept.
        """
        with _all_done():
            self.keep_acted(revision)
            self.forget(revision.id)

    def known_good_of(self, device: Device, wanted: Wanted) -> Configuration | None:
        """What is kept as good of a device where it differs from what is wanted; where nothing whole is kept, that."""
        good = self._good(device.name)
        try:
            lines, program_id = good.lines(AFTER), good.program().ids[0]
        except (FolderUnreadable, IndexError):
            return wanted.configuration
        return None if (lines, program_id) == wanted.identity else renderer_of(device).stored(lines, device)

    def take_back(self, revision: Revision) -> None:
        """The push came to nothing: nobody is to find in it what its devices had. It stays there to be looked into."""
        folder = self.folder(revision.id)
        with writing(folder):
            (folder / TAKEN_BACK).touch()

    def revisions(self, *, taken_back: bool = False) -> Sequence[str]:
        """All revisions, oldest first; those that were `taken_back` only where they are asked for too."""
        folder = self._state_dir / REVISIONS
        if not folder.is_dir():
            return ()
        # Whatever else somebody put there is none of ours.
        whole = (entry for entry in folder.iterdir() if _REVISION.fullmatch(entry.name) and entry.is_dir())
        return sorted(entry.name for entry in whole if taken_back or not (entry / TAKEN_BACK).exists())

    def keep_rollback(self, revision: Revision, of: str) -> None:
        """Keeps what an operator did by taking back the revision `of`."""
        folder = self.write(revision)
        with writing(folder):
            (folder / ROLLBACK_OF).write_text(of)

    def rollback_of(self, revision: str) -> str:
        """The revision that an operator took back by this one; empty where it is a push."""
        file = self.folder(revision) / ROLLBACK_OF
        return file.read_text() if file.is_file() else ""

    def configuration(self, revision: str, device: Device, file: str = AFTER) -> Configuration:
        """What a device of a revision has after it, or (`BEFORE`) had before.

        Raises:
            InvalidInput: the archive does not have the file.
        """
        with _reading():
            return renderer_of(device).stored(self.device_folder(revision, device.name).lines(file), device)

    def wanted_at(
        self, revision: str, device: Device, now: datetime, file: str = AFTER
    ) -> tuple[Configuration, Program]:
        """What is left at `now` of what a device of a revision has after it, or (`BEFORE`) had before: without the slots
        that have ended; and as a program the ends that are to come.

        Raises:
            EndsUnknown: nobody knows when the slots end that are in it. InvalidInput: the archive does not have a file.
        """
        folder, now_s = self.device_folder(revision, device.name), now.timestamp()
        whole = self.configuration(revision, device, file)
        with _reading():
            file_at(folder, file, now_s)
            instants = folder.slot_ends(file) or ()
        passed = sum(instant <= now_s for instant in instants)
        configurations = [
            self.configuration(revision, device, after_ends(file, number)) if number else whole
            for number in range(passed, len(instants) + 1)
        ]
        times = tuple(datetime.fromtimestamp(instant, UTC) for instant in instants[passed:])
        return configurations[0], Program(times, tuple(configurations[1:]), configurations[0].lines)

    def forget(self, revision: str) -> bool:
        """Takes a revision away, whole; false where there is none.

        Raises:
            InvalidInput: the disk does not let it go.
        """
        folder = self.folder(revision)
        if not folder.is_dir():
            return False
        part = folder.with_name(f"{revision}.part")
        try:
            folder.rename(part)
            shutil.rmtree(part)
        except OSError as error:
            why = (os.strerror(error.errno) if error.errno else str(error)).lower()
            raise InvalidInput([Problem(str(folder), 0, "", f"cannot be taken away: {why}", "", "")]) from error
        return True

    def devices_of(self, revision: str) -> dict[str, Device]:
        """
        Raises:
            InvalidInput: no such revision.
        """
        folder = self.folder(revision)
        if not folder.is_dir():
            revisions = self.revisions()
            hint = f"the latest is {revisions[-1]}" if revisions else "nothing was pushed yet"
            raise InvalidInput([Problem(str(folder), 0, "", "there is no such revision", revision, hint)])
        return {
            entry.name: DeviceFolder(entry).device()
            for entry in sorted(folder.iterdir())
            if DeviceFolder(entry).has(DEVICE)
        }

    def reservations_now(self, device: str) -> tuple[ConfiguredReservation, ...]:
        """What a device was last seen to be configured for; nothing where nobody knows, or a file is broken: it is for the
        record."""
        try:
            return self._good(device).reservations()
        except FolderUnreadable:
            return ()

    def reservations_last(self, device: str) -> tuple[ConfiguredReservation, ...]:
        """As `reservations_now`, also after a rollback, which is not kept as good."""
        last, good = self._last(device), self._good(device)
        with contextlib.suppress(FolderUnreadable):
            if last is not None and last.path.parent.name >= good.program().revision:
                return last.reservations()
        return self.reservations_now(device)

    def reservations_of(self, revision: str) -> dict[str, tuple[ConfiguredReservation, ...]]:
        """The reservations that each device of a revision is configured for after it; none where an older Slotcar wrote it.

        Raises:
            InvalidInput: a file of the archive is not what was written there.
        """
        folders = [DeviceFolder(entry) for entry in sorted(self.folder(revision).iterdir())]
        try:
            return {folder.name: folder.reservations() for folder in folders if folder.has(DEVICE)}
        except FolderUnreadable as error:
            hint = "restore it from a backup, or name routers with --device instead of a reservation"
            raise InvalidInput([Problem(str(error.path), 0, "", "is not a list of reservations", "", hint)]) from error


def _forget_old_readings(parent: Path) -> None:
    """Removes the readings of controllers that were killed in the middle."""
    before = time.time() - _OLD_READING_S
    for entry in parent.iterdir():
        with contextlib.suppress(OSError):
            if entry.stat().st_mtime < before:
                shutil.rmtree(entry)


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """
    Raises:
        InvalidInput: the archive does not have a file, or not as it was written.
    """
    try:
        yield
    except FolderUnreadable as error:
        hint = "restore it from a backup"
        raise InvalidInput([Problem(str(error.path), 0, "", "cannot be read", "", hint)]) from error


@contextlib.contextmanager
def _all_done() -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise NotKept(error.problems) from error
