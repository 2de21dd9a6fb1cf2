"""What devices have, against what they are to have now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import active_at
from slotcar.network.model import Network
from slotcar.planning.errors import NotPossible
from slotcar.rollout.model import Failure, Outlook, Wanted
from slotcar.rollout.pusher import Pusher, Readings
from slotcar.rollout.wanted import wanted_for
from slotcar.store import Ledger
from slotcar.views.configurations import DeviceDiff
from slotcar.views.devices import named_devices
from slotcar_client.wire import documents


@dataclass(frozen=True, slots=True)
class FleetComparison:
    """What devices have against what they are to have; `failures` are those that could not be read."""

    diffs: tuple[DeviceDiff, ...]
    equal: tuple[str, ...]
    failures: tuple[Failure, ...]
    wanted: Mapping[str, Wanted]
    readings: Readings


def compare(
    ledger: Ledger, network: Network, pusher: Pusher, now: datetime, devices: Collection[str] | None = None
) -> FleetComparison:
    """Reads the devices, changes nothing.

    Args:
        devices: only these; None for all.

    Raises:
        NoSuchDevice: one of `devices` is not managed. NotPossible: none has anything to be compared with.
    """
    chosen = set(named_devices(network, devices))
    outlook = _wanted_at(ledger, network, now)
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
    return FleetComparison(tuple(diffs), tuple(equal), (*failures, *readings.failures.values()), wanted, readings)


def _wanted_at(ledger: Ledger, network: Network, now: datetime) -> Outlook:
    entries = BackgroundShares(network)(ledger.live_between(now), Window(now, now + MICROSECOND))
    return wanted_for(network)(active_at(entries, now), now)


def must_be_wanted_still(ledger: Ledger, network: Network, comparison: FleetComparison, now: datetime) -> None:
    """A compared configuration is pushed only if it is still the wanted one: a person may have taken long to confirm.

    Raises:
        NotPossible: a slot began or ended since, or a reservation was changed.
    """
    outlook = _wanted_at(ledger, network, now)
    for name, one in comparison.wanted.items():
        other = outlook.wanted.get(name)
        if other is None or (one.configuration, one.reservations) != (other.configuration, other.reservations):
            raise NotPossible(
                "a slot boundary passed, or a reservation was changed; nothing was done; run the command again"
            )


def comparison_document(comparison: FleetComparison) -> documents.Comparison:
    return {
        "different": [{"device": one.device, "diff": list(one.diff)} for one in comparison.diffs],
        "equal": list(comparison.equal),
        "failed": [{"device": one.device, "message": one.message} for one in comparison.failures],
    }


def difference_document(device: str, comparison: FleetComparison) -> documents.DifferenceOfDevice:
    """The document of a comparison of one device: `state` is `equal`, `different` or `failed`."""
    failure = next((one.message for one in comparison.failures if one.device == device), "")
    diff = next((list(one.diff) for one in comparison.diffs if one.device == device), [])
    state: Literal["equal", "different", "failed"] = "failed" if failure else "different" if diff else "equal"
    return {"device": device, "state": state, "diff": diff, "message": failure}
