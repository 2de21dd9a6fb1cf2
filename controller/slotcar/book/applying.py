"""The changes of a plan as one operation: applied to the ledger, or rehearsed against a copy of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from typing import Protocol, Self, TypeVar

from slotcar.admission.model import Refused
from slotcar.book.batch import Key, Labelled, Needs
from slotcar.book.errors import PlanNotAdmitted, StaleLedger
from slotcar.book.groups import waiting_together
from slotcar.book.model import AdmissionRequest, Cancellation, Entry, State, Terms
from slotcar.book.operation import Operation, move
from slotcar.book.operations import Admit
from slotcar.book.permitting import DecidedAhead, check_permitted, decide_ahead
from slotcar.book.rights import check_flows, check_quotas, owners_usage
from slotcar.book.rules.quotas import Usage
from slotcar.book.share_bounds import check_shares
from slotcar.book.transaction import Transaction
from slotcar.book.transfers import with_those_that_may_move

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Decided:
    """What becomes of one request of a plan.

    Attributes:
        admit: the request in the form that was decided: on the way that it takes.
        old: what it changes.
        entry: as it was settled; None where it is refused.
        with_group: it is refused because another member of its group is, and not of itself.
        moved: handles of transfers that make room for it.
    """

    admit: Admit
    old: Entry | None
    entry: Entry | None = None
    refusal: Refused | None = None
    with_group: bool = False
    moved: frozenset[str] = frozenset()

    @property
    def key(self) -> Key:
        return self.admit.request.reservation.key


@dataclass(frozen=True)
class PlannedChanges(Operation[T]):
    """Several changes together: cancelled and changed entries give back first, then requests are decided in order.

    Members of a group that follow one another are admitted together or not at all.

    Attributes:
        ahead: of each request, what policies said of it before the lock was taken.
    """

    cancellations: tuple[Cancellation, ...]
    requests: tuple[AdmissionRequest, ...]
    actor: str
    ahead: tuple[tuple[DecidedAhead, ...], ...] = field(default=(), kw_only=True, compare=False, repr=False)

    def prepared(self, terms: Terms) -> Self:
        return replace(self, ahead=tuple(decide_ahead(terms, request, self.now) for request in self.requests))

    @cached_property
    def admissions(self) -> tuple[Admit, ...]:
        """One for each request."""
        changed = frozenset(request.replaces for request in self.requests if request.replaces)
        keys = [request.reservation.key for request in self.requests]
        together = sha256(f"{self.now} {self.actor} {keys}".encode()).hexdigest()[:8] if len(keys) > 1 else ""
        ahead = self.ahead or ((),) * len(self.requests)
        return tuple(
            Admit(self.now, request, changed, together, ahead=before)
            for request, before in zip(self.requests, ahead, strict=True)
        )

    @property
    def needs(self) -> Needs:
        needs = [admit.needs for admit in self.admissions]
        handles = tuple(handle for need in needs for handle in need.handles)
        return Needs(
            handles=handles + tuple(one.handle for one in self.cancellations),
            keys=tuple(key for need in needs for key in need.keys),
            flows=tuple(flow for need in needs for flow in need.flows),
            beside=tuple(one for need in needs for one in need.beside),
            groups=tuple(key for need in needs for key in need.groups),
        )

    def cancelled(self, transaction: Transaction) -> list[Entry]:
        return [self._cancel(transaction, one) for one in self.cancellations]

    def opened(self, transaction: Transaction) -> list[tuple[Admit, Entry | None]]:
        """Each request with what it changes; those marked that wait because another member of their group does."""
        waiting = waiting_together(self.requests, transaction)
        admissions = [admit.of(request) for admit, request in zip(self.admissions, waiting, strict=True)]
        return [(admit, admit.opened(transaction)) for admit in admissions]

    def decided(self, transaction: Transaction, opened: Sequence[tuple[Admit, Entry | None]]) -> list[Decided]:
        """What becomes of each request. The old form of one that is refused stays, and keeps its room, whoever took it.

        All old forms are taken out first, so that two reservations may take each other's place; but for one of which the
        change waits for approval: it keeps its old form until then.
        """
        staying = {old.handle for admit, old in opened if old and admit.may_wait(transaction, old)}
        for _, old in opened:
            if old is not None and old.handle not in staying:
                transaction.give_back(old)
        decided: list[Decided] = []
        for _, together in groupby(opened, key=_decided_with):
            decided += self._together(transaction, list(together), staying)
        return decided

    def check(self, transaction: Transaction, done: Sequence[Decided], before: Mapping[str, Usage]) -> None:
        """
        Raises:
            RefusedByPolicy; what a change's condition raises.
        """
        for one in done:  # beside all that is there after the plan
            assert one.entry is not None
            one.admit.check_platforms(transaction, one.entry)
        names_others = all(request.names_others for request in self.requests)
        check_flows(transaction, [one.entry for one in done if one.entry], self.now, name_other=names_others)
        check_quotas(transaction, before, self.now)
        permitted = [(one.admit.request, one.entry, one.admit.ahead) for one in done if one.entry]
        check_permitted(transaction, permitted, self.now)
        check_shares(transaction, [(one.admit.request, one.entry, one.old) for one in done if one.entry], self.now)

    def usage_before(self, transaction: Transaction) -> Mapping[str, Usage]:
        """What the owners of the requests have."""
        return owners_usage(transaction, {request.reservation.owner for request in self.requests}, self.now)

    def _together(
        self, transaction: Transaction, opened: Sequence[tuple[Admit, Entry | None]], staying: Collection[str]
    ) -> list[Decided]:
        """One request, or the members of a group: where one of these is refused all are, and nothing of them is taken."""
        mark = transaction.mark()
        decided = [self._decided(transaction, admit, old, staying) for admit, old in opened]
        refused = ["/".join(one.key) for one in decided if one.refusal]
        if not refused:
            return decided
        transaction.take_back(mark)
        for _, old in opened:
            if old is not None and old.handle not in staying:
                transaction.take(old)
        with_it = Refused(reason=f"it goes with its group, of which there is no room for {', '.join(refused)}")
        return [
            one if one.refusal else Decided(one.admit, one.old, refusal=with_it, with_group=True) for one in decided
        ]

    def _decided(self, transaction: Transaction, admit: Admit, old: Entry | None, staying: Collection[str]) -> Decided:
        return with_those_that_may_move(
            transaction, lambda stay: self._placed(transaction, admit.staying(stay), old, staying)
        )

    def _placed(self, transaction: Transaction, admit: Admit, old: Entry | None, staying: Collection[str]) -> Decided:
        stays = old if old and old.handle in staying else None
        answer = admit.decided(transaction, old, without=stays)
        wider = admit.request.wider
        if isinstance(answer, Refused) and wider is not None:
            admit = admit.of(replace(wider(), waits_with_group=admit.request.waits_with_group))
            answer = admit.decided(transaction, old, without=stays)
        if isinstance(answer, Refused):
            return Decided(admit, old, refusal=answer)
        if stays is not None:
            transaction.give_back(stays)
        chosen = admit.of(admit.request.on(answer.path_number))
        return Decided(chosen, old, chosen.settled(transaction, old, answer), moved=frozenset(answer.moved))

    def _cancel(self, transaction: Transaction, one: Cancellation) -> Entry:
        entry = transaction.entries.get(one.handle, one.expected_version)
        return move(transaction, entry, State.CANCELLED, self.actor, self.now, "no longer in the files")


def _decided_with(one: tuple[Admit, Entry | None]) -> object:
    """Equal for the members of a group, which follow one another in the files' order."""
    reservation = one[0].request.reservation
    return reservation.key if reservation.group_key is None else ("group", *reservation.group_key)


