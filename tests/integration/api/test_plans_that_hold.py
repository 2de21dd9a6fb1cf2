"""A plan is applied while its own reservations come out as it says, whatever strangers do meanwhile (ADR 33)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.errors import PlanNotAdmitted, StaleLedger
from slotcar.book.model import Entry, State
from slotcar.book.operation import Move
from slotcar.book.rules.roles import Caller, NotAllowed, Role
from slotcar.broker import Broker
from slotcar.broker.requests import Options
from slotcar.network.model import Network
from slotcar.planning.plan import Applied, Plan
from slotcar.planning.plan_file import plan_document, plan_of_document
from slotcar.planning.source import source_of_body
from slotcar.planning.step import Action
from slotcar.store import open_ledger
from slotcar.store.queries import EntryFilter
from tests.integration.api.conftest import GARNET, START, body

NOW = START - timedelta(minutes=30)
THREADS = 6
OPERATOR = Caller("ops", Role.OPERATOR)


@pytest.fixture
def brokers(database_url: str, network: Network, tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Controllers of one ledger, each with settings of its own."""
    with ExitStack() as opened:
        yield lambda **chosen: Broker(
            opened.enter_context(open_ledger(database_url, tmp_path)),
            network,
            Settings(inventory=GARNET, state_dir=tmp_path, **chosen),
        )


@pytest.fixture
def broker(brokers: Callable[..., Broker]) -> Broker:
    return brokers()


def planned(broker: Broker, *reservations: dict[str, Any], of_set: str = "mine") -> Plan:
    """As another machine reads it from the file."""
    source = source_of_body({"version": 1, "reservations": list(reservations)}, NOW, of_set, 1000)
    plan = broker.plan(source, OPERATOR, NOW)
    assert not plan.refused
    return plan_of_document(json.loads(json.dumps(plan_document(plan))), "plan", "")


def applied(broker: Broker, *reservations: dict[str, Any], of_set: str = "mine") -> Applied:
    return broker.apply(planned(broker, *reservations, of_set=of_set), OPERATOR, NOW)


def entry_named(broker: Broker, name: str) -> Entry:
    entries = [
        one for one in broker.ledger.list(EntryFilter(states=[State.COMMITTED])) if one.reservation.name == name
    ]
    assert len(entries) == 1
    return entries[0]


def refuses(broker: Broker, plan: Plan, *words: str) -> None:
    """It is stale, says so in these words, and nothing of it is done."""
    before = broker.ledger.list(EntryFilter(limit=1000))
    with pytest.raises(StaleLedger) as caught:
        broker.apply(plan, OPERATOR, NOW)
    assert all(one in str(caught.value) for one in words), str(caught.value)
    assert broker.ledger.list(EntryFilter(limit=1000)) == before


def small(name: str, **more: Any) -> dict[str, Any]:
    return body(name, **{"rate": "1 Mbit/s", "destination": f"lbnl-premium:{sum(name.encode()) + 6000}"} | more)


def test_strangers_come_change_and_go_and_a_plan_holds(broker: Broker) -> None:
    applied(broker, small("old"), small("grown"), small("same"))
    applied(broker, small("theirs", owner="astro"), of_set="others")
    plan = planned(broker, small("new"), small("grown", rate="2 Mbit/s"), small("same"))
    applied(broker, small("another", owner="astro"), of_set="others")  # one goes, one comes
    done = broker.apply(plan, OPERATOR, NOW)
    assert (done.created, done.changed, done.cancelled) == (1, 1, 1)


def test_what_a_plan_is_about_may_not_change(broker: Broker) -> None:
    applied(broker, small("gone"), small("grown"), small("same"))
    plan = planned(broker, small("new"), small("grown", rate="2 Mbit/s"), small("same"))
    same = entry_named(broker, "same")
    broker.ledger.run(Move(NOW, same.handle, "somebody", to=State.CANCELLED))
    refuses(broker, plan, f"hep/same is not {same.handle} any more")
    applied(broker, small("gone"), small("grown"), small("same"), small("late"))
    refuses(broker, plan, "hep/late is of the set mine by now", "hep/same is not")
    applied(broker, small("gone"), small("grown", rate="3 Mbit/s"), small("same"))
    refuses(broker, plan, "hep/grown has been changed: it is at version 2, and was at 1")
    again = planned(broker, small("new"), small("grown", rate="2 Mbit/s"), small("same"))
    applied(broker, small("gone"), small("grown", rate="3 Mbit/s"), small("same", rate="2 Mbit/s"))
    refuses(broker, again, "hep/same has another rate_bps by now")
    broker.ledger.run(Move(NOW, entry_named(broker, "gone").handle, "somebody", to=State.CANCELLED))
    refuses(broker, again, "hep/gone is not")


def test_a_plan_is_applied_once(broker: Broker) -> None:
    plan = planned(broker, small("new"))
    broker.apply(plan, OPERATOR, NOW)
    refuses(broker, plan, f"hep/new is there by now ({entry_named(broker, 'new').handle})", "make the plan again")


