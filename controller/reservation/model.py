"""`Reservation`: what somebody asked for, frozen, with units in names and time in UTC."""

from __future__ import annotations

from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from controller.timebase import Window
from controller.units import MAX_RATE_BPS
from controller.vocabulary import Direction, IfUnready, Protocol, Service


def is_storable(text: str) -> bool:
    """Whether the ledger can hold it: PostgreSQL's texts know no NUL and no half of a surrogate pair."""
    return not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text)


def _storable(text: str) -> str:
    if not is_storable(text):
        raise PydanticCustomError("storable", "has a character that cannot be kept (NUL, or half of a pair)")
    return text


Text = Annotated[str, AfterValidator(_storable)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$")]
Owner = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9@._-]{0,126}[A-Za-z0-9])?$")]

#: Ethernet's common payload-carrying packet when the operator states none: a 1500-byte IP packet.
DEFAULT_PACKET_SIZE_BYTES = 1500
#: The assumed longest round-trip time when the operator states none (GARA §5.1 "the assumed maximum").
DEFAULT_RTT_US = 100_000
#: The same of TCP: behind a policer that drops, one connection needs a burst of so long to have its rate, whatever its
#: round trip (D7.3 Figure 2; `slotcar lab run policer-burst`).
TCP_RTT_US = 400_000


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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

    def __str__(self) -> str:
        if self.port is None:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Reservation(Frozen):
    """A request for a service between two endpoints over one window, or over each occurrence of a recurrence.

    Attributes:
        rate_bps: payload rate of each reserved direction, bits per second (headers are counted by admission).
        packet_size_bytes: size of a whole IP packet, headers included (GARA §5.1 needs it to count headers).
        rtt_us: the longest round-trip time to be expected, microseconds (GARA §5.1, burst size).
        windows: when it is wanted, ascending and disjoint; more than one only with `recurrence`.
        recurrence: the RRULE (RFC 5545) that `windows` was expanded from.
        timezone: where the recurrence was expanded, `Europe/Zurich` or `+01:00`; None without a recurrence.
        via: device names that the path must cross, in order; empty for the shortest path.
        if_unready: what becomes of a slot when a device of the path cannot be made ready; `refuse` only for one slot.
    """

    name: Name
    owner: Owner
    source: Endpoint
    destination: Endpoint
    protocol: Protocol
    direction: Direction = Direction.FORWARD
    service: Service
    rate_bps: int = Field(ge=0, le=MAX_RATE_BPS)
    packet_size_bytes: int = Field(default=DEFAULT_PACKET_SIZE_BYTES, ge=64, le=65535)
    rtt_us: int = Field(default=DEFAULT_RTT_US, ge=1, le=60_000_000)
    windows: tuple[Window, ...] = Field(min_length=1)
    recurrence: Text | None = None
    timezone: Text | None = None
    via: tuple[Text, ...] = ()
    if_unready: IfUnready = IfUnready.DELAY
    labels: dict[Text, Text] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _windows_are_ordered(self) -> Self:
        for earlier, later in zip(self.windows, self.windows[1:], strict=False):
            if earlier.end > later.start:
                raise ValueError(f"occurrences overlap: {earlier} and {later}")
        return self

    @property
    def key(self) -> tuple[str, str]:
        """What a later apply matches on: names are unique per owner."""
        return (self.owner, self.name)

    @property
    def start(self) -> datetime:
        return self.windows[0].start

    @property
    def end(self) -> datetime:
        return self.windows[-1].end

    def to_document(self) -> dict[str, Any]:
        """A JSON-ready form that `from_document` reads back unchanged; the ledger stores it."""
        return self.model_dump(mode="json")

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Reservation:
        return cls.model_validate(document)
