"""Connections that carry a reservation: each domain has its segment of the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slotcar.domains.errors import NotThatWay
from slotcar.domains.events import event_of
from slotcar.domains.keys import DomainCertificate, DomainKey
from slotcar.domains.model import Connection, PeerMessage
from slotcar.domains.neighbours import Neighbour, known
from slotcar.domains.subjects import Keeper, RequestedWay
from slotcar.domains.tickets import TicketTerms, checked_ticket, signed_ticket
from slotcar.domains.way import (
    PeerRequest,
    Segment,
    for_next,
    received,
    require_this_way,
    seen_from,
    segment_of,
    segment_of_claim,
)
from slotcar.network import Network
from slotcar.network.path import Path, find_paths
from slotcar_client.wire.events import Kind as EventKind


@dataclass(slots=True)
class OfReservations:
    """`name`: this domain's. foreign: names of the neighbours that speak another protocol."""

    name: str
    network: Network
    key: DomainKey
    keeper: Keeper
    neighbours: Mapping[str, Neighbour]
    foreign: Mapping[str, Any]

    def way(self, text: str, sender: str, now: datetime) -> RequestedWay:
        request = received(text)
        segment = self.segment(request, sender)
        if request.reservation.end <= now:
            raise NotThatWay(f"{self.name}: the reservation is over by this domain's clock")
        return self.begun(request, segment)

    def begun(self, request: PeerRequest, segment: Segment) -> RequestedWay:
        previous = segment.previous.domain if segment.previous else None
        behind = segment.next.domain if segment.next else None
        return RequestedWay(request.to_text(), previous, behind, request.reservation.end)

    def segment(self, request: PeerRequest, sender: str | None, *, check: bool = True) -> Segment:
        """This domain's segment of a request.

        Raises:
            NoPath, NotThatWay; NotAuthentic: the next domain is no neighbour that is known.
        """
        segment = self._segment(request)
        if check:
            require_this_way(request, segment, sender, self.network, self.name)
            if segment.next is not None:
                if segment.next.domain in request.through:
                    raise NotThatWay(f"{self.name}: a loop of domains, the next would be {segment.next.domain} again")
                self._require_asked(segment.next.domain, request)
        return segment

    def _segment(self, request: PeerRequest) -> Segment:
        if request.local.claim is not None:
            return segment_of_claim(request, self.network, self.name)
        return self.flow_segment(request, find_paths(request.local, self.network))

    def flow_segment(self, request: PeerRequest, paths: Sequence[Path]) -> Segment:
        """Its segment of a flow with these paths.

        Raises:
            NotThatWay.
        """
        return seen_from(segment_of(paths, request.local, self.network, self.name), request, self.name)

    def _require_asked(self, neighbour: str, request: PeerRequest) -> None:
        foreign = self.foreign.get(neighbour)
        if foreign is None:
            known(self.neighbours, neighbour, self.name)
        elif why := foreign.cannot(request.reservation):
            raise NotThatWay(f"{self.name}: {why}")

    def for_next(self, text: str) -> str:
        request = PeerRequest.from_text(text)
        return for_next(request, self.segment(request, None, check=False), self.name).to_text()

    def ticket(self, connection: Connection, now: datetime) -> str:
        assert connection.previous is not None
        return signed_ticket(self.key, self._terms(connection, connection.previous), now)

    def checked(
        self, connection: Connection, message: PeerMessage, certificate: DomainCertificate, now: datetime
    ) -> Mapping[str, Any]:
        terms = self._terms(connection, self.name)
        return checked_ticket(message.content, message.sender, certificate, terms, now)

    def slots(self, connection: Connection, now: datetime) -> tuple[bool, datetime | None]:
        windows = PeerRequest.from_text(connection.in_force).reservation.windows
        is_open = any(window.contains(now) for window in windows)
        return is_open, min((at for window in windows for at in window if at > now), default=None)

    def event_of(self, before: Connection | None, after: Connection) -> EventKind | None:
        return event_of(before, after)

    def _terms(self, connection: Connection, receiver: str) -> TicketTerms:
        request = PeerRequest.from_text(connection.request)
        who = f"{request.who}@{request.origin}"
        sls = tuple(
            name for name, each in sorted(self.network.sls.items())
            if each.service is request.reservation.service and receiver in (each.upstream, each.downstream)
            and each.assured_class in ("", request.reservation.assured_class)
            and all(map(each.valid_over, request.reservation.windows))
        )  # fmt: skip
        return TicketTerms(receiver, connection.id, connection.version, request.digest, request.reservation, who, sls)
