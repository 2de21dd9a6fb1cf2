"""Every kind of event of the log, each as a class: its name, whom it is of, its details, and one sentence for people.

Who writes an event makes an instance, of which the log keeps the kind, and the details as JSON. Who reads one gets an
instance again (`slotcar.book.model.Event.says`). What is in the log stays as it was written: a kind that has no class
here says nothing to the program, and a detail that has no field is passed over.

The sentence is the docstring; `docs/reference/events.md` is made of these classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    ClassVar,
    TypeAlias,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from slotcar_client.wire.actor import delegated_by, proof_of

T = TypeVar("T")
K = TypeVar("K", bound="Kind")


class Of(StrEnum):
    """Whom an event is of. One of a reservation its owner may see too; all others operators and auditors alone."""

    RESERVATION = "a reservation"
    DEVICE = "a device"
    CONTROLLER = "the controller"


@dataclass(frozen=True, slots=True)
class Key:
    """What a detail is called in JSON, where that is no name for a field."""

    text: str


_OWNERS = "the owner of the reservation may see it"
#: A detail that the owner of the reservation may see, too.
Owners = Annotated[T, _OWNERS]
#: Aware. None where an older controller wrote none.
Instant: TypeAlias = datetime | None
Names: TypeAlias = tuple[str, ...]
#: A whole reservation: as its model where it is written, as its document where it is read.
Form: TypeAlias = object
#: As what policies saw who asked, where that is no requester of this owner: `slotcar.policy.recalling`.
Requester: TypeAlias = Mapping[str, Any] | None
#: For whom a device's configuration changes: `slotcar.rollout.reservations_of_push`.
Changes: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Detail:
    """One detail of a kind.

    Attributes:
        field: in its class. key: in JSON.
        default: left out of the log where it is that; `MISSING` where it is always written.
        empty: what it is where the log has none.
        owners: an owner may see it.
        read: its value, of JSON.
    """

    field: str
    key: str
    default: Any
    empty: Any
    owners: bool
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Layout:
    details: tuple[Detail, ...]
    names: frozenset[str]
    always: frozenset[str]
    defaults: Mapping[str, Any]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Kind:
    """What an event says. A detail with a default is left out of the log where it has that.

    As a frozen dataclass, whose methods are not generated: that of all kinds takes longer than a short command.
    """

    kind: ClassVar[str] = ""
    of: ClassVar[Of]

    def __init__(self, **values: Any) -> None:
        layout = _layout(type(self))
        if not layout.always <= values.keys() <= layout.names:
            unknown, missing = values.keys() - layout.names, layout.always - values.keys()
            raise TypeError(f"{type(self).__name__} has no {sorted(unknown)}, and needs {sorted(missing)}")
        self.__dict__.update(layout.defaults)
        if PROOF in layout.names:
            self.__dict__[PROOF] = proof_of(values.get("actor"))
        if DELEGATED_BY in layout.names:
            self.__dict__[DELEGATED_BY] = delegated_by(values.get("actor"))
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    @property
    def details(self) -> dict[str, Any]:
        """The event's details for the log."""
        values = self.__dict__
        return {
            one.key: _written(values[one.field])
            for one in _layout(type(self)).details
            if one.default is MISSING or values[one.field] != one.default
        }

    @property
    def words(self) -> str:
        """What it says to people itself; empty where it has no such detail."""
        return str(self.__dict__.get("message", ""))


#: By what the `actor` of an event is known, which goes with it: see `Actor`.
PROOF = "proof"
#: On whose delegation the `actor` did it.
DELEGATED_BY = "delegated_by"
#: Each kind by its name.
KINDS: dict[str, type[Kind]] = {}
_LAYOUTS: dict[type[Kind], _Layout] = {}


def read(kind: str, details: Mapping[str, Any]) -> Kind | None:
    """What an event of the log says; None where it is of a kind, or lacks an instant, without which nobody knows what."""
    of_kind = KINDS.get(kind)
    if of_kind is None:
        return None
    values = {one.field: one.read(details[one.key]) if one.key in details else one.empty for one in layout_of(of_kind)}
    return None if any(value is MISSING for value in values.values()) else of_kind(**values)


