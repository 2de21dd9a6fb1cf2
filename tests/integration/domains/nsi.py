"""Domains of `three` that speak NSI to each other, and a requester of NSI that tests steer; messages go through memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from slotcar.base.problems import SlotcarError
from slotcar.desk.nsi import NsiParts
from slotcar.domains.nsi import soap
from slotcar.domains.nsi.documents import NsiIdentity
from slotcar.domains.nsi.messages import (
    Body,
    Criteria,
    Header,
    NsiMessage,
    NsiSchedule,
    NsiSummaries,
    PointToPoint,
    Query,
    Reserve,
    Simple,
    SoapFault,
    Summary,
)
from slotcar.domains.nsi.names import PROVIDER_VERSION
from slotcar.domains.nsi.provider import NsiCaller, NsiProvider, correlation
from slotcar.domains.nsi.requester import NsiNeighbour, acknowledged
from slotcar.domains.way import NOBODY, Asker
from slotcar.network.model import NsiSide
from tests.integration.domains.three import NOW, World

START, END = NOW + timedelta(hours=1), NOW + timedelta(hours=2)


class NotHeard(SlotcarError):
    """Nobody answers."""


def identity_of(name: str) -> NsiIdentity:
    return NsiIdentity(f"urn:ogf:network:{name}:nsa", f"urn:ogf:network:{name}:topology", f"http://{name}/nsi")


def stp(domain: str, host: str) -> str:
    return f"{identity_of(domain).network}:{host}"


@dataclass(slots=True)
class Telephone:
    """Carries envelopes, and holds each of them against the schemas.

    Attributes:
        parts: of the domains that speak NSI, by name. heard: what came to the requester of the test, at `http://test`.
        deaf: addresses that do not answer. envelopes: everything that was said.
    """

    parts: dict[str, NsiParts] = field(default_factory=dict)
    heard: list[NsiMessage] = field(default_factory=list)
    deaf: set[str] = field(default_factory=set)
    envelopes: list[bytes] = field(default_factory=list)
    lose_callbacks: bool = False

    def post(self, url: str, _kind: str, envelope: bytes) -> bytes:
        message = self._valid(envelope)
        if url in self.deaf:
            raise NotHeard(f"{url} does not answer")
        if url.startswith("http://test"):
            self.heard.append(message)
            return acknowledged(message)
        name, _, side = url.removeprefix("http://").partition("/nsi/")
        parts = self.parts[name]
        if side == "requester":
            if not self.lose_callbacks:
                parts.hear(message)
            return acknowledged(message)
        reply = parts.provider.hear(envelope, NsiCaller("peer", False, lambda _url: True, lambda _right, _owner: None))
        self._valid(reply.content)
        parts.provider.spread(reply.after)
        return reply.content

    def _valid(self, envelope: bytes) -> NsiMessage:
        self.envelopes.append(envelope)
        return soap.read(envelope)

    def add(self, world: World, name: str) -> NsiParts:
        """Has a domain speak NSI, as a provider."""
        agreement, identity, ledger = world.domains[name], identity_of(name), world.ledgers[name]
        spread = agreement.spread
        provider = NsiProvider(
            identity, agreement, ledger.nsi_provided, agreement.segments, self.post, timedelta(days=2),  # type: ignore[arg-type]
            lambda: world.now_at(name), spread,
        )  # fmt: skip
        agreement.watchers.append(provider.changed)
        parts = NsiParts(name, identity, agreement, provider, {}, lambda: world.now_at(name), lambda: None)
        self.parts[name] = parts
        return parts

    def asks(self, world: World, name: str, neighbour: str, stps: dict[str, str]) -> NsiNeighbour:
        """Has a domain ask its neighbour by NSI."""
        other = identity_of(neighbour)
        side = NsiSide(nsa=other.nsa, network=other.network, provider=other.provider, stps=stps)
        agreement, ledger = world.domains[name], world.ledgers[name]
        requester = NsiNeighbour(
            neighbour, name, side, identity_of(name), agreement.network, ledger.nsi_requested, self.post,
            lambda: world.now_at(name),
        )  # fmt: skip
        agreement.foreign = {neighbour: requester}
        parts = self.parts.get(name) or self.add(world, name)
        parts.neighbours = {neighbour: requester}
        return requester


@dataclass(slots=True)
class Requester:
    """A requester of NSI that asks a provider, and hears its callbacks."""

    world: World
    telephone: Telephone
    provider: str
    owner: str = "peer"
    reply_to: str = "http://test"
    last_correlation: str = ""
    asker: Asker = NOBODY

    def send(self, body: Body, *, sees_all: bool = False, run: bool = True) -> Body:
        """The answer at once."""
        self.last_correlation = correlation()
        header = Header(
            self.last_correlation, "urn:ogf:network:test:nsa", identity_of(self.provider).nsa, self.reply_to,
            PROVIDER_VERSION,
        )  # fmt: skip
        caller = NsiCaller(self.owner, sees_all, lambda _url: True, lambda _right, _owner: None, self.asker)
        reply = self.telephone.parts[self.provider].provider.hear(soap.written(NsiMessage(header, body)), caller)
        answer = soap.read(reply.content)
        assert (reply.status == 500) == isinstance(answer.body, SoapFault)
        reply.after()
        if run:
            self.world.run()
        return answer.body

    def reserve(self, mbps: int = 10, **fields: object) -> str:
        """The connection's identifier."""
        criteria = Criteria(0, NsiSchedule(START, END), self.service(mbps))
        answer = self.send(Reserve(replace(criteria, **fields)))  # type: ignore[arg-type]
        assert isinstance(answer, Simple), answer
        return answer.connection

    def service(self, mbps: int) -> PointToPoint:
        return PointToPoint(mbps, stp(self.provider, "anl-premium"), stp(self.provider, "lbnl-premium"))

    def on(self, connection: str, *kinds: str) -> list[str]:
        """What the callbacks say to each of these requests, in order."""
        heard = []
        for kind in kinds:
            self.telephone.heard.clear()
            self.send(Simple(kind, connection))
            heard += self.kinds()
        return heard

    def kinds(self) -> list[str]:
        return [kind_of(each.body) for each in self.telephone.heard]

    def summary(self, connection: str) -> Summary:
        answer = self.send(Query("querySummarySync", (connection,)))
        assert isinstance(answer, NsiSummaries)
        return answer.reservations[0]

    def tick(self, by: timedelta = timedelta(seconds=31)) -> None:
        self.world.tick(by)
        self.telephone.parts[self.provider].tick()
        self.world.run()


def kind_of(body: Body) -> str:
    if isinstance(body, Reserve):
        return "reserveConfirmed" if body.confirmed else "reserve"
    return getattr(body, "kind", type(body).__name__)


def bodies(envelopes: list[bytes]) -> Iterator[Body]:
    return (soap.read(each).body for each in envelopes)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
