"""A request's way over the domains: this domain's segment of it, who is before and behind, and the links between them.

Two domains need not call a link alike: they agree on it by the addresses of its two ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from slotcar.base.vocabulary import Direction
from slotcar.domains.claims import domain_of, next_towards, with_address
from slotcar.domains.delays import Parts, parts_of
from slotcar.domains.errors import NotThatWay
from slotcar.domains.model import MOST_DOMAINS
from slotcar.domains.tickets import digest_of
from slotcar.domains.volumes import Volume
from slotcar.network import Network
from slotcar.network.model import InterfaceId
from slotcar.network.path import Path, find_paths
from slotcar.policy.reserving import ATTESTATION, COMMUNITY, CONNECTION
from slotcar.reservation.model import Reservation
from slotcar_client.wire.actor import Actor

LABEL = CONNECTION


@dataclass(frozen=True, slots=True)
class Border:
    """A link to another domain: addresses of its two ends, this domain's first."""

    domain: str
    own: str
    other: str


@dataclass(frozen=True, slots=True)
class Segment:
    """This domain's part of a way: None where the way begins, or ends, in it."""

    previous: Border | None
    next: Border | None


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asked for a connection in its first domain; `kept`: see `slotcar.policy.recalling`."""

    name: str = ""
    kept: Mapping[str, Any] | None = None

    @property
    def actor(self) -> Actor:
        return Actor(self.name, str((self.kept or {}).get("proof", "")))


#: The domain itself, which acts for the owner.
NOBODY = Asker()


@dataclass(frozen=True, slots=True)
class PeerRequest:
    """What is asked of a domain. Nobody on the way changes it but for `through`, `own` and `other`, which each says anew.

    Attributes:
        reservation: with the addresses of its ends. who, origin: its owner, and the domain that calls it so.
        through: the domains that were asked already, in order. own, other: the addresses of the link's ends, as the asker
            has them: that of the receiver, and its own.
        written: in the first domain, the reservation as its owner wrote it; nobody else gets that.
        actor, requester: there, who asked for it; see `slotcar.policy.recalling`.
        volume: there, what the slots are to move, where that was asked for.
        parts: of a bound of delay, what each domain promises.
        ended_by: who ended the connection in this domain; None where nobody did.
        is_onward: there, of what is before this domain on the way somebody else takes care: a requester of NSI asks each
            provider for its part.
    """

    reservation: Reservation
    who: str
    origin: str
    through: tuple[str, ...]
    own: str = ""
    other: str = ""
    written: Reservation | None = None
    actor: str = ""
    requester: Mapping[str, Any] | None = None
    volume: Volume | None = None
    parts: Parts = field(default_factory=dict)
    ended_by: Asker | None = None
    is_onward: bool = False

    @property
    def asker(self) -> Asker:
        return Asker(self.actor, self.requester)

    @property
    def local(self) -> Reservation:
        """The reservation as its own domain looks for its path."""
        return self.written or self.reservation

    @property
    def digest(self) -> str:
        document = {"reservation": self.reservation.to_document(), "who": self.who, "origin": self.origin}
        return digest_of({**document, "parts": self._parts} if self.parts else document)

    @property
    def _parts(self) -> dict[str, Any]:
        return {name: part.to_document() for name, part in self.parts.items()}

    def to_text(self) -> str:
        document: dict[str, Any] = {
            "reservation": self.reservation.to_document(),
            "who": self.who,
            "origin": self.origin,
            "through": list(self.through),
            "own": self.own,
            "other": self.other,
            "written": self.written.to_document() if self.written else None,
        }
        if self.actor:
            document |= {"actor": self.actor, "requester": self.requester}
        if self.ended_by:
            document["ended_by"] = {"actor": self.ended_by.name, "requester": self.ended_by.kept}
        if self.is_onward:
            document["is_onward"] = True
        if self.parts:
            document["parts"] = self._parts
        if self.volume:
            document["volume"] = self.volume.to_document()
        return json.dumps(document, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> PeerRequest:
        """
        Raises:
            NotThatWay: it is none.
        """
        return _request_of(text)


#: Each step of a connection reads its request again.
@lru_cache(maxsize=256)
def _request_of(text: str) -> PeerRequest:
    try:
        document: dict[str, Any] = json.loads(text)
        through = tuple(document["through"])
        texts = [document["who"], document["origin"], *through, document["own"], document["other"]]
        if not all(isinstance(each, str) and each.isprintable() and len(each) <= 128 for each in texts):
            raise ValueError
        reservation = Reservation.from_document(document["reservation"])
        written = Reservation.from_document(document["written"]) if document.get("written") else None
        ends = document["own"], document["other"]
        asker = str(document.get("actor", "")), document.get("requester")
        volume = Volume.from_document(document["volume"]) if document.get("volume") else None
        parts, by = parts_of(document.get("parts", {})), document.get("ended_by")
        ended_by = Asker(str(by["actor"]), by["requester"]) if by else None
        is_onward = document.get("is_onward") is True
        return PeerRequest(
            reservation, texts[0], texts[1], through, *ends, written, *asker, volume, parts, ended_by, is_onward
        )
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError, ValidationError) as error:
        raise NotThatWay("what was asked is no request between domains") from error


def received(text: str) -> PeerRequest:
    """A neighbour's request, without what each domain says of its own clients alone.

    Raises:
        NotThatWay: it is none, or of a kind that only one domain can carry.
    """
    request = PeerRequest.from_text(text)
    _require_portable(request.reservation)
    return replace(
        request,
        reservation=_without_own(request.reservation),
        written=None,
        volume=None,
        actor="",
        requester=None,
        ended_by=None,
        is_onward=False,
    )


def segment_of(paths: Sequence[Path], reservation: Reservation, network: Network, own: str) -> Segment:
    """The own part of a reservation's paths.

    Raises:
        NotThatWay: the way crosses the domain twice or not at all, or its two directions cross other links.
    """
    segments = {
        _segment(path, network, own, reverse=way is Direction.REVERSE)
        for way, path in zip(reservation.ways, paths, strict=True)
    }
    if len(segments) > 1:
        raise NotThatWay(f"{own}: the way back crosses other borders of {own} than the way there")
    return segments.pop()


def segment_of_claim(request: PeerRequest, network: Network, own: str) -> Segment:
    """The own part of the way to a claim's host: domains alone, as no link carries anything of it.

    Raises:
        NoPath, NotThatWay: the host is not known, or no way to it.
    """
    host_domain = domain_of(request.local, network)
    previous = Border(request.through[-1], "", "") if request.through else None
    behind = None if host_domain == own else Border(next_towards(host_domain, own, network), "", "")
    return Segment(previous, behind)


def _segment(path: Path, network: Network, own: str, *, reverse: bool) -> Segment:
    hops = path.hops[::-1] if reverse else path.hops
    domains = [network.devices[hop.device].domain for hop in hops]
    numbers = [index for index, domain in enumerate(domains) if domain == own]
    if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
        crossing = "twice" if numbers else "not at all"
        raise NotThatWay(f"{own}: the way from {path.source} to {path.destination} crosses {own} {crossing}")
    first, last = numbers[0], numbers[-1]
    entering = hops[first].egress if reverse else hops[first].ingress
    leaving = hops[last].ingress if reverse else hops[last].egress
    return Segment(
        _border(entering, domains[first - 1], network) if first else None,
        _border(leaving, domains[last + 1], network) if last + 1 < len(hops) else None,
    )


def _border(interface: InterfaceId, domain: str, network: Network) -> Border:
    own = network.interface(interface)
    other = network.interface(own.neighbour) if own.neighbour and network.has([own.neighbour]) else None
    return Border(domain, own.own_address, other.own_address if other else "")


def for_next(request: PeerRequest, segment: Segment, own: str) -> PeerRequest:
    """The request as the next domain gets it."""
    assert segment.next is not None
    return PeerRequest(
        request.reservation,
        request.who,
        request.origin,
        (*request.through, own),
        segment.next.other,
        segment.next.own,
        parts=request.parts,
    )


def require_this_way(request: PeerRequest, segment: Segment, sender: str | None, network: Network, own: str) -> None:
    """
    Raises:
        NotThatWay: a loop; it comes by another link, or from another domain, than the way that this domain knows; or those
            who are said to have been asked before are not who can have been.
    """
    if own in request.through or len(request.through) > MOST_DOMAINS:
        raise NotThatWay(f"{own}: a loop of domains, {' → '.join((*request.through[-MOST_DOMAINS:], own))}")
    if sender is None:
        return
    _require_row(request, sender, own)
    if segment.previous is None or segment.previous.domain != sender:
        comes_from = segment.previous.domain if segment.previous else f"an end system of {own}"
        raise NotThatWay(f"{own}: this way comes from {comes_from}, and not from {sender}")
    for what, ours, theirs in (
        ("end", segment.previous.own, request.own),
        (f"end at {sender}", segment.previous.other, request.other),
    ):
        if ours and theirs and ours != theirs:
            raise NotThatWay(
                f"{own}: {sender} asks for the link whose {what} is {theirs}, and here it is {ours}: have the two"
                " inventories name the same link"
            )


def _require_row(request: PeerRequest, sender: str, own: str) -> None:
    """The origin names the owner, and the last of the row is whose total it counts to: no neighbour says them of others.

    Raises:
        NotThatWay.
    """
    row = request.through
    if not row or row[0] != request.origin or row[-1] != sender or len(set(row)) < len(row):
        listed = " → ".join(row[-MOST_DOMAINS:]) or "nobody"
        raise NotThatWay(
            f"{own}: {sender} asks for {request.who} of {request.origin}, and names {listed} as asked before:"
            f" they are to be from {request.origin} to {sender}, each once"
        )


def seen_from(segment: Segment, request: PeerRequest, own: str) -> Segment:
    """The segment as the row of domains is asked: from the first domain on, also where the traffic ends there.

    Raises:
        NotThatWay: the first domain is neither where the way begins, nor where it ends.
    """
    before, behind = segment.previous, segment.next
    if request.through:
        return Segment(behind, before) if behind is not None and behind.domain == request.through[-1] else segment
    if before is None:
        return segment
    if request.is_onward:
        return Segment(None, behind)
    if behind is not None:
        raise NotThatWay(
            f"{own}: this way goes from {before.domain} through {own} to {behind.domain}: ask in the domain where it begins"
            " or ends"
        )
    return Segment(None, before)


def for_others(reservation: Reservation, network: Network) -> Reservation:
    """The reservation as other domains get it: with addresses for names, and without what is this domain's own business;
    what its community has signed goes along unchanged.

    Raises:
        NoPath: an end of it is not known. NotThatWay: it is of a kind that only one domain can carry.
    """
    if reservation.claim is not None:
        return _without_own(with_address(reservation, network))
    return plain(reservation, find_paths(reservation, network))


def plain(reservation: Reservation, paths: Sequence[Path]) -> Reservation:
    """A flow as other domains get it; see `for_others`.

    Raises:
        NotThatWay: it is of a kind that only one domain can carry.
    """
    _require_portable(reservation)
    forward = reservation.direction is not Direction.REVERSE
    source, destination = paths[0].source_address, paths[0].destination_address
    if not forward:
        source, destination = destination, source
    ends = {
        "source": reservation.source.model_copy(update={"host": source}),
        "destination": reservation.destination.model_copy(update={"host": destination}),
    }
    return _without_own(reservation.model_copy(update=ends))


def _require_portable(reservation: Reservation) -> None:
    """
    Raises:
        NotThatWay: it is of a kind that only one domain can carry.
    """
    kinds = {
        "a volume by a deadline, whose slots are not found yet,": reservation.need,
        "a member of a group": reservation.together,
        "what is sent to a multicast group": reservation.receivers or None,
    }  # fmt: skip
    for what, value in kinds.items():
        if value is not None:
            raise NotThatWay(f"{what} cannot cross domains that have a controller each: ask for a rate over windows")


def _without_own(reservation: Reservation) -> Reservation:
    return reservation.model_copy(
        update={
            "labels": {key: one for key, one in reservation.labels.items() if key in (COMMUNITY, ATTESTATION)},
            "released": False,
            "via": (),
        }
    )
