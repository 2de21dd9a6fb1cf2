"""A plan as one operation on the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from controller.admission.model import Refused
from controller.ledger.errors import PlanNotAdmitted, StaleLedger
from controller.ledger.model import AdmissionRequest, Cancellation, Entry, State
from controller.ledger.operations import Admit, Operation, move
from controller.ledger.rights import check_quotas, owners_usage
from controller.ledger.transaction import Needs, Transaction


@dataclass(frozen=True)
class ApplyPlan(Operation[tuple[Entry, ...]]):
    """All changes of a plan or none: what is cancelled or changed gives back first, then everything is decided in order."""

    cancellations: tuple[Cancellation, ...]
    requests: tuple[AdmissionRequest, ...]
    actor: str
    sequence: int | None

    @property
    def needs(self) -> Needs:
        needs = [Admit(self.now, request).needs for request in self.requests]
        handles = tuple(handle for need in needs for handle in need.handles)
        return Needs(
            handles=handles + tuple(one.handle for one in self.cancellations),
            keys=tuple(key for need in needs for key in need.keys),
            flows=tuple(flow for need in needs for flow in need.flows),
        )

    def run(self, transaction: Transaction) -> tuple[Entry, ...]:
        """
        Raises:
            StaleLedger: something was written since the plan was made. PlanNotAdmitted: a change is refused.
            RefusedByPolicy; what a change's condition raises.
        """
        if self.sequence is not None and transaction.head.sequence != self.sequence:
            raise StaleLedger(self.sequence, transaction.head.sequence)
        before = owners_usage(transaction, {request.reservation.owner for request in self.requests}, self.now)
        cancelled = [self._cancel(transaction, one) for one in self.cancellations]
        changed = frozenset(request.replaces for request in self.requests if request.replaces)
        asked = [Admit(self.now, request, changed) for request in self.requests]
        # Everything that changes leaves first, so that two may take each other's place.
        olds = [admit.opened(transaction) for admit in asked]
        # ... but what waits for approval keeps what it has until then.
        staying = [
            old if old and admit.may_wait(transaction, old) else None for admit, old in zip(asked, olds, strict=True)
        ]
        for old, stays in zip(olds, staying, strict=True):
            if old is not None and stays is None:
                transaction.give_back(old)
        refused: list[tuple[tuple[str, str], Refused]] = []
        done: list[tuple[Admit, Entry]] = []
        for admit, old, stays in zip(asked, olds, staying, strict=True):
            answer = admit.decided(transaction, old, without=stays)
            if isinstance(answer, Refused):
                refused.append((admit.request.reservation.key, answer))
            else:
                if stays is not None:
                    transaction.give_back(stays)
                done.append((admit, admit.settled(transaction, old, answer)))
        if refused:
            raise PlanNotAdmitted(tuple(refused))
        for admit, entry in done:  # beside what all of the plan leaves
            admit.check_beside_others(transaction, entry)
        check_quotas(transaction, before, self.now)
        return (*cancelled, *(entry for _, entry in done))

    def _cancel(self, transaction: Transaction, one: Cancellation) -> Entry:
        entry = transaction.entry(one.handle, one.expected_version)
        return move(transaction, entry, State.CANCELLED, self.actor, self.now, "no longer in the files")