@pytest.mark.parametrize("recorded", [False, True], ids=["just-over", "recorded-as-ended"])
def test_what_a_plan_cancels_or_leaves_alone_may_end_by_itself(broker: Broker, recorded: bool) -> None:
    short = {"start": iso(START), "duration": "PT1H"}
    later = {"start": iso(START + timedelta(hours=5)), "duration": "PT1H"}
    applied(broker, small("gone", **short), small("same", **short), small("old", **later))
    plan = planned(broker, small("same", **short), small("new", **later))
    over = START + timedelta(hours=1)
    if recorded:
        broker.ledger.expire(over)
    done = broker.apply(plan, OPERATOR, over)
    assert (done.created, done.changed, done.cancelled) == (1, 0, 1)
    assert {one.reservation.name for one in broker.ledger.list(EntryFilter(states=[State.CANCELLED]))} == {"old"}
    with pytest.raises(StaleLedger, match="hep/new is there by now"):
        broker.apply(plan, OPERATOR, over)


def test_what_a_plan_changes_may_not_end_and_what_it_cancels_may_not_be_cancelled_by_another(broker: Broker) -> None:
    short = {"start": iso(START), "duration": "PT1H"}
    applied(broker, small("gone", **short), small("grown", **short))
    change = planned(broker, small("gone", **short), small("grown", **short | {"duration": "PT2H"}))
    cancel = planned(broker, small("grown", **short))
    over = START + timedelta(hours=1)
    with pytest.raises(StaleLedger, match="hep/grown is not"):
        broker.apply(change, OPERATOR, over)
    broker.ledger.run(Move(NOW, entry_named(broker, "gone").handle, "somebody", to=State.CANCELLED))
    with pytest.raises(StaleLedger, match="hep/gone is not"):
        broker.apply(cancel, OPERATOR, over)


def test_nothing_but_unchanged_steps_is_asked_for_too(broker: Broker) -> None:
    applied(broker, small("same"))
    plan = planned(broker, small("same"))
    assert broker.apply(plan, OPERATOR, NOW) == Applied((), 0, 0, 0)
    broker.ledger.run(Move(NOW, entry_named(broker, "same").handle, "somebody", to=State.CANCELLED))
    refuses(broker, plan, "hep/same is not")


def test_what_would_wait_for_approval_is_another_outcome(brokers: Callable[..., Broker]) -> None:
    plan = planned(brokers(), small("big", rate="5 Mbit/s"))
    gated = brokers(approval_rate_bps="4 Mbit/s")
    refuses(gated, plan, "hep/big would wait for approval")
    refuses(brokers(), planned(gated, small("big", rate="5 Mbit/s")), "hep/big would not wait for approval")


def volume(name: str, amount: str, **more: Any) -> dict[str, Any]:
    return small(name, rate=None, duration=None, volume=amount, **more)


@pytest.mark.slow
def test_a_volume_gets_the_rates_that_were_shown_or_the_plan_is_stale(broker: Broker) -> None:
    end = iso(START + timedelta(hours=2))
    later = volume("later", "9 GB", start=iso(START), by=end, shape="earliest")
    plan = planned(broker, later)
    applied(broker, small("theirs", owner="astro", rate="20 Mbit/s", duration="PT1H"), of_set="others")
    refuses(broker, plan, "hep/later would have other rates")
    broker.apply(planned(broker, later), OPERATOR, NOW)
    at_once = planned(broker, volume("at-once", "1 GB", start=None, by=end), of_set="at-once")
    applied(broker, small("more", owner="astro", rate="5 Mbit/s"), of_set="more")
    done = broker.apply(at_once, OPERATOR, NOW + timedelta(minutes=5))
    assert (done.created, done.entries[0].reservation.need) == (1, at_once.steps[0].reservation.need)  # type: ignore[union-attr]


def test_a_transfer_that_a_stranger_moved_is_cancelled_or_changed_as_planned(broker: Broker) -> None:
    end = iso(START + timedelta(hours=4))
    bulk = volume("bulk", "20 GB", start=iso(START), by=end, shape="earliest")
    applied(broker, bulk)
    fixed = {"rate": "36 Mbit/s", "start": iso(START), "duration": "PT1H", "owner": "astro"}
    relabelled = planned(broker, bulk | {"labels": {"why": "tape"}})
    cancel = planned(broker, small("new", rate="1 kbit/s"))
    applied(broker, small("first", **fixed), of_set="others")
    assert entry_named(broker, "bulk").version == 2, "it was moved"
    refuses(broker, relabelled, "hep/bulk would have other rates")
    done = broker.apply(cancel, OPERATOR, NOW)
    assert (done.created, done.cancelled) == (1, 1)


