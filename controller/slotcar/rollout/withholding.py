"""Which reservations are withheld from all devices of their paths while one of these cannot be made ready.

`if_unready` of each reservation says what becomes of it then (docs/design.md rule 8).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from slotcar.ledger import Ledger
from slotcar.ledger.groups import CancelGroup
from slotcar.ledger.model import State
from slotcar.ledger.queries import EventFilter
from slotcar.timeline import Active
from slotcar.vocabulary import IfUnready, OnFailure

log = structlog.get_logger("slotcar.withholding")
ACTOR = "slotcar"


@dataclass(slots=True)
class Withholding:
    """Attributes:
    active_everywhere: handles of the reservations that were last made active on all devices of their paths.
    """

    ledger: Ledger
    active_everywhere: set[str] = field(default_factory=set)
    _recorded: dict[str, set[str]] = field(default_factory=dict)

    def take_over(self, active: Iterable[Active]) -> None:
        """Takes what was active before this controller led for active everywhere, but for what was withheld then."""
        self._recorded.clear()
        self.active_everywhere = {one.entry.handle for one in active if not self._was_withheld(one.entry.handle)}

    def _was_withheld(self, handle: str) -> bool:
        wanted = EventFilter(kinds=("push.withheld", "push.released"), handle=handle)
        last = self.ledger.events_of(wanted, None, 1)
        return bool(last) and last[0].kind == "push.withheld"

    def admissible(
        self, active: Sequence[Active], waiting: Collection[str], now: datetime, soon: datetime
    ) -> tuple[Active, ...]:
        """The `active` reservations that devices are to have while the devices `waiting` cannot be made ready.

        What was active on all devices of its path before stays: the device that is set aside has it still, and its program
        ends it. Where a slot begins before `soon`, its policy is followed and recorded; until then it only waits.
        """
        kept = []
        for one in active:
            stuck = sorted(one.entry.devices & set(waiting)) if waiting else []
            if one.entry.handle in self.active_everywhere:
                kept.append(one)
            elif not stuck:
                self._release(one.entry.handle, now)
                kept.append(one)
            elif self._despite(one, stuck, now, begins_soon=one.window.start <= soon):
                kept.append(one)
        return tuple(kept)

    def _despite(self, one: Active, stuck: list[str], now: datetime, *, begins_soon: bool) -> bool:
        """Whether it is active on the other devices all the same."""
        if one.entry.reservation.together is not None and one.window.start <= now:
            self._member_failed(one, stuck, now)
        handle, policy = one.entry.handle, one.entry.reservation.if_unready
        if policy is IfUnready.DEGRADE:
            self._record_once(
                "push.degraded", handle, stuck, now, "active only on the devices of its path that answer"
            )
            return True
        self._record_once(
            "push.withheld", handle, stuck, now, "not active anywhere until all devices of its path answer"
        )
        if begins_soon and policy is IfUnready.ALARM:
            self._record_once(
                "push.alarm", handle, stuck, now, "its slot begins, or has begun, and it is active nowhere"
            )
        if begins_soon and policy is IfUnready.REFUSE:
            self._refuse(one, stuck, now)
        return False

    def _member_failed(self, one: Active, stuck: list[str], now: datetime) -> None:
        """A member of a group is not there at its slot's start: what its `on_failure` says."""
        together, handle, group = one.entry.reservation.together, one.entry.handle, one.entry.group
        current = self.ledger.get(handle)
        if together is None or group is None or current is None or current.state is not State.COMMITTED:
            return
        member = f"{one.entry.reservation.name} could not be given at its slot's start on {', '.join(stuck)}"
        self._record_once("group.member-failed", handle, stuck, now, f"{member}: {together.on_failure.value}")
        if together.on_failure is OnFailure.END_ALL:
            self.ledger.on_group(CancelGroup(now, group, ACTOR, member))
        elif together.on_failure is OnFailure.GO_ON:
            self.ledger.transition(handle, State.CANCELLED, now, actor=ACTOR, reason=member)

    def _refuse(self, one: Active, stuck: list[str], now: datetime) -> None:
        current = self.ledger.get(one.entry.handle)
        if current is None or current.state is not State.COMMITTED:
            return
        reason = f"{', '.join(stuck)} could not be made ready for its slot"
        self.ledger.transition(one.entry.handle, State.CANCELLED, now, actor=ACTOR, reason=reason)
        log.warning("reservation refused", handle=one.entry.handle, devices=stuck)

    def _record_once(self, kind: str, handle: str, devices: Sequence[str], now: datetime, message: str) -> None:
        kinds = self._recorded.setdefault(handle, set())
        if kind not in kinds:
            kinds.add(kind)
            self.ledger.append_event(kind, now, handle=handle, details={"devices": list(devices), "message": message})

    def _release(self, handle: str, now: datetime) -> None:
        if self._recorded.pop(handle, None):
            self.ledger.append_event("push.released", now, handle=handle)
