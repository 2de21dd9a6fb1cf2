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
from slotcar.desk.desk import Desk
from slotcar.desk.files import ReservationFiles
from slotcar.desk.requests import Options, Requests
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
def desks(database_url: str, network: Network, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Controllers of one ledger, each with settings of its own."""
    with ExitStack() as opened:
        yield lambda **chosen: Desk(
            opened.enter_context(open_ledger(database_url, tmp_path)),
            network,
            Settings(inventory=GARNET, state_dir=tmp_path, **chosen),
        )


@pytest.fixture
def desk(desks: Callable[..., Desk]) -> Desk:
    return desks()


def planned(desk: Desk, *reservations: dict[str, Any], of_set: str = "mine") -> Plan:
    """As another machine reads it from the file."""
    source = source_of_body({"version": 1, "reservations": list(reservations)}, NOW, of_set, 1000)
    plan = ReservationFiles(desk).plan(source, OPERATOR, NOW)
    assert not plan.refused
    return plan_of_document(json.loads(json.dumps(plan_document(plan))), "plan", "")


def applied(desk: Desk, *reservations: dict[str, Any], of_set: str = "mine") -> Applied:
    return ReservationFiles(desk).apply(planned(desk, *reservations, of_set=of_set), OPERATOR, NOW)


def entry_named(desk: Desk, name: str) -> Entry:
    entries = [one for one in desk.ledger.list(EntryFilter(states=[State.COMMITTED])) if one.reservation.name == name]
    assert len(entries) == 1
    return entries[0]


def refuses(desk: Desk, plan: Plan, *words: str) -> None:
    """It is stale, says so in these words, and nothing of it is done."""
    before = desk.ledger.list(EntryFilter(limit=1000))
    with pytest.raises(StaleLedger) as caught:
        ReservationFiles(desk).apply(plan, OPERATOR, NOW)
    assert all(one in str(caught.value) for one in words), str(caught.value)
    assert desk.ledger.list(EntryFilter(limit=1000)) == before


def small(name: str, **more: Any) -> dict[str, Any]:
    return body(name, **{"rate": "1 Mbit/s", "destination": f"lbnl-premium:{sum(name.encode()) + 6000}"} | more)


def test_strangers_come_change_and_go_and_a_plan_holds(desk: Desk) -> None:
    applied(desk, small("old"), small("grown"), small("same"))
    applied(desk, small("theirs", owner="astro"), of_set="others")
    plan = planned(desk, small("new"), small("grown", rate="2 Mbit/s"), small("same"))
    applied(desk, small("another", owner="astro"), of_set="others")  # one goes, one comes
    done = ReservationFiles(desk).apply(plan, OPERATOR, NOW)
    assert (done.created, done.changed, done.cancelled) == (1, 1, 1)


def test_what_a_plan_is_about_may_not_change(desk: Desk) -> None:
    applied(desk, small("gone"), small("grown"), small("same"))
    plan = planned(desk, small("new"), small("grown", rate="2 Mbit/s"), small("same"))
    same = entry_named(desk, "same")
    desk.ledger.run(Move(NOW, same.handle, "somebody", to=State.CANCELLED))
    refuses(desk, plan, f"hep/same is not {same.handle} any more")
    applied(desk, small("gone"), small("grown"), small("same"), small("late"))
    refuses(desk, plan, "hep/late is of the set mine by now", "hep/same is not")
    applied(desk, small("gone"), small("grown", rate="3 Mbit/s"), small("same"))
    refuses(desk, plan, "hep/grown has been changed: it is at version 2, and was at 1")
    again = planned(desk, small("new"), small("grown", rate="2 Mbit/s"), small("same"))
    applied(desk, small("gone"), small("grown", rate="3 Mbit/s"), small("same", rate="2 Mbit/s"))
    refuses(desk, again, "hep/same has another rate_bps by now")
    desk.ledger.run(Move(NOW, entry_named(desk, "gone").handle, "somebody", to=State.CANCELLED))
    refuses(desk, again, "hep/gone is not")


def test_a_plan_is_applied_once(desk: Desk) -> None:
    plan = planned(desk, small("new"))
    ReservationFiles(desk).apply(plan, OPERATOR, NOW)
    refuses(desk, plan, f"hep/new is there by now ({entry_named(desk, 'new').handle})", "make the plan again")


@pytest.mark.parametrize("recorded", [False, True], ids=["just-over", "recorded-as-ended"])
def test_what_a_plan_cancels_or_leaves_alone_may_end_by_itself(desk: Desk, recorded: bool) -> None:
    short = {"start": iso(START), "duration": "PT1H"}
    later = {"start": iso(START + timedelta(hours=5)), "duration": "PT1H"}
    applied(desk, small("gone", **short), small("same", **short), small("old", **later))
    plan = planned(desk, small("same", **short), small("new", **later))
    over = START + timedelta(hours=1)
    if recorded:
        desk.ledger.expire(over)
    done = ReservationFiles(desk).apply(plan, OPERATOR, over)
    assert (done.created, done.changed, done.cancelled) == (1, 0, 1)
    assert {one.reservation.name for one in desk.ledger.list(EntryFilter(states=[State.CANCELLED]))} == {"old"}
    with pytest.raises(StaleLedger, match="hep/new is there by now"):
        ReservationFiles(desk).apply(plan, OPERATOR, over)


def test_what_a_plan_changes_may_not_end_and_what_it_cancels_may_not_be_cancelled_by_another(desk: Desk) -> None:
    short = {"start": iso(START), "duration": "PT1H"}
    applied(desk, small("gone", **short), small("grown", **short))
    change = planned(desk, small("gone", **short), small("grown", **short | {"duration": "PT2H"}))
    cancel = planned(desk, small("grown", **short))
    over = START + timedelta(hours=1)
    with pytest.raises(StaleLedger, match="hep/grown is not"):
        ReservationFiles(desk).apply(change, OPERATOR, over)
    desk.ledger.run(Move(NOW, entry_named(desk, "gone").handle, "somebody", to=State.CANCELLED))
    with pytest.raises(StaleLedger, match="hep/gone is not"):
        ReservationFiles(desk).apply(cancel, OPERATOR, over)


def test_nothing_but_unchanged_steps_is_asked_for_too(desk: Desk) -> None:
    applied(desk, small("same"))
    plan = planned(desk, small("same"))
    assert ReservationFiles(desk).apply(plan, OPERATOR, NOW) == Applied((), 0, 0, 0)
    desk.ledger.run(Move(NOW, entry_named(desk, "same").handle, "somebody", to=State.CANCELLED))
    refuses(desk, plan, "hep/same is not")


def test_what_would_wait_for_approval_is_another_outcome(desks: Callable[..., Desk]) -> None:
    plan = planned(desks(), small("big", rate="5 Mbit/s"))
    gated = desks(approval_rate_bps="4 Mbit/s")
    refuses(gated, plan, "hep/big would wait for approval")
    refuses(desks(), planned(gated, small("big", rate="5 Mbit/s")), "hep/big would not wait for approval")


def volume(name: str, amount: str, **more: Any) -> dict[str, Any]:
    return small(name, rate=None, duration=None, volume=amount, **more)


@pytest.mark.slow
def test_a_volume_gets_the_rates_that_were_shown_or_the_plan_is_stale(desk: Desk) -> None:
    end = iso(START + timedelta(hours=2))
    later = volume("later", "9 GB", start=iso(START), by=end, shape="earliest")
    plan = planned(desk, later)
    applied(desk, small("theirs", owner="astro", rate="20 Mbit/s", duration="PT1H"), of_set="others")
    refuses(desk, plan, "hep/later would have other rates")
    ReservationFiles(desk).apply(planned(desk, later), OPERATOR, NOW)
    at_once = planned(desk, volume("at-once", "1 GB", start=None, by=end), of_set="at-once")
    applied(desk, small("more", owner="astro", rate="5 Mbit/s"), of_set="more")
    done = ReservationFiles(desk).apply(at_once, OPERATOR, NOW + timedelta(minutes=5))
    assert (done.created, done.entries[0].reservation.need) == (1, at_once.steps[0].reservation.need)  # type: ignore[union-attr]


def test_a_transfer_that_a_stranger_moved_is_cancelled_or_changed_as_planned(desk: Desk) -> None:
    end = iso(START + timedelta(hours=4))
    bulk = volume("bulk", "20 GB", start=iso(START), by=end, shape="earliest")
    applied(desk, bulk)
    fixed = {"rate": "36 Mbit/s", "start": iso(START), "duration": "PT1H", "owner": "astro"}
    relabelled = planned(desk, bulk | {"labels": {"why": "tape"}})
    cancel = planned(desk, small("new", rate="1 kbit/s"))
    applied(desk, small("first", **fixed), of_set="others")
    assert entry_named(desk, "bulk").version == 2, "it was moved"
    refuses(desk, relabelled, "hep/bulk would have other rates")
    done = ReservationFiles(desk).apply(cancel, OPERATOR, NOW)
    assert (done.created, done.cancelled) == (1, 1)


def test_the_same_others_move_or_the_plan_is_stale(desk: Desk) -> None:
    end = iso(START + timedelta(hours=4))
    fixed = small("fixed", rate="36 Mbit/s", start=iso(START), duration="PT1H")
    for then_cancelled in (False, True):
        bulk = volume("bulk", "20 GB", owner="astro", start=iso(START), by=end, shape="earliest")
        applied(desk, bulk, of_set="bulk")
        plan = planned(desk, fixed)
        transfer = entry_named(desk, "bulk")
        assert plan.moves == (transfer.handle,)
        if then_cancelled:
            desk.ledger.run(Move(NOW, transfer.handle, "somebody", to=State.CANCELLED))
            refuses(desk, plan, "0 deadline transfers (none) would move", f"1 deadline transfer ({transfer.handle})")
        else:
            assert ReservationFiles(desk).apply(plan, OPERATOR, NOW).created == 1
            for name in ("fixed", "bulk"):
                desk.ledger.run(Move(NOW, entry_named(desk, name).handle, "somebody", to=State.CANCELLED))


def test_a_plan_tells_nobody_of_others_sets(desk: Desk) -> None:
    """A document may be written by anybody: of whom it speaks is asked as of whose reservations they are."""
    applied(desk, small("secret", owner="astro"), of_set="mine")
    hep = Caller("hep-ci", Role.REQUESTER, "hep")
    document = plan_document(planned(desk, small("new")))
    with pytest.raises(NotAllowed):
        ReservationFiles(desk).apply(plan_of_document(document | {"owners": ["astro"]}, "plan", ""), hep, NOW)
    with pytest.raises(NotAllowed):
        ReservationFiles(desk).plan(
            source_of_body({"version": 1, "reservations": []}, NOW, "mine", 9, ["astro"]), hep, NOW
        )
    unchanged = document["steps"][0] | {"action": "no-op", "owner": "astro", "name": "secret", "reservation": None}
    with pytest.raises(NotAllowed):
        ReservationFiles(desk).apply(plan_of_document(document | {"steps": [unchanged]}, "plan", ""), hep, NOW)
    assert ReservationFiles(desk).apply(plan_of_document(document, "plan", ""), hep, NOW).created == 1


def outcomes(desks: Sequence[Desk], plans: Sequence[Plan]) -> Counter[str]:
    def one(number: int) -> str:
        try:
            ReservationFiles(desks[number % len(desks)]).apply(plans[number % len(plans)], OPERATOR, NOW)
        except (StaleLedger, PlanNotAdmitted) as error:
            return type(error).__name__
        return "applied"

    with ThreadPoolExecutor(THREADS) as threads:
        return Counter(threads.map(one, range(THREADS)))


def test_controllers_that_race_to_apply_one_plan_apply_it_once(desks: Callable[..., Desk]) -> None:
    both = [desks(), desks()]
    plan = planned(both[0], small("new"))
    assert outcomes(both, [plan]) == {"applied": 1, "StaleLedger": THREADS - 1}


def test_plans_of_strangers_race_and_all_that_fit_are_applied(desks: Callable[..., Desk]) -> None:
    both = [desks(), desks()]
    fit = [planned(both[0], small(f"n{n}", owner=f"o{n}"), of_set=f"s{n}") for n in range(THREADS)]
    assert outcomes(both, fit) == {"applied": THREADS}
    big = [planned(both[0], small(f"big{n}", owner=f"o{n}", rate="25 Mbit/s"), of_set=f"b{n}") for n in range(THREADS)]
    assert outcomes(both, big) == {"applied": 1, "PlanNotAdmitted": THREADS - 1}, "each fits alone, no two together"


def test_a_group_with_one_member_above_the_gate_is_applied_and_waits_whole(desks: Callable[..., Desk]) -> None:
    desk = desks(SLOTCAR_APPROVAL_RATE="5 Mbit/s")
    line = {"source": "anl-premium", "protocol": "udp", "service": "ip-premium"}
    members = [
        {"name": name, "network": line | {"destination": f"lbnl-premium:{port}", "rate": rate}}
        for name, port, rate in (("small", 7001, "1 Mbit/s"), ("large", 7002, "6 Mbit/s"))
    ]
    group = {"name": "g", "owner": "hep", "start": iso(START), "duration": "PT1H", "members": members}
    source = source_of_body({"version": 1, "reservations": [], "together": [group]}, NOW, "mine", 1000)
    plan = ReservationFiles(desk).plan(source, OPERATOR, NOW)
    read = plan_of_document(json.loads(json.dumps(plan_document(plan))), "plan", "")
    assert [step.waits for step in read.steps] == [True, True]
    assert {one.state for one in ReservationFiles(desk).apply(read, OPERATOR, NOW).entries} == {
        State.AWAITING_APPROVAL
    }


def test_a_plan_waits_for_no_lock_and_writes_nothing(desk: Desk, database_url: str) -> None:
    """A hold that ran out leaves its room to the plan, and stays in the ledger until somebody writes."""
    (wanted,) = source_of_body(
        {"version": 1, "reservations": [small("held") | {"rate": "30 Mbit/s"}]}, NOW, "mine", 1000
    ).reservations
    held = Requests(desk).create(wanted, OPERATOR, NOW - timedelta(minutes=10), Options(hold=timedelta(minutes=5)))
    before = desk.ledger.last_event()
    with psycopg.connect(database_url) as other:
        other.execute("SELECT * FROM head FOR UPDATE")
        plan = planned(desk, small("other", rate="30 Mbit/s"))
    assert [step.action for step in plan.steps] == [Action.CREATE]
    kept = desk.ledger.get(held.handle)
    assert kept is not None
    assert (kept.state, desk.ledger.last_event()) == (State.HELD, before)
