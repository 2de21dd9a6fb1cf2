"""Rolling routers back with the database dead: to what the archive says, or the inventory alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from slotcar.base.timebase import iso
from slotcar.base.units import UnitError
from slotcar.book.timeline import active_at
from slotcar.network.model import Network
from slotcar.planning.errors import NotPossible
from slotcar.platforms.model import Configuration
from slotcar.recovery.history import Before, History, consequences, history_of, removal
from slotcar.reservation import parse_time
from slotcar.rollout.archive import STAMP, Archive
from slotcar.rollout.device_folder import AFTER, BEFORE
from slotcar.rollout.forms import Forms
from slotcar.rollout.holding import Removal
from slotcar.rollout.model import ConfiguredReservation, Failure, Outlook, Program, Wanted, still_open
from slotcar.rollout.program import acts
from slotcar.rollout.pusher import Pusher, Readings
from slotcar.rollout.slot_ends import EndsUnknown
from slotcar.rollout.wanted import wanted_for
from slotcar.views.configurations import DeviceDiff
from slotcar.views.devices import named_devices

#: The standing queues and rules, with no reservation active.
BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Goal:
    """Where to go back to, and with whom.

    Attributes:
        to: `baseline`; a revision, for what its routers had after it; or a time, for what each had then. Without it the
            routers go back to what each had last without the reservation.
        devices: only these routers.
        reservation: a handle or `OWNER/NAME`: only routers of its path.
    """

    to: str | None
    devices: Collection[str] | None = None
    reservation: str | None = None

    @property
    def words(self) -> str:
        return self.to or f"the configuration before {self.reservation}"


@dataclass(frozen=True, slots=True)
class Rollback:
    """A rollback that was computed and not done yet.

    Attributes:
        failures: routers that are left as they are, and why.
        consequences: what becomes of other reservations on the routers that change.
        notes: slots that stay out because they have ended, and slots that nothing ends on their routers.
        until: when the first slot ends that this leaves open: from then on it is not right any more.
        removed: by router, what this takes from it, and leaves on it: also from one that lacks it already, as after the
            emergency playbook, of which nothing is recorded.
    """

    diffs: tuple[DeviceDiff, ...]
    wanted: Mapping[str, Wanted]
    readings: Readings
    failures: tuple[Failure, ...]
    consequences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    until: datetime | None = None
    removed: Mapping[str, Removal] = field(default_factory=dict)

    def must_be_of_now(self, now: datetime) -> None:
        """
        Raises:
            NotPossible: a slot has ended since the routers were compared.
        """
        if self.until is not None and self.until <= now:
            raise NotPossible("a slot boundary passed; nothing was done; run the command again")


def plan_rollback(pusher: Pusher, network: Network, goal: Goal, now: datetime) -> Rollback:
    """Reads the routers that have a target, and compares. Changes nothing.

    Raises:
        NotPossible: no router has such a target, or the archive knows no such reservation, or `to` is neither a revision
        nor a time. NoSuchDevice: a device that nobody knows. InvalidInput: a file of the archive is broken.
    """
    named = set(named_devices(network, goal.devices))
    history = history_of(pusher.archive)
    reservation = None if goal.reservation is None else history.find(goal.reservation)
    archived = _Archived(pusher.archive, wanted_for(network)((), now).wanted, now)
    outlook = (
        _without(archived, history, reservation, network) if goal.to is None else _outlook(archived, network, goal.to)
    )
    candidates = named & set(network.devices if reservation is None else reservation.devices)
    if goal.devices is not None and reservation is not None:
        named_devices(network, goal.devices, reservation.devices)
    chosen = {name: one for name, one in outlook.wanted.items() if name in candidates and name in network.devices}
    failures = [
        Failure(name, why, unreachable=False) for name, why in outlook.unrenderable.items() if name in candidates
    ]
    if not chosen and not failures:
        whom = "" if goal.reservation is None else f" of {goal.reservation}"
        raise NotPossible(
            f"none of these routers{whom} has anything to go back to for {goal.words}; see `slotcar rollback --list`"
        )
    readings = pusher.read(sorted(chosen))
    wanted = {name: one for name, one in chosen.items() if name in readings.by_device}
    diffs = tuple(
        DeviceDiff(name, readings.by_device[name].configuration, one.configuration)
        for name, one in sorted(wanted.items())
        if readings.by_device[name].configuration.lines != one.configuration.lines
    )
    others = consequences(
        {one.device: archived.carried(history, one.device, one.before) for one in diffs},
        {one.device: wanted[one.device].reservations for one in diffs},
        reservation.handle if reservation else "",
    )
    versions = history.last_versions()
    ends = [one.ends.instants[0] for one in wanted.values() if one.ends.instants]
    notes = (*archived.left_out(wanted), *_unended(network, wanted), *archived.earlier(wanted))
    return Rollback(
        diffs, wanted, readings, (*failures, *readings.failures.values()), others, notes, min(ends, default=None),
        {name: removal(history.now(name), one.reservations, versions) for name, one in wanted.items()},
    )  # fmt: skip


def _unended(network: Network, wanted: Mapping[str, Wanted]) -> tuple[str, ...]:
    """Sentences about slots that the rollback leaves open and that their router does not end by itself."""
    sentences: dict[str, list[str]] = {}
    for name, one in sorted(wanted.items()):
        for one_open in () if acts(network.devices[name]) else one.reservations:
            end = iso(one_open.end) if one_open.end else "a time that the archive does not know"
            sentences.setdefault(
                f"{one_open.name} stays open beyond its end, {end}, unless a controller runs then, on", []
            ).append(name)
    return tuple(f"{words} {', '.join(names)}" for words, names in sentences.items())


@dataclass(frozen=True, slots=True)
class _Archived:
    """What the archive has, without the slots that have ended by `now`; `baseline` is what has no reservation."""

    archive: Archive
    baseline: Mapping[str, Wanted]
    now: datetime
    _ended: dict[str, list[ConfiguredReservation]] = field(default_factory=dict)
    _earlier: list[str] = field(default_factory=list)

    def now_without(self, history: History, reservation: ConfiguredReservation, network: Network) -> dict[str, Wanted]:
        """What each router that carries the reservation has now, but for it: what came with it at the same boundary, or
        since, stays. Not of a router with another reservation whose form is not kept."""
        others = {
            name: [one for handle, one in history.now(name).items() if handle != reservation.handle]
            for name in history.carriers(reservation)
        }
        forms = Forms(self.archive.state_dir).read({one.handle for some in others.values() for one in some})
        wanted: dict[str, Wanted] = {}
        render = wanted_for(network)
        for name, carried in others.items():
            still = still_open(carried, self.now)
            if any(one.handle not in forms or forms[one.handle].version != one.version for one in still):
                self._earlier.append(name)
                continue
            outlook = render(active_at([forms[one.handle] for one in still], self.now), self.now)
            if name in outlook.wanted:
                wanted[name] = outlook.wanted[name]
                self._ended[name] = [one for one in carried if one not in still]
        return wanted

    def carried(self, history: History, name: str, running: Configuration) -> Mapping[str, ConfiguredReservation]:
        """What a router has now by the archive; nothing where it runs what has no reservation, as after the emergency
        playbook, of which the archive knows nothing."""
        bare = not running.lines or (
            name in self.baseline and running.lines == self.baseline[name].configuration.lines
        )
        return {} if bare else history.now(name)

    def earlier(self, wanted: Collection[str]) -> tuple[str, ...]:
        """A sentence about the routers that go back to an earlier configuration, for nobody knows how to take one out."""
        names = sorted({*self._earlier} & {*wanted})
        return (f"of {', '.join(names)} the earlier configuration comes back, whole",) if names else ()

    def outlook(self, targets: Mapping[str, Before]) -> Outlook:
        """Each router's configuration, and a program that ends the slots in it where the router acts by itself."""
        wanted: dict[str, Wanted] = {}
        failures: dict[str, str] = {}
        for name, when in targets.items():
            try:
                wanted[name] = self._wanted(name, when)
            except EndsUnknown:
                failures[name] = (
                    f"the archive does not know when the slots end that it had then ({when.revision}), and nothing would"
                    " end them: choose another revision or time, or `--to baseline`"
                )
        return Outlook(wanted, failures)

    def left_out(self, wanted: Collection[str]) -> tuple[str, ...]:
        """The slots that do not come back to these routers, in words."""
        sentences: dict[str, list[str]] = {}
        for name, some in sorted(self._ended.items()):
            for one in some if name in wanted else ():
                assert one.end is not None
                sentences.setdefault(f"{one.name} stays out, its slot ended at {iso(one.end)}, on", []).append(name)
        return tuple(f"{words} {', '.join(names)}" for words, names in sentences.items())

    def _wanted(self, name: str, when: Before) -> Wanted:
        device = self.archive.devices_of(when.revision)[name]
        file = BEFORE if when.first else AFTER
        whole = self.archive.configuration(when.revision, device, file)
        if name in self.baseline and whole.lines == self.baseline[name].configuration.lines:
            return Wanted(whole)
        configuration, ends = self.archive.wanted_at(when.revision, device, self.now, file)
        archived = () if when.first else self.archive.reservations_of(when.revision).get(name, ())
        still = still_open(archived, self.now)
        self._ended[name] = [one for one in archived if one not in still]
        return Wanted(configuration, ends if acts(device) else Program(), still, ends)


