"""What the ledger keeps: entries, their states as a table (docs/design.md rule 12), and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slotcar.admission.model import Admitted, Demand, covering, highest_bps
from slotcar.admission.resource_id import DELAY_BOUNDS, ResourceId
from slotcar.base.timebase import to_us
from slotcar.book.rules.amounts import Amount, amount_of, amount_of_change, counted_slots
from slotcar.book.rules.flows import FlowClaim, ReservedFlow
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Usage, greater, usage_of
from slotcar.book.rules.reserving import LiveAmount, steps_of
from slotcar.book.slot_now import SlotNow
from slotcar.network.model import LONGEST_NOTICE, Sls
from slotcar.network.path.model import Path, crossed
from slotcar.policy.caller import Caller
from slotcar.policy.delegating import Delegation
from slotcar.policy.reserving import ASKED_BY
from slotcar.reservation.model import Reservation, Slot
from slotcar_client.wire import events
from slotcar_client.wire.states import State as State

if TYPE_CHECKING:
    from slotcar.admission.program import LinearSolver


#: State -> states that may follow; a state that follows itself may be modified. Everything else is refused.
TRANSITIONS: dict[State, frozenset[State]] = {
    State.HELD: frozenset({State.HELD, State.COMMITTED, State.AWAITING_APPROVAL, State.TIMED_OUT, State.CANCELLED}),
    State.AWAITING_APPROVAL: frozenset(
        {State.AWAITING_APPROVAL, State.COMMITTED, State.REJECTED, State.TIMED_OUT, State.CANCELLED}
    ),
    State.COMMITTED: frozenset({State.COMMITTED, State.CANCELLED, State.ENDED}),
    State.TIMED_OUT: frozenset(),
    State.REJECTED: frozenset(),
    State.CANCELLED: frozenset(),
    State.ENDED: frozenset(),
}

#: States in which an entry occupies its slot tables.
#: The state of a group is the first of these that one of its members has.
GROUP_STATES = (
    State.HELD, State.AWAITING_APPROVAL, State.COMMITTED, State.CANCELLED, State.REJECTED, State.TIMED_OUT, State.ENDED
)  # fmt: skip
OCCUPYING: frozenset[State] = frozenset({State.HELD, State.AWAITING_APPROVAL, State.COMMITTED})


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asked for a volume by a deadline in its present form, so that policies can be asked again as whom it was.

    Attributes:
        kept: beside the name; see `slotcar.policy.recalling`.
        attestation: what its community's server signed for it then.
    """

    name: str
    kept: Mapping[str, Any] | None
    at: datetime
    attestation: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of a committed reservation that waits for approval. The network keeps room for it, and does not have it."""

    reservation: Reservation
    paths: tuple[Path, ...]
    demands: tuple[Demand, ...]
    actor: str
    at: datetime
    requester: Requester | None = None


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """The last report of a volume by a deadline.

    Attributes:
        at: when it was said. needed_bps: remaining volume / remaining time at that moment (NICT).
        missing_bytes: what the profile did not move by the deadline; it took all that was free then.
    """

    remaining_bytes: int
    at: datetime
    needed_bps: int
    missing_bytes: int = 0


@dataclass(frozen=True, slots=True)
class EntryChange:
    """When an entry came into force, or its present form did; and for a while from then on the slots of the form before.

    A hold, and what waited for approval, had none.

    Attributes:
        moves: how often it has made room for others until now.
    """

    at: datetime
    before: tuple[Slot, ...] = ()
    moves: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One reservation as the ledger holds it.

    Attributes:
        handle: opaque, what callers use (GARA §3.1).
        number: the ledger's own serial number, from 1, never reused: devices' objects are numbered by it.
        version: counts every change; the API's ETag.
        paths: one per reserved direction, forward first.
        hold_until: when a held entry expires by itself; None once committed.
        proposed: a change that waits for approval; until then the entry is what it was before.
        progress: of a volume by a deadline, the last report.
        change: how it came to what it is; None where it has been so since `created_at`.
        group: handle of the group that it is a member of.
        requester: of a volume by a deadline, who asked for it; None where nobody is known.
        delegations: rights on it that its owner has handed to others; those that ran out too, until the next is given.
        slot: what is on the devices of its present slot; None where nobody asked, or it was never in force.
        notes: what whoever asked for it should know; none where nobody asked for them.
    """

    handle: str
    number: int
    state: State
    version: int
    reservation: Reservation
    paths: tuple[Path, ...]
    demands: tuple[Demand, ...]
    created_at: datetime
    changed_at: datetime
    hold_until: datetime | None = None
    proposed: Proposal | None = None
    progress: ProgressReport | None = None
    change: EntryChange | None = None
    group: str | None = None
    requester: Requester | None = None
    delegations: tuple[Delegation, ...] = ()
    slot: SlotNow | None = field(default=None, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def is_live_at(self, now: datetime) -> bool:
        """Whether it occupies the network now or later: a hold that ran out does not, nor does a slot that ended."""
        is_held = self.hold_until is None or self.hold_until > now
        return self.state in OCCUPYING and self.reservation.end > now and is_held

    @property
    def devices(self) -> frozenset[str]:
        """The devices that its paths cross, also those that ask for no reservation; of a claim, its place."""
        claim = self.reservation.claim
        return frozenset(crossed(self.paths) | ({claim.place} if claim else set()))

    @property
    def latest(self) -> Reservation:
        """The reservation as it was asked for last: the proposed change, where one waits."""
        return self.proposed.reservation if self.proposed else self.reservation

    def changed_at_once(self, now: datetime) -> EntryChange:
        """A change at `now`, with the slots that were in force around it: they stay known while notice may be given."""
        until = now + LONGEST_NOTICE
        near = [slot for slot in self.reservation.slots if slot.start < until and now < slot.end]
        was = self.change
        if was is not None and now < was.at + LONGEST_NOTICE:  # what it has itself was not in force for long
            near = [slot for slot in was.before if slot.start < until and now < slot.end]
        return EntryChange(now, tuple(near), was.moves if was else 0)

    @property
    def occupied(self) -> Admitted:
        """What the entry takes in the slot tables: at each instant the greater of its own amount and the proposed one."""
        own = _taken(self.reservation, self.demands)
        if self.proposed is None:
            return own
        return covering(own, _taken(self.proposed.reservation, self.proposed.demands))

    @property
    def counted(self) -> LiveAmount | None:
        """What it counts with in totals; None once it is over."""
        if self.state not in OCCUPYING:
            return None
        forms = (self.reservation, self.proposed.reservation) if self.proposed else (self.reservation,)
        steps = steps_of([counted_slots(form) for form in forms]) if self.demands else ()
        owner, end_us = self.reservation.owner, to_us(self.reservation.end)
        return LiveAmount(owner, self.asked_by, end_us, self.usage.volume_bits, steps)

    @property
    def asked_by(self) -> str | None:
        """The neighbour that asked for it, of a segment of a connection over several domains."""
        return self.reservation.labels.get(ASKED_BY)

    @property
    def claims(self) -> tuple[FlowClaim, ...]:
        """The packets that the entry has, and those that it would have by the change that waits."""
        own = FlowClaim(self.reservation, self.paths)
        return (own, FlowClaim(self.proposed.reservation, self.proposed.paths)) if self.proposed else (own,)

    @property
    def flows(self) -> frozenset[ReservedFlow]:
        """What the entry has reserved, or would have by the change that waits; nothing once it is over. The same packets at
        the same device are there once, from their earliest start to their latest end.
        """
        if self.state not in OCCUPYING:
            return frozenset()
        own = FlowClaim(self.reservation, self.paths).flows
        if self.proposed is None:
            return frozenset(own)
        return _joined((*own, *FlowClaim(self.proposed.reservation, self.proposed.paths).flows))

    @property
    def usage(self) -> Usage:
        """What counts against its owner's quota."""
        is_held = self.state is State.HELD
        own = usage_of(self.reservation, is_held=is_held)
        return greater(own, usage_of(self.proposed.reservation, is_held=is_held)) if self.proposed else own

    @property
    def amount(self) -> Amount:
        return amount_of(self.reservation, self.paths, highest_bps(self.demands))

    def amount_of_change(
        self, reservation: Reservation, paths: Sequence[Path], demands: Sequence[Demand], now: datetime
    ) -> Amount:
        """The amount of another form of this entry, together with what it has used before `now`."""
        return amount_of_change(self.reservation, reservation, paths, highest_bps(demands), now)


def _taken(reservation: Reservation, demands: tuple[Demand, ...]) -> Admitted:
    """The demands, and of one with a bound the mark by which later requests find that there are bounds."""
    if reservation.is_bounded:
        demands = (*demands, Demand.constant(DELAY_BOUNDS, 1))
    return Admitted(demands, reservation.slots)


def _joined(flows: Sequence[ReservedFlow]) -> frozenset[ReservedFlow]:
    """Of those with the same packets and device one, over the time of all."""
    joined: dict[tuple[object, ...], ReservedFlow] = {}
    for flow in flows:
        other = joined.setdefault((flow.packets, flow.device), flow)
        start_us, end_us = min(flow.start_us, other.start_us), max(flow.end_us, other.end_us)
        joined[flow.packets, flow.device] = flow._replace(start_us=start_us, end_us=end_us)
    return frozenset(joined.values())


@dataclass(frozen=True)
class Event:
    """One transition or push, kept for ever. `kind` is dotted: `reservation.committed`, `push.verified`."""

    sequence: int
    at: datetime
    kind: str
    handle: str | None
    device: str | None
    details: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def says(self) -> events.Kind | None:
        """What it says, by its kind; None of a kind that has no class."""
        return events.read(self.kind, self.details)


@dataclass(frozen=True, slots=True)
class Terms:
    """What admission is decided against: the network as the inventory has it now, and the operator's rules.

    Attributes:
        capacities: bits per second of every resource (`slotcar.admission.capacities`).
        sls: the SLSs by name, for their validity.
        policy: who may ask for how much, how far ahead, and what waits for approval.
        solver: for joint moves of transfers; without one that step is left out.
        condition_of: what must hold, beside room in the tables, for an entry that is moved.
        check_delays: takes an entry, and all others that may be open while it is; raises a `SlotcarError` where a delay
            that is promised would not hold.
    """

    capacities: Mapping[ResourceId, int]
    sls: Mapping[str, Sls]
    policy: Policy = field(default_factory=Policy)
    solver: LinearSolver | None = None
    condition_of: Callable[[Entry], Condition | None] = lambda _entry: None
    check_delays: Callable[[Entry, Sequence[Entry]], None] = lambda _entry, _others: None


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold for an entry beside the others on some devices, and no slot table can say. Asked under the ledger's
    lock, so that it holds for concurrent requests, too.

    Attributes:
        devices: whose flows it is about: those that they classify.
        check: takes the entry, and the other live ones with flows at these devices that may be open while it is; raises a
            `SlotcarError` where they cannot be together, and nothing is written then.
        few: so many flows at once can surely be together, where no two are of the same packets; then it is not checked.
    """

    devices: frozenset[str]
    check: Callable[[Entry, Sequence[Entry]], None]
    few: int = 0


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way of a request, which it may take where those before it have no room."""

    paths: tuple[Path, ...]
    demands: tuple[Demand, ...]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """A request to take a place in the slot tables.

    Attributes:
        hold_until: hold it until then instead of committing it.
        idempotency_key: the same key of the same actor gives the same entry again, and takes nothing twice.
        fingerprint: what a repeated request must equal; empty for the reservation itself.
        replaces: handle of the entry that this is the new form of; it keeps its handle, number and state.
        expected_version: the version that the caller saw of `replaces`.
        condition: what must hold beside room in the tables; None asks nothing more.
        names_others: a refusal may name the reservations of other owners.
        alternatives: other ways, in the order in which they are tried. moves: others may move to make room.
        waits_with_group: another member of its group waits for approval, and so it does too.
        caller: whom the site's policies are asked about; None asks none of them.
        attestation, not_attested: what its community's server has signed when it was asked, or why it has not.
        proposes: a change only keeps room for it, as one above the operator's gate does: other domains decide.
        wider: another form of the request, of more ways, which a rehearsal makes where there is no room for this one.
    """

    reservation: Reservation
    paths: tuple[Path, ...]
    demands: tuple[Demand, ...]
    actor: str
    hold_until: datetime | None = None
    idempotency_key: str | None = None
    fingerprint: str = ""
    replaces: str | None = None
    expected_version: int | None = None
    condition: Condition | None = None
    names_others: bool = False
    alternatives: tuple[Alternative, ...] = ()
    moves: bool = True
    waits_with_group: bool = False
    proposes: bool = False
    wider: Callable[[], AdmissionRequest] | None = field(default=None, compare=False)
    caller: Caller | None = field(default=None, compare=False)
    attestation: str = ""
    not_attested: str = ""

    def on(self, path_number: int) -> AdmissionRequest:
        """The request on one of its ways: 0 is its own, 1 the first alternative."""
        if not path_number:
            return self if not self.alternatives else replace(self, alternatives=())
        way = self.alternatives[path_number - 1]
        return replace(self, paths=way.paths, demands=way.demands, condition=way.condition, alternatives=())


@dataclass(frozen=True, slots=True)
class Cancellation:
    """The end of an entry, as one change of a plan; `expected_version` is the one that the plan saw."""

    handle: str
    expected_version: int | None = None


def state_of(members: Sequence[Entry]) -> State:
    """The state of the group: the earliest of its members' lives; where none of them lives, what became of the last."""
    states = {member.state for member in members}
    return next(state for state in GROUP_STATES if state in states)


def version_of(members: Sequence[Entry]) -> int:
    """The version of the group: it grows with every change of every member."""
    return sum(member.version for member in members)
