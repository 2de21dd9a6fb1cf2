"""Makes devices equal to what is wanted: read, change from what they have, activate together, verify, or roll all back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from slotcar.base.registry import OF_PLACES, TransportKind, facts_of
from slotcar.base.stopping import Stopping
from slotcar.base.timebase import SYSTEM, Clocks
from slotcar.book.errors import LedgerUnavailable
from slotcar.network.model import Device
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration, Unreadable
from slotcar.rollout import probing, staging
from slotcar.rollout.archive import STAMP, Archive, revision_id
from slotcar.rollout.beside import NOTHING, Answered, Beside
from slotcar.rollout.device_folder import AFTER, BEFORE, READING, RESTORED_FROM, DeviceFolder, FolderUnreadable
from slotcar.rollout.fanout import SERVED
from slotcar.rollout.linux.scripts import fence_word
from slotcar.rollout.looks import Looks
from slotcar.rollout.model import (
    NO_PROGRAM,
    DeviceRevision,
    Failure,
    NobodyNamed,
    PushFailed,
    PushResult,
    Reading,
    Revision,
    Superseded,
    Wanted,
    still_open,
)
from slotcar.rollout.playbook import PUSH, READ, TIMEOUT_S, CannotRun, PlaybookResult, Playbooks
from slotcar.rollout.probing import Probe
from slotcar.rollout.reservations_of_push import reservations_of_push
from slotcar_client.wire.events import (
    Changes,
    Kind,
    PushArmed,
    PushFailure,
    PushNotRolledBack,
    PushRolledBack,
    PushStarted,
    PushSuperseded,
    PushVerified,
)

log = structlog.get_logger("slotcar.loop")
#: `record(says, device)`: where a push is written down for ever.
Record = Callable[[Kind, str], None]


def _forget(_says: Kind, _device: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Readings:
    """What devices have, and why others could not be read."""

    by_device: Mapping[str, Reading]
    failures: Mapping[str, Failure]

    def with_newer(self, newer: Readings, devices: Collection[str]) -> Readings:
        """These, and of `devices` only what a newer reading gives."""
        kept = {name: reading for name, reading in self.by_device.items() if name not in devices}
        return Readings({**kept, **newer.by_device}, {**self.failures, **newer.failures})


@dataclass(frozen=True, slots=True)
class Pusher:
    """Pushes to the devices of one inventory. `beside`: what readings ask beside the configuration."""

    playbooks: Playbooks
    archive: Archive
    devices: Mapping[str, Device]
    record: Record = field(default=_forget)
    clocks: Clocks = SYSTEM
    beside: Beside = NOTHING

    def read(self, names: Sequence[str]) -> Readings:
        """What these devices have at this moment. Changes nothing.

        Raises:
            Unrenderable: a device's platform cannot be read yet.
        """
        if not names:  # to Ansible, no limit is all hosts
            return Readings({}, {})
        devices = [self.devices[name] for name in names]
        with self.archive.reading(devices, self.beside.commands) as folder:
            began_at = self.clocks.now()
            readings = self._keep_looks(_readings(devices, folder, self._read(devices, folder)), began_at)
            self.beside.take(_answers(readings, folder), began_at, self.clocks.now())
            return readings

    def probe(self, names: Sequence[str]) -> tuple[Readings, Mapping[str, Probe]]:
        """Reads as `read` does, and also each answering device's rights and clock. Changes nothing."""
        if not names:
            return Readings({}, {}), {}
        devices = [self.devices[name] for name in names]
        with self.archive.reading(devices, probing.commands) as folder:
            began_at = self.clocks.now()
            result = self._read(devices, folder)
            interval = probing.ProbeInterval(began_at.timestamp(), self.clocks.now().timestamp())
            readings = self._keep_looks(_readings(devices, folder, result), began_at)
            probes = {
                device.name: probing.probe_of(DeviceFolder(folder / device.name).reading(), device, interval)
                for device in devices
                if device.name in readings.by_device
            }
            return readings, probes

    def _keep_looks(self, readings: Readings, began_at: datetime) -> Readings:
        """The readings, kept for plans."""
        configurations = [one.configuration for one in readings.by_device.values()]
        Looks(self.archive.state_dir).keep(configurations, self.devices, began_at)
        return readings

    def _read(self, devices: Sequence[Device], folder: Path) -> PlaybookResult:
        name = _playbook(READ, (device.platform for device in devices))
        return self.playbooks.run(name, [one.name for one in devices], {"slotcar_revision": str(folder)})

    def push(
        self,
        wanted: Mapping[str, Wanted],
        readings: Mapping[str, Reading],
        at: datetime,
        on_task: Callable[[str], None] | None = None,
        fence: int | None = None,
        give_up: Callable[[], bool] | None = None,
        shifts: Mapping[str, timedelta] | None = None,
        anew: Collection[str] = (),
        unchanged: Collection[str] = (),
    ) -> PushResult:
        """Gives every device of `wanted` its configuration and program at the instant `at` (at once where it is past).

        `readings` must hold every device of `wanted`. Devices that have all of it already are left alone. A device that
        has taken something from a controller with a greater `fence` takes nothing. `give_up` is asked while it goes on.
        Devices without a shell act by `shifts` later or, below zero, earlier than `at`. Devices of `anew` are armed again
        though they have the program: this machine's clock was set, and their instants were counted from the old time.
        `unchanged`, for the record: other devices, which have all that is wanted at `at`.

        Raises:
            Stopping: this process was told to end; nothing was touched.
            CannotRun: Ansible could not be started; nothing was touched.
            LedgerUnavailable: it could not be recorded; nothing was touched, all was done, or all was rolled back.
            Superseded: `give_up` said so; the devices have what they had.
            PushFailed: some device failed; all of this push were rolled back, or `rolled_back` is false.
            NotKept: all devices have it, and the archive could not keep it as good.
            Unrenderable: others' objects are in the way on a device; nothing was touched.
        """
        self.playbooks.stop.check()
        # What is past is left out of a rollback: by the same clock, also where the push was given up because it was set.
        same_clock = replace(self, playbooks=self.playbooks.by_the_present_clock())
        revision = self.prepare(wanted, readings, at, fence, anew)
        if revision is None:
            return PushResult("", ())
        parts = revision.devices
        folder = self.archive.write(revision)
        changed = tuple(name for name, part in parts.items() if not part.change.empty)
        changes = {name: self._reservations(part, at) for name, part in parts.items()}
        utc = at.astimezone(UTC)
        instants = {name: (at + shift).timestamp() for name, shift in (shifts or {}).items()}
        try:
            for name, part in parts.items():
                lines, armed = len(part.change.apply), part.program.id
                self.record(
                    PushStarted(
                        revision=revision.id, activate_at=utc, lines=lines, armed=armed, reservations=changes[name]
                    ),
                    name,
                )
            result = same_clock._run(revision, {"slotcar_instants": instants}, str(folder), on_task, give_up)
        except (CannotRun, Stopping, LedgerUnavailable):
            self.archive.forget(revision.id)  # no device has met it
            raise
        except Exception as error:  # nobody knows how far the play came, so its devices are given back what they had
            log.exception("play ended in an unforeseen way", revision=revision.id)
            result = PlaybookResult(ok=False, notes=[f"unforeseen: {type(error).__name__}: {error}"])
        if result.given_up:
            same_clock._withdraw(revision, str(folder))
        if not result.ok:
            same_clock._roll_back(revision, str(folder), result)
        self.archive.keep_as_good(revision)
        others = tuple(sorted(unchanged))
        for number, (name, part) in enumerate(parts.items()):
            self.record(PushVerified(
                revision=revision.id, activate_at=utc, lines=len(part.change.apply), reservations=changes[name],
                unchanged=() if number else others,
            ), name)  # fmt: skip
            if part.program.instants:
                first, last = (part.program.boundaries[end].astimezone(UTC) for end in (0, -1))
                self.record(PushArmed(revision=revision.id, at=first, until=last), name)
        rearmed = tuple(name for name in parts if name not in changed)
        clocks, compared = self.archive.clocks_of(revision), self.archive.compared_of(revision)
        return PushResult(revision.id, changed, rearmed, clocks, compared, self.archive.refused_of(revision))

    def _reservations(self, part: DeviceRevision, at: datetime) -> Changes | None:
        """For whom the device's configuration changes. None where that stays as it is."""
        if part.change.empty:
            return None
        return reservations_of_push(self.archive.reservations_now(part.device.name), part.reservations, at)

    def acted(self, before: Mapping[str, Wanted], now: Mapping[str, Wanted], at: datetime) -> str:
        """Keeps in the archive what devices were seen to have done by themselves at the boundary `at`: its revision."""
        parts = {
            name: _part(self.devices[name], before[name].configuration, one, one.program.id)
            for name, one in sorted(now.items())
        }
        revision = Revision(revision_id(at, parts), at, parts, acted=True)
        self.archive.keep_acted(revision)
        return revision.id

    def keep_as_good(self, present: Mapping[str, Wanted], at: datetime) -> None:
        """Keeps as known good what devices were seen to have, where another controller pushed it, or where the disk was
        full when this one did. It is no revision: nobody did anything."""
        parts = {}
        for name, one in sorted(present.items()):
            if kept := self.archive.known_good_of(self.devices[name], one):
                parts[name] = _part(self.devices[name], kept, one, one.program.id)
        if parts:
            self.archive.keep_only_as_good(Revision(revision_id(at, parts), at, parts, acted=True))

    def prepare(
        self,
        wanted: Mapping[str, Wanted],
        readings: Mapping[str, Reading],
        at: datetime,
        fence: int | None = None,
        anew: Collection[str] = (),
    ) -> Revision | None:
        """The revision of a push at `at`; None where every device has all of it already. Touches nothing.

        Raises:
            Unrenderable: others' objects are in the way on a device.
        """
        parts = {}
        for name, target in sorted(wanted.items()):
            reading = readings[name]
            part = _part(self.devices[name], reading.configuration, target, reading.armed_id)
            again = name in anew and bool(target.program.instants)
            if not part.change.empty or reading.armed_id != target.program.id or again:
                parts[name] = part
        return Revision(revision_id(at, parts), at, parts, fence) if parts else None

    def roll_back(self, revision: str, names: Sequence[str] | None = None) -> None:
        """Gives the devices of a revision what they had before it, without the slots that have ended.

        Args:
            names: only these; None for all of the revision.

        Raises:
            InvalidInput: no such revision. NobodyNamed: `names` is empty, or has one that the revision or the inventory
            has not; nothing was touched. PushFailed: some device could not be rolled back.
        """
        devices = self.archive.devices_of(revision)
        chosen = sorted(devices if names is None else set(names))
        if unknown := sorted(set(chosen) - (devices.keys() & self.devices.keys())):
            raise NobodyNamed(f"{', '.join(unknown)} is not both in revision {revision} and in the inventory")
        result = self.playbooks.run("rollback", chosen, {"slotcar_revision": str(self.archive.folder(revision))})
        if not result.ok:
            raise PushFailed(
                f"revision {revision} could not be rolled back: {_reasons(result)}",
                rolled_back=False,
                revision=revision,
            )
        reservations_before = {name: self.archive.reservations_last(name) for name in chosen}
        archived = self._keep_rollback(revision, {name: devices[name] for name in chosen})
        for name in chosen:
            reservations = reservations_of_push(
                reservations_before[name], archived.devices[name].reservations, archived.at
            )
            self.record(PushRolledBack(by="operator", revision=revision, reservations=reservations), name)

    def _keep_rollback(self, revision: str, devices: Mapping[str, Device]) -> Revision:
        """A revision of its own, the last: what the archive tells of these devices is again what they have."""
        revisions, now = self.archive.revisions(), self.clocks.now()
        parts = {}
        for name, device in devices.items():
            mine = [one for one in revisions if (self.archive.folder(one) / name).is_dir()] or [revision]
            # Not what the archive thinks: the emergency playbook tells it nothing.
            compared = self.archive.device_folder(revision, name).has(RESTORED_FROM)
            where = (revision, device, RESTORED_FROM) if compared else (mine[-1], device, AFTER)
            configuration_before = self.archive.configuration(*where)
            has, ends = self.archive.wanted_at(revision, device, now, BEFORE)
            earlier = [one for one in mine if one < revision]
            whole = self.archive.configuration(revision, device, BEFORE)
            same = earlier and self.archive.configuration(earlier[-1], device).lines == whole.lines
            still = still_open(self.archive.reservations_of(earlier[-1])[name], now) if same else ()
            parts[name] = _part(device, configuration_before, Wanted(has, reservations=still, ends=ends))
        if revisions:  # a push that waited for its boundary has that one's time
            latest = datetime.strptime(revisions[-1].partition("Z")[0] + "Z", STAMP).replace(tzinfo=UTC)
            now = max(now, latest + timedelta(microseconds=1))
        rollback = Revision(revision_id(now, parts), now, parts, acted=True)
        self.archive.keep_rollback(rollback, revision)
        return rollback

    def _run(
        self,
        revision: Revision,
        variables: Mapping[str, Any],
        folder: str,
        on_task: Callable[[str], None] | None,
        give_up: Callable[[], bool] | None,
    ) -> PlaybookResult:
        wait_s = max(0, int((revision.at - self.clocks.now()).total_seconds()))
        return self.playbooks.run(
            _playbook(PUSH, (part.device.platform for part in revision.devices.values())),
            list(revision.devices),
            {"slotcar_revision": folder, "slotcar_activate_at": revision.at.timestamp(), **variables},
            timeout_s=TIMEOUT_S + wait_s,
            on_task=on_task,
            give_up=give_up,
        )

    def _take_back(self, revision: Revision, folder: str) -> PlaybookResult:
        # They had it only a moment ago, whoever put it there.
        variables = {
            "slotcar_revision": folder,
            "slotcar_fence": fence_word(revision.fence),
            "slotcar_unknown_ends": True,
        }
        return self.playbooks.run("rollback", list(revision.devices), variables)

    def _withdraw(self, revision: Revision, folder: str) -> None:
        """Takes away what the devices were made ready with. Always raises."""
        back = self._take_back(revision, folder)
        if back.ok:
            self.archive.take_back(revision)
        for name in revision.devices:
            self.record(PushSuperseded(revision=revision.id), name)
        if not back.ok:
            guilty = {name: failure.message for name, failure in back.failures.items()}
            why = f"it was superseded, and could not be withdrawn: {_reasons(back)}"
            raise PushFailed(why, rolled_back=False, revision=revision.id, devices=guilty)
        raise Superseded(f"revision {revision.id} was superseded while it waited")

    def _roll_back(self, revision: Revision, folder: str, failed: PlaybookResult) -> None:
        """Always raises: PushFailed, or what kept the rollback from being done or recorded. The devices come first, also
        where no ledger is there to record why."""
        why = _reasons(failed)
        try:
            back = self._take_back(revision, folder)
            if back.ok:
                self.archive.take_back(revision)
        finally:
            for name in revision.devices:
                message = failed.failures[name].message if name in failed.failures else why
                self.record(PushFailure(revision=revision.id, message=message), name)
        for name in revision.devices:
            if name in back.failures or (not back.ok and not back.failures):
                message = back.failures[name].message if name in back.failures else _reasons(back)
                self.record(PushNotRolledBack(revision=revision.id, message=message), name)
            else:
                self.record(PushRolledBack(by="slotcar", revision=revision.id), name)
        outcome = (
            "all devices of the push were rolled back" if back.ok else f"and the rollback failed too: {_reasons(back)}"
        )
        guilty = {name: failure.message for name, failure in (back.failures | failed.failures).items()}
        raise PushFailed(f"{why}; {outcome}", rolled_back=back.ok, revision=revision.id, devices=guilty)