def _outlook(archived: _Archived, network: Network, to: str) -> Outlook:
    if to == BASELINE:
        return wanted_for(network)((), archived.now)
    revisions = list(archived.archive.revisions())
    until = to
    if to not in revisions:
        try:
            until = f"{parse_time(to, archived.now).astimezone(UTC):{STAMP}}~"
        except UnitError as error:
            raise NotPossible(
                f"--to {to} is neither a revision nor a time: say `baseline`, a time with its zone such as"
                f" {iso(archived.now.replace(microsecond=0))}, or a revision of `slotcar rollback --list`"
            ) from error
    targets: dict[str, Before] = {}
    for revision in (one for one in revisions if one <= until):
        if to in revisions and revision != to:
            continue
        for name in archived.archive.devices_of(revision):
            targets[name] = Before(revision)
    return archived.outlook(targets)


def _without(
    archived: _Archived, history: History, reservation: ConfiguredReservation | None, network: Network
) -> Outlook:
    """What a reservation's routers have now but for it; where that is not known, what each had last without it."""
    if reservation is None:
        raise NotPossible("say where to go back to, or which reservation is to go")
    targets = history.before(reservation)
    now = archived.now_without(history, reservation, network)
    before = archived.outlook({name: when for name, when in targets.items() if name not in now})
    unknown = dict.fromkeys(
        {*history.carriers(reservation)} - targets.keys() - now.keys(),
        f"the archive does not have what it had before {reservation.name}: say --to baseline",
    )
    return Outlook({**before.wanted, **now}, {**before.unrenderable, **unknown})


