"""What is done to the ledger: an operation, a batch of them, and the ends of what is over. It knows no slot table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Generic, Self, TypeVar

from slotcar.base.problems import SlotcarError
from slotcar.book.batch import Needs
from slotcar.book.delegating import require_still_handed
from slotcar.book.errors import ForbiddenTransition, LedgerUnavailable
from slotcar.book.model import OCCUPYING, Entry, EntryChange, State, Terms
from slotcar.book.recording import IN_STATE, by_whom, record
from slotcar.book.rules.errors import NotPermitted
from slotcar.book.rules.verb_rules import allows
from slotcar.book.transaction import Transaction
from slotcar_client.wire.verbs import Verb

T = TypeVar("T")


@dataclass(frozen=True)
class Operation(Generic[T]):
    """One thing to do at `now`. `run` notes what is to be written, or raises and is taken back whole.

    Attributes:
        minds_holds: a hold that ran out is over for it, whether or not somebody swept it away. Only for what looks at no
            entry it may be otherwise.
        alone: its batch has nothing else, because the others would go by what it changes.
    """

    now: datetime
    minds_holds: ClassVar[bool] = True
    alone: ClassVar[bool] = False

    @property
    def needs(self) -> Needs:
        return Needs()

    def prepared(self, _terms: Terms) -> Self:
        """The same, with what can be decided before the lock is taken. The terms may be others under it."""
        return self

    def run(self, transaction: Transaction) -> T:
        raise NotImplementedError


@dataclass(frozen=True)
class OnEntry(Operation[Entry]):
    """One thing to do to an entry, at the version that the caller saw where it names one."""

    handle: str
    actor: str
    expected_version: int | None = None

    @property
    def needs(self) -> Needs:
        return Needs(handles=(self.handle,))

    def entry(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; NotAllowed: whoever acts on a delegation has none for it any more.
        """
        entry = transaction.entries.get(self.handle)
        require_still_handed(self.actor, entry, transaction.terms.policy.reserving.site, self.now)
        return transaction.entries.get(self.handle, self.expected_version)


@dataclass(frozen=True, kw_only=True)
class Move(OnEntry):
    """Moves an entry from one state to another; an entry that no longer occupies its place gives it back."""

    to: State
    reason: str = ""

    def run(self, transaction: Transaction) -> Entry:
        entry = self.entry(transaction)
        return move(transaction, entry, self.to, self.actor, self.now, self.reason)


@dataclass(frozen=True)
class Expire(Operation[tuple[Entry, ...]]):
    """Ends what is over: holds that ran out, slots that nobody committed in time, committed slots that are past."""

    ended: bool = True
    minds_holds: ClassVar[bool] = False  # it ends them itself

    def run(self, transaction: Transaction) -> tuple[Entry, ...]:
        return tuple(
            expire(transaction, entry, self.now) for entry in transaction.entries.due(self.now, ended=self.ended)
        )


def run_together(operations: Sequence[Operation[Any]], transaction: Transaction) -> list[Any]:
    """Runs a batch: the answer of each operation, or the error that it raised and by which it was taken back.

    Raises:
        LedgerUnavailable: nothing of the batch is to be kept.
    """
    transaction.prepare(operation.needs for operation in operations)
    if any(operation.minds_holds for operation in operations):
        run_out(transaction, max(operation.now for operation in operations))
    answers: list[Any] = []
    for operation in operations:
        mark = transaction.mark()
        try:
            answers.append(operation.run(transaction))
        except LedgerUnavailable:
            raise
        except SlotcarError as error:
            transaction.take_back(mark)
            _keep_refusal(transaction, error, operation.now)
            answers.append(error)
    return answers


def _keep_refusal(transaction: Transaction, error: SlotcarError, now: datetime) -> None:
    """What policies refused is in the log, though nothing of it is in the ledger."""
    if isinstance(error, NotPermitted) and error.kept is not None:
        handle, says = error.kept
        transaction.event(says.kind, now, handle, None, **says.details)


def run_out(transaction: Transaction, now: datetime) -> None:
    """Ends the holds that ran out: a hold counts while it lives and not after."""
    for entry in transaction.entries.due(now, ended=False):
        expire(transaction, entry, now)


def expire(transaction: Transaction, entry: Entry, now: datetime) -> Entry:
    to = State.ENDED if entry.state is State.COMMITTED else State.TIMED_OUT
    return move(transaction, entry, to, "slotcar", now, "")


def move(transaction: Transaction, entry: Entry, to: State, actor: str, now: datetime, reason: str) -> Entry:
    fields: dict[str, Any] = {"hold_until": entry.hold_until if to is State.HELD else None}
    if to is State.COMMITTED:
        fields["change"] = EntryChange(now)
    changed = transaction.change(entry, to, now, proposed=None, **fields)
    # What ended on its own lies in the past: there is nothing to give back.
    if entry.state in OCCUPYING and to not in OCCUPYING and max(entry.reservation.end, entry.latest.end) > now:
        transaction.give_back(entry)
    record(transaction, changed, IN_STATE[to](**by_whom(changed, actor), reason=reason), now)
    return changed


def require_allowed(verb: type[Verb[Any]], entry: Entry, wanted: State) -> None:
    """
    Raises:
        ForbiddenTransition: the verb may not be done to the entry as it stands.
    """
    if not allows(verb, entry.state, change_waits=entry.proposed is not None):
        raise ForbiddenTransition(entry.handle, entry.state, wanted)
