"""Which flows a device classifies at the same time: few and different ones are together without being looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from slotcar.admission import capacities
from slotcar.base.timebase import to_us
from slotcar.base.vocabulary import Direction, Service, Shape
from slotcar.book.applying import ApplyPlan
from slotcar.book.batch import others_flows
from slotcar.book.model import AdmissionRequest, Alternative, Condition, Entry, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.book.rules import flows
from slotcar.book.rules.flows import FlowClaim
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.network.path import Path as FoundPath
from slotcar.network.path.flow import pairs_of
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint, Membership, Reservation
from slotcar.store import Ledger, open_ledger, reading
from slotcar.store.cache import TableCache
from slotcar.store.database import make_engine
from slotcar.store.database_shelf import DatabaseShelf
from tests.support.many import add_copies, rows_looked_at
from tests.support.networks import line_network
from tests.support.postgres import migrate
from tests.support.requests import T0, at, reservation, transfer

NETWORK = line_network()
FEW = 3


class Checked:
    """A condition that holds, and remembers for which entries it was checked beside which others."""

    def __init__(self) -> None:
        self.beside: dict[str, list[str]] = {}
        self.condition = Condition(frozenset({"r1"}), self._check, few=FEW)

    def _check(self, entry: Entry, others: Sequence[Entry]) -> None:
        self.beside[entry.reservation.name] = [one.reservation.name for one in others]


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(Terms(capacities(NETWORK), NETWORK.sls))
    return ledger


def request(name: str, checked: Checked | None = None, start: int = 0, end: int = 60, **more: Any) -> AdmissionRequest:
    """A request of its own port, unless it is said which."""
    port, rate_bps = more.pop("port", sum(map(ord, name)) + 5_000), more.pop("rate_bps", 8_000)
    more["destination"] = Endpoint(host="dst", port=port)
    ask = route(reservation(name, rate_bps, start, end, **more), NETWORK)
    condition = checked.condition if checked else None
    return AdmissionRequest(ask.reservation, ask.paths, ask.demands, actor="tester", condition=condition)


def admit(book: Ledger, *given: Any, **more: Any) -> Entry:
    answer = book.run(Admit(T0, request(*given, **more)))
    assert isinstance(answer, Entry)
    return answer


def test_it_is_checked_where_there_are_more_at_once(book: Ledger) -> None:
    checked = Checked()
    for name, start, end in (("a", 0, 20), ("b", 20, 40), ("c", 40, 60), ("d", 0, 60), ("e", 0, 60)):
        admit(book, name, checked, start, end)
    assert checked.beside == {}, "of six that are open within the hour never more than three are at once"
    admit(book, "f", checked, 39, 41)
    assert checked.beside == {"f": ["b", "c", "d", "e"]}


def test_flows_of_a_service_without_a_rate_count(book: Ledger) -> None:
    checked = Checked()
    for name in "abcd":
        admit(book, name, checked, service=Service.QBSS, rate_bps=0)
    assert checked.beside == {"d": ["a", "b", "c"]}


def test_a_condition_of_no_device_is_about_nobody(book: Ledger) -> None:
    checked = Checked()
    nowhere = replace(checked.condition, devices=frozenset[str](), few=0)
    assert isinstance(book.run(Admit(T0, replace(request("a"), condition=nowhere))), Entry)
    assert isinstance(book.run(Admit(T0, replace(request("b"), condition=nowhere))), Entry)
    assert checked.beside == {"a": [], "b": []}


def test_what_is_no_longer_live_does_not_count(book: Ledger) -> None:
    checked = Checked()
    cancelled = [admit(book, name, checked) for name in "abc"]
    for entry in cancelled:
        book.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
    for name in "def":
        admit(book, name, checked)
    assert checked.beside == {}


def test_flows_of_the_same_packets_are_checked(book: Ledger) -> None:
    checked = Checked()
    admit(book, "a", checked, port=7_000)
    admit(book, "b", checked, port=7_001)
    admit(book, "c", checked, 60, 90, port=7_000)
    assert checked.beside == {}
    admit(book, "d", checked, 59, 60, port=7_000)
    assert checked.beside == {"d": ["a", "b"]}


def test_other_owners_reservations_of_other_ports_and_times_are_not_read(book: Ledger, database_url: str) -> None:
    """However many they have between the same hosts."""
    others = [("a", 7_000, 0), ("b", 7_001, 30), ("c", 7_000, 60), ("any", None, 90)]
    for name, port, start in others:
        admit(book, name, None, start, start + 30, owner="astro", port=port)
    ask = request("mine", None, 0, 30, port=7_001)
    (flow,) = FlowClaim(ask.reservation, ask.paths).flows
    engine = make_engine(database_url)
    with engine.connect() as connection:
        for start, end, read in ((0, 30, []), (29, 31, ["b"]), (60, 90, []), (60, 91, ["any"])):
            shelf = DatabaseShelf(connection, TableCache(), Terms({}, {}), to_us(T0))
            moment = flow._replace(start_us=to_us(at(start)), end_us=to_us(at(end)))
            assert [one.reservation.name for one in shelf.having(others_flows("hep", [moment]))] == read
    engine.dispose()


def test_those_of_one_plan_count_for_each_other(book: Ledger) -> None:
    checked = Checked()
    book.run(ApplyPlan.of([request(name, checked) for name in "abcd"], T0, actor="tester"))
    assert set(checked.beside) == set("abcd")
    assert checked.beside["a"] == ["b", "c", "d"]


def test_a_moved_reservation_counts_where_it_is(book: Ledger) -> None:
    checked = Checked()
    moved = admit(book, "a", checked, 0, 30)
    later = request("a", checked, 60, 90)
    assert isinstance(book.run(Admit(T0, replace(later, replaces=moved.handle))), Entry)
    for name in "bcd":
        admit(book, name, checked, 0, 30)
    assert checked.beside == {}
    for name in "efg":
        admit(book, name, checked, 60, 90)
    assert checked.beside == {"g": ["a", "e", "f"]}


def test_the_flows_of_a_request_are_computed_once(
    book: Ledger, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, in a plan and in a group; and what is kept are those of the entry."""
    computed: list[str] = []

    def counted(asked_for: Reservation, paths: Sequence[FoundPath]) -> Any:
        computed.append(asked_for.name)
        return pairs_of(asked_for, paths)

    monkeypatch.setattr(flows, "pairs_of", counted)
    entries = [admit(book, "a"), *book.run(ApplyPlan.of([request("b"), request("c")], T0, actor="tester"))]
    members = [request(f"g.{name}", together=Membership(group="g")) for name in "de"]
    entries += book.run(ApplyPlan.of(members, T0, actor="tester"))
    assert computed == ["a", "b", "c", "g.d", "g.e"]
    assert stored(database_url) == {(one.number, *flow) for one in entries for flow in one.flows}


