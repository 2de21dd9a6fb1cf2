"""What readings and pushes show of the devices, told in the events: steps that they took by themselves, drift, clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from controller.ledger import Ledger
from controller.rollout.clocks import judge, news
from controller.rollout.model import Reading, Wanted
from controller.rollout.pusher import Pusher
from controller.rollout.standing import Standing
from controller.rollout.status import LoopStatus

log = structlog.get_logger("slotcar.loop")


@dataclass(slots=True)
class Observer:
    """Attributes:
    standing: what the devices were last seen to have; a new one with every lead.
    """

    ledger: Ledger
    pusher: Pusher
    status: LoopStatus
    clock: Callable[[], datetime]
    standing: Standing = field(default_factory=Standing)

    def look_at(self, found: Mapping[str, Reading], targets: Mapping[str, Wanted]) -> None:
        """Tells who acted by itself as it was armed to, and who was changed by somebody else or restarted."""
        passed: dict[datetime, dict[str, int | None]] = {}
        befores = {}
        for name, reading in found.items():
            before = self.standing.believed.get(name)
            seen = self.standing.compare(name, reading)
            if seen.drift:
                log.warning("device drifted", device=name, what=seen.drift)
                self.ledger.append_event("device.drifted", self.clock(), device=name, details={"message": seen.drift})
            if seen.acted and before is not None:
                befores[name] = before
            for instant in seen.acted:
                # A device tells how late its last step was.
                passed.setdefault(instant, {})[name] = reading.lag_us if instant == seen.acted[-1] else None
        if befores:
            arrived = {
                name: replace(self.standing.believed[name], carried=targets[name].carried, ends=targets[name].ends)
                for name in befores
            }
            revision = self.pusher.acted(befores, arrived, max(passed))
            for instant, lags in sorted(passed.items()):
                details = {"at": instant.isoformat(), "devices": sorted(lags), "lag_us": lags, "revision": revision}
                self.ledger.append_event("boundary.active", self.clock(), details=details)
                log.info("boundary", **details)

    def look_at_clocks(self, ahead_us: Mapping[str, int]) -> None:
        """Tells once whose clock is wrong, and once that it is right again. Nothing waits for a router's own clock."""
        before = judge(self.status.ahead_us)
        self.status.ahead_us.update(ahead_us)
        for kind, device, details in news(before, judge(self.status.ahead_us), self.status.ahead_us):
            self.ledger.append_event(kind, self.clock(), device=device, details=details)
            log.warning("clock", kind=kind, device=device, **details)
