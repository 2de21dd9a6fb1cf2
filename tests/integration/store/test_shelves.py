"""A ledger in memory and the one in the database answer alike: batches of random operations, on both, with equal answers,
notes and things that are taken back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from slotcar.admission import SlotTables, capacities
from slotcar.admission.highs import HighsSolver
from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import Window, to_us
from slotcar.book import operations
from slotcar.book.appending import AppendEvent, AppendIfLast
from slotcar.book.applying import ApplyPlan
from slotcar.book.approving import Approve, Commit, Reject
from slotcar.book.delegating import Delegate
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, RejectGroup
from slotcar.book.handing import Give, Withdraw
from slotcar.book.memory_shelf import MemoryShelf
from slotcar.book.model import OCCUPYING, AdmissionRequest, Cancellation, Condition, Entry, State, Terms
from slotcar.book.operation import Expire, Move, Operation, run_together
from slotcar.book.operations import Admit, ExtendHold, Rebind
from slotcar.book.replanning import Replan
from slotcar.book.reporting import Report
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Quota
from slotcar.book.rules.reserving import BY_NEIGHBOUR, ReservingRules, Whose, total_of
from slotcar.book.sharing import GiveShare, WithdrawShare
from slotcar.book.transaction import Transaction
from slotcar.planning.routing import route
from slotcar.policy.caller import Role
from slotcar.policy.delegating import Delegation
from slotcar.policy.reserving import ASKED_BY, Total
from slotcar.policy.sharing import CommunityShare
from slotcar.policy.site import Community, Site
from slotcar.reservation.model import BackgroundShare, Endpoint, Membership, Reservation, TimeBound
from slotcar.store import Ledger
from slotcar.store.cache import TableCache
from slotcar.store.database import Head, writing
from slotcar.store.database_shelf import DatabaseShelf
from slotcar.store.flushing import flush
from slotcar_client.wire.events import DeviceHeld
from tests.support.examples import examples
from tests.support.networks import line_network
from tests.support.requests import T0, reservation, transfer

NETWORK = line_network()
MBIT = 1_000_000
OWNERS, NAMES, GROUPS = ("hep", "astro"), ("a", "b", "c"), ("g", "h")
_first_handles = itertools.count(1, 1_000)
SOLVER = HighsSolver()


class Regretted(SlotcarError):
    """What an operation ends with that is to be taken back; `answer` is what it came to."""

    def __init__(self, answer: Any) -> None:
        super().__init__("it was not meant")
        self.answer = answer


@dataclass(frozen=True)
class AskTotals(Operation[list[Total]]):
    """Asks for totals, as policies do in the midst of a batch."""

    minds_holds: ClassVar[bool] = False

    def run(self, transaction: Transaction) -> list[Total]:
        return totals_of(transaction, self.now)


class TooMany(SlotcarError):
    """The condition of these cases: so many others are there."""


@dataclass(frozen=True)
class Regret(Operation[Any]):
    """Does what another operation does, and is taken back."""

    does: Operation[Any]

    def run(self, transaction: Transaction) -> Any:
        raise Regretted(self.does.run(transaction))


def few_beside(entry: Entry, others: Sequence[Entry]) -> None:
    if len(others) > 2:
        raise TooMany(f"{entry.reservation.name} beside {sorted(one.number for one in others)}")


def few_open(entry: Entry, others: Sequence[Entry]) -> None:
    """Stands for the check of delays: so it hears of the same others on both."""
    if len(others) > 4:
        raise TooMany(f"{entry.reservation.name} open with {[one.number for one in others]}")


SITE = Site(communities={"science": Community(frozenset({"hep", "astro"}))}, domains={"anl": frozenset({"astro"})})
OF_OWNERS = (Whose("owner", "hep"), Whose("owner", "astro"), Whose("community", "science"), Whose("domain", "anl"))
WHOSE = (*OF_OWNERS, Whose(BY_NEIGHBOUR, "lbl"))
#: A neighbour asked for what has this rate.
ASKED_FOR_MBIT = 15
LOOKED_AT = ((0, 60), (30, 45), (60, 180))
CONDITION = Condition(frozenset({"r1"}), few_beside, few=1)

# -- cases: what is asked for, as values; who it is about is chosen among what is there when the batch is made -----------


@dataclass(frozen=True)
class Ask:
    """A reservation: `new` or another form of what is there."""

    owner: str
    name: str
    wish: Callable[[str, str, dict[str, Any]], Reservation]
    port: int
    hold: int | None = None
    key: str | None = None
    changes: bool = False
    condition: bool = False
    group: str | None = None


@dataclass(frozen=True)
class Act:
    verb: str
    which: int
    minutes: int


@dataclass(frozen=True)
class Several:
    """A plan: some requests and some ends, all or nothing."""

    asks: Sequence[Ask]
    ends: Sequence[int]


@dataclass(frozen=True)
class Taken:
    """What is taken back when it is done."""

    step: Any


def fixed(rate_mbit: int, start: int, end: int) -> Callable[..., Reservation]:
    labels = {"labels": {ASKED_BY: "lbl"}} if rate_mbit == ASKED_FOR_MBIT else {}
    return lambda name, owner, more: reservation(name, rate_mbit * MBIT, start, end, owner, **labels, **more)


def bounded(rate_mbit: int, start: int, end: int) -> Callable[..., Reservation]:
    delay = TimeBound(at_most_us=20_000)
    return lambda name, owner, more: reservation(name, rate_mbit * MBIT, start, end, owner, delay=delay, **more)


def volume(gigabytes: int, by: int, start: int | None) -> Callable[..., Reservation]:
    return lambda name, owner, more: transfer(name, gigabytes * 1_000_000_000, by, start, owner).model_copy(
        update=more
    )


def share(weight: int, at_least_mbit: int) -> Callable[..., Reservation]:
    of = BackgroundShare(weight=weight, at_least_bps=at_least_mbit * MBIT, at_most_bps=20 * MBIT)
    return lambda name, owner, more: reservation(name, at_least_mbit * MBIT, 10, 120, owner, share=of, **more)


starts, ends = (st.integers(*span).map(lambda n: 15 * n) for span in ((-1, 6), (7, 10)))
wishes = st.one_of(
    st.builds(fixed, st.sampled_from([1, 4, 15, 30]), starts, ends),
    st.builds(bounded, st.sampled_from([1, 4]), starts, ends),
    st.builds(volume, st.integers(1, 9), st.sampled_from([90, 120, 180]), st.sampled_from([None, 0, 30])),
    st.builds(share, st.integers(1, 3), st.integers(0, 4)),
)  # fmt: skip
asks = st.builds(
    Ask, st.sampled_from(OWNERS), st.sampled_from(NAMES), wishes, st.sampled_from([0, 1, 2, 3]),
    st.sampled_from([None, None, 3, 20]), st.sampled_from([None, None, None, "k1", "k2"]), st.booleans(), st.booleans(),
    st.sampled_from([None, None, None, *GROUPS]),
)  # fmt: skip
acts = st.builds(
    Act,
    st.sampled_from([
        "commit", "cancel", "approve", "reject", "extend", "bind", "report", "replan", "expire", "expire holds",
        "group commit", "group cancel", "group approve", "group reject", "event", "event if last", "unknown", "stale",
        "delegate", "withdraw", "by delegation", "share", "share", "withdraw share",
    ]),
    st.integers(0, 9),
    st.integers(1, 30),
)  # fmt: skip
several_asks = st.lists(asks, min_size=1, max_size=4, unique_by=lambda one: (one.owner, one.group, one.name))
severals = st.builds(Several, several_asks, st.lists(st.integers(0, 9), max_size=2))
simple = st.one_of(asks, asks, acts, acts, severals)
steps = st.one_of(simple, simple, simple, st.builds(Taken, simple))
batches = st.lists(
    st.tuples(st.integers(0, 7), st.lists(steps, min_size=1, max_size=5), st.booleans()), min_size=1, max_size=7
)
gates = st.sampled_from([Gate(), Gate(), Gate(rate_bps=5 * MBIT), Gate(duration=timedelta(hours=1))])
quotas = st.sampled_from(
    [Quota(), Quota(), Quota(reservations=3), Quota(holds=1), Quota(volume_bits=3600 * 20 * MBIT)]
)
policies = st.builds(Policy, gate=gates, quota=quotas, reserving=st.just(ReservingRules(SITE)))

# -- operations of cases -----------------------------------------------------------------------------------------------


def request_of(ask: Ask, live: Sequence[Entry], now: datetime) -> AdmissionRequest:
    name = f"{ask.group}.{ask.name}" if ask.group else ask.name
    ends: dict[str, Any] = {"destination": Endpoint(host="dst", port=5_000 + ask.port if ask.port else None)}
    if ask.group:
        ends["together"] = Membership(group=ask.group)
    old = next((one for one in live if one.reservation.key == (ask.owner, name)), None) if ask.changes else None
    wanted = ask.wish(name, ask.owner, ends)
    way = route(wanted, NETWORK)
    return AdmissionRequest(
        way.reservation, way.paths, way.demands, actor=ask.owner,
        hold_until=now + timedelta(minutes=ask.hold) if ask.hold else None, idempotency_key=ask.key,
        replaces=old.handle if old else None, condition=CONDITION if ask.condition else None,
        names_others=ask.port % 2 == 0,
    )  # fmt: skip


def operation_of(step: Any, live: Sequence[Entry], now: datetime) -> Operation[Any]:
    if isinstance(step, Taken):
        return Regret(now, operation_of(step.step, live, now))
    if isinstance(step, Ask):
        return Admit(now, request_of(step, live, now))
    if isinstance(step, Several):
        ends = {live[which % len(live)].handle for which in step.ends} if live else set()
        requests = tuple(replace(request_of(one, live, now), idempotency_key=None) for one in step.asks)
        return ApplyPlan(now, tuple(map(Cancellation, sorted(ends))), requests, "ops")
    return act_of(step, live, now)


def act_of(act: Act, live: Sequence[Entry], now: datetime) -> Operation[Any]:
    others: dict[str, Callable[[], Operation[Any]]] = {
        "expire": lambda: Expire(now),
        "expire holds": lambda: Expire(now, ended=False),
        "event": lambda: AppendEvent(now, "device.held", None, f"r{act.which % 3}", {"actor": "ops"}),
        "event if last": lambda: AppendIfLast(
            now, DeviceHeld(actor="ops"), f"r{act.which % 3}", act.minutes, frozenset({DeviceHeld.kind})
        ),
        "unknown": lambda: Commit(now, "r-unknown", "ops"),
        "share": lambda: GiveShare(now, share_of(act, now), "ann"),
        "withdraw share": lambda: WithdrawShare(now, "science", share_of(act, now).name, "ann"),
    }
    if act.verb in others:
        return others[act.verb]()
    if not live:
        return Expire(now)
    entry = live[act.which % len(live)]
    if act.verb.startswith("group "):
        change = {"commit": CommitGroup, "cancel": CancelGroup, "approve": ApproveGroup, "reject": RejectGroup}
        return change[act.verb.removeprefix("group ")](now, entry.group or "g-unknown", "ops")
    return on_entry(act, entry, now)


def share_of(act: Act, now: datetime) -> CommunityShare:
    members = (("hep",), ("astro",), ("hep", "astro"))[act.which % 3]
    until = now + timedelta(minutes=30 + act.minutes) if act.minutes % 2 else None
    return CommunityShare("science", members[-1], members, act.minutes * MBIT, until, given_by="ann", given_at=now)


def on_entry(act: Act, entry: Entry, now: datetime) -> Operation[Any]:
    handle, who = entry.handle, "ops"
    if act.verb == "bind":
        bound = entry.reservation.model_copy(update={"source": Endpoint(host="src", port=4_000 + act.which)})
        return Rebind(now, handle, who, reservation=bound, condition=CONDITION)
    if act.verb == "report":
        return Report(now, handle, who, remaining_bytes=act.which * 400_000_000)
    kinds: dict[str, Callable[[], Operation[Any]]] = {
        "commit": lambda: Commit(now, handle, who),
        "cancel": lambda: Move(now, handle, who, to=State.CANCELLED, reason="not needed"),
        "approve": lambda: Approve(now, handle, who, condition=CONDITION),
        "reject": lambda: Reject(now, handle, who, reason="no"),
        "extend": lambda: ExtendHold(now, handle, who, hold_until=now + timedelta(minutes=act.minutes)),
        "replan": lambda: Replan(now, handle),
        "delegate": lambda: Give(now, handle, "hep", delegation=delegation_of(act, now)),
        "withdraw": lambda: Withdraw(now, handle, "hep", to=delegation_of(act, now).to),
        "by delegation": lambda: Rebind(
            now,
            handle,
            Delegate.of(SITE.caller("d0", Role.REQUESTER), "bind", delegation_of(act, now)),
            reservation=entry.reservation,
        ),
        "stale": lambda: Commit(now, handle, who, entry.version + 1),
    }
    return kinds[act.verb]()


def delegation_of(act: Act, now: datetime) -> Delegation:
    may = ("bind",) if act.which % 3 else ("see",)
    return Delegation(f"d{act.which % 2}", may, now + timedelta(minutes=act.minutes), "hep", now)


# -- both shelves ------------------------------------------------------------------------------------------------------


@dataclass
class Noted:
    """What a batch came to: answers, and what was noted of it."""

    answers: list[Any]
    notes: Any
    new: list[Entry]
    changed: list[Entry]
    head: Head
    tables: list[Any]
    totals: list[Any]


def looked_at_in(now: datetime) -> list[Window]:
    return [Window(now + timedelta(minutes=first), now + timedelta(minutes=last)) for first, last in LOOKED_AT]


def totals_of(transaction: Transaction, now: datetime) -> list[Total]:
    """What each has, with the most in an hour, and in three."""
    return [transaction.totals(now).total(whose, [window], now) for whose in WHOSE for window in looked_at_in(now)]


def looked_at(entries: Iterable[Entry], now: datetime) -> list[Total]:
    """As `totals_of`, by looking at each entry."""
    counted = [one.counted for one in entries]
    return [
        total_of([one for one in counted if one is not None and whose in one.whose(SITE)], [window], now)
        for whose in WHOSE
        for window in looked_at_in(now)
    ]


def noted(
    transaction: Transaction, batch: Sequence[Operation[Any]], handles: Iterator[int], total_at: datetime | None
) -> Noted:
    """Runs it. Handles are the same in both, so that all else can be compared.

    Args:
        total_at: when totals are asked for, in its midst and at its end.
    """
    if total_at is not None:
        batch = [*batch[: len(batch) // 2], AskTotals(total_at), *batch[len(batch) // 2 :]]
    makers = {"new_handle": lambda: f"r-{next(handles)}", "new_group_handle": lambda: f"g-{next(handles)}"}
    with pytest.MonkeyPatch.context() as patched:
        for name, make in makers.items():
            patched.setattr(operations, name, make)
        answers = run_together(batch, transaction)
    answers = [
        (type(one).__name__, str(one), getattr(one, "answer", None)) if isinstance(one, SlotcarError) else one
        for one in answers
    ]
    known = transaction.entries
    tables = [(str(one), transaction.tables.steps(one, reservation(end=600).windows[0])) for one in TERMS_CAPACITIES]
    totals = [] if total_at is None else totals_of(transaction, total_at)
    return Noted(
        answers, transaction.notes, known.new, sorted(known.changed, key=lambda one: one.number),
        replace(transaction.head), tables, totals,
    )  # fmt: skip


TERMS_CAPACITIES = capacities(NETWORK)


@pytest.fixture
def engine(ledger: Ledger) -> Engine:
    return ledger.summaries.engine


@given(batches, policies)
@examples(few=40, many=1_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_shelf_in_memory_and_the_database_decide_alike(
    engine: Engine, work: list[tuple[int, list[Any], bool]], policy: Policy
) -> None:
    terms = Terms(TERMS_CAPACITIES, NETWORK.sls, policy, SOLVER, lambda _entry: CONDITION, few_open)
    first = next(_first_handles)
    in_database, in_memory = itertools.count(first), itertools.count(first)
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))  # else the log is append-only
        for table in ("flow", "occupancy", "event", "idempotency", "community_share", "entry"):
            connection.execute(text(f"DELETE FROM {table}"))
        counters = connection.execute(text("SELECT sequence, event, entry_number FROM head")).one()
    tables = SlotTables(TERMS_CAPACITIES)
    tables.prune(T0)
    shelf, cache, now = MemoryShelf(terms, (), Head(*counters), tables), TableCache(), T0
    for minutes, listed, asks_totals in work:
        now += timedelta(minutes=minutes)
        live = sorted((one for one in shelf if one.state in OCCUPYING), key=lambda one: one.number)
        batch = [operation_of(step, live, now) for step in listed]
        mine = shelf.transaction()
        total_at = now if asks_totals else None
        answered = noted(mine, batch, in_memory, total_at)
        with writing(engine) as (connection, head):
            transaction = Transaction(DatabaseShelf(connection, cache, terms, to_us(T0)), head, terms)
            assert noted(transaction, batch, in_database, total_at) == answered
            flush(transaction, connection, cache)
        shelf.keep(mine)
        assert not asks_totals or answered.totals == looked_at(shelf, now)
        for one in answered.answers:
            event(one[0] if isinstance(one, tuple) and one and isinstance(one[0], str) else type(one).__name__)
