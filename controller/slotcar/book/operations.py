"""What asks for a place, or another form of one: admission, a hold kept longer, ports bound."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from slotcar.admission.choosing import place_on_first
from slotcar.admission.model import Refused
from slotcar.admission.placing import Placement
from slotcar.book.batch import Needs, Remembered, flows_at, others_flows
from slotcar.book.delegating import require_still_handed
from slotcar.book.errors import IdempotencyConflict, NameTaken, StaysBecause
from slotcar.book.model import (
    AdmissionRequest,
    Condition,
    Entry,
    Proposal,
    Requester,
    State,
    Terms,
)
from slotcar.book.operation import OnEntry, Operation, expire, require_allowed
from slotcar.book.permitting import DecidedAhead, check_permitted, decide_ahead, requester_of
from slotcar.book.recording import IN_STATE, ask, by_whom, modified, record
from slotcar.book.rights import check_flows, check_quotas, firm_state, owners_usage, with_proposed_change
from slotcar.book.rules.flows import FlowClaim, ReservedFlow
from slotcar.book.rules.gate import needs_approval
from slotcar.book.share_bounds import check_shares
from slotcar.book.transaction import Transaction
from slotcar.book.transfers import done_by, movable_in, move_others, progress_after, rules_of, with_those_that_may_move
from slotcar.policy.recalling import kept_of
from slotcar.reservation.fingerprint import fingerprint_of
from slotcar.reservation.model import Reservation
from slotcar_client.wire import verbs
from slotcar_client.wire.events import ReservationBound, ReservationChangeProposed, ReservationExtended

T = TypeVar("T")
#: Crockford's letters: none that are taken for another when somebody reads a handle aloud at night.
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_handle() -> str:
    """Opaque, and not to be guessed: 80 random bits (GARA §3.1)."""
    return "r-" + "".join(_LETTERS[byte & 31] for byte in secrets.token_bytes(16))


def new_group_handle() -> str:
    """As `new_handle`, of a group."""
    return "g-" + new_handle().removeprefix("r-")


@dataclass(frozen=True)
class Admit(Operation[Entry | Refused]):
    """Decides a request against the tables and takes its place, or changes nothing.

    Attributes:
        stay: handles of transfers that do not move for it, because the same plan changes them.
        ahead: what policies said of it before the lock was taken, on each of its ways.
        held_by: policies that do not let transfers make room for it, in words.
        together: what it has in common with the other requests of its plan; see `slotcar.policy.recalling`.
    """

    request: AdmissionRequest
    stay: frozenset[str] = frozenset()
    together: str = ""
    held_by: str = ""
    ahead: tuple[DecidedAhead, ...] = field(default=(), compare=False, repr=False)

    def prepared(self, terms: Terms) -> Admit:
        return replace(self, ahead=decide_ahead(terms, self.request, self.now))

    @cached_property
    def flows(self) -> tuple[ReservedFlow, ...]:
        """What the request reserves on its own paths."""
        return FlowClaim(self.request.reservation, self.request.paths).flows

    @property
    def needs(self) -> Needs:
        request = self.request
        return Needs(
            handles=(request.replaces,) if request.replaces else (),
            keys=(request.reservation.key,),
            flows=others_flows(request.reservation.owner, self.flows),
            beside=(flows_at(request.reservation, request.condition.devices),) if request.condition else (),
            idempotency=((request.actor, request.idempotency_key),) if request.idempotency_key else (),
            groups=(group,) if (group := request.reservation.group_key) else (),
        )

    def run(self, transaction: Transaction) -> Entry | Refused:
        """
        Raises:
            NameTaken, IdempotencyConflict, UnknownHandle, StaleVersion, ForbiddenTransition, RefusedByPolicy; what its
            condition raises.
        """
        repeated = self._repeated(transaction)
        if repeated is not None:
            return repeated
        old = self.opened(transaction)
        self.check_rules(transaction, old)
        owner = self.request.reservation.owner
        before = owners_usage(transaction, {owner}, self.now)
        placed = with_those_that_may_move(transaction, lambda stay: self.staying(stay)._placed(transaction, old))
        if isinstance(placed, Refused):
            return placed
        chosen, entry = placed
        chosen.check_platforms(transaction, entry)
        check_flows(transaction, [entry], self.now, name_other=self.request.names_others)
        check_quotas(transaction, before, self.now)
        check_permitted(transaction, [(self.request, entry, self.ahead)], self.now)
        check_shares(transaction, [(self.request, entry, old)], self.now)
        return entry

    def _placed(self, transaction: Transaction, old: Entry | None) -> tuple[Admit, Entry] | Refused:
        """The request on the way that it takes, and its entry."""
        answer = self.decided(transaction, old, without=old)
        if isinstance(answer, Refused):
            return answer
        if old is not None:
            transaction.give_back(old)
        chosen = self.of(self.request.on(answer.path_number))
        return chosen, chosen.settled(transaction, old, answer)

    def check_platforms(self, transaction: Transaction, entry: Entry) -> None:
        """What no slot table says: whether the platforms can express it beside all others."""
        ask(transaction, with_proposed_change(entry), self.request.condition)

    def opened(self, transaction: Transaction) -> Entry | None:
        """The entry that the request changes; for a new one None, and its name is free."""
        request = self.request
        old = None
        if request.replaces is None:
            _make_way(transaction, request.reservation.key, self.now)
        else:
            old = transaction.entries.get(request.replaces)
            require_still_handed(request.actor, old, transaction.terms.policy.reserving.site, self.now)
            old = transaction.entries.get(request.replaces, request.expected_version)
            require_allowed(verbs.Modify, old, State.COMMITTED)
        return old

    def check_rules(self, transaction: Transaction, old: Entry | None) -> None:
        """
        Raises:
            RefusedByPolicy: a rule forbids it that minds nobody else's.
        """
        request, policy = self.request, transaction.terms.policy
        policy.endpoints.check(request.reservation, request.paths)
        policy.check_reservation(request.reservation, self.now, old.reservation if old else None)
        if request.hold_until is not None:
            policy.check_hold(request.reservation, old.created_at if old else self.now, request.hold_until)

    def decided(
        self, transaction: Transaction, old: Entry | None = None, without: Entry | None = None
    ) -> Placement | Refused:
        """`old`: what the request changes; `without`: that, where the tables hold it still."""
        request, terms = self.request, transaction.terms
        stay = self.stay | {request.replaces or ""}
        answer = place_on_first(
            transaction.tables,
            request.reservation,
            [(request.paths, request.demands), *((one.paths, one.demands) for one in request.alternatives)],
            rules_of(terms, self.now),
            without=(without.occupied,) if without else (),
            movable=lambda: movable_in(transaction, self.now, stay) if request.moves else (),
            done=done_by(old, self.now),
            changes=old is not None,
        )
        if isinstance(answer, Refused) and self.held_by and not answer.reason:
            return replace(answer, reason=f"transfers that could make room may not have other times: {self.held_by}")
        return answer

    def settled(self, transaction: Transaction, old: Entry | None, placed: Placement) -> Entry:
        """The request in the ledger and in the tables, from which `old` was taken; others have moved for it.

        A change above the gate becomes a proposal: what is in force stays, and both have their place (ADR 8).
        """
        request = self.request
        if placed.reservation is not request.reservation or placed.demands is not request.demands:
            fingerprint = _fingerprint(request) if request.idempotency_key else ""
            request = replace(request, reservation=placed.reservation, demands=placed.demands, fingerprint=fingerprint)
        entry = self.of(request)._settled(transaction, old)
        move_others(transaction, placed.moved, entry, self.now)
        return entry

    def staying(self, handles: Mapping[str, StaysBecause]) -> Admit:
        """The same, for which these transfers do not move either."""
        if not handles:
            return self
        policies = sorted({one.policy for one in handles.values() if one.policy})
        return replace(self, stay=self.stay | handles.keys(), held_by=", ".join(policies))

    def of(self, request: AdmissionRequest) -> Admit:
        """The same of another form of the request."""
        return self if request is self.request else replace(self, request=request)

    def _settled(self, transaction: Transaction, old: Entry | None) -> Entry:
        request = self.request
        if old is None:
            entry = self._new_entry(transaction)
            transaction.create(entry, self.flows)
            says = IN_STATE[entry.state](
                **by_whom(entry, request.actor), reservation=entry.reservation, requester=self._requester
            )
            record(transaction, entry, says, self.now)
        elif self.waits(transaction, old):
            proposal = Proposal(
                request.reservation, request.paths, request.demands, request.actor, self.now, self._remembered
            )
            entry = transaction.change(old, old.state, self.now, proposed=proposal)
            change = ReservationChangeProposed(
                **by_whom(entry, request.actor),
                before=old.reservation,
                reservation=proposal.reservation,
                requester=self._requester,
            )
            record(transaction, entry, change, self.now)
        else:
            form = {"reservation": request.reservation, "paths": request.paths, "demands": request.demands}
            form["group"], form["requester"] = self._group(transaction), self._remembered
            form["progress"] = progress_after(old, request.reservation, self.now)
            if old.state is State.COMMITTED:
                form["change"] = old.changed_at_once(self.now)
            entry = transaction.change(old, old.state, self.now, proposed=None, **form)
            record(transaction, entry, modified(old, entry, request.actor, self._requester), self.now)
        transaction.take(entry)
        if old is None and request.idempotency_key:
            remembered = Remembered(_fingerprint(request), entry.handle)
            transaction.remember((request.actor, request.idempotency_key), remembered, self.now)
        return entry

    def waits(self, transaction: Transaction, old: Entry) -> bool:
        """Whether the request is a change of a committed reservation that an operator must approve first."""
        request = self.request
        if old.state is not State.COMMITTED or request.proposes:
            return request.proposes
        amount = old.amount_of_change(request.reservation, request.paths, request.demands, self.now)
        return needs_approval(transaction.terms.policy.gate, amount, old.amount, old.reservation.owner)

    def may_wait(self, transaction: Transaction, old: Entry) -> bool:
        """As `waits`, before the rates of a need are known."""
        gated = transaction.terms.policy.gate.limits_something and old.state is State.COMMITTED
        return self.waits(transaction, old) if self.request.reservation.need is None else gated

    @property
    def _requester(self) -> Mapping[str, Any] | None:
        request = self.request
        if request.caller is None:
            return None
        return kept_of(request.caller, request.reservation.owner, self.together)

    @property
    def _remembered(self) -> Requester | None:
        """Who asks, where the reservation may be moved later."""
        return requester_of(self.request, self.now, self.together)

    def _repeated(self, transaction: Transaction) -> Entry | None:
        key = self.request.idempotency_key
        remembered = transaction.remembered((self.request.actor, key)) if key else None
        if key is None or remembered is None:
            return None
        if remembered.request != _fingerprint(self.request):
            raise IdempotencyConflict(key, remembered.handle)
        return transaction.entries.get(remembered.handle)

    def _new_entry(self, transaction: Transaction) -> Entry:
        request = self.request
        firm = State.AWAITING_APPROVAL if request.waits_with_group else State.COMMITTED
        entry = Entry(
            handle=new_handle(),
            number=transaction.next_number(),
            state=firm if request.hold_until is None else State.HELD,
            version=1,
            reservation=request.reservation,
            paths=request.paths,
            demands=request.demands,
            created_at=self.now,
            changed_at=self.now,
            hold_until=request.hold_until,
            group=self._group(transaction),
            requester=self._remembered,
        )
        if entry.state is not State.COMMITTED:
            return entry
        state = firm_state(transaction, entry)
        return entry if state is State.COMMITTED else replace(entry, state=state)

    def _group(self, transaction: Transaction) -> str | None:
        """The handle that the members of its group have in common; a new one for the first of them."""
        key = self.request.reservation.group_key
        return None if key is None else transaction.entries.group_of(key) or new_group_handle()


@dataclass(frozen=True, kw_only=True)
class ExtendHold(OnEntry):
    """`hold_until`: None for the reservation's end, and that may be longer than the operator lets a hold last."""

    hold_until: datetime | None

    def run(self, transaction: Transaction) -> Entry:
        entry = self.entry(transaction)
        require_allowed(verbs.Extend, entry, State.HELD)
        policy = transaction.terms.policy
        hold_until = entry.reservation.end if self.hold_until is None else self.hold_until
        if self.hold_until is not None:
            policy.check_hold(entry.reservation, entry.created_at, hold_until)
        policy.endpoints.check(entry.reservation, entry.paths)
        changed = transaction.change(entry, State.HELD, self.now, hold_until=hold_until)
        says = ReservationExtended(**by_whom(changed, self.actor), hold_until=hold_until)
        record(transaction, changed, says, self.now)
        return changed


