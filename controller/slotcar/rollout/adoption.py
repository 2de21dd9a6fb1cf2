"""Devices that Slotcar has never managed: nothing is pushed to one before an operator has said so (ADR 27)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from slotcar.rollout.archive import Archive
from slotcar.rollout.model import Reading, Wanted
from slotcar.store import Ledger
from slotcar_client.wire.events import DeviceAdopted, PushVerified


def managed_devices(ledger: Ledger, archive: Archive) -> set[str]:
    """The devices that an operator adopted or that were pushed to, by the ledger or by the archive."""
    verified = {event.device for event in ledger.summaries.latest_of_devices((DeviceAdopted.kind, PushVerified.kind))}
    pushed = {folder.name for folder in archive.known_good.glob("*") if not folder.name.startswith(".")}
    return {name for name in verified if name} | pushed


@dataclass(slots=True)
class Adoption:
    """Which devices the leader may push to.

    Attributes:
        all_managed: all of the inventory are (`SLOTCAR_ADOPT_ALL`).
        waiting: those that wait for an operator.
    """

    ledger: Ledger
    archive: Archive
    all_managed: bool = False
    waiting: set[str] = field(default_factory=set)
    _managed: set[str] = field(default_factory=set)

    def take_over(self) -> None:
        self.waiting.clear()
        self._managed = managed_devices(self.ledger, self.archive)

    def unadopted(self, readings: Mapping[str, Reading], wanted: Mapping[str, Wanted]) -> dict[str, str]:
        """The devices to which nothing may be pushed yet, each with the reason.

        What carries objects or a fence of Slotcar's has been managed, by this ledger or by one that is lost: to wait
        there would leave open slots without their end.
        """
        if self.all_managed:
            return {}
        for name, reading in readings.items():
            if self.manages(name, reading):
                self._managed.add(name)
        new = self._never_managed(readings, wanted)
        if new - self.waiting:
            # It may have been adopted before it had anything to wait for.
            self._managed |= managed_devices(self.ledger, self.archive)
            new -= self._managed
        self.waiting |= new
        return dict.fromkeys(
            sorted(new), "Slotcar has never managed it, and waits: `slotcar adopt` shows the diff, and asks"
        )

    def _never_managed(self, readings: Mapping[str, Reading], wanted: Mapping[str, Wanted]) -> set[str]:
        return {
            name
            for name, reading in readings.items()
            if name not in self._managed and wanted[name].identity != (reading.configuration.lines, reading.armed_id)
        }

    def manages(self, name: str, reading: Reading) -> bool:
        """Whether it was adopted or pushed to, or carries something of Slotcar's."""
        return name in self._managed or bool(reading.configuration.lines or reading.fence)

    def adopted(self) -> Collection[str]:
        """The devices that waited for adoption and were adopted since."""
        if not self.waiting:
            return ()
        self._managed |= managed_devices(self.ledger, self.archive)
        adopted = self.waiting & self._managed
        self.waiting -= adopted
        return adopted
