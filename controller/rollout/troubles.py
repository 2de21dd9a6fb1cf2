"""Devices that could not be read or pushed to, and when each is tried again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from controller.ledger import Ledger
from controller.rollout.status import LoopStatus, Trouble

log = structlog.get_logger("slotcar.loop")
FIRST_RETRY = timedelta(seconds=10)
LAST_RETRY = timedelta(minutes=5)


@dataclass(slots=True)
class Troubles:
    """Told in the events where the reason is a new one, and in the status until the device has what is wanted."""

    ledger: Ledger
    status: LoopStatus
    _by_device: dict[str, Trouble] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._by_device)

    def put_aside(self, name: str, message: str, now: datetime) -> None:
        """The device is left alone for a while: longer each time."""
        before = self._by_device.get(name)
        wait = min(LAST_RETRY, before.wait * 2) if before else FIRST_RETRY
        self._by_device[name] = Trouble(message, now + wait, wait)
        self.status.troubles[name] = message
        self.status.phases[name] = "failed"
        log.warning("device put aside", device=name, error=message, retry_s=wait.total_seconds())
        if before is None or before.message != message:
            self.ledger.append_event("push.device-failed", now, device=name, details={"message": message})

    def waits(self, name: str, now: datetime) -> bool:
        trouble = self._by_device.get(name)
        return trouble is not None and trouble.retry_at > now

    def waiting(self, now: datetime) -> set[str]:
        """The devices that are left alone at this moment."""
        return {name for name in self._by_device if self.waits(name, now)}

    def retries(self) -> list[datetime]:
        return [trouble.retry_at for trouble in self._by_device.values()]

    def over(self, names: Iterable[str]) -> None:
        """These have what is wanted."""
        for name in names:
            self._by_device.pop(name, None)
            self.status.troubles.pop(name, None)

    def clock_was_set(self, by: timedelta) -> None:
        """Each waits for as long as it was to."""
        for trouble in self._by_device.values():
            trouble.retry_at += by
