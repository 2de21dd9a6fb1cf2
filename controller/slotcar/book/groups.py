"""Groups: entries that are reserved together, all or none, and have one handle and one state in common (ADR 42).

A group is nothing but its members: what is done to it is done to each of them in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from slotcar.admission.model import Demand, highest_bps
from slotcar.book.approving import Approve, Reject
from slotcar.book.batch import Key
from slotcar.book.errors import ForbiddenTransition, StaleVersion
from slotcar.book.model import OCCUPYING, AdmissionRequest, Entry, State, state_of, version_of
from slotcar.book.operation import Operation, move
from slotcar.book.rights import firm_state
from slotcar.book.rules.amounts import amount_of
from slotcar.book.rules.gate import Gate, needs_approval
from slotcar.book.rules.verb_rules import allows
from slotcar.book.transaction import Transaction
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation
from slotcar_client.wire import verbs
from slotcar_client.wire.verbs import Verb


def groups_that_wait(
    gate: Gate, members: Iterable[tuple[Reservation, Sequence[Path], Sequence[Demand]]]
) -> frozenset[Key]:
    """Groups with a new member above the gate: all their new members wait for approval with it."""
    if not gate.limits_something:
        return frozenset()
    return frozenset(
        key
        for reservation, paths, demands in members
        if (key := reservation.group_key)
        and needs_approval(gate, amount_of(reservation, paths, highest_bps(demands)), None, reservation.owner)
    )


def waiting_together(requests: Sequence[AdmissionRequest], transaction: Transaction) -> Sequence[AdmissionRequest]:
    """The requests, those marked that wait because another member of their group does."""
    if all(request.reservation.together is None for request in requests):
        return requests
    new = [one for one in requests if one.replaces is None]
    gate = transaction.terms.policy.gate
    waiting = groups_that_wait(gate, ((one.reservation, one.paths, one.demands) for one in new))
    return [replace(one, waits_with_group=True) if one.reservation.group_key in waiting else one for one in requests]


@dataclass(frozen=True)
class OnGroup(Operation[tuple[Entry, ...]]):
    """Something that is done to all live members of a group, or to none.

    Attributes:
        verb: by whose rule it is allowed.
        group: its handle. actor, reason: for the audit log.
        expected_version: what the caller has seen, as `version_of` says it.
        needs_operator: an operator alone may do it.
    """

    verb: ClassVar[type[Verb[Any]]]
    needs_operator: ClassVar[bool] = False
    group: str
    actor: str
    reason: str = ""
    expected_version: int | None = None

    def run(self, transaction: Transaction) -> tuple[Entry, ...]:
        """
        Raises:
            UnknownHandle; StaleVersion: it is not at the version that the caller saw. ForbiddenTransition: no member is in
            a state that allows it.
        """
        members = transaction.entries.members(self.group)
        if self.expected_version is not None and (version := version_of(members)) != self.expected_version:
            raise StaleVersion(self.group, self.expected_version, version)
        state = state_of(members)
        concerned = [one for one in members if one.state in OCCUPYING and self.concerns(one)]
        if not concerned or not self.allowed(state, concerned):
            raise ForbiddenTransition(self.group, state, self.wanted)
        self.each(transaction, concerned)
        return transaction.entries.members(self.group)

    @property
    def wanted(self) -> State:
        raise NotImplementedError

    def allowed(self, state: State, concerned: Sequence[Entry]) -> bool:
        """`state`: the group's. `concerned`: the members to which it is done."""
        changes_wait = state is State.COMMITTED and any(member.proposed is not None for member in concerned)
        return allows(self.verb, state) or (changes_wait and allows(self.verb, state, change_waits=True))

    def concerns(self, member: Entry) -> bool:
        return True

    def each(self, transaction: Transaction, members: Sequence[Entry]) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class CancelGroup(OnGroup):
    verb = verbs.GroupCancel

    @property
    def wanted(self) -> State:
        return State.CANCELLED

    def each(self, transaction: Transaction, members: Sequence[Entry]) -> None:
        for member in members:
            move(transaction, member, State.CANCELLED, self.actor, self.now, self.reason)


@dataclass(frozen=True)
class CommitGroup(OnGroup):
    """A held group made firm; where one member is above the gate, all wait for approval."""

    verb = verbs.GroupCommit

    @property
    def wanted(self) -> State:
        return State.COMMITTED

    def each(self, transaction: Transaction, members: Sequence[Entry]) -> None:
        waits = any(firm_state(transaction, one) is State.AWAITING_APPROVAL for one in members)
        for member in members:
            transaction.terms.policy.endpoints.check(member.reservation, member.paths)
            to = State.AWAITING_APPROVAL if waits else State.COMMITTED
            move(transaction, member, to, self.actor, self.now, self.reason)


@dataclass(frozen=True)
class OnWaitingGroup(OnGroup):
    """What an operator does to what waits of it: members, and changes of members."""

    needs_operator: ClassVar[bool] = True

    def concerns(self, member: Entry) -> bool:
        return member.state is State.AWAITING_APPROVAL or member.proposed is not None


@dataclass(frozen=True)
class ApproveGroup(OnWaitingGroup):
    """What waits of it comes into force."""

    verb = verbs.GroupApprove

    @property
    def wanted(self) -> State:
        return State.COMMITTED

    def each(self, transaction: Transaction, members: Sequence[Entry]) -> None:
        for member in members:
            Approve(self.now, member.handle, self.actor).run(transaction)


@dataclass(frozen=True)
class RejectGroup(OnWaitingGroup):
    """What waits of it is turned away."""

    verb = verbs.GroupReject

    @property
    def wanted(self) -> State:
        return State.REJECTED

    def each(self, transaction: Transaction, members: Sequence[Entry]) -> None:
        for member in members:
            Reject(self.now, member.handle, self.actor, reason=self.reason).run(transaction)
