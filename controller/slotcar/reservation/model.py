"""`Reservation`: what somebody asked for, frozen, with units in names and time in UTC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import pairwise
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from slotcar.base.assured import class_key
from slotcar.base.frozen import Frozen
from slotcar.base.names import Name, Owner
from slotcar.base.timebase import Window
from slotcar.base.units import MAX_RATE_BPS
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction, IfUnready, OnFailure, Profile, Protocol, Service
from slotcar.reservation.need import VolumeByDeadline

_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Whether the ledger can hold it: PostgreSQL's texts know no NUL and no half of a surrogate pair."""
    return _NOT_STORABLE.search(text) is None


def _storable(text: str) -> str:
    if not is_storable(text):
        raise PydanticCustomError("storable", "has a character that cannot be kept (NUL, or half of a pair)")
    return text


Text = Annotated[str, AfterValidator(_storable)]

#: Ethernet's common payload-carrying packet when the operator states none: a 1500-byte IP packet.
DEFAULT_PACKET_SIZE_BYTES = 1500
#: The assumed longest round-trip time when the operator states none (GARA §5.1 "the assumed maximum").
DEFAULT_RTT_US = 100_000
#: A background reservation's weight is a whole number up to this.
MOST_WEIGHT = 1000
#: The same of TCP: behind a policer that drops, one connection needs a burst of so long to have its rate, whatever its
#: round trip (D7.3 Figure 2; `slotcar lab run policer-burst`).
TCP_RTT_US = 400_000


@dataclass(frozen=True, slots=True)
class Hint:
    """Beside a field's type: what would be right, for who wrote something else."""

    text: str


def _is_none(value: object) -> bool:
    return value is None


def _is_empty(value: tuple[object, ...]) -> bool:
    return not value


class Endpoint(Frozen):
    """An end of a flow: an inventory host's name or an address, and a port that may be bound later (GARA bind)."""

    host: Text
    port: int | None = Field(default=None, ge=1, le=65535)

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The address, where `host` is one and not an inventory name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def is_group(self) -> bool:
        """Whether it is a multicast group and no end system."""
        address = self.address
        return address is not None and address.is_multicast

    def __str__(self) -> str:
        if self.port is None:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, order=True)
class Slot(Window):
    """A half-open window with the payload rates that are asked for in it, bits per second (headers are counted by
    admission).
    """

    forward_bps: int
    reverse_bps: int

    def __post_init__(self) -> None:
        Window.__post_init__(self)
        for rate_bps in (self.forward_bps, self.reverse_bps):
            if not 0 <= rate_bps <= MAX_RATE_BPS:
                raise ValueError(f"a rate is from 0 to {MAX_RATE_BPS} bit/s (got {rate_bps})")

    @property
    def rates(self) -> tuple[int, int]:
        """Forward and reverse, bits per second."""
        return self.forward_bps, self.reverse_bps

    def rate_bps(self, direction: Direction) -> int:
        """The rate of one direction, forward or reverse."""
        return self.forward_bps if direction is Direction.FORWARD else self.reverse_bps


def constant_slots(windows: Iterable[Window], rate_bps: int, direction: Direction) -> tuple[Slot, ...]:
    """One slot for each window, all with the same rate each way that is reserved."""
    forward_bps, reverse_bps = (rate_bps if way in direction.ways else 0 for way in Direction.BOTH.ways)
    return tuple(Slot(window.start, window.end, forward_bps, reverse_bps) for window in windows)


def joined_slots(slots: Iterable[Slot]) -> tuple[Slot, ...]:
    """Slots in order, those joined that touch and have the same rates."""
    joined: list[Slot] = []
    for slot in slots:
        last = joined[-1] if joined else None
        if last is not None and last.end == slot.start and last.rates == slot.rates:
            joined[-1] = replace(last, end=slot.end)
        else:
            joined.append(slot)
    return tuple(joined)


class BackgroundShare(Frozen):
    """How a background reservation takes part in what the others leave of its service (GARA §4.1).

    Attributes:
        weight: its part, against the weights of the other background reservations.
        at_least_bps: payload rate each way that it always has; its slots hold it, and so do the slot tables.
        at_most_bps: payload rate each way that it can use.
    """

    weight: int = Field(default=1, ge=1, le=MOST_WEIGHT)
    at_least_bps: int = Field(default=0, ge=0)
    at_most_bps: int = Field(default=MAX_RATE_BPS, ge=1, le=MAX_RATE_BPS)

    @model_validator(mode="after")
    def _bounds_are_ordered(self) -> Self:
        if self.at_least_bps > self.at_most_bps:
            raise ValueError("at_least is above at_most")
        return self


