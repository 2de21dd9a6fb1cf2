"""Which reservations are withheld from all devices of their paths while one of these cannot be made ready.

`if_unready` of each reservation says what becomes of it then (docs/design.md rule 8).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from slotcar.base.vocabulary import IfUnready, OnFailure
from slotcar.book.groups import CancelGroup
from slotcar.book.model import State
from slotcar.book.operation import Move
from slotcar.book.timeline import Active
from slotcar.managers import manager_of, request_of
from slotcar.platforms.model import RefusedPart
from slotcar.policy.reserving import CONNECTION
from slotcar.store import Ledger
from slotcar.store.queries import EventFilter
from slotcar_client.wire.events import (
    GroupMemberFailed,
    NotGiven,
    PartNotGiven,
    PushAlarm,
    PushDegraded,
    PushReleased,
    PushWithheld,
    SegmentReady,
    SegmentUnready,
)

log = structlog.get_logger("slotcar.withholding")
ACTOR = "slotcar"
#: Of one reservation; a request binds one thing.
MOST_REFUSED = 100


@dataclass(slots=True)
class Withholding:
    """Attributes:
    active_everywhere: handles of the reservations that were last made active on all devices of their paths.
    """

    ledger: Ledger
    active_everywhere: set[str] = field(default_factory=set)
    _recorded: dict[str, set[type[NotGiven]]] = field(default_factory=dict)
    _not_ready: dict[str, bool] = field(default_factory=dict)

    def take_over(self, active: Iterable[Active]) -> None:
        """Takes what was active before this controller led for active everywhere, but for what was withheld then."""
        self._recorded.clear()
        self._not_ready.clear()
        self.active_everywhere = {one.entry.handle for one in active if not self._was_withheld(one.entry.handle)}

    def _was_withheld(self, handle: str) -> bool:
        wanted = EventFilter(kinds=(PushWithheld.kind, PushReleased.kind), handle=handle)
        last = self.ledger.events_of(wanted, None, 1)
        return bool(last) and isinstance(last[0].says, PushWithheld)

    def admissible(
        self, active: Sequence[Active], waiting: Collection[str], now: datetime, soon: datetime
    ) -> tuple[Active, ...]:
        """The `active` reservations that devices are to have while the devices `waiting` cannot be made ready.

        What was active on all devices of its path before stays: the device that is set aside has it still, and its program
        ends it. Where a slot begins before `soon`, its policy is followed and recorded; until then it only waits.
        """
        chosen, elsewhere = [], self._unready_elsewhere(active)
        for one in active:
            own = sorted(one.entry.devices & set(waiting)) if waiting else []
            self._tell_domains(one, own, now)
            stuck = own + [f"domain {name}" for name in elsewhere.get(connection_of(one), ())]
            if one.entry.handle in self.active_everywhere:
                chosen.append(one)
            elif not stuck:
                self._release(one.entry.handle, now)
                chosen.append(one)
            elif self._despite(one, stuck, now, begins_soon=one.window.start <= soon):
                chosen.append(one)
        return tuple(chosen)

    def _unready_elsewhere(self, active: Sequence[Active]) -> Mapping[str, tuple[str, ...]]:
        """By connection the other domains that cannot make their devices ready, of what has not begun here."""
        new = {connection_of(one) for one in active if one.entry.handle not in self.active_everywhere} - {""}
        return self.ledger.connections.unready_elsewhere(new) if new else {}

    def _tell_domains(self, one: Active, stuck: Sequence[str], now: datetime) -> None:
        """Other domains withhold what this one's devices cannot be made ready for, until they can."""
        handle = one.entry.handle
        if not connection_of(one) or handle in self.active_everywhere:
            return
        if handle not in self._not_ready:
            self._not_ready[handle] = was_not_ready(self.ledger, handle)
        if self._not_ready[handle] is not bool(stuck):
            self._not_ready[handle] = bool(stuck)
            words = "other domains wait until all devices of its segment answer"
            says = SegmentUnready(devices=tuple(stuck), message=words) if stuck else SegmentReady()
            self.ledger.record(says, now, handle)

    def _despite(self, one: Active, stuck: list[str], now: datetime, *, begins_soon: bool) -> bool:
        """Whether it is active on the other devices all the same."""
        if one.entry.reservation.together is not None and one.window.start <= now:
            self._member_failed(one, stuck, now)
        handle, policy = one.entry.handle, one.entry.reservation.if_unready
        if policy is IfUnready.DEGRADE:
            self._record_once(PushDegraded, handle, stuck, now, "active only on the devices of its path that answer")
            return True
        self._record_once(PushWithheld, handle, stuck, now, "not active anywhere until all devices of its path answer")
        if begins_soon and policy is IfUnready.ALARM:
            self._record_once(PushAlarm, handle, stuck, now, "its slot begins, or has begun, and it is active nowhere")
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
        self._record_once(GroupMemberFailed, handle, stuck, now, f"{member}: {together.on_failure.value}")
        self._follow(one, group, together.on_failure, member, now)

    def record_refused(
        self, active: Sequence[Active], refused: Mapping[str, Sequence[RefusedPart]], now: datetime
    ) -> None:
        """What devices did not do of a member, such as a bind to a process that is gone: all else of them is in force, so
        the member alone has failed, once.

        Args:
            refused: by device, as it was read.
        """
        for one, device, part in refused_of(active, refused):
            handle, together, group = one.entry.handle, one.entry.reservation.together, one.entry.group
            current = self.ledger.get(handle)
            if current is None or current.state is not State.COMMITTED:
                continue
            reason = f"{one.entry.reservation.name} was given without {part.part} on {device}: {part.reason}"
            kind = GroupMemberFailed if together else PushDegraded
            if part.part in self._parts(kind, handle):
                continue
            message = f"{reason}: {together.on_failure.value}" if together else reason
            self.ledger.record(kind(devices=(device,), part=part.part, message=message), now, handle)
            if together is not None and group is not None:
                self._follow(one, group, together.on_failure, reason, now)

    def _parts(self, kind: type[PartNotGiven], handle: str) -> set[str]:
        """Of which it was recorded that it was not given."""
        events = self.ledger.events_of(EventFilter(kinds=(kind.kind,), handle=handle), None, MOST_REFUSED)
        return {says.part for event in events if isinstance(says := event.says, PartNotGiven)}

    def _follow(self, one: Active, group: str, on_failure: OnFailure, member: str, now: datetime) -> None:
        if on_failure is OnFailure.END_ALL:
            self.ledger.run(CancelGroup(now, group, ACTOR, member))
        elif on_failure is OnFailure.GO_ON:
            self.ledger.run(Move(now, one.entry.handle, ACTOR, to=State.CANCELLED, reason=member))

    def _refuse(self, one: Active, stuck: list[str], now: datetime) -> None:
        current = self.ledger.get(one.entry.handle)
        if current is None or current.state is not State.COMMITTED:
            return
        reason = f"{', '.join(stuck)} could not be made ready for its slot"
        self.ledger.run(Move(now, one.entry.handle, ACTOR, to=State.CANCELLED, reason=reason))
        log.warning("reservation refused", handle=one.entry.handle, devices=stuck)

    def _record_once(
        self, kind: type[NotGiven], handle: str, devices: Sequence[str], now: datetime, message: str
    ) -> None:
        kinds = self._recorded.setdefault(handle, set())
        if kind not in kinds:
            kinds.add(kind)
            self.ledger.record(kind(devices=tuple(devices), message=message), now, handle)

    def _release(self, handle: str, now: datetime) -> None:
        if self._recorded.pop(handle, None):
            self.ledger.record(PushReleased(), now, handle)


def was_not_ready(ledger: Ledger, handle: str) -> bool:
    """Whether other domains were told last that the devices of a segment cannot be made ready."""
    wanted = EventFilter(kinds=(SegmentUnready.kind, SegmentReady.kind), handle=handle)
    last = ledger.events_of(wanted, None, 1)
    return bool(last) and isinstance(last[0].says, SegmentUnready)


def connection_of(one: Active) -> str:
    """Of which connection over several domains it is a segment; empty where of none."""
    return one.entry.reservation.labels.get(CONNECTION, "")


def refused_of(
    active: Iterable[Active], refused: Mapping[str, Sequence[RefusedPart]]
) -> Iterator[tuple[Active, str, RefusedPart]]:
    """The reservations that asked for refused parts, each with the device and the part."""
    for one in active:
        claim = one.entry.reservation.claim
        manager = manager_of(claim.kind) if claim else None
        request = request_of(claim.kind, claim.request) if claim else None
        if claim is None or manager is None or request is None:
            continue
        for part in refused.get(claim.place, ()):
            if part.handle in (one.entry.group, one.entry.handle) and part.part == manager.bound(request):
                yield one, claim.place, part
