"""Connections about an SLS between two neighbours: one domain asks, the other agrees, and both keep it (ADR 93)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from slotcar.base.timebase import Window
from slotcar.book.agreed_slss import AgreedSls
from slotcar.domains.errors import NotThatWay
from slotcar.domains.keys import DomainCertificate, DomainKey
from slotcar.domains.model import Connection, PeerMessage
from slotcar.domains.sls_requests import SlsRequest
from slotcar.domains.subjects import Keeper, RequestedWay
from slotcar.domains.tickets import claims_for, ticket_of
from slotcar.network import Network
from slotcar_client.wire.events import Kind as EventKind


class SlsKeeper(Keeper, Protocol):
    """The domain's own ledger, for SLSs."""

    def tick(self, now: datetime) -> None:
        """What time brings."""

    def slss(self) -> Sequence[AgreedSls]:
        """Those that were agreed on, or are held, by now; those that are over too."""

    def promises(self, name: str, now: datetime) -> Sequence[tuple[Window, int]]:
        """What is promised of an SLS from now on: layer-3 rates in bit/s, and when."""


@dataclass(slots=True)
class OfSlss:
    """`name`: this domain's. keeper: its ledger."""

    name: str
    network: Network
    key: DomainKey
    keeper: SlsKeeper

    def tick(self, now: datetime) -> None:
        """Takes over what another controller of the domain agreed on, and tells of what has ended."""
        self.keeper.tick(now)

    def way(self, text: str, sender: str, now: datetime) -> RequestedWay:
        request = self.request(text)
        parties = {request.sls.upstream, request.sls.downstream}
        if request.origin != sender or parties != {sender, self.name}:
            raise NotThatWay(
                f"{self.name}: {sender} asks for an SLS between {request.sls.upstream} and {request.sls.downstream},"
                f" in the name of {request.origin}"
            )
        if not request.of and request.form.end <= now:
            raise NotThatWay(f"{self.name}: the SLS {request.sls.name} is over by this domain's clock")
        return RequestedWay(request.to_text(own=False), sender, None, request.until)

    def begun(self, request: SlsRequest) -> RequestedWay:
        """Of a request of this domain's own."""
        return RequestedWay(request.to_text(own=True), None, request.other, request.until)

    def request(self, text: str) -> SlsRequest:
        return SlsRequest.from_text(text, self.network)

    def for_next(self, text: str) -> str:
        return self.request(text).to_text(own=False)

    def ticket(self, connection: Connection, now: datetime) -> str:
        assert connection.previous is not None
        request = self.request(connection.request)
        covers = {name: value for name, value, _ in _covers(connection, request, connection.previous)}
        return ticket_of(self.key, {**covers, "sls": [request.sls.name]}, connection.ends, now)

    def checked(
        self, connection: Connection, message: PeerMessage, certificate: DomainCertificate, now: datetime
    ) -> Mapping[str, Any]:
        names = _covers(connection, self.request(connection.request), self.name)
        return claims_for(message.content, message.sender, certificate, names, now)

    def slots(self, connection: Connection, now: datetime) -> tuple[bool, datetime | None]:
        return False, None  # devices get it with their configuration, and no slot is told of

    def event_of(self, before: Connection | None, after: Connection) -> EventKind | None:
        return None  # the ledger tells of it, in the transaction in which it takes it


def _covers(connection: Connection, request: SlsRequest, receiver: str) -> list[tuple[str, object, str]]:
    return [
        ("aud", receiver, "is for another domain"),
        ("sub", connection.id, "is for another connection"),
        ("version", connection.version, "is for another version"),
        ("digest", request.digest, "is for another request"),
    ]