def test_a_request_that_gets_another_place_has_its_flows_of_there(book: Ledger, database_url: str) -> None:
    """On another path than its own, and of a volume, whose profile admission finds."""
    full = replace(request("a"), demands=(replace(request("a").demands[0], amounts=(10**15,)),))
    other = request("a", source=Endpoint(host="src", port=4_000))
    paths = tuple(replace(path, unreserved_devices=frozenset({"r1"})) for path in other.paths)
    entry = book.run(Admit(T0, replace(full, alternatives=(Alternative(paths, other.demands),))))
    assert isinstance(entry, Entry)
    assert {flow.device for flow in entry.flows} == {"r2"}
    ask = route(transfer("t", 1_000_000, by=120, shape=Shape.EARLIEST), NETWORK)
    volume = book.run(Admit(T0, AdmissionRequest(ask.reservation, ask.paths, ask.demands, "tester")))
    assert isinstance(volume, Entry)
    assert volume.reservation.slots != ask.reservation.slots
    assert stored(database_url) == {(one.number, *flow) for one in (entry, volume) for flow in one.flows}


def stored(url: str) -> set[tuple[Any, ...]]:
    statement = "SELECT entry, pair, source_port, destination_port, device, start_us, end_us FROM flow"
    with psycopg.connect(url) as connection:
        return set(connection.execute(statement).fetchall())