def _part(device: Device, before: Configuration, wanted: Wanted, replaces: str = NO_PROGRAM) -> DeviceRevision:
    """The part of a revision that brings a device from a configuration, with `replaces` armed, to the wanted one."""
    change = renderer_of(device).change(before, wanted.configuration, device)
    commands = tuple(staging.commands(device))
    return DeviceRevision(device, change, wanted.program, commands, replaces, wanted.reservations, wanted.ends)


def _answers(readings: Readings, folder: Path) -> dict[str, Answered]:
    return {
        name: Answered(one.configuration, DeviceFolder(folder / name).reading())
        for name, one in readings.by_device.items()
    }


def _readings(devices: Sequence[Device], folder: Path, result: PlaybookResult) -> Readings:
    """The readings that the playbook `read` has left in the folder."""
    readings: dict[str, Reading] = {}
    failures = dict(result.failures)
    for device in devices:
        answers = DeviceFolder(folder / device.name)
        if device.name in failures:
            continue
        if not answers.has(READING):
            failures[device.name] = Failure(device.name, _unanswered(device.name, result), unreachable=False)
            continue
        try:
            readings[device.name] = staging.reading_of(answers.reading(), device)
        except Unreadable as error:
            failures[device.name] = Failure(device.name, str(error), unreachable=False)
        except (FolderUnreadable, ValueError) as error:
            why = f"its answers were not kept whole: {error}; is the disk full?"
            failures[device.name] = Failure(device.name, why, unreachable=False)
    return Readings(readings, failures)


def _playbook(name: str, platforms: Iterable[str]) -> str:
    """The playbook that does it in the fewest tasks: to skip one costs each device as much as to do it."""
    listed = set(platforms)
    transports = {facts_of(platform).transport for platform in listed}
    if transports <= {TransportKind.LINUX}:
        return name if listed & OF_PLACES.keys() else f"{name}-linux"
    return f"{name}-ios" if transports <= SERVED else name


def _unanswered(device: str, result: PlaybookResult) -> str:
    """Why a device has no reading, though no task failed on it."""
    if result.ok and device not in result.reached:
        return "the inventory has no host of this name in the group domains"
    if result.ok:
        return "the play ended without a reading of this device"
    return f"the play was ended before this device answered: {_reasons(result)}"


def _reasons(result: PlaybookResult) -> str:
    reasons = [f"{failure.device}: {failure.message}" for failure in result.failures.values()]
    return "; ".join(reasons + result.notes) or "Ansible failed and gave no reason"
