"""Many domains, each with the controller's own protocol code, slot tables and keys, and messages through memory.

A domain is one router with an SLS each way on every link. What is simulated is the transport and where rows are kept; the
agreement, the finding of paths, signatures, tickets and admission are those that run. All of it follows from a seed.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

from slotcar.admission import Admitted, SlotTables, capacities, decide, demands
from slotcar.admission.model import Demand
from slotcar.base.timebase import SYSTEM, Window
from slotcar.base.vocabulary import Direction, InterfaceRole, Protocol, Service
from slotcar.domains.agreement import Agreement
from slotcar.domains.delays import DelayPart
from slotcar.domains.enquiring import Steps
from slotcar.domains.keys import load_certificate, load_key, make_key
from slotcar.domains.model import Connection, ConnectionPhase, Deed, DeedResult
from slotcar.domains.neighbours import Neighbour
from slotcar.domains.way import PeerRequest
from slotcar.network.elsewhere import neighbours_of, seen_by
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network, Sls
from slotcar.network.path import find_paths, topology
from slotcar.reservation.model import Endpoint, Reservation, Slot
from slotcar.store.connections import ConnectionRow, SegmentRow, TicketRow
from slotcar_client.wire.events import Kind

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
MBPS = 1_000_000
LINK_BPS = 10_000 * MBPS
#: Rates of SLSs, and of requests; lengths in hours; and within how many hours they begin.
SLS_MBPS, RATES_MBPS, HOURS, AHEAD_HOURS = (155, 622, 1_000), (5, 10, 50, 100), (1, 2, 4), 24
#: From one request to the next; and after so many of them what is over is forgotten.
EVERY, FORGET_AFTER = timedelta(seconds=12), 2_000


def random_network(count: int, chance: random.Random) -> Network:
    """Connected domains, of which some have many neighbours; half as many links again as a tree has."""
    names = [f"d{number:05}" for number in range(count)]
    links = {(chance.choice(names[:number] + _ends(names, number)), names[number]) for number in range(1, count)}
    while len(links) < count - 1 + count // 2:
        one, other = sorted(chance.sample(names, 2))
        links.add((one, other))
    interfaces: dict[str, dict[str, Interface]] = {name: {} for name in names}
    sls: dict[str, Sls] = {}
    for number, (one, other) in enumerate(sorted(links)):
        _join(interfaces, sls, number, (one, other), chance.choice(SLS_MBPS) * MBPS)
    devices, hosts = {}, {}
    for number, name in enumerate(names):
        prefix = IPv4Network(f"10.{number // 256}.{number % 256}.0/24")
        edge = InterfaceId(device=f"{name}-r", name="edge")
        interfaces[name]["edge"] = Interface(
            id=edge, role=InterfaceRole.EDGE, capacity_bps=LINK_BPS, shares_ppm=_SHARES,
            address=IPv4Interface(f"{prefix[1]}/24"), prefixes=(prefix,),
        )  # fmt: skip
        devices[edge.device] = Device(name=edge.device, domain=name, platform="linux-tc", interfaces=interfaces[name])
        hosts[f"{name}-h"] = Host(name=f"{name}-h", domain=name, address=IPv4Address(prefix[2]), attached_to=edge)
    return Network(
        domains={name: Domain(name=name) for name in names}, devices=devices, hosts=hosts, sls=sls, source="simulation"
    )


_SHARES = {Service.IP_PREMIUM: 900_000}


def _ends(names: Sequence[str], number: int) -> list[str]:
    """Each fourth domain once more: it is a carrier, and more join it."""
    return [name for name in names[:number:4] for _ in range(6)]


def _join(
    interfaces: dict[str, dict[str, Interface]], sls: dict[str, Sls], number: int, ends: tuple[str, str], rate_bps: int
) -> None:
    base = int(IPv4Address("172.16.0.0")) + 4 * number
    ids = [InterfaceId(device=f"{name}-r", name=f"to-{other}") for name, other in (ends, ends[::-1])]
    for place, (name, other) in enumerate((ends, ends[::-1])):
        own, far = ids[place], ids[1 - place]
        interfaces[name][own.name] = Interface(
            id=own, role=InterfaceRole.INTER_DOMAIN, capacity_bps=LINK_BPS, shares_ppm=_SHARES,
            address=IPv4Interface(f"{IPv4Address(base + 1 + place)}/30"), neighbour=far,
        )  # fmt: skip
        agreement = f"{other}-{name}"
        sls[agreement] = Sls(
            name=agreement, upstream=other, downstream=name, service=Service.IP_PREMIUM, rate_bps=rate_bps,
            burst_bytes=500_000, ingress=own,
        )  # fmt: skip


@dataclass(slots=True)
class MemoryRows:
    """As `slotcar.store.connections.ConnectionStore`, of one domain, in a process that does not die."""

    rows: dict[str, ConnectionRow] = field(default_factory=dict)
    segments: dict[str, dict[str, SegmentRow]] = field(default_factory=dict)
    tickets: dict[tuple[str, str], TicketRow] = field(default_factory=dict)

    def add(self, row: ConnectionRow, _says: Kind | None = None) -> bool:
        return self.rows.setdefault(row.id, row) is row

    def change(self, row: ConnectionRow, _says: Kind | None = None) -> bool:
        is_next = self.rows[row.id].revision == row.revision - 1
        if is_next:
            self.rows[row.id] = row
        return is_next

    def find(self, connection_id: str) -> ConnectionRow | None:
        return self.rows.get(connection_id)

    def unsettled(self) -> tuple[ConnectionRow, ...]:
        return tuple(row for row in self.rows.values() if not row.settled)

    def tell(self, row: SegmentRow, _says: Kind | None = None) -> bool:
        rows = self.segments.setdefault(row.connection, {})
        before = rows.get(row.domain)
        is_news = before is None or (before.stated_at <= row.stated_at and before.document != row.document)
        if is_news:
            rows[row.domain] = row
        return is_news

    def segment_rows(self, connection_id: str) -> tuple[SegmentRow, ...]:
        return tuple(self.segments.get(connection_id, {}).values())

    def take_ticket(self, row: TicketRow) -> TicketRow:
        return self.tickets.setdefault((row.issuer, row.number), row)

    def forget_tickets(self, before: datetime) -> int:
        ended = [key for key, row in self.tickets.items() if row.ends < before]
        for key in ended:
            del self.tickets[key]
        return len(ended)

    def forget_settled(self, before: datetime) -> list[str]:
        """Forgets connections that are settled and were over before; which ones."""
        ids = [row.id for row in self.rows.values() if row.settled and row.ends < before]
        for each in ids:
            del self.rows[each]
            self.segments.pop(each, None)
        return ids


@dataclass(slots=True)
class TableSegments:
    """Segments in slot tables alone. See `slotcar.domains.agreement.SegmentKeeper`."""

    domain: str
    network: Network
    tables: SlotTables
    held: dict[str, tuple[tuple[Demand, ...], tuple[Slot, ...]]] = field(default_factory=dict)

    def do(self, deed: Deed, connection: Connection, now: datetime) -> DeedResult:
        why = ""
        if deed is Deed.HOLD and connection.id not in self.held:
            why = self._hold(connection)
        elif deed in (Deed.RELEASE, Deed.CANCEL) and connection.id in self.held:
            self.tables.remove(*self.held.pop(connection.id))
        return DeedResult(deed, connection.version, why)

    def _hold(self, connection: Connection) -> str:
        reservation = PeerRequest.from_text(connection.request).local
        wanted = demands(reservation, find_paths(reservation, self.network), self.network)
        answer = decide(self.tables, wanted, reservation.slots, sls=self.network.sls)
        if not isinstance(answer, Admitted):
            return f"{self.domain}: no room in {', '.join(str(one.resource) for one in answer.shortfalls)}"
        self.tables.add(wanted, reservation.slots)
        self.held[connection.id] = wanted, reservation.slots
        return ""

    def forget(self, ids: Sequence[str], before: datetime) -> None:
        """Forgets segments that were over before."""
        for each in ids:
            self.held.pop(each, None)
        self.tables.prune(before)

    def is_in_force(self, connection: Connection) -> bool:
        return connection.id in self.held

    def has_held(self, connection: Connection) -> bool:
        return connection.id in self.held

    def changed(self) -> tuple[str, ...]:
        return ()

    def not_ready(self, connection: Connection) -> bool:
        return False

    def slot(self, connection: Connection, now: datetime) -> str:
        return ""

    def free(self, request: PeerRequest, now: datetime) -> Mapping[str, Steps]:
        return {}

    def worst_delay(self, request: PeerRequest, now: datetime) -> DelayPart:
        return DelayPart(0, 0)

    def least_rate_bps(self) -> int:
        return 0

    def own_reservation(self, request: PeerRequest, connection_id: str) -> Reservation:
        return request.local


@dataclass(slots=True)
class Simulation:
    """Attributes:
    exchanges: of a message and what is answered at once. messages: both. rounds: in which everything that can be done at
        once is done.
    """

    network: Network
    chance: random.Random
    domains: dict[str, Agreement] = field(default_factory=dict)
    work: deque[Callable[[], None]] = field(default_factory=deque)
    messages: int = 0
    exchanges: int = 0
    rounds: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    now: datetime = NOW

    @classmethod
    def start(cls, count: int, seed: int, folder: Path) -> Simulation:
        """`folder`: where the domains' keys are written."""
        # A controller has one network, and a cache for a few; here all domains' are in one process.
        topology._built = lru_cache(maxsize=count)(topology._built.__wrapped__)
        chance = random.Random(seed)  # noqa: S311 - a simulation
        simulation = cls(random_network(count, chance), chance)
        files = {name: (folder / f"{name}.key", folder / f"{name}.pem") for name in simulation.network.domains}
        for name, both in files.items():
            make_key(name, *both, SYSTEM.now())
        certificates = {name: load_certificate(name, both[1]) for name, both in files.items()}
        for name, both in files.items():
            network = seen_by(simulation.network, name)
            neighbours = {
                each: Neighbour(each, f"https://{each}", certificates[each])
                for each in neighbours_of(simulation.network, name)
            }
            segments = TableSegments(name, network, SlotTables(capacities(network)))
            simulation.domains[name] = Agreement(
                name, network, MemoryRows(), segments, load_key(name, *both), neighbours,  # type: ignore[arg-type]
                simulation, lambda: simulation.now, simulation.work.append,
            )  # fmt: skip
        return simulation

    def say(self, neighbour: Neighbour, text: str) -> Sequence[str]:
        """See `slotcar.domains.agreement.Carrier`."""
        answers = self.domains[neighbour.name].hear(text)
        self.exchanges += 1
        self.messages += 1 + len(answers)
        return answers

    def ask(self, number: int) -> bool:
        """One request, until nobody has anything left to do; whether it was admitted."""
        first, last = self.chance.sample(sorted(self.domains), 2)
        reservation = self._reservation(number, first, last)
        self.now += EVERY
        if number % FORGET_AFTER == FORGET_AFTER - 1:
            self._forget_past()
        agreement = self.domains[first]
        connection_id = agreement.reserve(reservation, "hep", connection_id=f"c{number}").id
        while self.work:
            self.rounds += 1
            for _ in range(len(self.work)):
                self.work.popleft()()
        connection = agreement.get(connection_id)
        heard = [state.domain for state in agreement.segment_states(connection)]
        is_admitted = connection.phase is ConnectionPhase.START
        if is_admitted:
            self.lengths[len(heard)] += 1
        else:
            self.refusals[connection.why.partition(":")[0]] += 1
        return is_admitted

    def _forget_past(self) -> None:
        """
        Raises:
            AssertionError: something is not as it should be.
        """
        if problems := self.problems():
            raise AssertionError(problems[:5])
        for one in self.domains.values():
            one.segments.forget(one.store.forget_settled(self.now), self.now)  # type: ignore[attr-defined]
            one.forget(self.now)

    def _reservation(self, number: int, first: str, last: str) -> Reservation:
        """One way alone: of equally short ways the one back may be another, which is refused."""
        start = self.now.replace(minute=0, second=0, microsecond=0) + timedelta(
            hours=self.chance.randrange(1, AHEAD_HOURS)
        )
        return Reservation.constant(
            name=f"r{number}", owner="hep", source=Endpoint(host=f"{first}-h"), destination=Endpoint(host=f"{last}-h"),
            protocol=Protocol.UDP, service=Service.IP_PREMIUM, direction=Direction.FORWARD,
            windows=[Window(start, start + timedelta(hours=self.chance.choice(HOURS)))],
            rate_bps=self.chance.choice(RATES_MBPS) * MBPS,
        )  # fmt: skip

    def problems(self) -> list[str]:
        """What is held by a domain though the first one does not have it in force, or the other way round, or is open."""
        wrong = [
            f"{name} is not done with {row.id}" for name, one in self.domains.items() for row in one.store.unsettled()
        ]
        in_force: Counter[str] = Counter()
        for one in self.domains.values():
            for connection_id in one.segments.held:  # type: ignore[attr-defined]
                in_force[connection_id] += 1
                if one.get(connection_id).phase is not ConnectionPhase.START:
                    wrong.append(f"{one.name} holds {connection_id}")
        for connection_id, count in in_force.items():
            rows = [each.store.find(connection_id) for each in self.domains.values()]
            if count != sum(row is not None for row in rows):
                wrong.append(f"{connection_id} is in force in {count} domains alone")
        return wrong