#: No bound is longer: an hour is no delay of packets.
LONGEST_DELAY_US = 60_000_000


class TimeBound(Frozen):
    """The worst that is promised of a time between a packet's coming and its leaving.

    Attributes:
        at_most_us: of every packet of the reservation that keeps to its rate, burst and packet size.
    """

    at_most_us: int = Field(ge=1, le=LONGEST_DELAY_US)


#: What an operator binds may be any account's.
ANY_ACCOUNT = "*"


class Claim(Frozen):
    """A resource beside the network that is reserved, of the kind of some resource manager.

    Attributes:
        kind: the manager's. place: a host of the inventory.
        request: what was asked, in the keys of the manager's request, as a JSON document.
        accounts: whose processes it may take, accounts of the place or `ANY_ACCOUNT`; nobody's where it names none. The
            controller says it when it is asked, by who asks and by the inventory, whatever the asker wrote (ADR 48).
    """

    kind: Text = Field(description="The resource manager's kind.", examples=["cpu"])
    place: Text = Field(description="A host of the inventory.", examples=["lbnl-data"])
    request: dict[Text, Any] = Field(default_factory=dict, description="What was asked, in the manager's keys.")
    accounts: tuple[Text, ...] = Field(
        default=(),
        description="Whose processes it may take: accounts of the host; `*` is an operator's. The controller's own word.",
        exclude_if=lambda accounts: not accounts,
    )


class Membership(Frozen):
    """The group of which a reservation is a member.

    Attributes:
        group: its name, unique for its owner. on_failure: what becomes of the group when this member cannot be given.
    """

    group: Name = Field(description="The group's name.", examples=["tonight"])
    on_failure: OnFailure = Field(
        default=OnFailure.END_ALL,
        description="When this member cannot be given at its slot's start: end all members, go on without it, or only"
        " report it and keep trying.",
    )


SlotT = TypeVar("SlotT")


class ReservationFields(Frozen, Generic[SlotT]):
    """The one description of a reservation: from these fields, in this order, derive the keys of a file with their errors
    (`written.py`), its JSON Schema and the API's bodies (`schema.py`), documents, the ledger's form, the API's answers and
    the options of `slotcar create`.
    """

    name: Annotated[
        Name, Hint("say 1 to 63 of a-z, 0-9, `.`, `_`, `-`, beginning and ending with a letter or digit")
    ] = Field(description="Unique for its owner; what a later apply matches.", examples=["tonight-cms"])
    owner: Annotated[Owner, Hint("say letters, digits, `@`, `.`, `_` and `-`, at most 128")] = Field(
        description="Whose reservation it is.", examples=["hep"]
    )
    source: Endpoint = Field(description="Where the traffic comes from.")
    destination: Endpoint = Field(description="Where it goes; a multicast group where `receivers` say who gets it.")
    receivers: tuple[Text, ...] = Field(
        default=(), exclude_if=_is_empty,
        description="Who gets what is sent to a multicast group: hosts of the inventory or addresses.",
        examples=["lbnl-premium"],
    )  # fmt: skip
    protocol: Protocol = Field(description="Transport protocol.")
    direction: Direction = Field(
        default=Direction.FORWARD, description="Which way is reserved; forward is from source to destination."
    )
    profile: Profile | None = Field(
        default=None, exclude_if=_is_none,
        description="The kind of application: service, burst and bounds follow from it, where they are not stated.",
    )  # fmt: skip
    service: Service = Field(description="Which service it gets. best-effort and qbss need no rate.")
    assured_class: Annotated[
        str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?$"), Hint("say 1 to 16 of a-z, 0-9 and `-`")
    ] | None = Field(
        default=None, exclude_if=_is_none,
        description="Of the assured rate, the class that it gets in domains that have several.", examples=["gold"],
    )  # fmt: skip
    packet_size_bytes: int = Field(
        default=DEFAULT_PACKET_SIZE_BYTES,
        ge=64,
        le=65535,
        description="Size of the whole IP packet, headers included.",
    )
    rtt_us: int = Field(
        default=DEFAULT_RTT_US, ge=1, le=60_000_000,
        description="Longest round-trip time; the policer's burst follows from it. 400 ms for tcp and 100 ms otherwise,"
        " where it is not stated.",
    )  # fmt: skip
    delay: TimeBound | None = Field(
        default=None, exclude_if=_is_none,
        description="The worst one-way delay, from the first router that polices it to the last one's line, that is"
        " promised each way; refused where it cannot be.",
    )  # fmt: skip
    jitter: TimeBound | None = Field(
        default=None, exclude_if=_is_none,
        description="The most by which the delays of two packets may differ, promised likewise.",
    )  # fmt: skip
    slots: tuple[SlotT, ...] = Field(min_length=1)
    share: BackgroundShare | None = Field(
        default=None,
        description="Makes it a background reservation: of what the others leave of the service it gets the part of its"
        " weight, between its bounds.",
    )
    need: VolumeByDeadline | None = Field(
        default=None,
        description="A volume by a deadline, where that is asked for; `slots` are its present profile then.",
    )
    recurrence: Text | None = Field(
        default=None, description="An RRULE (RFC 5545) that ends.", examples=["FREQ=DAILY;COUNT=14"]
    )
    timezone: Text | None = Field(
        default=None,
        description="Whose wall clock recurrence and hours follow; the start's own zone by default.",
        examples=["Europe/Zurich", "+01:00"],
    )
    via: tuple[Text, ...] = Field(
        default=(), description="Routers that the path must cross, in order; the shortest path otherwise."
    )
    if_unready: IfUnready = Field(
        default=IfUnready.DELAY,
        description="What becomes of the slot when a router of its path cannot be made ready: begin late, begin on the"
        " others, be cancelled before it begins, or begin late with operators called.",
    )
    labels: dict[Text, Text] = Field(default_factory=dict, description="Texts of your own, to find it by.")
    claim: Claim | None = Field(
        default=None,
        exclude_if=_is_none,
        description="Of a member of a group that is no flow: what it reserves in its slots. Both ends are its place then.",
    )
    together: Membership | None = Field(
        default=None, exclude_if=_is_none, description="The group that it is a member of, where it is of one."
    )


