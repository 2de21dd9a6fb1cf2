"""What routers are to have, and what they have."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.timebase import MICROSECOND
from slotcar.book.rules import roles
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk
from slotcar.platforms.model import Configuration
from slotcar.recovery.comparison import FleetComparison, compare
from slotcar.rollout.adoption import managed_devices
from slotcar.rollout.archive import Archive
from slotcar.views.configurations import configurations_at
from slotcar.views.devices import named_devices
from slotcar.wiring import pusher_for
from slotcar_client.wire.events import DeviceAdopted


@dataclass(frozen=True, slots=True)
class Routers:
    """Errors are `SlotcarError`s."""

    desk: Desk

    def compare(
        self, devices: Collection[str] | None, caller: Caller, now: datetime, verb: str = "difference"
    ) -> FleetComparison:
        """What these devices have (all where `devices` is None) against what they are to have; reads them, which takes
        seconds, and changes nothing.

        Raises:
            NoSuchDevice, NotPossible: see `slotcar.recovery.comparison.compare`.
        """
        roles.require_overview(caller, "read a device", verb)
        desk = self.desk
        pusher = pusher_for(desk.network, desk.settings, None, desk.clocks)
        return compare(desk.ledger, desk.network, pusher, now, devices)

    def managed(self) -> Collection[str]:
        """The devices of the inventory that Slotcar may push to (ADR 27)."""
        if self.desk.settings.adopt_all:
            return self.desk.network.devices
        return managed_devices(self.desk.ledger, Archive(self.desk.settings.state_dir))

    def adopt(self, device: str, caller: Caller, now: datetime) -> bool:
        """Whether it was not managed before.

        Raises:
            NotAllowed. NoSuchDevice.
        """
        roles.require_operator(caller, "let Slotcar manage a router", "adopt")
        named_devices(self.desk.network, [device])
        if device in self.managed():
            return False
        self.desk.ledger.record(DeviceAdopted(actor=caller.actor), now, device=device)
        return True

    def configurations(
        self, at: datetime, caller: Caller, devices: Collection[str] | None = None
    ) -> dict[str, Configuration]:
        """What the devices are to have at `at`: the bytes that a push would compare with.

        Raises:
            NoSuchDevice, Unrenderable.
        """
        roles.require_overview(caller, "see the devices' configurations", "configurations")
        entries = self.desk.ledger.live_between(at, at + MICROSECOND)
        return configurations_at(entries, self.desk.network, at, devices)
