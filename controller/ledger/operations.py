"""What can be done to the ledger, each as one operation on a `Transaction`; a batch runs several under one lock."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from controller.admission import decide
from controller.admission.model import Admitted, Refused
from controller.ledger.errors import ForbiddenTransition, IdempotencyConflict, NameTaken, PlanNotAdmitted, StaleLedger
from controller.ledger.model import OCCUPYING, TRANSITIONS, AdmissionRequest, Condition, Entry, PlanStep, State
from controller.ledger.transaction import Needs, Remembered, Transaction
from controller.reservation.model import Reservation

T = TypeVar("T")
#: Crockford's letters: none that are taken for another when somebody reads a handle aloud at night.
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_handle() -> str:
    """Opaque, and not to be guessed: 80 random bits (GARA §3.1)."""
    return "r-" + "".join(_LETTERS[byte & 31] for byte in secrets.token_bytes(16))


@dataclass(frozen=True)
class Operation(Generic[T]):
    """One thing to do at `now`. `run` notes what is to be written, or raises and is taken back whole."""

    now: datetime

    @property
    def needs(self) -> Needs:
        return Needs()

    def run(self, transaction: Transaction) -> T:
        raise NotImplementedError


@dataclass(frozen=True)
class Admit(Operation[Entry | Refused]):
    """Decides a request against the tables and takes its place, or changes nothing."""

    request: AdmissionRequest

    @property
    def needs(self) -> Needs:
        request = self.request
        return Needs(
            handles=(request.replaces,) if request.replaces else (),
            keys=(request.reservation.key,),
            idempotency=((request.actor, request.idempotency_key),) if request.idempotency_key else (),
        )

    def run(self, transaction: Transaction) -> Entry | Refused:
        """
        Raises:
            NameTaken, IdempotencyConflict, UnknownHandle, StaleVersion, ForbiddenTransition; what its condition raises.
        """
        repeated = self._repeated(transaction)
        if repeated is not None:
            return repeated
        old = self.opened(transaction)
        answer = self.decided(transaction, without=old)
        if isinstance(answer, Refused):
            return answer
        if old is not None:
            transaction.give_back(old)
        entry = self.settled(transaction, old)
        _ask(transaction, entry, self.request.condition)
        return entry

    def opened(self, transaction: Transaction) -> Entry | None:
        """The entry that the request changes; for a new one None, and its name is free."""
        request = self.request
        if request.replaces is None:
            _make_way(transaction, request.reservation.key, self.now)
            return None
        old = transaction.entry(request.replaces, request.expected_version)
        if old.state not in TRANSITIONS[old.state]:
            raise ForbiddenTransition(old.handle, old.state, State.COMMITTED)
        return old

    def decided(self, transaction: Transaction, without: Entry | None = None) -> Admitted | Refused:
        request = self.request
        return decide(
            transaction.tables,
            request.demands,
            request.reservation.windows,
            sls=transaction.terms.sls,
            horizon=self.now + transaction.terms.horizon,
            without=(Admitted(without.demands, without.reservation.windows),) if without else (),
        )

    def settled(self, transaction: Transaction, old: Entry | None) -> Entry:
        """The request in the ledger and in the tables, from which `old` was taken."""
        request = self.request
        if old is None:
            entry, what, before = self._new_entry(transaction), "", {}
            transaction.create(entry)
        else:
            form = {"reservation": request.reservation, "paths": request.paths, "demands": request.demands}
            entry, what = transaction.change(old, old.state, self.now, **form), "modified"
            before = {"before": _document(old)}
        transaction.take(entry)
        _record(
            transaction, entry, what or entry.state.value, request.actor, self.now, **before,
            reservation=_document(entry),
        )  # fmt: skip
        if old is None and request.idempotency_key:
            remembered = Remembered(fingerprint(request), entry.handle)
            transaction.remember((request.actor, request.idempotency_key), remembered, self.now)
        return entry

    def _repeated(self, transaction: Transaction) -> Entry | None:
        key = self.request.idempotency_key
        remembered = transaction.remembered((self.request.actor, key)) if key else None
        if key is None or remembered is None:
            return None
        if remembered.request != fingerprint(self.request):
            raise IdempotencyConflict(key, remembered.handle)
        return transaction.entry(remembered.handle)

    def _new_entry(self, transaction: Transaction) -> Entry:
        request = self.request
        if request.hold_until is not None:
            state = State.HELD
        else:
            state = State.AWAITING_APPROVAL if request.needs_approval else State.COMMITTED
        return Entry(
            handle=new_handle(),
            number=transaction.next_number(),
            state=state,
            version=1,
            reservation=request.reservation,
            paths=request.paths,
            demands=request.demands,
            created_at=self.now,
            changed_at=self.now,
            hold_until=request.hold_until,
        )


@dataclass(frozen=True)
class Move(Operation[Entry]):
    """From one state to another; what no longer occupies its place gives it back."""

    handle: str
    to: State
    actor: str
    expected_version: int | None = None
    reason: str = ""

    @property
    def needs(self) -> Needs:
        return Needs(handles=(self.handle,))

    def run(self, transaction: Transaction) -> Entry:
        entry = transaction.entry(self.handle, self.expected_version)
        return _move(transaction, entry, self.to, self.actor, self.now, self.reason)


@dataclass(frozen=True)
class ExtendHold(Operation[Entry]):
    handle: str
    hold_until: datetime
    actor: str
    expected_version: int | None = None

    @property
    def needs(self) -> Needs:
        return Needs(handles=(self.handle,))

    def run(self, transaction: Transaction) -> Entry:
        entry = transaction.entry(self.handle, self.expected_version)
        changed = transaction.change(entry, State.HELD, self.now, hold_until=self.hold_until)
        _record(transaction, changed, "extended", self.actor, self.now, hold_until=self.hold_until.isoformat())
        return changed


@dataclass(frozen=True)
class Rebind(Operation[Entry]):
    """The same demands under another form of the reservation: ports, labels (GARA's bind)."""

    handle: str
    reservation: Reservation
    actor: str
    expected_version: int | None = None
    condition: Condition | None = None

    @property
    def needs(self) -> Needs:
        return Needs(handles=(self.handle,))

    def run(self, transaction: Transaction) -> Entry:
        entry = transaction.entry(self.handle, self.expected_version)
        changed = transaction.change(entry, entry.state, self.now, reservation=self.reservation)
        _ask(transaction, changed, self.condition)
        _record(
            transaction,
            changed,
            "bound",
            self.actor,
            self.now,
            before=_document(entry),
            reservation=_document(changed),
        )
        return changed


@dataclass(frozen=True)
class AppendEvent(Operation[None]):
    kind: str
    handle: str | None = None
    device: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def run(self, transaction: Transaction) -> None:
        transaction.event(self.kind, self.now, self.handle, self.device, **self.details)


@dataclass(frozen=True)
class Expire(Operation[tuple[Entry, ...]]):
    """Ends what is over: holds that ran out, slots that nobody committed in time, committed slots that are past."""

    ended: bool = True

    def run(self, transaction: Transaction) -> tuple[Entry, ...]:
        return tuple(expire(transaction, entry, self.now) for entry in transaction.due(self.now, ended=self.ended))


@dataclass(frozen=True)
class ApplyPlan(Operation[tuple[Entry, ...]]):
    """All steps of a plan or none: cancels and changes give back first, then everything is decided in order."""

    steps: tuple[PlanStep, ...]
    actor: str
    sequence: int | None

    @property
    def needs(self) -> Needs:
        found = [Admit(self.now, step.request).needs for step in self.steps if step.request]
        handles = tuple(handle for need in found for handle in need.handles)
        return Needs(
            handles=handles + tuple(step.cancel for step in self.steps if step.cancel),
            keys=tuple(key for need in found for key in need.keys),
        )

    def run(self, transaction: Transaction) -> tuple[Entry, ...]:
        """
        Raises:
            StaleLedger: something was written since the plan was made. PlanNotAdmitted: a step is refused. What a
            step's condition raises.
        """
        if self.sequence is not None and transaction.head.sequence != self.sequence:
            raise StaleLedger(self.sequence, transaction.head.sequence)
        cancelled = [self._cancel(transaction, step) for step in self.steps if step.cancel]
        asked = [(step, Admit(self.now, step.request)) for step in self.steps if step.request]
        # Everything that changes leaves first, so that two may take each other's place.
        olds = [admit.opened(transaction) for _, admit in asked]
        for old in olds:
            if old is not None:
                transaction.give_back(old)
        refused: list[tuple[tuple[str, str], Refused]] = []
        done: list[Entry] = []
        conditions: list[Condition | None] = []
        for (step, admit), old in zip(asked, olds, strict=True):
            answer = admit.decided(transaction)
            if isinstance(answer, Refused):
                refused.append((step.key, answer))
            else:
                done.append(admit.settled(transaction, old))
                conditions.append(admit.request.condition)
        if refused:
            raise PlanNotAdmitted(tuple(refused))
        for entry, condition in zip(done, conditions, strict=True):  # beside what all of the plan leaves
            _ask(transaction, entry, condition)
        return (*cancelled, *done)

    def _cancel(self, transaction: Transaction, step: PlanStep) -> Entry:
        assert step.cancel is not None
        entry = transaction.entry(step.cancel, step.expected_version)
        return _move(transaction, entry, State.CANCELLED, self.actor, self.now, "no longer in the files")


def fingerprint(request: AdmissionRequest) -> str:
    """What a repeated idempotency key must repeat."""
    if request.fingerprint:
        return request.fingerprint
    text = json.dumps(request.reservation.to_document(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def expire(transaction: Transaction, entry: Entry, now: datetime) -> Entry:
    to = State.ENDED if entry.state is State.COMMITTED else State.TIMED_OUT
    return _move(transaction, entry, to, "slotcar", now, "")


def _make_way(transaction: Transaction, key: tuple[str, str], now: datetime) -> None:
    """A name is free again once its slot is over, whether or not somebody has written that down."""
    holder = transaction.live(key)
    if holder is None:
        return
    if holder.reservation.end <= now:
        expire(transaction, holder, now)
    else:
        raise NameTaken(*key, holder.handle)


def _move(transaction: Transaction, entry: Entry, to: State, actor: str, now: datetime, reason: str) -> Entry:
    changed = transaction.change(entry, to, now, hold_until=entry.hold_until if to is State.HELD else None)
    # What ended on its own lies in the past: there is nothing to give back.
    if entry.state in OCCUPYING and to not in OCCUPYING and entry.reservation.end > now:
        transaction.give_back(replace(entry))
    _record(transaction, changed, to.value, actor, now, **({"reason": reason} if reason else {}))
    return changed


def _ask(transaction: Transaction, entry: Entry, condition: Condition | None) -> None:
    if condition is not None:
        condition.check(entry, transaction.beside(entry, condition.devices))


def _record(transaction: Transaction, entry: Entry, what: str, actor: str, now: datetime, **details: Any) -> None:
    owner, name = entry.reservation.key
    transaction.event(
        f"reservation.{what}", now, entry.handle, None, actor=actor, owner=owner, name=name, version=entry.version,
        **details,
    )  # fmt: skip


def _document(entry: Entry) -> dict[str, Any]:
    return entry.reservation.to_document()
