"""An hour of virtual time over three domains with real ledgers, in which everything goes wrong that may, by a seed.

Messages are lost, with their answers or without, come twice, late and out of order. Controllers are killed between any two
pieces of work, and between what their ledger did and their note of it, and come back later. Clients reserve, change, end,
commit and give up; operators cancel segments. Then all is well again, and nothing may be left that is half.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import Window
from slotcar.book.agreed_slss import AgreedSls
from slotcar.book.model import State
from slotcar.book.operation import Move
from slotcar.domains.agreeing_on_volumes import Volumes
from slotcar.domains.agreement import Agreement, SegmentKeeper
from slotcar.domains.delays import DelayPart
from slotcar.domains.enquiring import Steps
from slotcar.domains.model import SETTLED, Connection, ConnectionPhase, Deed, DeedResult
from slotcar.domains.neighbours import Neighbour
from slotcar.domains.of_slss import SlsKeeper
from slotcar.domains.way import LABEL, PeerRequest
from slotcar.reservation.model import Reservation
from slotcar.reservation.need import VolumeByDeadline
from slotcar.store.queries import EntryFilter
from tests.integration.domains.three import NAMES, Unreachable, World, premium

HOUR = timedelta(hours=1)
#: How often each fault happens, of a hundred times that it may.
LOST, ANSWER_LOST, TWICE, LATE, KILLED, DIES = 8, 5, 8, 8, 1, 3
#: Of a hundred steps, how many begin with something that a client, or an operator, wants.
WANTS = 25


class Died(BaseException):
    """A controller is gone in the middle of a deed."""


@dataclass(slots=True)
class Chaos:
    """`happened`: how often what. healed: nothing goes wrong any more. busy: as WANTS."""

    world: World
    seed: int
    healed: bool = False
    busy: int = WANTS
    happened: Counter[str] = field(default_factory=Counter)
    away: dict[str, int] = field(default_factory=dict)
    late: list[tuple[datetime, str, Callable[[], None]]] = field(default_factory=list)
    connections: list[str] = field(default_factory=list)
    groups: list[tuple[str, ...]] = field(default_factory=list)
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        for name in NAMES:
            self._adopt(name)

    def happens(self, what: str, of_hundred: int) -> bool:
        happens = not self.healed and self.chance.randrange(100) < of_hundred
        self.happened[what] += happens
        return happens

    def run(self, length: timedelta) -> None:
        """So much virtual time with faults, and then the time that it takes until nobody has anything to do."""
        end = self.world.now + length
        while self.world.now < end:
            self._step(timedelta(seconds=self.chance.randrange(1, 40)))
        self.healed = True
        for name in list(self.away):
            self._start(name)
        for _ in range(200):
            self._step(timedelta(seconds=31))
            if not self.late and not any(one.store.unsettled() for one in self.world.domains.values()):
                return
        raise AssertionError({name: one.store.unsettled() for name, one in self.world.domains.items()})

    def _step(self, by: timedelta) -> None:
        world = self.world
        world.now += by
        for name in [name for name, steps in self.away.items() if steps <= 0]:
            self._start(name)
        self.away = {name: steps - 1 for name, steps in self.away.items()}
        due = [each for each in self.late if each[0] <= world.now]
        self.late = [each for each in self.late if each[0] > world.now]
        world.work += [(name, work) for _, name, work in due]
        if not self.healed and self.chance.randrange(100) < self.busy:
            self._want()
        for name in NAMES:
            self._guarded(name, lambda name=name: world.domains[name].tick())  # type: ignore[misc]
        self._work()

    def _work(self) -> None:
        """What is to be done, in any order."""
        for _ in range(5000):
            if not self.world.work:
                return
            owner, work = self.world.work.pop(self.chance.randrange(len(self.world.work)))
            self._guarded(owner, work)
            if owner in self.world.domains and self.happens("killed", KILLED):
                self._kill(owner)
        raise AssertionError("the domains do not come to an end")

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        if name not in self.world.domains:
            return
        try:
            work()
        except Died:
            self._kill(name)

    def _kill(self, name: str) -> None:
        self.world.kill(name)
        self.away[name] = self.chance.randrange(1, 12)

    def _start(self, name: str) -> None:
        del self.away[name]
        self.world.start(name)
        self._adopt(name)

    def _adopt(self, name: str) -> None:
        agreement = self.world.domains[name]
        agreement.carrier = _Wire(self, name)
        agreement.segments = _Segments(self, agreement.segments)
        if agreement.slss is not None:
            agreement.slss.keeper = _Slss(self, agreement.slss.keeper)

    @property
    def wants(self) -> Sequence[Callable[[Agreement], None]]:
        """What clients and operators want, each as often as it stands here."""
        return (
            self._reserve, self._reserve_together, self._reserve_volume, self._change, self._end, self._decide,
            self._cancel,
        )  # fmt: skip

    # -- what is wanted ------------------------------------------------------------------------------------------

    def _want(self) -> None:
        anl = self.world.domains.get("anl")
        if anl is None:
            return
        try:
            self.chance.choice(self.wants)(anl)
        except SlotcarError:
            self.happened["refused at once"] += 1  # such as a change of what is being changed
        except Died:
            self._kill("anl")

    def _reserve(self, anl: Agreement) -> None:
        name = f"c{len(self.connections)}"
        connection_id = f"anl-{self.seed}-{name}"
        self.connections.append(connection_id)
        waits = self.chance.randrange(3) == 0
        anl.reserve(self._reservation(name), "hep", connection_id=connection_id, waits=waits)

    def _reserve_together(self, anl: Agreement) -> None:
        names = [f"c{len(self.connections) + number}" for number in range(2)]
        ids = tuple(f"anl-{self.seed}-{name}" for name in names)
        self.connections += ids
        self.groups.append(ids)
        anl.reserve_together([(self._reservation(name), None) for name in names], "hep", connection_ids=ids)

    def _reserve_volume(self, anl: Agreement) -> None:
        name = f"c{len(self.connections)}"
        need = VolumeByDeadline(volume_bytes=self.chance.randrange(1, 40) * 10**9, by=self.world.now + 3 * HOUR)
        reservation = self._reservation(name).model_copy(update={"need": need})
        proposed = Volumes(anl, lambda connection_id, _version: anl.get(connection_id)).proposal(reservation, "hep")
        connection_id = f"anl-{self.seed}-{name}"
        self.connections.append(connection_id)
        self.happened["volumes"] += 1
        anl.reserve(proposed.reservation, "hep", connection_id=connection_id, volume=proposed.volume)

    def _reservation(self, name: str) -> Reservation:
        reservation = premium(self.chance.choice((2, 5, 10, 20)) * 1_000_000, name)
        # Ports of their own: flows that are the same packets are refused.
        number = 5000 + int(name[1:])
        source = reservation.source.model_copy(update={"port": number})
        slots = tuple(
            type(slot)(slot.start + timedelta(days=1), slot.end + timedelta(days=1), *slot.rates)
            for slot in reservation.slots
        )
        return reservation.model_copy(update={"source": source, "slots": slots})

    def _any(self) -> str | None:
        return self.chance.choice(self.connections) if self.connections else None

    def _change(self, anl: Agreement) -> None:
        connection_id = self._any()
        if connection_id:
            self.happened["changes"] += 1
            anl.modify(connection_id, self._reservation(connection_id.rpartition("-")[2]))

    def _end(self, anl: Agreement) -> None:
        connection_id = self._any()
        if connection_id:
            self.happened["ends"] += 1
            anl.end(connection_id, "not needed any more")

    def _decide(self, anl: Agreement) -> None:
        for connection_id in self.connections:
            connection = anl.get(connection_id)
            if connection.waits and connection.phase is ConnectionPhase.HELD:
                if self.chance.randrange(3):
                    anl.commit(connection_id)
                else:
                    anl.give_up(connection_id, "not wanted")
                return

    def _cancel(self, _anl: Agreement) -> None:
        name = self.chance.choice(NAMES)
        if name not in self.world.domains:
            return
        entries = [each for each in self.world.ledgers[name].list(EntryFilter()) if each.state is State.COMMITTED]
        if entries:
            self.happened["cancelled"] += 1
            entry = self.chance.choice(entries)
            self.world.ledgers[name].run(Move(self.world.now, entry.handle, "operator", to=State.CANCELLED))

    # -- what must be in the end ---------------------------------------------------------------------------------

    def problems(self) -> Iterator[str]:
        """What is held, half, or not the same in all domains."""
        for name, ledger in self.world.ledgers.items():
            for entry in ledger.list(EntryFilter()):
                if entry.is_live_at(self.world.now) and entry.state is State.HELD:
                    yield f"{name} holds {entry.reservation.name}"
                if entry.proposed is not None:
                    yield f"{name} keeps room for a change of {entry.reservation.name}"
        for connection_id in self.connections:
            rows = {name: one.store.find(connection_id) for name, one in self.world.domains.items()}
            if open_ones := [name for name, row in rows.items() if row and row.phase not in _SETTLED]:
                yield f"{connection_id} is open in {open_ones}"
            rates = {name: self._rate(name, connection_id) for name in NAMES}
            if len(set(rates.values())) > 1:
                yield f"{connection_id} is not the same everywhere: {rates}"
        for group in self.groups:
            if len({bool(self._rate("anl", connection_id)) for connection_id in group}) > 1:
                yield f"of {group} one alone is in force"

    def _rate(self, name: str, connection_id: str) -> int:
        """What is in force of a connection; 0 for nothing."""
        return sum(
            each.reservation.peak_rate_bps
            for each in self.world.ledgers[name].list(EntryFilter())
            if each.state is State.COMMITTED and each.reservation.labels.get(LABEL) == connection_id
        )

    def in_force(self) -> int:
        """How many connections are."""
        return sum(bool(self._rate("anl", connection_id)) for connection_id in self.connections)

    def summary(self) -> str:
        """What came of it."""
        return f"{len(self.connections)} connections, {self.in_force()} in force"


_SETTLED = {phase.value for phase in SETTLED}


@dataclass(frozen=True, slots=True)
class _Wire:
    chaos: Chaos
    sender: str

    def say(self, neighbour: Neighbour, text: str) -> Sequence[str]:
        chaos, world = self.chaos, self.chaos.world
        if neighbour.name not in world.domains:
            raise Unreachable(f"{neighbour.name} does not answer")
        if chaos.happens("lost", LOST):
            raise Unreachable(f"what was said to {neighbour.name} was lost")
        if chaos.happens("late", LATE):
            self._again(neighbour.name, text)
            raise Unreachable(f"{neighbour.name} takes long")
        if chaos.happens("twice", TWICE):
            self._again(neighbour.name, text)
        try:
            answers = world.domains[neighbour.name].hear(text)
        except Died as error:
            chaos._kill(neighbour.name)
            raise Unreachable(f"{neighbour.name} is gone") from error
        if chaos.happens("answer lost", ANSWER_LOST):
            raise Unreachable(f"what {neighbour.name} answered was lost")
        return answers

    def _again(self, receiver: str, text: str) -> None:
        """It comes later, when its sender may be past it. Older than half a minute it would be refused for its age."""
        chaos, world = self.chaos, self.chaos.world

        def arrives() -> None:
            try:
                world.domains[receiver].hear(text)
            except SlotcarError:
                chaos.happened["too old"] += 1

        at = world.now + timedelta(seconds=chaos.chance.randrange(1, 45))
        chaos.late.append((at, receiver, arrives))


@dataclass(frozen=True, slots=True)
class _Segments:
    """The domain's ledger, whose controller may be gone right after a deed."""

    chaos: Chaos
    real: SegmentKeeper

    def do(self, deed: Deed, connection: Connection, now: datetime) -> DeedResult:
        result = self.real.do(deed, connection, now)
        if self.chaos.happens("died in a deed", DIES):
            raise Died
        return result

    def changed(self) -> Collection[str]:
        return self.real.changed()

    def not_ready(self, connection: Connection) -> bool:
        return self.real.not_ready(connection)

    def is_in_force(self, connection: Connection) -> bool:
        return self.real.is_in_force(connection)

    def has_held(self, connection: Connection) -> bool:
        return self.real.has_held(connection)

    def own_reservation(self, request: PeerRequest, connection_id: str) -> Reservation:
        return self.real.own_reservation(request, connection_id)

    def worst_delay(self, request: PeerRequest, now: datetime) -> DelayPart:
        return self.real.worst_delay(request, now)

    def least_rate_bps(self) -> int:
        return self.real.least_rate_bps()

    def free(self, request: PeerRequest, now: datetime) -> Mapping[str, Steps]:
        return self.real.free(request, now)

    def slot(self, connection: Connection, now: datetime) -> str:
        return self.real.slot(connection, now)


@dataclass(frozen=True, slots=True)
class _Slss:
    """The domain's ledger for SLSs, whose controller may be gone right after a deed."""

    chaos: Chaos
    real: SlsKeeper

    def do(self, deed: Deed, connection: Connection, now: datetime) -> DeedResult:
        result = self.real.do(deed, connection, now)
        if self.chaos.happens("died in a deed", DIES):
            raise Died
        return result

    def is_in_force(self, connection: Connection) -> bool:
        return self.real.is_in_force(connection)

    def changed(self) -> Collection[str]:
        return self.real.changed()

    def not_ready(self, connection: Connection) -> bool:
        return self.real.not_ready(connection)

    def slot(self, connection: Connection, now: datetime) -> str:
        return self.real.slot(connection, now)

    def tick(self, now: datetime) -> None:
        self.real.tick(now)

    def slss(self) -> Sequence[AgreedSls]:
        return self.real.slss()

    def promises(self, name: str, now: datetime) -> Sequence[tuple[Window, int]]:
        return self.real.promises(name, now)
