"""A plan as one operation on the ledger."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from slotcar.admission.model import Refused
from slotcar.book.batch import Key, Labelled, Needs
from slotcar.book.errors import PlanNotAdmitted, StaleLedger
from slotcar.book.groups import waiting_together
from slotcar.book.model import AdmissionRequest, Cancellation, Entry, State
from slotcar.book.operations import Admit, Operation, move
from slotcar.book.rights import check_flows, check_quotas, owners_usage
from slotcar.book.transaction import Transaction


class Basis(Protocol):
    """What a plan rests on, and what it promised: pure decisions, asked under the ledger's lock (ADR 33).

    Each gives a sentence for everything that is otherwise; none where the plan holds.
    """

    @property
    def keys(self) -> Collection[Key]:
        """Owner and name of all reservations that the plan names."""

    @property
    def labelled(self) -> Labelled:
        """The live entries that the plan speaks of as one set."""

    def changed(self, live: Mapping[Key, Entry | None], of_set: Collection[Key]) -> Sequence[str]:
        """What differs before anything is done. `live`: the live entries of `keys`; `of_set`: the keys that the set has."""

    def otherwise(self, entries: Mapping[Key, Entry], moved: Collection[str]) -> Sequence[str]:
        """What differs afterwards. `entries`: the entry of each request; `moved`: handles of others that made room."""


@dataclass(frozen=True)
class ApplyPlan(Operation[tuple[Entry, ...]]):
    """All changes of a plan or none: cancelled and changed entries give back first, then requests are decided in order."""

    cancellations: tuple[Cancellation, ...]
    requests: tuple[AdmissionRequest, ...]
    actor: str
    basis: Basis | None = None

    @cached_property
    def admissions(self) -> tuple[Admit, ...]:
        """One for each request."""
        changed = frozenset(request.replaces for request in self.requests if request.replaces)
        return tuple(Admit(self.now, request, changed) for request in self.requests)

    @property
    def needs(self) -> Needs:
        needs = [admit.needs for admit in self.admissions]
        handles = tuple(handle for need in needs for handle in need.handles)
        return Needs(
            handles=handles + tuple(one.handle for one in self.cancellations),
            keys=(*(key for need in needs for key in need.keys), *(self.basis.keys if self.basis else ())),
            flows=tuple(flow for need in needs for flow in need.flows),
            beside=tuple(one for need in needs for one in need.beside),
            groups=tuple(key for need in needs for key in need.groups),
        )

    def run(self, transaction: Transaction) -> tuple[Entry, ...]:
        """
        Raises:
            StaleLedger: what the plan rests on has changed, or another thing would come of it than it said.
            PlanNotAdmitted: a change is refused. RefusedByPolicy; what a change's condition raises.
        """
        self._check_basis(transaction)
        before = owners_usage(transaction, {request.reservation.owner for request in self.requests}, self.now)
        cancelled = [self._cancel(transaction, one) for one in self.cancellations]
        waiting = waiting_together(self.requests, transaction)
        admissions = [admit.of(request) for admit, request in zip(self.admissions, waiting, strict=True)]
        # All old forms are taken out first, so that two reservations may take each other's place.
        olds = [admit.opened(transaction) for admit in admissions]
        # A change that waits for approval keeps its old form until then.
        staying = [
            old if old and admit.may_wait(transaction, old) else None
            for admit, old in zip(admissions, olds, strict=True)
        ]
        for old, stays in zip(olds, staying, strict=True):
            if old is not None and stays is None:
                transaction.give_back(old)
        refused: list[tuple[tuple[str, str], Refused]] = []
        done: list[tuple[Admit, Entry]] = []
        moved: set[str] = set()
        for admit, old, stays in zip(admissions, olds, staying, strict=True):
            answer = admit.decided(transaction, old, without=stays)
            if isinstance(answer, Refused):
                refused.append((admit.request.reservation.key, answer))
            else:
                if stays is not None:
                    transaction.give_back(stays)
                done.append((admit, admit.settled(transaction, old, answer)))
                moved |= answer.moved.keys()
        if refused:
            raise PlanNotAdmitted(tuple(refused))
        for admit, entry in done:  # beside all that is there after the plan
            admit.check_platforms(transaction, entry)
        names_others = all(request.names_others for request in self.requests)
        check_flows(transaction, [entry for _, entry in done], self.now, name_other=names_others)
        check_quotas(transaction, before, self.now)
        entries = tuple(transaction.entries.get(entry.handle) for _, entry in done)  # a later one may have moved it
        self._check_outcome(entries, moved)
        return (*cancelled, *entries)

    def _check_basis(self, transaction: Transaction) -> None:
        if self.basis is not None:
            live = {key: transaction.entries.live(key) for key in self.basis.keys}
            if changed := self.basis.changed(live, transaction.entries.labelled(self.basis.labelled, self.now)):
                raise StaleLedger(changed)

    def _check_outcome(self, entries: Sequence[Entry], moved: Collection[str]) -> None:
        if self.basis is not None:
            others = set(moved) - {entry.handle for entry in entries}
            if otherwise := self.basis.otherwise({entry.reservation.key: entry for entry in entries}, others):
                raise StaleLedger(otherwise)

    def _cancel(self, transaction: Transaction, one: Cancellation) -> Entry:
        entry = transaction.entries.get(one.handle, one.expected_version)
        return move(transaction, entry, State.CANCELLED, self.actor, self.now, "no longer in the files")