def _written(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _instant(text: object) -> datetime | None:
    try:
        instant = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None


def _needed_instant(text: object) -> object:
    return _instant(text) or MISSING


def _as_it_is(value: object) -> object:
    return value


#: By type: how it is read, and what it is where an older controller wrote none.
_READ: Mapping[object, tuple[Callable[[Any], Any], object]] = {
    str: (str, ""),
    int: (_as_it_is, 0),
    float: (_as_it_is, 0.0),
    datetime: (_needed_instant, MISSING),
    Instant: (_instant, None),
    tuple: (tuple, ()),
    Mapping: (_as_it_is, {}),
}


def layout_of(kind: type[Kind]) -> tuple[Detail, ...]:
    """Its details, those of its bases first."""
    return _layout(kind).details


def _layout(kind: type[Kind]) -> _Layout:
    layout = _LAYOUTS.get(kind)
    if layout is None:
        hints = get_type_hints(kind, include_extras=True).items()
        fields = [(name, hint) for name, hint in hints if get_origin(hint) is not ClassVar]
        details = tuple(_detail(name, hint, getattr(kind, name, MISSING)) for name, hint in fields)
        defaults = {one.field: one.default for one in details if one.default is not MISSING}
        names = frozenset(one.field for one in details)
        layout = _LAYOUTS[kind] = _Layout(details, names, names - defaults.keys(), defaults)
    return layout


def _detail(name: str, hint: Any, default: object) -> Detail:
    plain, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    read_as, empty = _READ.get(plain) or _READ.get(get_origin(plain), (_as_it_is, None))
    key = next((one.text for one in marks if isinstance(one, Key)), name)
    return Detail(name, key, default, empty if default is MISSING else default, _OWNERS in marks, read_as)


def sentence_of(kind: type[Kind]) -> str:
    return " ".join((kind.__doc__ or "").split())


def event(kind: str, of: Of) -> Callable[[type[K]], type[K]]:
    """Makes a class that of the events of a kind."""

    def registered(of_kind: type[K]) -> type[K]:
        of_kind.kind, of_kind.of = kind, of
        KINDS[kind] = of_kind
        return of_kind

    return registered


# -- reservations ----------------------------------------------------------------------------------------------------


class OfReservation(Kind):
    """A change of an entry of the ledger: by whom, whose, and its version after it."""

    actor: Owners[str]
    proof: str = ""
    delegated_by: Owners[str] = ""
    owner: Owners[str]
    name: Owners[str]
    version: Owners[int]


class InState(OfReservation):
    """It came into a state: as it was created (`reservation`), or later."""

    reservation: Owners[Form] = None
    reason: Owners[str] = ""
    requester: Requester = None


@event("reservation.held", Of.RESERVATION)
class ReservationHeld(InState):
    """Its place is kept until it is committed or its hold runs out."""


@event("reservation.awaiting-approval", Of.RESERVATION)
class ReservationAwaitsApproval(InState):
    """Its place is kept, and it waits for an operator's approval."""


@event("reservation.committed", Of.RESERVATION)
class ReservationCommitted(InState):
    """It is promised: its slots will be given."""


@event("reservation.timed-out", Of.RESERVATION)
class ReservationTimedOut(InState):
    """Its hold ran out, or nobody approved it in time."""


@event("reservation.rejected", Of.RESERVATION)
class ReservationRejected(InState):
    """An operator turned it away."""


@event("reservation.cancelled", Of.RESERVATION)
class ReservationCancelled(InState):
    """It was given up, and what it held is free."""


@event("reservation.ended", Of.RESERVATION)
class ReservationEnded(InState):
    """Its last slot is past, or all of its volume is moved."""


@event("reservation.extended", Of.RESERVATION)
class ReservationExtended(OfReservation):
    """It is held for longer."""

    hold_until: Owners[Instant]


class OfForms(OfReservation):
    """It got another form: the one before, and the new one."""

    before: Owners[Form]
    reservation: Owners[Form]
    requester: Requester = None


@event("reservation.bound", Of.RESERVATION)
class ReservationBound(OfForms):
    """Ports, a process or labels were bound to it, or taken from it."""


@event("reservation.modified", Of.RESERVATION)
class ReservationModified(OfForms):
    """It was changed, and the change is in force."""


@event("reservation.change-proposed", Of.RESERVATION)
class ReservationChangeProposed(OfForms):
    """A change of it waits for approval; until then it stays what it was."""


@event("reservation.change-rejected", Of.RESERVATION)
class ReservationChangeRejected(OfReservation):
    """An operator turned the change (`reservation`) away; it stays what it was."""

    reservation: Owners[Form]
    reason: Owners[str] = ""


@event("reservation.progress", Of.RESERVATION)
class ReservationProgress(OfReservation):
    """It was reported how much of its volume remains; where its profile changed for it, both forms."""

    remaining_bytes: Owners[int]
    needed_bps: Owners[int]
    before: Owners[Form] = None
    reservation: Owners[Form] = None


@event("reservation.replanned", Of.RESERVATION)
class ReservationReplanned(OfForms):
    """What remains of its volume got another profile, by what was given of the one before."""

    remaining_bytes: Owners[int]
    needed_bps: Owners[int]
    missing_bytes: Owners[int]


@event("reservation.behind", Of.RESERVATION)
class ReservationBehind(OfReservation):
    """A part of its volume (`missing_bytes`) cannot be moved by its deadline."""

    remaining_bytes: Owners[int]
    needed_bps: Owners[int]
    missing_bytes: Owners[int]
    message: Owners[str]


@event("reservation.unused", Of.RESERVATION)
class ReservationUnused(Kind):
    """Its slot is open, and for `counted_s` seconds hardly anything of it was used: who gives it back, frees it."""

    counted_s: Owners[int]
    reserved_bits: Owners[int]
    used_bytes: Owners[int]
    message: Owners[str]


@event("reservation.moved", Of.RESERVATION)
class ReservationMoved(OfForms):
    """A volume by a deadline was given other rates or another path to make room for another reservation."""

    makes_room_for: str
    makes_room_for_owner: str


@event("reservation.rate", Of.RESERVATION)
class ReservationRate(Kind):
    """From `at` on a background reservation has these rates."""

    at: Owners[Instant]
    forward_bps: Owners[int]
    reverse_bps: Owners[int]


class OfDelegation(OfReservation):
    """Rights on it that are handed to `to`, which are verbs of the API, and until when."""

    to: Owners[str]
    may: Owners[Names]
    delegated_until: Owners[Instant]


@event("delegation.given", Of.RESERVATION)
class DelegationGiven(OfDelegation):
    """Somebody else was handed rights on it, in the place of those that it had before."""


@event("delegation.withdrawn", Of.RESERVATION)
class DelegationWithdrawn(OfDelegation):
    """Rights on it that somebody else was handed were taken back before their end."""


class OfPolicies(Kind):
    """What policies that a site has of its own were asked about a reservation, and what they said.

    Attributes:
        policies: by name, those that decided. totals: by whose they are, with this one.
        attestation: what its community's server has signed, where it was asked.
    """

    actor: Owners[str]
    proof: str = ""
    delegated_by: Owners[str] = ""
    owner: Owners[str]
    name: Owners[str]
    policies: Owners[Names]
    totals: Mapping[str, Any] = MappingProxyType({})
    attestation: str = ""


@event("policy.permitted", Of.RESERVATION)
class PolicyPermitted(OfPolicies):
    """The site's policies let it, or the change of it, take its place."""


@event("policy.refused", Of.RESERVATION)
class PolicyRefused(OfPolicies):
    """The site's policies refused it in this form, or the change of it (`is_change`); a new one has a handle alone."""

    reservation: Owners[Form]
    message: Owners[str]
    is_change: bool = False
    is_hold: bool = False
    requester: Requester = None


class NotGiven(Kind):
    """What is not on these devices, and why."""

    devices: Owners[Names]
    message: Owners[str]


class PartNotGiven(NotGiven):
    """As `NotGiven`; `part`: what of it alone, where all else of it is there."""

    part: Owners[str] = ""


@event("group.member-failed", Of.RESERVATION)
class GroupMemberFailed(PartNotGiven):
    """A member of a group could not be given at its slot's start: what its `on_failure` says follows."""


# -- slots -----------------------------------------------------------------------------------------------------------


class OfSlot(Kind):
    """What the controller that leads says of a slot, by what it verified: `slotcar.book.slot_states.SlotRecord`.

    Attributes:
        devices: of each its state. why: of those that are not as they should be. later: ISO 8601, by device.
    """

    start: Instant
    end: Instant
    number: int
    form: str
    version: Owners[int]
    devices: Owners[Mapping[str, str]]
    why: Mapping[str, str] | None = None
    verified_at: Instant = None
    until: Instant = None
    later: Mapping[str, str] | None = None
    owner: Owners[str] = ""
    name: Owners[str] = ""
    message: Owners[str] = ""


@event("slot.planned", Of.RESERVATION)
class SlotPlanned(OfSlot):
    """Nothing of it is on its devices yet, though something was said to be."""


@event("slot.armed", Of.RESERVATION)
class SlotArmed(OfSlot):
    """Its devices will begin it by themselves."""


@event("slot.in-place", Of.RESERVATION)
class SlotInPlace(OfSlot):
    """All its devices were read back and have it."""


@event("slot.withheld", Of.RESERVATION)
class SlotWithheld(OfSlot):
    """It is kept from its devices because one of them is not ready, or is held."""


@event("slot.failed", Of.RESERVATION)
class SlotFailed(OfSlot):
    """A device of it took no push."""


@event("slot.rolled-back", Of.RESERVATION)
class SlotRolledBack(OfSlot):
    """An operator took it from a device, which is held."""


@event("slot.ended", Of.RESERVATION)
class SlotEnded(OfSlot):
    """Its devices were read back and do not have it any more."""


@event("slot.unknown", Of.RESERVATION)
class SlotUnknown(OfSlot):
    """What of it is on a device nobody knows any more."""


# -- pushes ----------------------------------------------------------------------------------------------------------


class OfPush(Kind):
    """A step of a push, which has one revision for all its devices."""

    revision: str


@event("push.started", Of.DEVICE)
class PushStarted(OfPush):
    """A push to it began: `lines` of change, the program `armed`, for `activate_at`."""

    activate_at: Instant
    lines: int
    armed: str
    reservations: Changes | None = None


@event("push.verified", Of.DEVICE)
class PushVerified(OfPush):
    """It was read back and has what was pushed. Once a push: the other devices that had nothing to do (`unchanged`)."""

    activate_at: Instant
    lines: int
    reservations: Changes | None = None
    unchanged: Names = ()


@event("push.armed", Of.DEVICE)
class PushArmed(OfPush):
    """It holds a program ready, of which the first step is at `at` and the last at `until`."""

    at: Instant
    until: Instant


@event("push.superseded", Of.DEVICE)
class PushSuperseded(OfPush):
    """What waited on it for a boundary was withdrawn, for something else is wanted by now."""


@event("push.failed", Of.DEVICE)
class PushFailure(OfPush):
    """A push failed, on it or on another device, and is taken back from all."""

    message: str


@event("push.not-rolled-back", Of.DEVICE)
class PushNotRolledBack(OfPush):
    """A push failed and could not be taken back from it: somebody must look at it."""

    message: str


@event("push.rolled-back", Of.DEVICE)
class PushRolledBack(Kind):
    """It was given back what it had before: by the controller after a push that failed, or by an operator."""

    by: str
    revision: str = ""
    reservations: Changes | None = None
    actor: str = ""
    proof: str = ""
    message: str = ""


@event("push.device-failed", Of.DEVICE)
class DeviceSetAside(Kind):
    """It could not be read or pushed to, and is left alone for a while."""

    message: str


@event("push.withheld", Of.RESERVATION)
class PushWithheld(NotGiven):
    """Its slot is active nowhere until all devices of its path answer."""


@event("push.degraded", Of.RESERVATION)
class PushDegraded(PartNotGiven):
    """Its slot is active without some devices of its path, or without a part of what it asked for."""


@event("push.alarm", Of.RESERVATION)
class PushAlarm(NotGiven):
    """Its slot begins, or has begun, is active nowhere, and asked to call operators then."""


@event("push.released", Of.RESERVATION)
class PushReleased(Kind):
    """What kept it from its devices is over."""


# -- boundaries ------------------------------------------------------------------------------------------------------


class OfBoundary(Kind):
    """What became of a boundary on these devices."""

    at: Instant
    devices: Names


@event("boundary.staged", Of.CONTROLLER)
class BoundaryStaged(OfBoundary):
    """The devices are ready for a boundary: armed by `revision`, or a play waits for it."""

    revision: str | None = None


@event("boundary.active", Of.CONTROLLER)
class BoundaryActive(OfBoundary):
    """The devices acted at a boundary, each so late (`lag_us`, where it told); those `unchanged` had nothing to do."""

    lag_us: Mapping[str, int | None] | int | None = None
    revision: str = ""
    unchanged: Names = ()


@event("boundary.failed", Of.CONTROLLER)
class BoundaryFailed(OfBoundary):
    """The devices could not be changed at a boundary; `withheld`, which only answers have: a slot was kept from them."""

    message: str = ""
    withheld: bool = False


@event("boundary.seen", Of.CONTROLLER)
class BoundarySeen(Kind):
    """A controller that took the lead found the devices to have all that was wanted until then, and pushed nothing."""

    until: Instant
    devices: Names


# -- connections over several domains ---------------------------------------------------------------------------------


class OfConnection(Kind):
    """A step of a connection over several domains, as this domain took it; `owner` with its domain, `hep@anl`.

    Attributes:
        previous, next: the domains that ask this one, and that it asks; empty of the first, and of the last.
        actor: who asked for it here, or ended it here; empty where another domain did.
    """

    actor: str = ""
    proof: str = ""
    connection: str
    owner: str
    name: str
    version: int
    previous: str = ""
    next: str = ""
    message: str = ""


@event("connection.asked", Of.CONTROLLER)
class ConnectionAsked(OfConnection):
    """A connection, or another form of one in force, was asked for: this domain holds its segment and asks the next."""


@event("connection.held", Of.CONTROLLER)
class ConnectionHeld(OfConnection):
    """This domain and all behind it hold their segments, until it is known what was decided."""


@event("connection.committed", Of.CONTROLLER)
class ConnectionCommitted(OfConnection):
    """A version of it is in force here and in all domains behind."""


@event("connection.refused", Of.CONTROLLER)
class ConnectionRefused(OfConnection):
    """An attempt was given up; what was in force before it stays. `message` says which domain refused, in its numbers."""


@event("connection.progress", Of.CONTROLLER)
class ConnectionProgress(OfConnection):
    """It was reported to its first domain, or found by that, how much of its volume remains; of that its slots do not move
    `missing_bytes` by the deadline. Other slots for it are a change, and told as one."""

    remaining_bytes: int
    missing_bytes: int


@event("connection.ended", Of.CONTROLLER)
class ConnectionEnded(OfConnection):
    """It is ended before its time, in all domains."""


@event("connection.passed", Of.CONTROLLER)
class ConnectionPassed(OfConnection):
    """Its time is over."""


@event("connection.unready", Of.RESERVATION)
class SegmentUnready(NotGiven):
    """These devices cannot be made ready for a segment: all domains of the connection are told, and its `if_unready` says
    what becomes of it."""


@event("connection.ready", Of.RESERVATION)
class SegmentReady(Kind):
    """All devices of a segment can be made ready for it by now; all domains of the connection are told."""


class OfSegment(Kind):
    """What another domain of a connection has said of its segment."""

    connection: str
    domain: str


@event("connection.withheld", Of.CONTROLLER)
class ConnectionWithheld(OfSegment):
    """A domain cannot make its devices ready for a slot that has not begun here: it begins in all domains or in none, as
    its `if_unready` says."""


@event("connection.released", Of.CONTROLLER)
class ConnectionReleased(OfSegment):
    """A domain has its devices ready for the slot by now."""


# -- devices ---------------------------------------------------------------------------------------------------------


@event("device.drifted", Of.DEVICE)
class DeviceDrifted(Kind):
    """Somebody else had changed it, or it was restarted."""

    message: str


@event("device.held", Of.DEVICE)
class DeviceHeld(Kind):
    """An operator holds it, and nothing is pushed to it; a rollback took these reservations from it (`removed`)."""

    actor: str = ""
    proof: str = ""
    message: str = ""
    until: Instant = None
    removed: Names = ()


@event("device.released", Of.DEVICE)
class DeviceReleased(Kind):
    """It is held no longer, and lacks these reservations (`removed`) until the next push."""

    actor: str = ""
    proof: str = ""
    message: str = ""
    removed: Names = ()


@event("device.unadopted", Of.DEVICE)
class DeviceUnadopted(Kind):
    """Slotcar has never managed it, and waits for an operator to say that it may."""

    message: str


@event("device.adopted", Of.DEVICE)
class DeviceAdopted(Kind):
    """An operator said that Slotcar may manage it."""

    actor: str
    proof: str = ""


@event("device.clock-off", Of.DEVICE)
class DeviceClockOff(Kind):
    """Its clock is wrong: so far ahead of the controller's."""

    ahead_us: int


@event("device.clock-right", Of.DEVICE)
class DeviceClockRight(Kind):
    """Its clock is right again."""

    ahead_us: int


# -- SLSs -------------------------------------------------------------------------------------------------------------


class OfSls(Kind):
    """How an SLS stands from one probe to another, by what was measured in an hour (`start`)."""

    sls: str
    service: str
    source: str
    destination: str
    start: Instant
    message: str


@event("sls.broken", Of.CONTROLLER)
class SlsBroken(OfSls):
    """An SLS that was kept, or of which nothing was known, is broken: by these figures, so far in its hour.

    Without `source` and `destination` it is by what routers dropped, where nobody probes.
    """

    broken: Names


@event("sls.kept", Of.CONTROLLER)
class SlsKept(OfSls):
    """An SLS that was broken is kept again."""


class OfAgreedSls(Kind):
    """An SLS that two domains agreed on while they run, as this domain has it from now on.

    Attributes:
        starts_at, ends_at: when it holds, half-open. connection: of the attempt that made it so.
        actor: who asked for it here; the other domain where it asked. message: the reason that was given, where one was.
    """

    sls: str
    upstream: str
    downstream: str
    service: str
    rate_bps: int
    starts_at: Instant
    ends_at: Instant
    connection: str
    actor: str = ""
    proof: str = ""
    message: str = ""


@event("sls.opened", Of.CONTROLLER)
class SlsOpened(OfAgreedSls):
    """Two domains agreed on a new SLS: reservations may rest on it from now on, within its window."""


@event("sls.changed", Of.CONTROLLER)
class SlsChanged(OfAgreedSls):
    """Two domains agreed on another form of an SLS: another rate or window, or an end before its window's."""


@event("sls.ended", Of.CONTROLLER)
class SlsEnded(OfAgreedSls):
    """An SLS that was agreed on holds no longer."""


# -- communities -----------------------------------------------------------------------------------------------------


class OfShare(Kind):
    """What members of a community may have together of what it was given.

    Attributes:
        ends_at: None where it ends when it is withdrawn.
    """

    actor: str
    proof: str = ""
    community: str
    share: str
    members: Names
    rate_bps: int
    ends_at: Instant = None
    hours: tuple[int, ...] = ()
    services: Names = ()


@event("share.given", Of.CONTROLLER)
class ShareGiven(OfShare):
    """A manager shared out something of what its community has, in the place of what had its name."""


@event("share.withdrawn", Of.CONTROLLER)
class ShareWithdrawn(OfShare):
    """A manager took a share away; its members are bound by what else there is."""


# -- controllers -----------------------------------------------------------------------------------------------------


@event("controller.leading", Of.CONTROLLER)
class ControllerLeads(Kind):
    """A controller took the lead; the event's number is its fence."""


@event("controller.fence-raised", Of.CONTROLLER)
class ControllerFenceRaised(Kind):
    """A device had a greater fence than the leader, which goes on above it; the event's number is its new fence."""

    fence_before: int
    fence_of_device: int
    device: str


@event("controller.part-failed", Of.CONTROLLER)
class ControllerPartFailed(Kind):
    """A part of a controller stopped in an unforeseen way."""

    part: str
    message: str


@event("controller.clock-off", Of.CONTROLLER)
class ControllerClockOff(Kind):
    """The controller's clock is wrong: so far behind most routers', or so far ahead of the database's."""

    behind_us: int | None = None
    ahead_of_database_us: int | None = None


@event("controller.clock-right", Of.CONTROLLER)
class ControllerClockRight(Kind):
    """The controller's clock agrees with most routers' again."""

    behind_us: int


@event("controller.clock-set", Of.CONTROLLER)
class ControllerClockSet(Kind):
    """Somebody set the controller's clock, by so much; its devices are armed anew."""

    by_s: float


@event("controller.checked", Of.CONTROLLER)
class ControllerChecked(Kind):
    """All devices were read and have what is wanted until `until`, but for those in `except`; `later`: when others were."""

    read_at: datetime
    until: datetime
    lacking: Annotated[Names, Key("except")]
    later: Mapping[str, str]


@event("controller.check-asked", Of.CONTROLLER)
class CheckRequested(Kind):
    """The controller that leads is to read these devices now, and to repair them."""

    devices: Names
    actor: str
    proof: str = ""
    message: str = ""


@event("controller.check-done", Of.CONTROLLER)
class CheckDone(Kind):
    """It has, as it was asked to by the events of these numbers; `failed` take no push, and why."""

    requests: Annotated[tuple[int, ...], Key("asked")]
    devices: Names
    failed: Mapping[str, str]