@dataclass(frozen=True)
class ApplyPlan(PlannedChanges[tuple[Entry, ...]]):
    """All changes of a plan or none."""

    basis: Basis | None = None

    @classmethod
    def of(
        cls, changes: Sequence[AdmissionRequest | Cancellation], now: datetime, actor: str, basis: Basis | None = None
    ) -> ApplyPlan:
        """Of changes in any order. `basis`: what must be as the plan saw it, and come out as it said."""
        cancellations = tuple(one for one in changes if isinstance(one, Cancellation))
        requests = tuple(one for one in changes if isinstance(one, AdmissionRequest))
        return cls(now, cancellations, requests, actor, basis)

    @property
    def needs(self) -> Needs:
        needs = super().needs
        return replace(needs, keys=(*needs.keys, *(self.basis.keys if self.basis else ())))

    def run(self, transaction: Transaction) -> tuple[Entry, ...]:
        """
        Raises:
            StaleLedger: what the plan rests on has changed, or another thing would come of it than it said.
            PlanNotAdmitted: a change is refused. RefusedByPolicy; what a change's condition raises.
        """
        self._check_basis(transaction)
        before = self.usage_before(transaction)
        cancelled = self.cancelled(transaction)
        opened = self.opened(transaction)
        for admit, old in opened:
            admit.check_rules(transaction, old)
        decided = self.decided(transaction, opened)
        of_themselves = [(one.key, one.refusal) for one in decided if one.refusal and not one.with_group]
        if of_themselves:  # without one no member of a group goes with it
            raise PlanNotAdmitted(tuple(of_themselves))
        self.check(transaction, decided, before)
        # A later one may have moved an earlier one.
        entries = tuple(transaction.entries.get(one.entry.handle) for one in decided if one.entry)
        self._check_outcome(entries, {handle for one in decided for handle in one.moved})
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


@dataclass(frozen=True)
class Rehearsal(PlannedChanges[tuple[Decided, ...]]):
    """What would become of the changes of a plan, each by itself: it goes on after one that is refused.

    Attributes:
        checks: asks also what an apply asks beside room: the operator's rules, and the platforms.
    """

    checks: bool = True

    def run(self, transaction: Transaction) -> tuple[Decided, ...]:
        """
        Raises:
            RefusedByPolicy: a rule forbids something that has room. What a change's condition raises.
        """
        before = self.usage_before(transaction)
        self.cancelled(transaction)
        decided = self.decided(transaction, self.opened(transaction))
        done = [one for one in decided if one.refusal is None]
        if self.checks:
            for one in done:
                one.admit.check_rules(transaction, one.old)
            self.check(transaction, done, before)
        return tuple(decided)
