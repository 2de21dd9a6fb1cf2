"""Rolling routers back with the database dead: to what the archive says, or the inventory alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from controller.network.model import Network
from controller.render.model import Configuration
from controller.reservation import parse_time
from controller.rollout.archive import Archive
from controller.rollout.model import Failure, Outlook, Wanted
from controller.rollout.pusher import Pusher, Readings
from controller.units import UnitError
from controller.verbs.configurations import DeviceDiff
from controller.verbs.errors import NotPossible
from controller.verbs.rolling import wanted_for

#: The standing queues and rules, with no reservation active.
BASELINE = "baseline"
_STAMP = "%Y%m%dT%H%M%S.%fZ"


@dataclass(frozen=True, slots=True)
class Rewind:
    """What a rollback would do; `failures` are routers that are left as they are, and why."""

    diffs: tuple[DeviceDiff, ...]
    wanted: Mapping[str, Wanted]
    readings: Readings
    failures: tuple[Failure, ...]


def rewind(pusher: Pusher, network: Network, to: str, now: datetime, devices: Collection[str] | None = None) -> Rewind:
    """Reads the routers that have a target, and compares. Changes nothing.

    Args:
        to: `baseline`; a revision, for what its routers had after it; or a time, for what each had then.

    Raises:
        NotPossible: no router of `devices` has such a target. InvalidInput: no such revision. UnitError: no such time.
    """
    outlook = _outlook(pusher.archive, network, to, now)
    chosen = {name: one for name, one in outlook.wanted.items() if not devices or name in devices}
    failures = [
        Failure(name, why, unreachable=False)
        for name, why in outlook.unrenderable.items()
        if not devices or name in devices
    ]
    if not chosen and not failures:
        raise NotPossible(f"none of these routers has anything to go back to for {to}; see `slotcar rollback --list`")
    readings = pusher.read(sorted(chosen))
    wanted = {name: one for name, one in chosen.items() if name in readings.found}
    diffs = tuple(
        DeviceDiff(name, readings.found[name].configuration, one.configuration)
        for name, one in sorted(wanted.items())
        if readings.found[name].configuration.lines != one.configuration.lines
    )
    return Rewind(diffs, wanted, readings, (*failures, *readings.failures.values()))


def _outlook(archive: Archive, network: Network, to: str, now: datetime) -> Outlook:
    if to == BASELINE:
        return wanted_for(network)((), now)
    known = list(archive.revisions())
    until = to
    if to not in known:
        try:
            until = f"{parse_time(to, now).astimezone(UTC):{_STAMP}}~"
        except UnitError as error:
            hint = "say `baseline`, a time with its zone, or a revision of `slotcar rollback --list`"
            raise UnitError("is neither a revision nor a time", to, hint) from error
    found: dict[str, Wanted] = {}
    for revision in (one for one in known if one <= until):
        if to in known and revision != to:
            continue
        for name, device in archive.devices_of(revision).items():
            lines = tuple((archive.folder(revision) / name / "after.txt").read_text().splitlines())
            found[name] = Wanted(Configuration(name, device.platform, lines))
    return Outlook({name: one for name, one in found.items() if name in network.devices}, {})