#: Live, an hour each, within months.
MANY = 3_000
_THEIR_FLOWS = """
    INSERT INTO flow (pair, source_port, destination_port, device, owner, entry, start_us, end_us)
    SELECT pair, source_port, destination_port, 'r' || entry.number % 30, flow.owner, entry.number, entry.start_us,
        entry.end_us
    FROM flow, entry WHERE entry.number > 1000
"""


def test_few_are_looked_at(book: Ledger, database_url: str) -> None:
    """Of those that one of 30 routers classifies, and that are not over before."""
    admit(book, "a")
    with psycopg.connect(database_url, autocommit=True) as connection:
        add_copies(connection, "a", MANY)
        connection.execute(_THEIR_FLOWS)
        connection.execute("ANALYZE flow")
        begin = to_us(at(60 * 1_000))
        statement = "EXPLAIN (ANALYZE, FORMAT JSON) " + reading.READ_FLOWS_AT
        params = {"questions": [0], "devices": ["r1"], "starts_us": [begin], "ends_us": [begin + 1]}
        (plans,) = connection.execute(statement, params).fetchone() or ([],)
        assert rows_looked_at(plans[0]["Plan"]) < MANY // 30, plans


def test_a_ledger_of_the_version_before_gets_them(book: Ledger, database_url: str, tmp_path: Path) -> None:
    """Also of changes that wait, of volumes by a deadline, and of paths whose first device asks for no reservation."""
    book.set_terms(replace(book.terms, policy=Policy(gate=Gate(rate_bps=1_000_000))))
    admit(book, "both", direction=Direction.BOTH)
    unreserved = request("behind", None, 0, 45, source=Endpoint(host="src", port=4_000))
    paths = tuple(replace(path, unreserved_devices=frozenset({"r1"})) for path in unreserved.paths)
    assert isinstance(book.run(Admit(T0, replace(unreserved, paths=paths))), Entry)
    waits = admit(book, "waits", None, 10, 20)
    raised = replace(request("waits", None, 5, 90, rate_bps=2_000_000), replaces=waits.handle)
    assert isinstance(book.run(Admit(T0, raised)), Entry)
    over = admit(book, "over")
    book.run(Move(T0, over.handle, "tester", to=State.CANCELLED))
    for name, start in (("soon", None), ("later", 30)):
        ask = route(transfer(name, 1_000_000, by=120, start=start), NETWORK)
        assert isinstance(
            book.run(Admit(T0, AdmissionRequest(ask.reservation, ask.paths, ask.demands, "tester"))), Entry
        )
    url, statement = database_url, "SELECT * FROM flow ORDER BY entry, pair, device"
    with psycopg.connect(url) as connection:
        before = connection.execute(statement).fetchall()
    migrate(database_url, "0014")
    migrate(database_url, "head")
    with psycopg.connect(url) as connection:
        assert connection.execute(statement).fetchall() == before
    starts = {(row[2], row[3]): row[6] for row in before}
    assert [len([row for row in before if row[2] == number]) for number in range(1, 7)] == [2, 1, 1, 0, 1, 1]
    assert starts[2, "r2"] == to_us(T0)
    assert starts[3, "r1"] == to_us(at(5))
    assert (starts[5, "r1"], starts[6, "r1"]) == (0, to_us(at(30)))
    with open_ledger(database_url, tmp_path) as upgraded:
        upgraded.set_terms(book.terms)
        checked = Checked()
        admit(upgraded, "beside", checked)
    assert checked.beside == {"beside": ["both", "waits", "soon", "later"]}