def revisions_document(archive: Archive) -> list[dict[str, Any]]:
    """The revisions of the archive, oldest first, as documents: `revision`, `at` (when its devices had it), `why`, and the
    names of its `devices`, of the `reservations` that they were configured for after it, and of the revision that it took
    back.

    Raises:
        InvalidInput: a file of the archive is broken.
    """
    documents: list[dict[str, Any]] = []
    before: dict[str, set[str]] = {}
    for revision in archive.revisions():
        configured = archive.reservations_of(revision)
        after = {device: {one.name for one in some} for device, some in configured.items()}
        added = sorted({name for device in after for name in after[device] - before.get(device, set())})
        removed = sorted({name for device in after for name in before.get(device, set()) - after[device]})
        before |= after
        taken_back = archive.rollback_of(revision)
        words = [f"{', '.join(names)} {verb}" for verb, names in (("came", added), ("went", removed)) if names]
        at = datetime.strptime(revision.partition("Z")[0] + "Z", STAMP).replace(tzinfo=UTC, microsecond=0)
        documents.append(
            {
                "revision": revision,
                "at": iso(at),
                "why": "an operator's rollback" if taken_back else "; ".join(words) or "queues and ends only",
                "devices": sorted(configured),
                "reservations": sorted({name for some in after.values() for name in some}),
                "rollback_of": taken_back,
            }
        )
    return documents