@dataclass(frozen=True, kw_only=True)
class Rebind(OnEntry):
    """The same demands under another form of the reservation: ports, labels (GARA's bind).

    `proposed` is that form of a change which waits for approval, where one does.
    """

    reservation: Reservation
    condition: Condition | None = None
    proposed: Reservation | None = None
    names_others: bool = False

    def run(self, transaction: Transaction) -> Entry:
        entry = self.entry(transaction)
        require_allowed(verbs.Bind, entry, entry.state)
        form: dict[str, Any] = {"reservation": self.reservation}
        if entry.proposed is not None and self.proposed is not None:
            form["proposed"] = replace(entry.proposed, reservation=self.proposed)
        transaction.terms.policy.endpoints.check(self.reservation, entry.paths)
        changed = transaction.change(entry, entry.state, self.now, **form)
        ask(transaction, changed, self.condition)
        check_flows(transaction, [changed], self.now, name_other=self.names_others)
        says = ReservationBound(
            **by_whom(changed, self.actor), before=entry.reservation, reservation=changed.reservation
        )
        record(transaction, changed, says, self.now)
        return changed


def _fingerprint(request: AdmissionRequest) -> str:
    return request.fingerprint or fingerprint_of(request.reservation.to_document())


def _make_way(transaction: Transaction, key: tuple[str, str], now: datetime) -> None:
    """A name is free again once its slot is over, whether or not somebody has written that down."""
    holder = transaction.entries.live(key)
    if holder is None:
        return
    if holder.reservation.end <= now:
        expire(transaction, holder, now)
    else:
        raise NameTaken(*key, holder.handle)
