"""Rolling routers back with the database dead: to what the archive says, or the inventory alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from controller.network.model import Network
from controller.reservation import parse_time
from controller.rollout.archive import AFTER, BEFORE, STAMP, Archive
from controller.rollout.model import Carried, Failure, Outlook, Wanted
from controller.rollout.pusher import Pusher, Readings
from controller.units import UnitError
from controller.verbs.carrying import Before, History, consequences, history_of
from controller.verbs.configurations import DeviceDiff
from controller.verbs.errors import NotPossible
from controller.verbs.rolling import wanted_for

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
        return self.to or f"what they had before {self.reservation}"


@dataclass(frozen=True, slots=True)
class Rewind:
    """What a rollback would do.

    Attributes:
        failures: routers that are left as they are, and why.
        consequences: what becomes of other reservations on the routers that change.
    """

    diffs: tuple[DeviceDiff, ...]
    wanted: Mapping[str, Wanted]
    readings: Readings
    failures: tuple[Failure, ...]
    consequences: tuple[str, ...] = ()


def rewind(pusher: Pusher, network: Network, goal: Goal, now: datetime) -> Rewind:
    """Reads the routers that have a target, and compares. Changes nothing.

    Raises:
        NotPossible: no router has such a target, or the archive knows no such reservation. InvalidInput: a file of the
        archive is broken. UnitError: no such revision and no such time.
    """
    history = history_of(pusher.archive)
    asked = history.find(goal.reservation) if goal.reservation else None
    outlook = _outlook(pusher.archive, network, goal.to, now) if goal.to else _without(pusher.archive, history, asked)
    there = set(network.devices if asked is None else asked.devices) & set(goal.devices or network.devices)
    chosen = {name: one for name, one in outlook.wanted.items() if name in there and name in network.devices}
    failures = [Failure(name, why, unreachable=False) for name, why in outlook.unrenderable.items() if name in there]
    if not chosen and not failures:
        whom = f" of {goal.reservation}" if goal.reservation else ""
        raise NotPossible(
            f"none of these routers{whom} has anything to go back to for {goal.words}; see `slotcar rollback --list`"
        )
    readings = pusher.read(sorted(chosen))
    wanted = {name: one for name, one in chosen.items() if name in readings.found}
    diffs = tuple(
        DeviceDiff(name, readings.found[name].configuration, one.configuration)
        for name, one in sorted(wanted.items())
        if readings.found[name].configuration.lines != one.configuration.lines
    )
    told = consequences(
        {one.device: history.now(one.device) for one in diffs},
        {one.device: wanted[one.device].carried for one in diffs},
        asked.handle if asked else "",
    )
    return Rewind(diffs, wanted, readings, (*failures, *readings.failures.values()), told)


def _outlook(archive: Archive, network: Network, to: str, now: datetime) -> Outlook:
    if to == BASELINE:
        return wanted_for(network)((), now)
    known = list(archive.revisions())
    until = to
    if to not in known:
        try:
            until = f"{parse_time(to, now).astimezone(UTC):{STAMP}}~"
        except UnitError as error:
            hint = "say `baseline`, a time with its zone, or a revision of `slotcar rollback --list`"
            raise UnitError("is neither a revision nor a time", to, hint) from error
    found: dict[str, Wanted] = {}
    for revision in (one for one in known if one <= until):
        if to in known and revision != to:
            continue
        for name in archive.devices_of(revision):
            found[name] = _archived(archive, name, Before(revision))
    return Outlook(found, {})


def _without(archive: Archive, history: History, asked: Carried | None) -> Outlook:
    """What the routers of a reservation had last without it."""
    if asked is None:
        raise NotPossible("say where to go back to, or which reservation is to go")
    return Outlook({name: _archived(archive, name, one) for name, one in history.before(asked).items()}, {})


def _archived(archive: Archive, name: str, when: Before) -> Wanted:
    device = archive.devices_of(when.revision)[name]
    configuration = archive.configuration(when.revision, device, BEFORE if when.first else AFTER)
    carried = () if when.first else archive.carried_by(when.revision).get(name, ())
    return Wanted(configuration, carried=carried)