def test_the_same_others_move_or_the_plan_is_stale(broker: Broker) -> None:
    end = iso(START + timedelta(hours=4))
    fixed = small("fixed", rate="36 Mbit/s", start=iso(START), duration="PT1H")
    for then_cancelled in (False, True):
        bulk = volume("bulk", "20 GB", owner="astro", start=iso(START), by=end, shape="earliest")
        applied(broker, bulk, of_set="bulk")
        plan = planned(broker, fixed)
        transfer = entry_named(broker, "bulk")
        assert plan.moves == (transfer.handle,)
        if then_cancelled:
            broker.ledger.run(Move(NOW, transfer.handle, "somebody", to=State.CANCELLED))
            refuses(broker, plan, "0 deadline transfers (none) would move", f"1 deadline transfer ({transfer.handle})")
        else:
            assert broker.apply(plan, OPERATOR, NOW).created == 1
            for name in ("fixed", "bulk"):
                broker.ledger.run(Move(NOW, entry_named(broker, name).handle, "somebody", to=State.CANCELLED))


def test_a_plan_tells_nobody_of_others_sets(broker: Broker) -> None:
    """A document may be written by anybody: of whom it speaks is asked as of whose reservations they are."""
    applied(broker, small("secret", owner="astro"), of_set="mine")
    hep = Caller("hep-ci", Role.REQUESTER, "hep")
    document = plan_document(planned(broker, small("new")))
    with pytest.raises(NotAllowed):
        broker.apply(plan_of_document(document | {"owners": ["astro"]}, "plan", ""), hep, NOW)
    with pytest.raises(NotAllowed):
        broker.plan(source_of_body({"version": 1, "reservations": []}, NOW, "mine", 9, ["astro"]), hep, NOW)
    unchanged = document["steps"][0] | {"action": "no-op", "owner": "astro", "name": "secret", "reservation": None}
    with pytest.raises(NotAllowed):
        broker.apply(plan_of_document(document | {"steps": [unchanged]}, "plan", ""), hep, NOW)
    assert broker.apply(plan_of_document(document, "plan", ""), hep, NOW).created == 1


def outcomes(brokers: Sequence[Broker], plans: Sequence[Plan]) -> Counter[str]:
    def one(number: int) -> str:
        try:
            brokers[number % len(brokers)].apply(plans[number % len(plans)], OPERATOR, NOW)
        except (StaleLedger, PlanNotAdmitted) as error:
            return type(error).__name__
        return "applied"

    with ThreadPoolExecutor(THREADS) as threads:
        return Counter(threads.map(one, range(THREADS)))


def test_controllers_that_race_to_apply_one_plan_apply_it_once(brokers: Callable[..., Broker]) -> None:
    both = [brokers(), brokers()]
    plan = planned(both[0], small("new"))
    assert outcomes(both, [plan]) == {"applied": 1, "StaleLedger": THREADS - 1}


def test_plans_of_strangers_race_and_all_that_fit_are_applied(brokers: Callable[..., Broker]) -> None:
    both = [brokers(), brokers()]
    fit = [planned(both[0], small(f"n{n}", owner=f"o{n}"), of_set=f"s{n}") for n in range(THREADS)]
    assert outcomes(both, fit) == {"applied": THREADS}
    big = [planned(both[0], small(f"big{n}", owner=f"o{n}", rate="25 Mbit/s"), of_set=f"b{n}") for n in range(THREADS)]
    assert outcomes(both, big) == {"applied": 1, "PlanNotAdmitted": THREADS - 1}, "each fits alone, no two together"


def test_a_group_with_one_member_above_the_gate_is_applied_and_waits_whole(brokers: Callable[..., Broker]) -> None:
    broker = brokers(SLOTCAR_APPROVAL_RATE="5 Mbit/s")
    line = {"source": "anl-premium", "protocol": "udp", "service": "ip-premium"}
    members = [
        {"name": name, "network": line | {"destination": f"lbnl-premium:{port}", "rate": rate}}
        for name, port, rate in (("small", 7001, "1 Mbit/s"), ("large", 7002, "6 Mbit/s"))
    ]
    group = {"name": "g", "owner": "hep", "start": iso(START), "duration": "PT1H", "members": members}
    source = source_of_body({"version": 1, "reservations": [], "together": [group]}, NOW, "mine", 1000)
    plan = broker.plan(source, OPERATOR, NOW)
    read = plan_of_document(json.loads(json.dumps(plan_document(plan))), "plan", "")
    assert [step.waits for step in read.steps] == [True, True]
    assert {one.state for one in broker.apply(read, OPERATOR, NOW).entries} == {State.AWAITING_APPROVAL}


def test_a_plan_waits_for_no_lock_and_writes_nothing(broker: Broker, database_url: str) -> None:
    """A hold that ran out leaves its room to the plan, and stays in the ledger until somebody writes."""
    (wanted,) = source_of_body(
        {"version": 1, "reservations": [small("held") | {"rate": "30 Mbit/s"}]}, NOW, "mine", 1000
    ).reservations
    held = broker.create(wanted, OPERATOR, NOW - timedelta(minutes=10), Options(hold=timedelta(minutes=5)))
    before = broker.ledger.last_event()
    with psycopg.connect(database_url) as other:
        other.execute("SELECT * FROM head FOR UPDATE")
        plan = planned(broker, small("other", rate="30 Mbit/s"))
    assert [step.action for step in plan.steps] == [Action.CREATE]
    kept = broker.ledger.get(held.handle)
    assert kept is not None
    assert (kept.state, broker.ledger.last_event()) == (State.HELD, before)
