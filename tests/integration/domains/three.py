"""The lab's three domains: each with a ledger in a database of its own, and a carrier of messages that tests steer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.base.timebase import SYSTEM, Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.book.model import State
from slotcar.desk.desk import Desk
from slotcar.desk.segments import LedgerSegments
from slotcar.desk.sls_keeping import LedgerSlss
from slotcar.domains.agreement import Agreement
from slotcar.domains.keys import load_certificate, load_key, make_key
from slotcar.domains.model import ConnectionPhase
from slotcar.domains.neighbours import Neighbour
from slotcar.domains.of_slss import OfSlss
from slotcar.network import Network
from slotcar.network.elsewhere import neighbours_of
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.store import Ledger, open_ledger
from tests.integration.conftest import copied
from tests.unit.domains.networks import lab_of

NAMES = ("anl", "esnet", "lbnl")
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


class Unreachable(SlotcarError):
    """Nobody answers."""


@dataclass(slots=True)
class World:
    """Attributes:
    work: what the domains are about to do, in order. unreachable: domains that do not answer. lost: says of a message, by
        its receiver and its text, whether it is lost. clocks: by how much each is ahead.
    """

    databases: dict[str, str]
    folder: Path
    domains: dict[str, Agreement] = field(default_factory=dict)
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    work: list[tuple[str, Callable[[], None]]] = field(default_factory=list)
    unreachable: set[str] = field(default_factory=set)
    lost: Callable[[str, str], bool] = lambda _receiver, _text: False
    clocks: dict[str, timedelta] = field(default_factory=dict)
    now: datetime = NOW
    networks: Callable[[str], Network] | None = None

    def start(self, name: str) -> None:
        """A controller on the domain's database, which knows only what is kept there."""
        network = (self.networks or lab_of)(name).model_copy()
        ledger = self.ledgers[name] = open_ledger(self.databases[name], self.folder / name)
        clocks = replace(SYSTEM, now=lambda: self.now_at(name))
        desk = Desk(ledger, network, Settings(state_dir=self.folder / name, domain=name), clocks)
        keys = {each: self.folder / each / "certificate.pem" for each in NAMES}
        neighbours = {
            each: Neighbour(each, f"https://{each}", load_certificate(each, keys[each]))
            for each in neighbours_of(network, name)
        }
        key = load_key(name, self.folder / name / "key.pem", keys[name])
        self.domains[name] = Agreement(
            name, network, ledger.connections, LedgerSegments(desk, name),
            key, neighbours, _Wire(self),
            lambda: self.now_at(name), lambda work: self.work.append((name, work)),
            slss=OfSlss(name, network, key, LedgerSlss(desk, name)),
        )  # fmt: skip

    def now_at(self, name: str) -> datetime:
        return self.now + self.clocks.get(name, timedelta())

    def kill(self, name: str) -> None:
        """A controller that is gone with all that it had not kept."""
        self.work = [(owner, work) for owner, work in self.work if owner != name]
        self.ledgers[name].close()
        del self.domains[name]

    def run(self, most: int = 500) -> None:
        """Everything that is to be done now."""
        for _ in range(most):
            if not self.work:
                return
            owner, work = self.work.pop(0)
            if owner in self.domains:
                work()
        raise AssertionError("the domains do not come to an end")

    def run_some(self, most: int) -> bool:
        """So many pieces of work, of the domains that live; whether nothing is left to do."""
        done = 0
        while self.work and done < most:
            owner, work = self.work.pop(0)
            if owner in self.domains:
                work()
                done += 1
        return not self.work

    def tick(self, by: timedelta = timedelta(seconds=31)) -> None:
        self.now += by
        for agreement in list(self.domains.values()):
            agreement.tick()
        self.run()

    def settle(self, ticks: int = 12) -> None:
        """Until nobody has anything left to do."""
        self.run()
        for _ in range(ticks):
            if all(not agreement.store.unsettled() for agreement in self.domains.values()):
                return
            self.tick()
        raise AssertionError({name: one.store.unsettled() for name, one in self.domains.items()})

    def states(self) -> dict[str, list[State]]:
        """What each ledger has, in its order."""
        from slotcar.store.queries import EntryFilter

        return {name: [one.state for one in ledger.list(EntryFilter())] for name, ledger in self.ledgers.items()}

    def rates(self) -> dict[str, list[int]]:
        """The rates that are in force."""
        from slotcar.store.queries import EntryFilter

        return {
            name: [one.reservation.peak_rate_bps for one in ledger.list(EntryFilter()) if one.state is State.COMMITTED]
            for name, ledger in self.ledgers.items()
        }

    def held(self) -> bool:
        return any(state is State.HELD for states in self.states().values() for state in states)

    def phases(self, connection: str) -> dict[str, ConnectionPhase]:
        return {name: agreement.get(connection).phase for name, agreement in self.domains.items()}


@dataclass(frozen=True, slots=True)
class _Wire:
    world: World

    def say(self, neighbour: Neighbour, text: str) -> Sequence[str]:
        if neighbour.name in self.world.unreachable or neighbour.name not in self.world.domains:
            raise Unreachable(f"{neighbour.name} does not answer")
        if self.world.lost(neighbour.name, text):
            raise Unreachable(f"what was said to {neighbour.name} was lost")
        return self.world.domains[neighbour.name].hear(text)


@contextmanager
def three(
    server_url: str, template: str, folder: Path, networks: Callable[[str], Network] | None = None
) -> Iterator[World]:
    """`template`: a database with the ledger's tables, to be copied. `networks`: of each domain; the lab's as default."""
    with ExitStack() as stack:
        databases = {name: stack.enter_context(copied(server_url, template)) for name in NAMES}
        world = World(databases, folder, networks=networks)
        for name in NAMES:
            make_key(name, folder / name / "key.pem", folder / name / "certificate.pem", SYSTEM.now())
        for name in NAMES:
            world.start(name)
        yield world
        for ledger in world.ledgers.values():
            ledger.close()


def premium(rate_bps: int = 10_000_000, name: str = "tonight", destination: str = "lbnl-premium") -> Reservation:
    return Reservation.constant(
        name=name, owner="hep", source=Endpoint(host="anl-premium"), destination=Endpoint(host=destination),
        protocol=Protocol.UDP, service=Service.IP_PREMIUM, direction=Direction.BOTH,
        windows=[Window(NOW + timedelta(hours=1), NOW + timedelta(hours=2))], rate_bps=rate_bps,
    )  # fmt: skip
