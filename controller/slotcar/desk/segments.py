"""Segments of connections in the domain's own ledger: the book's own verbs, done so that they may be done twice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from slotcar.admission.delays import NoBound
from slotcar.base.timebase import iso
from slotcar.book.approving import Approve, Commit, Reject
from slotcar.book.model import Entry, State
from slotcar.book.operation import Move
from slotcar.book.operations import ExtendHold, Rebind
from slotcar.book.rights import with_proposed_change
from slotcar.book.rules.amounts import Amount
from slotcar.book.rules.gate import needs_approval
from slotcar.book.rules.roles import Caller
from slotcar.book.slot_now import SlotState
from slotcar.desk.deeds import caller_of, result_of
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.requests import Options, Requests
from slotcar.domains.claims import domain_of, with_name
from slotcar.domains.delays import DelayPart, with_part
from slotcar.domains.enquiring import TOGETHER, RateThroughout, Steps
from slotcar.domains.errors import SegmentRefused
from slotcar.domains.model import Connection, Deed, DeedResult
from slotcar.domains.way import LABEL, PeerRequest
from slotcar.planning.routing import route
from slotcar.platforms import Unrenderable
from slotcar.policy.caller import Role
from slotcar.policy.reserving import ASKED_BY
from slotcar.reservation.model import Reservation
from slotcar.rollout.withholding import was_not_ready

WAITS_FOR_APPROVAL = "so much waits for an operator's approval here, and other domains cannot wait with it"
#: As what the domain looks at its own devices.
ITSELF = Caller("slotcar", Role.OPERATOR)


@dataclass(slots=True)
class LedgerSegments:
    """`domain`: this one. _last_event: the last event of which it is known what it changed; None before the first."""

    desk: Desk
    domain: str
    _last_event: int | None = None

    def do(self, deed: Deed, connection: Connection, now: datetime) -> DeedResult:
        """See `slotcar.domains.agreement.SegmentKeeper`."""
        if not self._is_here(connection):
            return DeedResult(deed, connection.version)
        return result_of(deed, connection, lambda: self._done(deed, connection, now))

    def _is_here(self, connection: Connection) -> bool:
        """Whether this ledger has anything of it: of a claim only that of the host's own domain has."""
        local = PeerRequest.from_text(connection.request).local
        return local.claim is None or domain_of(local, self.desk.network) == self.domain

    def is_in_force(self, connection: Connection) -> bool:
        if not self._is_here(connection):
            return True
        entry = self.entry(connection)
        return entry is not None and entry.state in (State.COMMITTED, State.ENDED)

    def has_held(self, connection: Connection) -> bool:
        entry = self.entry(connection)
        if entry is None or connection.version == 1:
            return entry is not None and entry.state is State.HELD
        return _is_proposed(entry, self._reservation(connection))

    def changed(self) -> Collection[str]:
        """Nothing at first: by then everything is looked at."""
        ids, self._last_event = self.desk.ledger.changed_labels(LABEL, self._last_event)
        return ids

    def not_ready(self, connection: Connection) -> bool:
        entry = self.entry(connection)
        if entry is None or entry.state is not State.COMMITTED:
            return False
        return was_not_ready(self.desk.ledger, entry.handle)

    def slot(self, connection: Connection, now: datetime) -> str:
        """How many devices have the slot that is open; their names stay at home."""
        entry = self.entry(connection)
        if entry is None or not any(window.contains(now) for window in entry.reservation.windows):
            return ""
        slot = Entries(self.desk).with_slots((entry,), ITSELF, now)[0].slot
        if slot is None:
            return ""
        count = sum(one.state is SlotState.IN_PLACE for one in slot.devices)
        return f"the slot of {iso(slot.window.start)}: {slot.state.words}, on {count} of {len(slot.devices)} devices"

    def free(self, request: PeerRequest, now: datetime) -> dict[str, Steps]:
        """What is free over the request's windows: `together`, and by direction."""
        answer = Requests(self.desk).enquire(request.local, ITSELF, now)
        rates = {TOGETHER: answer.together, **{one.direction.value: one.free for one in answer.directions}}
        return {
            name: tuple(RateThroughout(one.window, one.rate_bps) for one in free.steps) for name, free in rates.items()
        }

    def worst_delay(self, request: PeerRequest, now: datetime) -> DelayPart:
        """Both ways' worst, rounded up.

        Raises:
            SegmentRefused: none follows.
        """
        entry = route(request.local, self.desk.network).entry("", 0, now)
        others = [one for one in self.desk.ledger.live_copy(now) if one.is_live_at(now)]
        try:
            cases = self.desk.delay_bounds.worst(entry, others)
        except (NoBound, Unrenderable) as error:
            raise SegmentRefused(f"{self.domain}: no worst delay can be promised: {error}") from error
        delay_ns = max(case.delay.total_ns for case in cases)
        return DelayPart(-(-delay_ns // 1_000), -(-max(case.jitter_ns for case in cases) // 1_000))

    def least_rate_bps(self) -> int:
        return self.desk.ledger.terms.policy.least_rate_bps

    def own_reservation(self, request: PeerRequest, connection_id: str) -> Reservation:
        """As the ledger has it: another domain's owner is named with that."""
        local = request.local
        if local.is_bounded:
            if self.domain not in request.parts:
                raise SegmentRefused(f"{self.domain} has no part of the bound of delay that is asked for")
            local = with_part(local, request.parts[self.domain])
        if local.claim is not None:
            local = with_name(local, self.desk.network)
        owner = request.who if request.origin == self.domain else f"{request.who}@{request.origin}"
        neighbour_name = request.through[-1] if request.through else (request.requester or {}).get("neighbour")
        asked_by = {ASKED_BY: str(neighbour_name)} if neighbour_name else {}
        return local.model_copy(update={"owner": owner, "labels": {**local.labels, LABEL: connection_id, **asked_by}})

    def entry(self, connection: Connection) -> Entry | None:
        """The connection's entry in the ledger, where there is one."""
        if not self._is_here(connection):
            return None
        reservation = self._reservation(connection)
        entry = self.desk.ledger.find(*reservation.key)
        is_its = entry is not None and entry.reservation.labels.get(LABEL) == connection.id
        return entry if is_its else None

    # -- of those that were asked for by NSI: see `slotcar.domains.nsi.provider.SegmentsOnDevices` -----------------

    def released(self, connection: Connection) -> bool:
        """Whether routers are given nothing of the connection's segment, or it is not in force."""
        entry = self.entry(connection)
        return entry is None or entry.state is not State.COMMITTED or entry.reservation.released

    def is_in_place(self, connection: Connection, now: datetime) -> bool:
        """Whether its routers were verified to carry it now."""
        entry = self.entry(connection)
        if entry is None or not any(window.contains(now) for window in entry.reservation.windows):
            return False
        slot = Entries(self.desk).with_slots((entry,), ITSELF, now)[0].slot
        return slot is not None and slot.state is SlotState.IN_PLACE

    def release(self, connection: Connection, *, released: bool, now: datetime) -> None:
        """Has routers be given it in its window, or not."""
        entry = self.entry(connection)
        if entry is None or entry.state is not State.COMMITTED or entry.reservation.released == released:
            return
        form = {"released": released}
        proposed = entry.proposed.reservation.model_copy(update=form) if entry.proposed else None
        rebind = Rebind(
            now, entry.handle, self._caller(connection).name, entry.version,
            reservation=entry.reservation.model_copy(update=form), proposed=proposed,
        )  # fmt: skip
        self.desk.ledger.run(rebind)

    def _reservation(self, connection: Connection) -> Reservation:
        return self.own_reservation(PeerRequest.from_text(connection.request), connection.id)

    def _caller(self, connection: Connection) -> Caller:
        request = PeerRequest.from_text(connection.request)
        return caller_of(connection, request.actor, request.who, request.requester, self.desk.site)

    def _done(self, deed: Deed, connection: Connection, now: datetime) -> None:
        """
        Raises:
            SlotcarError: it cannot be done.
        """
        first_form = connection.version == 1
        match deed:
            case Deed.HOLD if first_form:
                self._hold(connection, now)
            case Deed.HOLD:
                self._propose(connection, now)
            case Deed.EXTEND | Deed.KEEP:
                self._keep(connection, now, is_kept=deed is Deed.KEEP)
            case Deed.COMMIT:
                self._commit(connection, now)
            case Deed.RELEASE if first_form:
                self._cancel(connection, now)
            case Deed.RELEASE:
                entry = self.entry(connection)
                if entry is not None and entry.proposed is not None:
                    actor = self._caller(connection).actor
                    self.desk.ledger.run(Reject(now, entry.handle, actor, reason=_line(connection.why)))
            case Deed.CANCEL:
                self._cancel(connection, now)

    def _hold(self, connection: Connection, now: datetime) -> None:
        caller, reservation = self._caller(connection), self._reservation(connection)
        # A hold that a crash left is the same one: the key says so, and it may have run out meanwhile.
        hold = max(connection.until - now, connection.until - connection.began)
        options = Options(hold, connection.id, is_segment=True)
        entry = Requests(self.desk).create(reservation, caller, now, options)
        if entry.state is not State.HELD:
            raise SegmentRefused(f"the hold of {reservation.name} is {entry.state.value}")
        if self._waits_for_approval(entry.amount, None, reservation.owner):
            self._cancel(connection, now)
            raise SegmentRefused(WAITS_FOR_APPROVAL)

    def _propose(self, connection: Connection, now: datetime) -> None:
        entry, reservation = self._committed(connection), self._reservation(connection)
        caller = self._caller(connection)
        if not _is_proposed(entry, reservation):
            entry = Requests(self.desk).propose(entry, reservation, caller, now)
        if self._waits_for_approval(with_proposed_change(entry).amount, entry.amount, reservation.owner):
            self.desk.ledger.run(Reject(now, entry.handle, caller.actor, reason=WAITS_FOR_APPROVAL))
            raise SegmentRefused(WAITS_FOR_APPROVAL)

    def _waits_for_approval(self, amount: Amount, approved: Amount | None, owner: str) -> bool:
        return needs_approval(self.desk.ledger.terms.policy.gate, amount, approved, owner)

    def _keep(self, connection: Connection, now: datetime, *, is_kept: bool) -> None:
        entry = self.entry(connection)
        if connection.version > 1:
            if entry is None or entry.proposed is None:
                raise SegmentRefused("the change that was held is not there any more")
            return
        if entry is None or not entry.is_live_at(now) or entry.state is not State.HELD:
            raise SegmentRefused("the hold has run out, or was cancelled")
        actor = self._caller(connection).actor
        if is_kept:
            self.desk.ledger.run(ExtendHold(now, entry.handle, actor, hold_until=None))
        else:
            self.desk.ledger.run(ExtendHold(now, entry.handle, actor, hold_until=connection.until))

    def _commit(self, connection: Connection, now: datetime) -> None:
        entry, actor = self.entry(connection), self._caller(connection).actor
        if entry is None:
            raise SegmentRefused("the segment that was held is not there any more")
        if connection.version > 1 and entry.proposed is not None:
            self.desk.ledger.run(Approve(now, entry.handle, actor, is_promised=True))
        elif connection.version == 1 and entry.state is State.HELD:
            self.desk.ledger.run(Commit(now, entry.handle, actor))
        elif entry.state is not State.COMMITTED or entry.reservation.slots != self._reservation(connection).slots:
            raise SegmentRefused(f"the segment that was held is {entry.state.value}")

    def _committed(self, connection: Connection) -> Entry:
        entry = self.entry(connection)
        if entry is None or entry.state is not State.COMMITTED:
            raise SegmentRefused("what is to be changed is not in force here")
        return entry

    def _cancel(self, connection: Connection, now: datetime) -> None:
        entry = self.entry(connection)
        if entry is None or entry.state not in (State.HELD, State.AWAITING_APPROVAL, State.COMMITTED):
            return
        ended_by = PeerRequest.from_text(connection.request).ended_by
        actor = ended_by.actor if ended_by else self._caller(connection).actor
        self.desk.ledger.run(Move(now, entry.handle, actor, to=State.CANCELLED, reason=_line(connection.why)))


def _is_proposed(entry: Entry, reservation: Reservation) -> bool:
    """Whether the change that waits is to these slots."""
    return entry.proposed is not None and entry.proposed.reservation.slots == reservation.slots


def _line(why: str) -> str:
    return why if len(why) <= 500 else f"{why[:497]}..."
