"""What each device is to have, and to do by itself: by what is active and by the instant (docs/design.md rule 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from slotcar.book.timeline import Active
from slotcar.network.model import Network
from slotcar.rollout.configuring import Configuring
from slotcar.rollout.model import ConfiguredReservation, Outlook
from slotcar.rollout.program import Coming, WantedFor, acts, wanted_with_programs
from slotcar.rollout.schedule import armed_until


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
        return _with_reservations(outlook, active, network)

    return wanted


def _with_reservations(outlook: Outlook, active: Sequence[Active], network: Network) -> Outlook:
    """The wanted states with the reservations that each is for, so that the archive needs no database to name them."""
    by_device: dict[str, list[ConfiguredReservation]] = {}
    configured = _configured(network)
    for one in {one.entry.number: one for one in active}.values():
        entry = one.entry
        names = sorted(entry.devices & configured)
        reservation = ConfiguredReservation(
            entry.handle, "/".join(entry.reservation.key), entry.version, tuple(names), one.window.end, one.slot.start
        )
        for name in names:
            by_device.setdefault(name, []).append(reservation)
    wanted = {
        name: replace(each, reservations=tuple(by_device.get(name, ()))) for name, each in outlook.wanted.items()
    }
    return replace(outlook, wanted=wanted)


def _configured(network: Network) -> set[str]:
    return {name for name, device in network.devices.items() if network.is_configured(device)}


def instants_of(network: Network) -> tuple[datetime, ...]:
    """When the network itself changes what is wanted: the edges of the validity of its SLSs."""
    windows = [sls.validity for sls in network.sls.values() if sls.validity is not None]
    return tuple(sorted({instant for window in windows for instant in (window.start, window.end)}))
