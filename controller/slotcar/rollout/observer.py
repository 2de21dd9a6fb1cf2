"""Writes down in the events what readings and pushes show: steps that devices took by themselves, drift, wrong clocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from slotcar.rollout.clocks import changes, judge
from slotcar.rollout.device_states import DeviceStates
from slotcar.rollout.model import Reading, Wanted
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar_client.wire.events import BoundaryActive, BoundarySeen, DeviceDrifted

log = structlog.get_logger("slotcar.loop")


@dataclass(slots=True)
class Observer:
    """Attributes:
    states: what the devices were last seen to have; a new one with every lead.
    """

    ledger: Ledger
    pusher: Pusher
    status: LoopStatus
    clock: Callable[[], datetime]
    states: DeviceStates = field(default_factory=DeviceStates)

    def look_at(
        self, readings: Mapping[str, Reading], targets: Mapping[str, Wanted], unchanged: Collection[str] = ()
    ) -> None:
        """Records who acted by itself as it was armed to, and who was changed by somebody else or restarted.

        Args:
            unchanged: other devices, which have what is wanted and had nothing to do for it.
        """
        passed: dict[datetime, dict[str, int | None]] = {}
        states_before = {}
        for name, reading in readings.items():
            before = self.states.last_seen.get(name)
            difference = self.states.compare(name, reading)
            if difference.drift:
                log.warning("device drifted", device=name, what=difference.drift)
                self.ledger.record(DeviceDrifted(message=difference.drift), self.clock(), device=name)
            if difference.acted and before is not None:
                states_before[name] = before
            for instant in difference.acted:
                # A device says how late its last step was.
                passed.setdefault(instant, {})[name] = reading.lag_us if instant == difference.acted[-1] else None
        if states_before:
            self._record_steps(states_before, passed, targets, unchanged)

    def _record_steps(
        self,
        states_before: Mapping[str, Wanted],
        passed: Mapping[datetime, Mapping[str, int | None]],
        targets: Mapping[str, Wanted],
        unchanged: Collection[str],
    ) -> None:
        """`passed`: by boundary, the devices that took its step, and how late."""
        has = {
            name: replace(
                self.states.last_seen[name], reservations=targets[name].reservations, ends=targets[name].ends
            )
            for name in states_before
        }
        revision = self.pusher.acted(states_before, has, max(passed))
        for instant, lags in sorted(passed.items()):
            active = BoundaryActive(
                at=instant, devices=tuple(sorted(lags)), lag_us=lags, revision=revision,
                unchanged=tuple(sorted(unchanged)),
            )  # fmt: skip
            self.ledger.record(active, self.clock())
            log.info("boundary", **active.details)

    def record_seen(self, devices: Collection[str], until: datetime) -> None:
        """Records that devices of which nothing was known have all that was wanted until then: whatever boundaries they
        passed while no controller looked, they acted at."""
        if devices:
            self.ledger.record(BoundarySeen(until=until, devices=tuple(sorted(devices))), self.clock())

    def look_at_clocks(self, ahead_us: Mapping[str, int]) -> None:
        """Records once whose clock is wrong, and once that it is right again. Nothing waits for a router's own clock."""
        before = judge(self.status.ahead_us)
        self.status.ahead_us.update(ahead_us)
        for says, device in changes(before, judge(self.status.ahead_us), self.status.ahead_us):
            self.ledger.record(says, self.clock(), device=device)
            log.warning("device clock", kind=says.kind, device=device, **says.details)
