"""The way to the devices: the pusher and the reconcile loop for a network, and what an operator does by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from controller.ledger import Ledger
from controller.network.model import Network
from controller.path.model import crossed
from controller.rollout.archive import Archive
from controller.rollout.configuring import Configuring
from controller.rollout.loop import ReconcileLoop
from controller.rollout.model import Carried, Failure, Outlook, Wanted
from controller.rollout.playbook import Playbooks
from controller.rollout.program import Coming, WantedFor, acts, wanted_with_programs
from controller.rollout.pusher import Pusher, Readings
from controller.rollout.retention import Retention
from controller.rollout.schedule import Pace, armed_until
from controller.settings import Settings
from controller.timeline import Active, active_at
from controller.verbs.configurations import DeviceDiff
from controller.verbs.errors import NotPossible
from controller.verbs.named import named_devices


def wanted_for(network: Network) -> WantedFor:
    """Configurations and programs of all devices, as a function of what is active and of the instant."""
    acting = frozenset(name for name, device in network.devices.items() if acts(device))
    configure = Configuring(network)

    def wanted(active: Sequence[Active], at: datetime, coming: Sequence[Coming] = ()) -> Outlook:
        deadlines = {
            name: armed_until(at, timedelta(seconds=device.dead_man_s))
            for name, device in network.devices.items()
            if device.dead_man_s is not None
        }
        outlook = wanted_with_programs(active, at, configure, acting, coming, deadlines)
        return _with_carried(outlook, active, network)

    return wanted


def _with_carried(outlook: Outlook, active: Sequence[Active], network: Network) -> Outlook:
    """Each device told whom its configuration is for, so that the archive knows it with the database dead."""
    carried: dict[str, list[Carried]] = {}
    configured = _configured(network)
    for one in {one.entry.number: one for one in active}.values():
        entry = one.entry
        names = sorted(crossed(entry.paths) & configured)
        told = Carried(entry.handle, "/".join(entry.reservation.key), entry.version, tuple(names), one.window.end)
        for name in names:
            carried.setdefault(name, []).append(told)
    wanted = {name: replace(each, carried=tuple(carried.get(name, ()))) for name, each in outlook.wanted.items()}
    return replace(outlook, wanted=wanted)


def _configured(network: Network) -> set[str]:
    return {name for name, device in network.devices.items() if not network.domains[device.domain].over_provisioned}


def instants_of(network: Network) -> tuple[datetime, ...]:
    """When the network itself changes what is wanted: the edges of the validity of its SLSs."""
    windows = [sls.validity for sls in network.sls.values() if sls.validity is not None]
    return tuple(sorted({instant for window in windows for instant in (window.start, window.end)}))


def pusher_for(network: Network, settings: Settings, ledger: Ledger | None) -> Pusher:
    """Records what it does in the ledger's audit log, where there is a ledger."""

    def record(kind: str, device: str | None, details: Mapping[str, Any]) -> None:
        if ledger is not None:
            ledger.append_event(kind, datetime.now(UTC), device=device, details=details)

    return Pusher(
        Playbooks(
            settings.home,
            settings.need_inventory(),
            settings.vault_password_file,
            stop_timeout_s=settings.stop_timeout.total_seconds(),
        ),
        Archive(settings.state_dir),
        network.devices,
        record,
    )


def loop_for(network: Network, settings: Settings, ledger: Ledger) -> ReconcileLoop:
    devices = network.devices.values()
    return ReconcileLoop(
        ledger=ledger,
        pusher=pusher_for(network, settings, ledger),
        wanted_for=wanted_for(network),
        pace=Pace(settings.stage_lead, settings.arm_ahead, settings.check_interval, all(map(acts, devices))),
        retention=Retention(Archive(settings.state_dir), settings.keep_revisions),
        clock=lambda: datetime.now(UTC),
        instants=instants_of(network),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What devices have against what they are to have; `failures` are those that could not be read."""

    diffs: tuple[DeviceDiff, ...]
    equal: tuple[str, ...]
    failures: tuple[Failure, ...]
    wanted: Mapping[str, Wanted]
    readings: Readings


def compare(
    ledger: Ledger, network: Network, pusher: Pusher, now: datetime, devices: Collection[str] | None = None
) -> Comparison:
    """Reads the devices, changes nothing.

    Args:
        devices: only these; None for all.

    Raises:
        NoSuchDevice: one of `devices` is not managed. NotPossible: none has anything to be compared with.
    """
    chosen = set(named_devices(network, devices))
    outlook = wanted_for(network)(active_at(ledger.live_between(now), now), now)
    wanted = {name: one for name, one in outlook.wanted.items() if name in chosen}
    failures = [Failure(name, why, unreachable=False) for name, why in outlook.unrenderable.items() if name in chosen]
    if not wanted and not failures:
        raise NotPossible("there is no device to look at: none of these is configured by Slotcar")
    readings = pusher.read(sorted(wanted))
    diffs, equal = [], []
    for name, reading in sorted(readings.by_device.items()):
        if reading.configuration.lines == wanted[name].configuration.lines:
            equal.append(name)
        else:
            diffs.append(DeviceDiff(name, reading.configuration, wanted[name].configuration))
    return Comparison(tuple(diffs), tuple(equal), (*failures, *readings.failures.values()), wanted, readings)


def must_be_wanted_still(ledger: Ledger, network: Network, found: Comparison, now: datetime) -> None:
    """What was compared is pushed only if it is still what is wanted: somebody may have been asked for a long time.

    Raises:
        NotPossible: a slot began or ended since, or a reservation was changed.
    """
    outlook = wanted_for(network)(active_at(ledger.live_between(now), now), now)
    for name, one in found.wanted.items():
        other = outlook.wanted.get(name)
        if other is None or (one.configuration, one.carried) != (other.configuration, other.carried):
            raise NotPossible(
                "a slot boundary passed, or a reservation was changed; nothing was done; run the command again"
            )
