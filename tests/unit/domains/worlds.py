"""Domains in a row with ledgers of a few words, as a graph of states: what the model checks and random runs go through.

A message that was sent may arrive at any time, again, or never. A ledger does a thing and its domain may crash before it
has noted that. Holds end by themselves until they are kept.

A world is made of numbers: each connection and each message that was ever seen has one, and a set of messages is a number
whose bits they are. What a connection does is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from slotcar.domains import protocol
from slotcar.domains.model import SETTLED, Connection, ConnectionPhase, Deed, DeedResult, Kind, PeerMessage

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
LATE = NOW + timedelta(hours=1)
ENDS = NOW + timedelta(days=2)
NAMES = ("anl", "esnet", "lbnl")
Client = Callable[[Connection], Connection]


class LedgerWords(NamedTuple):
    """`in_force`: the version that the ledger has committed. `pending`: the one that it holds; `kept` until a decision."""

    in_force: int = 0
    pending: int = 0
    kept: bool = False


class World(NamedTuple):
    """`connections`: their numbers, 0 for none. `sent`: the messages' bits. `clients`: how many steps a client did."""

    connections: tuple[int, ...]
    ledgers: tuple[LedgerWords, ...]
    sent: int = 0
    clients: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """What may go wrong, and what clients do.

    Attributes:
        refuses: a ledger may refuse to hold. breaks: one may refuse to commit what it held.
        times_out: holds may run out at any time. crashes: a domain may forget what its ledger has just done.
        forgets: a domain may lose what it knew of a connection in force, as where an old backup is restored.
        client: what the client does to the first connection, in order.
    """

    refuses: bool = True
    breaks: bool = False
    times_out: bool = True
    crashes: bool = True
    forgets: bool = False
    client: tuple[Client, ...] = ()


@dataclass(slots=True)
class Row:
    """Domains in a row, and what was seen of them."""

    names: tuple[str, ...]
    rules: Rules
    connections: list[Connection | None] = field(default_factory=lambda: [None])
    messages: list[PeerMessage] = field(default_factory=list)
    _numbers: dict[Connection | None, int] = field(default_factory=lambda: {None: 0})
    _bits: dict[PeerMessage, int] = field(default_factory=dict)
    _says: dict[int, int] = field(default_factory=dict)
    _arrivals: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def first_world(self, *, by_agent: bool = False, waits: bool = False) -> World:
        next_name = self.names[1] if len(self.names) > 1 else None
        first = protocol.begun("c", self.names[0], (None, next_name), "v1", ENDS, NOW, by_agent=by_agent, waits=waits)
        # Of an agent: it has asked each of them.
        others = [self._fresh(index, "v1", by_agent) if by_agent else None for index in range(1, len(self.names))]
        numbers = tuple(map(self.number, (first, *others)))
        sent = 0
        for number in numbers:
            sent |= self._spoken(number)
        return World(numbers, (LedgerWords(),) * len(self.names), sent)

    def connection(self, world: World, index: int) -> Connection | None:
        return self.connections[world.connections[index]]

    def number(self, connection: Connection | None) -> int:
        number = self._numbers.get(connection)
        if number is None:
            number = self._numbers[connection] = len(self.connections)
            self.connections.append(connection)
        return number

    def steps(self, world: World) -> Iterator[tuple[str, World]]:
        """Everything that may happen next."""
        for index, number in enumerate(world.connections):
            if number:
                yield from self._own_steps(world, index)
        yield from self.arrivals(world)
        yield from self._client_steps(world)

    def arrivals(self, world: World) -> Iterator[tuple[str, World]]:
        sent, bit = world.sent, 0
        while sent >> bit:
            if sent >> bit & 1:
                message = self.messages[bit]
                index = self.names.index(message.receiver)
                before = world.connections[index]
                after, spoken = self._arrival(before, bit)
                if after != before or spoken & ~sent:
                    yield _words(message), self._with(world, index, after, spoken=spoken)
            bit += 1

    def _arrival(self, number: int, bit: int) -> tuple[int, int]:
        """The connection's number after a message, and what is spoken by that."""
        known = self._arrivals.get((number, bit))
        if known is None:
            known = self._arrivals[number, bit] = self._arrived(number, self.messages[bit])
        return known

    def _arrived(self, number: int, message: PeerMessage) -> tuple[int, int]:
        before = self.connections[number]
        spoken = 0
        after: Connection | None
        if message.kind is Kind.RESERVE and (before is None or _is_next(before, message)):
            index = self.names.index(message.receiver)
            after = (
                self._fresh(index, message.content, False)
                if before is None else protocol.changed(before, message.content, ENDS, NOW, message.version)
            )  # fmt: skip
        else:
            after, reply = protocol.receive(before, message, NOW)
            spoken |= self._bit(reply)
        return self.number(after), spoken | self._news(before, after)

    def _own_steps(self, world: World, index: int) -> Iterator[tuple[str, World]]:
        connection, ledger, rules = self.connection(world, index), world.ledgers[index], self.rules
        assert connection is not None
        name, number = connection.domain, world.connections[index]
        for item in protocol.todo(connection, NOW):
            if isinstance(item, PeerMessage):
                continue
            for why, after in outcomes(ledger, item, connection.version, rules):
                if after != ledger and rules.crashes:
                    yield f"{name} does {item.value} and crashes", self._with(world, index, number, after)
                noted = protocol.done(connection, DeedResult(item, connection.version, why))
                spoken = self._news(connection, noted)
                yield (
                    f"{name} does {item.value}: {why or 'done'}",
                    self._with(world, index, self.number(noted), after, spoken),
                )
        if rules.forgets and connection.phase is ConnectionPhase.START and all(world.connections):
            yield f"{name} forgets", self._forgotten(world, index)
        if not rules.times_out:
            return
        late = protocol.elapsed(connection, LATE)
        if late != connection:
            spoken = self._news(connection, late)
            yield f"time of {name} runs out", self._with(world, index, self.number(late), ledger, spoken)
        if ledger.pending and not ledger.kept and not ledger.in_force:
            yield f"hold of {name} runs out", self._with(world, index, number, LedgerWords(ledger.in_force))

    def _forgotten(self, world: World, index: int) -> World:
        """A domain has lost all; what was on the way before is too old for the others, who say again what they say."""
        without = self._with(world, index, 0, LedgerWords())
        spoken = 0
        for number in without.connections:
            spoken |= self._spoken(number)
        return without._replace(sent=spoken)

    def _client_steps(self, world: World) -> Iterator[tuple[str, World]]:
        first = self.connection(world, 0)
        if first is None or world.clients >= len(self.rules.client):
            return
        try:
            after = self.rules.client[world.clients](first)
        except protocol.NotNow:
            return
        changed = self._with(world, 0, self.number(after))
        yield f"client's step {world.clients}", changed._replace(clients=world.clients + 1)

    def _with(
        self, world: World, index: int, number: int, ledger: LedgerWords | None = None, spoken: int = 0
    ) -> World:
        connections = (*world.connections[:index], number, *world.connections[index + 1 :])
        ledgers = world.ledgers
        if ledger is not None:
            ledgers = (*ledgers[:index], ledger, *ledgers[index + 1 :])
        return World(connections, ledgers, world.sent | spoken | self._spoken(number), world.clients)

    def _spoken(self, number: int) -> int:
        """What a connection says by its state; saying is free, and hearing is not sure."""
        if number not in self._says:
            connection, spoken = self.connections[number], 0
            for now in (NOW, LATE) if connection is not None else ():
                for item in protocol.todo(connection, now):  # type: ignore[arg-type]
                    spoken |= self._bit(item) if isinstance(item, PeerMessage) else 0
            if connection is not None and connection.phase is ConnectionPhase.START:
                for question in protocol.questions(connection):
                    spoken |= self._bit(question)
            if connection is not None and connection.by_agent and connection.in_doubt:
                spoken |= self._bit(_ticket(connection))
            self._says[number] = spoken
        return self._says[number]

    def _news(self, before: Connection | None, after: Connection | None) -> int:
        return self._bit(protocol.news(before, after)) if after is not None else 0

    def _bit(self, message: PeerMessage | None) -> int:
        if message is None:
            return 0
        if message not in self._bits:
            self._bits[message] = 1 << len(self.messages)
            self.messages.append(message)
        return self._bits[message]

    def _fresh(self, index: int, request: str, by_agent: bool) -> Connection:
        after = self.names[index + 1] if index + 1 < len(self.names) else None
        previous = self.names[index - 1]
        return protocol.begun("c", self.names[index], (previous, after), request, ENDS, NOW, by_agent=by_agent)

    def problems(self, world: World) -> Iterator[str]:
        """What must never be."""
        alive = [self.connections[number] for number in world.connections if number]
        for name, ledger in zip(self.names, world.ledgers, strict=True):
            for other in alive:
                if other is not None and ledger.in_force and gave_up(other, ledger.in_force):
                    yield f"{name} has version {ledger.in_force} in force, which {other.domain} gave up"

    def is_settled(self, world: World) -> bool:
        """Nobody has anything to do, nobody holds anything, and all have the same in force."""
        alive = [self.connections[number] for number in world.connections if number]
        idle = all(one is not None and one.phase in SETTLED for one in alive)
        held = any(one.pending for one in world.ledgers)
        return idle and not held and len({one.in_force for one in world.ledgers}) == 1


