"""Device health: which devices are set aside because they could not be read or pushed to, why, and until when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from slotcar.base.timebase import CLOCK_SET
from slotcar.rollout.status import LoopStatus, SetAside
from slotcar.store import Ledger
from slotcar_client.wire.events import DeviceSetAside, DeviceUnadopted

log = structlog.get_logger("slotcar.loop")
FIRST_RETRY = timedelta(seconds=10)
LAST_RETRY = timedelta(minutes=5)


@dataclass(slots=True)
class DeviceHealth:
    """Why a device is set aside stands in the status until it has what is wanted, and in the events where the reason is
    another than the last time."""

    ledger: Ledger
    status: LoopStatus
    _set_aside: dict[str, SetAside] = field(default_factory=dict)

    @property
    def all_well(self) -> bool:
        return not self._set_aside

    def set_aside(
        self,
        name: str,
        message: str,
        now: datetime,
        kind: type[DeviceSetAside | DeviceUnadopted] = DeviceSetAside,
        *,
        of_this_machine: bool = False,
    ) -> None:
        """The device is left alone for a while: longer each time.

        Args:
            kind: of the event that tells it.
            of_this_machine: nothing reached the device, for a reason of this machine such as a full disk: trying again
                costs the device nothing, and the reason may be over at any time.
        """
        before = self._set_aside.get(name)
        wait = min(LAST_RETRY, before.wait * 2) if before and not of_this_machine else FIRST_RETRY
        self._set_aside[name] = SetAside(message, now + wait, wait)
        self.status.troubles[name] = message
        self.status.phases[name] = "failed"
        log.warning("device set aside", device=name, error=message, retry_s=wait.total_seconds())
        if before is None or before.message != message:
            self.ledger.record(kind(message=message), now, device=name)

    def reasons(self) -> dict[str, str]:
        """Why each device is set aside, also one that is about to be tried again."""
        return {name: aside.message for name, aside in self._set_aside.items()}

    def set_aside_all(self, reasons: Mapping[str, str], now: datetime) -> bool:
        """Sets aside the devices that do not wait already; whether there was one."""
        others = {name: why for name, why in reasons.items() if not self.is_waiting(name, now)}
        for name, why in others.items():
            self.set_aside(name, why, now)
        return bool(others)

    def is_waiting(self, name: str, now: datetime) -> bool:
        """Whether the device is left alone at this moment.

        One that would wait for longer than it was set aside for was set aside by a clock that has been set back since.
        """
        aside = self._set_aside.get(name)
        return aside is not None and now < aside.retry_at <= now + aside.wait + CLOCK_SET

    def waiting(self, now: datetime) -> set[str]:
        return {name for name in self._set_aside if self.is_waiting(name, now)}

    def retries(self, now: datetime) -> list[datetime]:
        """When those that are set aside are tried again."""
        return [aside.retry_at if self.is_waiting(name, now) else now for name, aside in self._set_aside.items()]

    def retry(self, names: Iterable[str], now: datetime) -> None:
        """These are tried again now."""
        for name in names:
            if name in self._set_aside:
                self._set_aside[name].retry_at = now

    def recovered(self, names: Iterable[str]) -> None:
        """These have what is wanted."""
        for name in names:
            self._set_aside.pop(name, None)
            self.status.troubles.pop(name, None)