class Reservation(ReservationFields[Slot]):
    """A request for a service between two endpoints, with a rate each way in each of its slots.

    Attributes:
        slots: when it is wanted and how much, ascending and disjoint. One constant rate over one window is one slot.
        need: what is asked for by volume; its slots are the present profile, chosen by admission (before that, the
            constant rate that would do).
        packet_size_bytes, rtt_us: GARA §5.1 needs them to count headers and for the size of bursts.
        recurrence: the RRULE (RFC 5545) that `slots` was expanded from.
        timezone: where recurrence and hours of the day were expanded, `Europe/Zurich` or `+01:00`; None without either.
        released: its room is kept, and no router is given it, also in its slots (NSI CS's `Released`). The controller's own
            word: no file says it.
    """

    released: bool = Field(default=False, exclude_if=lambda released: not released)

    @model_validator(mode="after")
    def _slots_are_ordered(self) -> Self:
        for earlier, later in pairwise(self.slots):
            if earlier.end > later.start:
                raise ValueError(f"slots overlap: {earlier} and {later}")
        return self

    @model_validator(mode="after")
    def _rates_fit_direction_and_service(self) -> Self:
        for slot in self.slots:
            for way in Direction.BOTH.ways:
                if way not in self.direction.ways and slot.rate_bps(way):
                    raise ValueError(f"a rate is given for {way.value}, which is not reserved")
            if self.service in RESERVED_SERVICES and not self.share and not any(slot.rates):
                raise ValueError(f"{self.service.value} needs a rate above 0 in every slot")
        return self

    @model_validator(mode="after")
    def _only_the_assured_rate_has_classes(self) -> Self:
        if self.assured_class is not None and self.service is not Service.ASSURED_RATE:
            raise ValueError(f"{self.service.value} has no assured class")
        return self

    @model_validator(mode="after")
    def _a_claim_has_no_rate(self) -> Self:
        if self.claim is not None and (self.service in RESERVED_SERVICES or self.peak_rate_bps):
            raise ValueError("a claim is no flow, and has no rate")
        if self.claim is not None and {self.source.host, self.destination.host} != {self.claim.place}:
            raise ValueError("the ends of a claim are its place")
        return self

    @model_validator(mode="after")
    def _a_group_has_receivers_and_one_way(self) -> Self:
        if self.destination.is_group != bool(self.receivers):
            raise ValueError("a multicast group has receivers, and nothing else has")
        if self.receivers and (self.direction is not Direction.FORWARD or self.via or self.share):
            raise ValueError("what is sent to a multicast group goes one way, along its tree, and is no share")
        if len(set(self.receivers)) < len(self.receivers):
            raise ValueError("a receiver is there twice")
        return self

    @model_validator(mode="after")
    def _need_stands_alone(self) -> Self:
        if self.need is None:
            return self
        if self.service not in RESERVED_SERVICES:
            raise ValueError(f"{self.service.value} is promised no rate, and so no volume")
        if self.recurrence is not None or self.timezone is not None or self.share is not None:
            raise ValueError("a volume by a deadline does not recur, and is no share")
        return self

    @model_validator(mode="after")
    def _a_bound_is_for_a_rate_that_is_known(self) -> Self:
        if not self.is_bounded:
            return self
        if self.service not in RESERVED_SERVICES:
            raise ValueError(f"{self.service.value} is promised no rate, and so no delay")
        if self.need is not None or self.share is not None:
            raise ValueError(
                "a bound of delay or jitter is for a rate of its own: not for a volume, and not for a share"
            )
        return self

    @model_validator(mode="after")
    def _slots_of_a_share_hold_what_it_always_has(self) -> Self:
        if self.share is None:
            return self
        if self.service not in RESERVED_SERVICES:
            raise ValueError(f"{self.service.value} promises no rate, so it has no share of one")
        own = constant_slots(self.windows, self.share.at_least_bps, self.direction)
        if any(slot.rates != own[0].rates for slot in self.slots):
            raise ValueError("the slots of a share hold its at_least_bps each way that is reserved")
        return self

    @classmethod
    def constant(cls, *, windows: Iterable[Window], rate_bps: int, **fields: Any) -> Self:
        """The simplest case: one rate over every window, each way that is reserved.

        Raises:
            ValidationError: see the class.
        """
        direction = Direction(fields.get("direction", Direction.FORWARD))
        return cls(slots=constant_slots(windows, rate_bps, direction), **fields)

    def over(self, windows: Iterable[Window]) -> Self:
        """The same with its one rate over other windows.

        Raises:
            ValueError: it has several rates.
        """
        rate_bps = self.constant_rate_bps
        if rate_bps is None:
            raise ValueError(f"{self.owner}/{self.name} has several rates")
        return self.model_copy(update={"slots": constant_slots(windows, rate_bps, self.direction)})

    @property
    def service_class(self) -> str:
        """Its service, with its class of the assured rate where it names one: `assured-rate/gold`."""
        return class_key(self.service, self.assured_class or "")

    @property
    def key(self) -> tuple[str, str]:
        """What a later apply matches on: names are unique per owner."""
        return (self.owner, self.name)

    @property
    def group_key(self) -> tuple[str, str] | None:
        """Owner and name of the group that it is a member of."""
        return None if self.together is None else (self.owner, self.together.group)

    @property
    def ways(self) -> tuple[Direction, ...]:
        """The direction of each of its paths: to each receiver of a multicast group leads one."""
        return (Direction.FORWARD,) * len(self.receivers) if self.receivers else self.direction.ways

    @property
    def is_bounded(self) -> bool:
        """Whether a worst delay, or a worst jitter, is promised."""
        return self.delay is not None or self.jitter is not None

    @property
    def start(self) -> datetime:
        return self.slots[0].start

    @property
    def end(self) -> datetime:
        """When nothing of it is to come any more: of a need its deadline, until which it may ask for more."""
        return self.slots[-1].end if self.need is None else max(self.need.by, self.slots[-1].end)

    @property
    def windows(self) -> tuple[Window, ...]:
        """Each time from a start to the end of what follows it without a gap. Where slots touch only the rate changes;
        two that touch with equal rates are two occurrences of a recurrence.
        """
        windows: list[Window] = []
        last: Slot | None = None
        for slot in self.slots:
            if last is not None and last.end == slot.start and last.rates != slot.rates:
                windows[-1] = Window(windows[-1].start, slot.end)
            else:
                windows.append(Window(slot.start, slot.end))
            last = slot
        return tuple(windows)

    @property
    def rate_changes(self) -> tuple[datetime, ...]:
        """Instants inside a window at which the rate changes."""
        starts = {window.start for window in self.windows}
        return tuple(slot.start for slot in self.slots if slot.start not in starts)

    @property
    def constant_rate_bps(self) -> int | None:
        """The rate of every slot and every reserved direction; None where there is more than one."""
        rates = {slot.rate_bps(way) for slot in self.slots for way in self.direction.ways}
        return rates.pop() if len(rates) == 1 else None

    @property
    def peak_rate_bps(self) -> int:
        """The highest rate of any slot and direction."""
        return max(max(slot.rates) for slot in self.slots)

    def to_document(self) -> dict[str, Any]:
        """A JSON-ready form that `from_document` reads back unchanged; the ledger stores it."""
        return self.model_dump(mode="json")

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Reservation:
        return cls.model_validate(document)