def gave_up(connection: Connection, version: int) -> bool:
    if connection.phase in (ConnectionPhase.ABORTING, ConnectionPhase.FAILED) and connection.version == version:
        return True
    return connection.phase is ConnectionPhase.START and connection.committed < version <= connection.version


def outcomes(ledger: LedgerWords, action: Deed, version: int, rules: Rules) -> Iterator[tuple[str, LedgerWords]]:
    """What an action may come to: why it cannot be, or nothing, and the ledger afterwards."""
    match action:
        case Deed.HOLD:
            yield "", ledger._replace(pending=version)
            if rules.refuses and ledger.pending != version:
                yield "no room", ledger
        case Deed.EXTEND | Deed.KEEP:
            held = ledger.pending == version
            yield ("", ledger._replace(kept=action is Deed.KEEP)) if held else ("the hold is gone", ledger)
        case Deed.COMMIT:
            if ledger.in_force == version:
                yield "", ledger
            elif ledger.pending == version:
                yield "", LedgerWords(version)
                if rules.breaks:
                    yield "not any more", ledger
            else:
                raise AssertionError(f"version {version} is to be committed, and the ledger has {ledger}")
        case Deed.RELEASE:
            yield "", LedgerWords(ledger.in_force) if ledger.pending == version else ledger
        case Deed.CANCEL:
            yield "", LedgerWords()


def _is_next(connection: Connection, message: PeerMessage) -> bool:
    return connection.phase is ConnectionPhase.START and message.version > connection.version


def _ticket(connection: Connection) -> PeerMessage:
    """What the client shows to the domain before, once a domain has its segment and the ticket of the one behind."""
    previous = connection.previous or ""
    return PeerMessage(Kind.CONFIRMED, connection.id, connection.version, connection.domain, previous)


def _words(message: PeerMessage) -> str:
    return f"{message.kind.value} {message.version} from {message.sender} to {message.receiver}"
