"""NSI CS 2.1 between requesters and domains with real ledgers: states, callbacks, what is lost, what peers leave out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from slotcar.api.nsi import nsi_caller
from slotcar.book.model import State
from slotcar.book.operation import Move
from slotcar.domains.model import ConnectionPhase
from slotcar.domains.nsi.messages import (
    Acknowledgment,
    Criteria,
    ErrorMessage,
    Failed,
    Notification,
    Notifications,
    NsiSchedule,
    NsiSummaries,
    Query,
    Range,
    Reserve,
    Results,
    Simple,
    SoapFault,
)
from slotcar.domains.nsi.states import LifecycleState, ProvisionState, ReservationState
from slotcar.policy.caller import Caller, Role
from slotcar.policy.reserving import ASKED_BY
from slotcar.reservation.model import Membership, Reservation
from slotcar.store.queries import EntryFilter
from tests.integration.domains.nsi import END, START, Requester, Telephone, bodies, kind_of, stp
from tests.integration.domains.test_background import background
from tests.integration.domains.three import NAMES, NOW, World, premium


@pytest.fixture
def requester(world: World) -> Requester:
    telephone = Telephone()
    telephone.add(world, "anl")
    return Requester(world, telephone, "anl")


def states_of(requester: Requester, connection: str) -> tuple[str, str, str]:
    states = requester.summary(connection).states
    return states.reservation.value, states.provision.value, states.lifecycle.value


def released(world: World, name: str) -> list[bool]:
    return [each.reservation.released for each in world.ledgers[name].list(EntryFilter())]


def test_a_connection_over_three_domains_from_its_reservation_to_its_end(requester: Requester, world: World) -> None:
    connection = requester.reserve()
    assert requester.kinds() == ["reserveConfirmed"]
    assert world.states() == {name: [State.HELD] for name in NAMES}
    assert states_of(requester, connection) == ("ReserveHeld", "Released", "Created")
    assert requester.on(connection, "reserveCommit") == ["reserveCommitConfirmed"]
    assert world.states() == {name: [State.COMMITTED] for name in NAMES}
    assert released(world, "anl") == [True]
    assert requester.on(connection, "provision") == ["provisionConfirmed"]
    assert released(world, "anl") == [False]
    assert states_of(requester, connection) == ("ReserveStart", "Provisioned", "Created")
    assert requester.on(connection, "release", "provision", "terminate") == [
        "releaseConfirmed", "provisionConfirmed", "terminateConfirmed",
    ]  # fmt: skip
    assert states_of(requester, connection) == ("ReserveStart", "Provisioned", "Terminated")
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}


def test_what_is_not_provisioned_is_on_no_router(requester: Requester, world: World) -> None:
    from slotcar.book.timeline import active_at

    connection = requester.reserve()
    requester.on(connection, "reserveCommit")
    entries = world.ledgers["anl"].list(EntryFilter())
    assert active_at(entries, START) == ()
    requester.on(connection, "provision")
    assert len(active_at(world.ledgers["anl"].list(EntryFilter()), START)) == 1


def test_a_refusal_has_the_domain_and_its_numbers(requester: Requester, world: World) -> None:
    first = requester.reserve(30)
    requester.telephone.heard.clear()
    connection = requester.reserve(20)
    failed = requester.telephone.heard[0].body
    assert isinstance(failed, Failed)
    assert failed.kind == "reserveFailed"
    assert failed.states.reservation is ReservationState.FAILED
    assert "45 Mbit/s" in failed.exception.text
    assert requester.on(connection, "reserveAbort", "terminate") == ["reserveAbortConfirmed", "terminateConfirmed"]
    assert states_of(requester, first)[0] == "ReserveHeld"
    requester.on(first, "terminate")
    assert not world.held()


def test_it_is_changed_by_version_and_a_change_that_is_given_up_leaves_what_was(
    requester: Requester, world: World
) -> None:
    connection = requester.reserve(10)
    requester.on(connection, "reserveCommit", "provision")
    later = END + timedelta(hours=1)
    change = Criteria(1, NsiSchedule(None, later), None, "", 20)
    requester.telephone.heard.clear()
    requester.send(Reserve(change, connection))
    confirmed = requester.telephone.heard[0].body
    assert isinstance(confirmed, Reserve)
    assert confirmed.criteria.schedule == NsiSchedule(START, later)
    assert confirmed.criteria.service is not None
    assert confirmed.criteria.service.capacity_mbps == 20
    assert requester.summary(connection).criteria[0].version == 0
    assert requester.on(connection, "reserveAbort") == ["reserveAbortConfirmed"]
    assert world.rates() == {name: [10_000_000] for name in NAMES}
    requester.send(Reserve(replace(change, version=2), connection))
    assert requester.on(connection, "reserveCommit") == ["reserveCommitConfirmed"]
    assert world.rates() == {name: [20_000_000] for name in NAMES}
    assert requester.summary(connection).criteria[0].version == 2
    assert released(world, "anl") == [False]
    fault = requester.send(Reserve(replace(change, version=2), connection))
    assert isinstance(fault, SoapFault)
    assert "version 2 is not after 2" in fault.text


def test_a_change_that_is_refused_leaves_what_was(requester: Requester, world: World) -> None:
    connection = requester.reserve(10)
    requester.on(connection, "reserveCommit")
    requester.telephone.heard.clear()
    requester.send(Reserve(Criteria(1, NsiSchedule(), None, "", 50), connection))
    assert requester.kinds() == ["reserveFailed"]
    assert requester.on(connection, "reserveAbort") == ["reserveAbortConfirmed"]
    assert world.rates() == {name: [10_000_000] for name in NAMES}
    assert states_of(requester, connection) == ("ReserveStart", "Released", "Created")


def test_a_hold_runs_out_and_is_told(requester: Requester, world: World) -> None:
    connection = requester.reserve()
    requester.telephone.heard.clear()
    requester.tick(timedelta(seconds=121))
    assert requester.kinds() == ["reserveTimeout"]
    assert states_of(requester, connection)[0] == "ReserveTimeout"
    assert not world.held()
    assert requester.on(connection, "reserveCommit") == ["reserveCommitFailed"]
    assert requester.on(connection, "terminate") == ["terminateConfirmed"]


def test_callbacks_that_are_lost_are_told_again_by_queries(requester: Requester, world: World) -> None:
    requester.telephone.deaf.add("http://test")
    connection = requester.reserve()
    requester.on(connection, "reserveCommit", "provision")
    assert requester.telephone.heard == []
    assert world.states() == {name: [State.COMMITTED] for name in NAMES}
    results = requester.send(Range("queryResultSync", connection))
    assert isinstance(results, Results)
    assert [kind_of(each.body) for each in results.items] == [
        "reserveConfirmed", "reserveCommitConfirmed", "provisionConfirmed",
    ]  # fmt: skip
    answer = requester.send(Query("querySummarySync", (connection,)))
    assert isinstance(answer, NsiSummaries)
    assert answer.reservations[0].result_id == 3
    requester.telephone.deaf.clear()
    requester.tick()
    assert set(requester.kinds()) == {"reserveConfirmed", "reserveCommitConfirmed", "provisionConfirmed"}
    one = requester.send(Range("queryResultSync", connection, 2, 2))
    assert isinstance(one, Results)
    assert len(one.items) == 1


def test_a_callback_that_nobody_takes_is_left_to_queries(requester: Requester) -> None:
    requester.telephone.deaf.add("http://test")
    connection = requester.reserve()
    for _ in range(12):
        requester.tick(timedelta(seconds=61))
    provider = requester.telephone.parts["anl"].provider
    assert provider.get(connection).outbox == ()
    notifications = requester.send(Range("queryNotificationSync", connection))
    assert isinstance(notifications, Notifications)
    assert [each.kind for each in notifications.items] == ["reserveTimeout"]


def test_queries_are_answered_as_callbacks_too(requester: Requester) -> None:
    connection = requester.reserve()
    for kind, answer in (
        ("querySummary", "querySummaryConfirmed"),
        ("queryRecursive", "queryRecursiveConfirmed"),
    ):
        requester.telephone.heard.clear()
        assert isinstance(requester.send(Query(kind, (connection,))), Acknowledgment)
        assert requester.kinds() == [answer]
        listed = requester.telephone.heard[0].body
        assert isinstance(listed, NsiSummaries)
        assert listed.reservations[0].criteria[0].children[0].provider == "urn:slotcar:domain:esnet"
    for kind in ("queryNotification", "queryResult"):
        requester.telephone.heard.clear()
        requester.send(Range(kind, connection))
        assert requester.kinds() == [f"{kind}Confirmed"]


def test_what_a_domain_cancels_is_told_as_a_forced_end(requester: Requester, world: World) -> None:
    connection = requester.reserve()
    requester.on(connection, "reserveCommit", "provision")
    entry = world.ledgers["lbnl"].list(EntryFilter())[0]
    world.ledgers["lbnl"].run(Move(world.now, entry.handle, "operator", to=State.CANCELLED))
    requester.telephone.heard.clear()
    requester.tick()
    requester.tick()
    event = requester.telephone.heard[0].body
    assert isinstance(event, Notification)
    assert (event.kind, event.event) == ("errorEvent", "forcedEnd")
    assert "lbnl: its segment was cancelled" in event.text
    assert states_of(requester, connection)[2] == "Failed"
    assert requester.on(connection, "terminate") == ["terminateConfirmed"]


def test_a_domain_that_does_not_answer_is_told_of_and_the_end_follows(requester: Requester, world: World) -> None:
    connection = requester.reserve()
    requester.on(connection, "reserveCommit")
    world.unreachable.add("esnet")
    assert requester.on(connection, "terminate") == []
    requester.telephone.heard.clear()
    requester.tick(timedelta(seconds=121))
    assert requester.kinds() == ["messageDeliveryTimeout"]
    assert states_of(requester, connection)[2] == "Terminating"
    world.unreachable.clear()
    requester.telephone.heard.clear()
    requester.tick()
    requester.tick()
    assert requester.kinds() == ["terminateConfirmed"]


def test_a_window_that_is_over_is_passed(requester: Requester) -> None:
    connection = requester.reserve()
    requester.on(connection, "reserveCommit", "provision")
    requester.tick(timedelta(hours=3))
    assert states_of(requester, connection)[2] == "PassedEndTime"
    assert requester.on(connection, "terminate") == ["terminateConfirmed"]


@pytest.mark.parametrize(
    ("schedule", "start", "end"),
    [
        (NsiSchedule(NOW - timedelta(milliseconds=9), END), NOW, END),
        (NsiSchedule(NOW - timedelta(seconds=29), END), NOW, END),
        (NsiSchedule(None, END), NOW, END),
        (NsiSchedule(START, None), START, START + timedelta(days=2)),
        (NsiSchedule(), NOW, NOW + timedelta(days=2)),
    ],
)
def test_a_start_that_is_just_past_and_times_that_are_left_out(
    requester: Requester, schedule: NsiSchedule, start: object, end: object
) -> None:
    connection = requester.reserve(schedule=schedule)
    assert requester.kinds() == ["reserveConfirmed"]
    assert requester.summary(connection).criteria[0].schedule == NsiSchedule(start, end)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"schedule": NsiSchedule(NOW - timedelta(seconds=31), END)}, "is past"),
        ({"schedule": NsiSchedule(END, START)}, "not after the start"),
        ({"service": None}, "no p2ps"),
    ],
)
def test_what_cannot_be_asked_for_is_a_fault_and_leaves_nothing(
    requester: Requester, fields: dict[str, object], words: str
) -> None:
    criteria = Criteria(0, NsiSchedule(START, END), requester.service(10))
    answer = requester.send(Reserve(replace(criteria, **fields)))  # type: ignore[arg-type]
    assert isinstance(answer, SoapFault)
    assert words in answer.text
    assert requester.send(Query("querySummarySync")) == NsiSummaries("querySummarySyncConfirmed", ())


@pytest.mark.parametrize(
    ("source", "parameters", "words"),
    [
        ("urn:ogf:network:other:topology:a", (), "is no STP of"),
        (stp("anl", "nobody"), (), "has no port nobody"),
        (stp("anl", "anl-premium") + "?vlan=1780", (), "has a label"),
        (stp("anl", "anl-premium"), (("colour", "red"),), "no parameter colour"),
        (stp("anl", "anl-premium"), (("service", "gold"),), "gold"),
    ],
)
def test_a_point_or_a_parameter_that_is_not_known_is_a_fault(
    requester: Requester, source: str, parameters: tuple[tuple[str, str], ...], words: str
) -> None:
    service = replace(requester.service(10), source=source, parameters=parameters)
    answer = requester.send(Reserve(Criteria(0, NsiSchedule(START, END), service)))
    assert isinstance(answer, SoapFault)
    assert words in answer.text


def test_states_do_not_allow_everything_and_what_is_so_already_is_confirmed_again(requester: Requester) -> None:
    connection = requester.reserve()
    for kind in ("provision", "release"):
        answer = requester.send(Simple(kind, connection))
        assert isinstance(answer, SoapFault)
        assert answer.exception is not None
        assert answer.exception.error == "00201"
    requester.on(connection, "reserveCommit", "provision")
    assert requester.on(connection, "provision") == ["provisionConfirmed"]
    assert isinstance(requester.send(Simple("reserveAbort", connection)), SoapFault)
    assert requester.on(connection, "terminate", "terminate") == ["terminateConfirmed"] * 2


def test_another_owners_connection_is_as_good_as_absent(requester: Requester) -> None:
    connection = requester.reserve()
    other = replace(requester, owner="other")
    answer = other.send(Simple("terminate", connection))
    assert isinstance(answer, SoapFault)
    assert answer.exception is not None
    assert answer.exception.error == "00203"
    assert other.send(Query("querySummarySync")) == NsiSummaries("querySummarySyncConfirmed", ())


def test_a_neighbour_that_asks_by_nsi_is_that_neighbour_to_policies(requester: Requester, world: World) -> None:
    """Who asks is what the face makes of a token whose owner is called as a neighbour."""
    ledger, network = world.ledgers["anl"], world.domains["anl"].network
    policy = ledger.terms.policy
    reserving = replace(policy.reserving, agreements={"esnet": {"at_most_bps": 5_000_000}})
    ledger.set_terms(replace(ledger.terms, policy=replace(policy, reserving=reserving)))
    desk = world.domains["anl"].segments.desk  # type: ignore[attr-defined]
    nsi = SimpleNamespace(domain="anl")
    context = SimpleNamespace(nsi=nsi, desk=SimpleNamespace(network=network, settings=desk.settings))
    token = Caller("esnet-nsi", Role.REQUESTER, "esnet", proof="token esnet-nsi")
    caller = nsi_caller(token, context)  # type: ignore[arg-type]
    assert (caller.owner, caller.asker.name) == ("esnet", "domain esnet")
    caller.require("create", "esnet")
    neighbour = replace(requester, owner="esnet", asker=caller.asker)
    neighbour.reserve(10)
    assert requester.kinds() == ["reserveFailed"]
    failed = requester.telephone.heard[-1].body
    assert "anl: domain esnet may not ask for so much" in failed.exception.text  # type: ignore[union-attr]
    requester.telephone.heard.clear()
    neighbour.reserve(5)
    assert requester.kinds() == ["reserveConfirmed"]
    assert [one.reservation.labels[ASKED_BY] for one in ledger.list(EntryFilter())] == ["esnet"]
    stranger = nsi_caller(replace(token, owner="hep"), context)  # type: ignore[arg-type]
    assert stranger.asker.name == "esnet-nsi"


def test_a_controller_that_is_killed_before_it_began_does_so_when_it_is_back(
    requester: Requester, world: World
) -> None:
    requester.telephone.parts["anl"].provider.agreement = world.domains["anl"]
    criteria = Criteria(0, NsiSchedule(START, END), requester.service(10))
    from slotcar.domains.nsi import soap
    from slotcar.domains.nsi.messages import Header, NsiMessage
    from slotcar.domains.nsi.provider import NsiCaller, correlation
    from tests.integration.domains.nsi import identity_of

    header = Header(correlation(), "urn:ogf:network:test:nsa", identity_of("anl").nsa, "http://test")
    caller = NsiCaller("peer", False, lambda _url: True, lambda _right, _owner: None)
    reply = requester.telephone.parts["anl"].provider.hear(soap.written(NsiMessage(header, Reserve(criteria))), caller)
    assert reply.status == 200  # and it is gone before it does what it has acknowledged
    world.kill("anl")
    world.start("anl")
    requester.telephone.add(world, "anl")
    requester.tick()
    assert requester.kinds() == ["reserveConfirmed"]


# -- our own requester against our own provider --------------------------------------------------------------------


@pytest.fixture
def by_nsi(world: World) -> Telephone:
    """ESnet asks LBNL by NSI; ANL asks ESnet as Slotcars do."""
    telephone = Telephone()
    telephone.add(world, "lbnl")
    telephone.asks(world, "esnet", "lbnl", _stps(world))
    return telephone


def _stps(world: World) -> dict[str, str]:
    network = world.domains["esnet"].network
    from slotcar.network.path import find_paths

    hops = [hop for hop in find_paths(premium(), network)[0].hops if network.devices[hop.device].domain == "lbnl"]
    return {str(hops[0].ingress): stp("lbnl", "anl-premium"), str(hops[-1].egress): stp("lbnl", "lbnl-premium")}


def settle(world: World, telephone: Telephone, ticks: int = 14) -> None:
    for _ in range(ticks):
        world.tick()
        for parts in telephone.parts.values():
            parts.tick()
        world.run()
        if not any(agreement.store.unsettled() for agreement in world.domains.values()):
            return
    raise AssertionError({name: one.store.unsettled() for name, one in world.domains.items()})


@pytest.mark.parametrize("lose", [False, True], ids=["callbacks", "no callbacks"])
def test_a_neighbour_that_speaks_nsi_is_reserved_changed_and_ended(
    world: World, by_nsi: Telephone, lose: bool
) -> None:
    by_nsi.lose_callbacks = lose
    anl = world.domains["anl"]
    connection = anl.reserve(premium(10_000_000), "hep").id
    settle(world, by_nsi)
    assert world.rates() == {name: [10_000_000] for name in NAMES}
    assert anl.get(connection).phase is ConnectionPhase.START
    assert released(world, "lbnl") == [False]
    anl.modify(connection, premium(20_000_000))
    settle(world, by_nsi)
    assert world.rates() == {name: [20_000_000] for name in NAMES}
    anl.modify(connection, premium(50_000_000))
    settle(world, by_nsi)
    assert world.rates() == {name: [20_000_000] for name in NAMES}
    anl.end(connection, "not needed any more")
    settle(world, by_nsi)
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}
    kinds = {kind_of(body) for body in bodies(by_nsi.envelopes)}
    assert {"reserve", "reserveConfirmed", "reserveCommit", "provision", "terminate", "querySummarySync"} <= kinds
    assert not any(isinstance(body, ErrorMessage) for body in bodies(by_nsi.envelopes))


def steps() -> Reservation:
    """A profile of two rates, as a volume by a deadline may have."""
    one = premium(10_000_000)
    (slot,) = one.slots
    middle = slot.start + (slot.end - slot.start) / 2
    halves = (replace(slot, end=middle), replace(slot, start=middle, forward_bps=5_000_000))
    return one.model_copy(update={"slots": halves})


@pytest.mark.parametrize(
    ("reservation", "words"),
    [(steps(), "has one window: 2 were asked for"), (background(), "has no words for a background share")],
    ids=["profile", "background"],
)
def test_what_nsi_has_no_words_for_is_refused_and_not_asked(
    world: World, by_nsi: Telephone, reservation: Reservation, words: str
) -> None:
    connection = world.domains["anl"].reserve(reservation, "hep").id
    settle(world, by_nsi)
    failed = world.domains["anl"].get(connection)
    assert failed.phase is ConnectionPhase.FAILED
    assert failed.why.startswith(f"esnet: lbnl is asked by NSI, which {words}")
    assert not world.held()
    assert not by_nsi.envelopes


def test_flows_of_a_group_are_committed_together_at_a_neighbour_by_nsi(world: World, by_nsi: Telephone) -> None:
    one, other = premium(10_000_000, "one"), premium(20_000_000, "other")
    end = other.destination.model_copy(update={"port": 5002})
    one, other = (
        each.model_copy(update={"together": Membership(group="run"), "destination": at})
        for each, at in ((one, one.destination.model_copy(update={"port": 5001})), (other, end))
    )
    ids = world.domains["anl"].reserve_together([(one, None), (other, None)], "hep")
    settle(world, by_nsi)
    assert [each.committed for each in world.domains["anl"].all_in_force(ids, 0)] == [1, 1]
    assert {name: sorted(rates) for name, rates in world.rates().items()} == {
        name: [10_000_000, 20_000_000] for name in NAMES
    }


def test_what_a_neighbour_by_nsi_refuses_is_refused_by_all_in_its_words(world: World, by_nsi: Telephone) -> None:
    lbnl = world.domains["lbnl"]
    taken = replace_sls(lbnl.network, 5_000_000)
    lbnl.network = taken
    world.domains["lbnl"].segments.desk.ledger.set_terms(  # type: ignore[attr-defined]
        replace(world.ledgers["lbnl"].terms, sls=taken.sls, capacities=_capacities(taken))
    )
    connection = world.domains["anl"].reserve(premium(10_000_000), "hep").id
    settle(world, by_nsi)
    failed = world.domains["anl"].get(connection)
    assert failed.phase is ConnectionPhase.FAILED
    assert "lbnl" in failed.why
    assert "5 Mbit/s" in failed.why
    assert not world.held()


def replace_sls(network, rate_bps: int):  # type: ignore[no-untyped-def]
    sls = {
        name: each.model_copy(update={"rate_bps": rate_bps}) if each.downstream == "lbnl" else each
        for name, each in network.sls.items()
    }
    return network.model_copy(update={"sls": sls})


def _capacities(network):  # type: ignore[no-untyped-def]
    from slotcar.admission import capacities

    return capacities(network)


def test_a_neighbour_by_nsi_that_ends_its_segment_ends_all(world: World, by_nsi: Telephone) -> None:
    connection = world.domains["anl"].reserve(premium(10_000_000), "hep").id
    settle(world, by_nsi)
    entry = world.ledgers["lbnl"].list(EntryFilter())[0]
    by_nsi.lose_callbacks = True
    world.ledgers["lbnl"].run(Move(world.now, entry.handle, "operator", to=State.CANCELLED))
    for _ in range(4):
        world.tick()
        for parts in by_nsi.parts.values():
            parts.tick()
        world.run()
    settle(world, by_nsi)
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}
    assert "lbnl has ended its segment" in world.domains["anl"].get(connection).why


def test_a_commit_that_comes_after_the_neighbours_hold_ends_all(world: World, by_nsi: Telephone) -> None:
    """NSI's holds end by their clock: nothing is left half."""
    anl = world.domains["anl"]
    connection = anl.reserve(premium(10_000_000), "hep", waits=True).id
    for _ in range(4):
        world.tick(timedelta(seconds=20))
    assert anl.get(connection).phase is ConnectionPhase.HELD
    by_nsi.deaf.add("http://lbnl/nsi/provider")
    anl.commit(connection)
    world.run()
    for _ in range(6):
        world.tick()
        by_nsi.parts["lbnl"].tick()
        world.run()
    by_nsi.deaf.clear()
    settle(world, by_nsi)
    assert not world.held()
    phases = {world.domains[name].get(connection).phase for name in ("anl", "esnet")}
    assert phases == {ConnectionPhase.TERMINATED}
    assert world.rates() == {name: [] for name in NAMES}


def test_states_are_those_of_the_specification() -> None:
    assert {each.value for each in ReservationState} == {
        "ReserveStart", "ReserveChecking", "ReserveFailed", "ReserveAborting", "ReserveHeld", "ReserveCommitting",
        "ReserveTimeout",
    }  # fmt: skip
    assert len(ProvisionState) == 4
    assert len(LifecycleState) == 5
