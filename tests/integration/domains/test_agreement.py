"""Three controllers with three ledgers agree, whatever of them or of their messages is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import State
from slotcar.book.operation import Move
from slotcar.book.rules.gate import Gate
from slotcar.desk.requests import Requests
from slotcar.desk.segments import ITSELF, LedgerSegments
from slotcar.domains import protocol
from slotcar.domains.agreement import ASK_EVERY
from slotcar.domains.enquiring import FreeBehind
from slotcar.domains.errors import ConnectionRefused, NotAuthentic, NotThatWay, TicketRefused
from slotcar.domains.model import Connection, ConnectionPhase, Deed, DeedResult
from slotcar.domains.tickets import checked_message, issuer_of, signed_message
from slotcar.domains.way import PeerRequest
from slotcar.planning.errors import LeavesTheDomain
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.reservation.need import VolumeByDeadline
from tests.integration.domains.three import NAMES, NOW, World, premium

COMMITTED = {name: [State.COMMITTED] for name in NAMES}


def reserved(world: World, rate_bps: int = 10_000_000, name: str = "tonight") -> str:
    connection = world.domains["anl"].reserve(premium(rate_bps, name), "hep")
    world.run()
    return connection.id


def test_a_chain_commits_everywhere(world: World) -> None:
    connection = reserved(world)
    assert set(world.phases(connection).values()) == {ConnectionPhase.START}
    assert world.states() == COMMITTED
    owners = {name: ledger.list(_all())[0].reservation.owner for name, ledger in world.ledgers.items()}
    assert owners == {"anl": "hep", "esnet": "hep@anl", "lbnl": "hep@anl"}
    assert not world.held()


def test_it_may_be_asked_where_the_flow_ends_and_all_have_it(world: World) -> None:
    """Its first domain is the last that the packets cross, and so the others are asked from there on."""
    lbnl = world.domains["lbnl"]
    connection = lbnl.reserve(premium(), "hep").id
    world.run()
    assert world.states() == COMMITTED
    assert [lbnl.get(connection).next, world.domains["esnet"].get(connection).next] == ["esnet", "anl"]
    assert {ledger.list(_all())[0].reservation.owner for name, ledger in world.ledgers.items() if name != "lbnl"} == {
        "hep@lbnl"
    }
    lbnl.modify(connection, premium(20_000_000))
    world.run()
    assert world.rates() == {name: [20_000_000] for name in NAMES}
    assert lbnl.free_behind(premium(), "hep").unknown_beyond == ()
    lbnl.end(connection, "not needed any more")
    world.run()
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}


def test_an_agent_may_begin_where_the_flow_ends(world: World) -> None:
    anl, esnet, lbnl = (world.domains[name] for name in NAMES)
    first = lbnl.reserve(premium(), "hep", by_agent=True)
    agent_asks(world, "esnet", "lbnl", first.id)
    agent_asks(world, "anl", "esnet", first.id)
    esnet.show(first.id, anl.ticket_for(anl.get(first.id)))
    lbnl.show(first.id, esnet.ticket_for(esnet.get(first.id)))
    lbnl.commit(first.id)
    world.settle()
    assert world.states() == COMMITTED


def test_a_domain_that_the_way_only_crosses_is_not_its_first(world: World) -> None:
    """It would have its own part alone, and those before it nothing."""
    with pytest.raises(NotThatWay, match="esnet: this way goes from anl through esnet to lbnl: ask in the domain"):
        world.domains["esnet"].reserve(premium(), "hep")
    assert world.states() == {name: [] for name in NAMES}


@pytest.mark.parametrize(
    ("origin", "through"),
    [
        ("lbnl", ()),
        ("lbnl", ("esnet",)),
        ("anl", ()),
        ("anl", ("anl",)),
        ("anl", ("esnet",)),
        ("anl", ("anl", "cern")),
        ("anl", ("anl", "esnet", "anl", "esnet")),
    ],
)
def test_a_neighbour_asks_in_no_name_but_that_of_whom_it_was_asked_by(
    world: World, origin: str, through: tuple[str, ...]
) -> None:
    """Not as this domain itself, whose owners would have it, and not so that it counts to another domain's total."""
    answer = peer_request(world, content=PeerRequest(premium_by_address(), "hep", origin, through).to_text())
    assert (answer["kind"], answer["why"][:5]) == ("reserveFailed", "lbnl:")
    world.run()
    assert world.states() == {name: [] for name in NAMES}


@pytest.mark.parametrize("owner", ["", "a b", "x/y", "h" * 127])
def test_an_owner_that_the_ledger_could_not_read_again_is_refused(world: World, owner: str) -> None:
    """Also one that is in order where it is asked for, and too long with its domain's name."""
    answer = peer_request(world, owner=owner)
    assert answer["kind"] in ("reserveFailed", "reservePending")
    world.run()
    assert world.states()["lbnl"] == []
    assert "owner: is no owner" in world.domains["lbnl"].get("esnet-1").why
    reserved(world)
    assert world.states() == COMMITTED


def test_of_a_neighbours_reservation_only_what_crosses_domains_is_taken(world: World) -> None:
    """A volume by a deadline would move transfers of this domain's own, and labels of its own are its own."""
    need = VolumeByDeadline(volume_bytes=10**9, by=NOW + timedelta(hours=2), start=NOW)
    plain = premium_by_address()
    request = PeerRequest(plain.model_copy(update={"need": need}), "hep", "anl", ("anl", "esnet"))
    answer = peer_request(world, content=request.to_text())
    assert answer["kind"] == "reserveFailed"
    assert "a volume by a deadline, whose slots are not found yet, cannot cross domains" in answer["why"]
    labels = {"slotcar.set": "others", "project": "x", "community": "cms"}
    own = {"labels": labels, "via": ("lbnl-edge",), "released": True}
    request = PeerRequest(plain.model_copy(update=own), "hep", "anl", ("anl", "esnet"))
    assert peer_request(world, content=request.to_text())["kind"] == "reservePending"
    world.run()
    (entry,) = world.ledgers["lbnl"].list(_all())
    assert sorted(entry.reservation.labels) == ["community", "slotcar.asked-by", "slotcar.connection"]
    assert (entry.reservation.via, entry.reservation.released) == ((), False)


def peer_request(world: World, owner: str = "hep", **parts: object) -> dict[str, Any]:
    """What lbnl answers to a request of esnet's."""
    request = PeerRequest(premium_by_address(), owner, "anl", ("anl", "esnet"))
    body = {
        "kind": "reserve", "connection": "esnet-1", "version": 1, "why": "", "segments": [], "content": request.to_text(),
    }  # fmt: skip
    esnet, lbnl = world.domains["esnet"], world.domains["lbnl"]
    (answer,) = lbnl.hear(signed_message(esnet.key, "lbnl", {**body, **parts}, NOW))
    return checked_message(answer, "lbnl", esnet.neighbours["lbnl"].certificate, "esnet", NOW)[0]


@pytest.mark.parametrize("stated_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_what_a_neighbour_says_of_its_segment_can_be_shown_whatever_it_says(world: World, stated_at: str) -> None:
    connection = reserved(world)
    state = {"domain": "esnet", "phase": "terminated", "committed": 1, "why": "", "slot": "", "stated_at": stated_at}
    body = {
        "kind": "segmentStates", "connection": connection, "version": 1, "why": "", "content": "", "segments": [state],
    }  # fmt: skip
    lbnl = world.domains["lbnl"]
    assert lbnl.hear(signed_message(world.domains["esnet"].key, "lbnl", body, NOW)) == []
    states = {one.domain: one.phase for one in lbnl.segment_states(lbnl.get(connection))}
    assert states["esnet"] is not ConnectionPhase.TERMINATED


def test_a_connection_for_which_nothing_can_be_done_stops_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lbnl = world.domains["lbnl"]
    first, second = (lbnl.reserve(premium(name=name), "hep", by_agent=True).id for name in ("first", "second"))
    do = LedgerSegments.do

    def fails(self: LedgerSegments, deed: Deed, connection: Connection, now: datetime) -> DeedResult:
        if connection.id == first:
            raise NotThatWay("the inventory has its host no more")
        return do(self, deed, connection, now)

    monkeypatch.setattr(LedgerSegments, "do", fails)
    for _ in range(5):
        world.now += timedelta(seconds=31)
        lbnl.tick()
    world.run()
    assert lbnl.get(second).phase is ConnectionPhase.FAILED


def test_an_agent_is_told_nothing_of_a_connection_that_it_did_not_ask_for(world: World) -> None:
    anl, lbnl = world.domains["anl"], world.domains["lbnl"]
    connection = reserved(world)
    request = PeerRequest(premium_by_address(), "astro", "anl", ("anl", "esnet"))
    for name, error in ((connection, ConnectionRefused), ("sls:esnet-1", NotThatWay)):
        with pytest.raises(error):
            lbnl.reserve(
                request.reservation, "astro", by_agent=True, behind=request, connection_id=name, previous="esnet"
            )
    first = anl.reserve(premium(name="again"), "hep", by_agent=True)
    assert agent_asks(world, "esnet", "anl", first.id) == agent_asks(world, "esnet", "anl", first.id)


def limit(world: World, at_most_bps: int, name: str = "lbnl") -> None:
    """Has a domain let the one before it ask for so much at most."""
    ledger, previous = world.ledgers[name], NAMES[NAMES.index(name) - 1]
    policy = ledger.terms.policy
    reserving = replace(policy.reserving, agreements={previous: {"at_most_bps": at_most_bps}})
    ledger.set_terms(replace(ledger.terms, policy=replace(policy, reserving=reserving)))


def _all():  # type: ignore[no-untyped-def]
    from slotcar.store.queries import EntryFilter

    return EntryFilter()


def test_a_refusal_in_the_middle_leaves_all_as_they_were_and_says_who_in_its_numbers(world: World) -> None:
    reserved(world, 30_000_000, "first")
    connection = reserved(world, 20_000_000, "second")
    anl = world.domains["anl"]
    with pytest.raises(ConnectionRefused, match=r"anl: .*45 Mbit/s") as refused:
        anl.in_force(connection, 1, 1)
    assert "esnet-ip-premium" in str(refused.value)
    assert world.rates() == {name: [30_000_000] for name in NAMES}
    assert not world.held()


def test_the_last_domain_refuses_for_all(world: World) -> None:
    """Its SLS alone is taken: those before it have room."""
    limit(world, 5_000_000)
    connection = reserved(world)
    with pytest.raises(
        ConnectionRefused,
        match=r"^lbnl: domain esnet may not ask for so much: .*; they allow up to 5 Mbit/s in its place$",
    ):
        world.domains["anl"].in_force(connection, 1, 1)
    assert world.rates() == {name: [] for name in NAMES}
    assert not world.held()
    assert not any(agreement.store.unsettled() for agreement in world.domains.values())


def test_a_change_is_made_everywhere_or_nowhere(world: World) -> None:
    connection = reserved(world, 10_000_000)
    anl = world.domains["anl"]
    anl.modify(connection, premium(20_000_000))
    world.run()
    assert world.rates() == {name: [20_000_000] for name in NAMES}
    reserved(world, 15_000_000, "another")
    before = world.rates()
    anl.modify(connection, premium(35_000_000))
    world.run()
    with pytest.raises(ConnectionRefused, match="anl: "):
        anl.in_force(connection, 3, 1)
    assert world.rates() == before
    limit(world, 21_000_000)
    anl.modify(connection, premium(22_000_000))
    world.run()
    with pytest.raises(ConnectionRefused, match=r"lbnl: domain esnet may not ask for so much: .* up to 21 Mbit/s"):
        anl.in_force(connection, 4, 1)
    assert world.rates() == before
    anl.modify(connection, premium(5_000_000))
    world.run()
    assert world.rates() == {name: [5_000_000, 15_000_000] for name in NAMES}


def test_ports_are_the_same_in_all_domains(world: World) -> None:
    """Who bound them in one of them alone had another flow there than in the others."""
    connection = reserved(world)
    anl = world.domains["anl"]
    (entry,) = world.ledgers["anl"].list(_all())
    assert isinstance(anl.segments, LedgerSegments)
    with pytest.raises(LeavesTheDomain, match="its ports are the same in all domains"):
        Requests(anl.segments.desk).bind(entry.handle, ITSELF, world.now, 5000)
    ports = {"source": Endpoint(host="anl-premium", port=5000)}
    anl.modify(connection, premium().model_copy(update=ports))
    world.run()
    assert {ledger.list(_all())[0].reservation.source.port for ledger in world.ledgers.values()} == {5000}


def test_a_change_above_a_domains_gate_is_refused_as_a_beginning_is(world: World) -> None:
    """Who began below it and changed went past the operator."""
    ledger = world.ledgers["esnet"]
    policy = ledger.terms.policy
    ledger.set_terms(replace(ledger.terms, policy=replace(policy, gate=Gate(rate_bps=15_000_000))))
    anl = world.domains["anl"]
    connection = reserved(world)
    for begin in (
        lambda: reserved(world, 20_000_000, "large"),
        lambda: anl.modify(connection, premium(20_000_000)).id,
    ):
        refused = begin()
        world.run()
        assert anl.get(refused).why.startswith("esnet: so much waits for an operator's approval here")
        assert world.rates() == {name: [10_000_000] for name in NAMES}
    assert not any(one.proposed for each in world.ledgers.values() for one in each.list(_all()))
    anl.modify(connection, premium(15_000_000))
    world.run()
    assert world.rates() == {name: [15_000_000] for name in NAMES}


def test_a_change_that_leads_elsewhere_is_refused_at_once(world: World) -> None:
    """The neighbours that have a part of it would have to be others. It ended in a traceback, and two minutes later in that
    a neighbour had not answered."""
    connection = reserved(world)
    with pytest.raises(NotThatWay, match=r"anl: .* goes by esnet there, and this would go by no other domain: end it"):
        world.domains["anl"].modify(connection, premium(destination="anl-traffic"))
    assert set(world.phases(connection).values()) == {ConnectionPhase.START}
    world.domains["anl"].modify(connection, premium(destination="lbnl-traffic"))
    world.run()
    assert world.ledgers["lbnl"].list(_all())[0].reservation.destination.host == "10.10.22.2"


def test_an_end_reaches_all(world: World) -> None:
    connection = reserved(world)
    world.domains["anl"].end(connection, "not needed any more")
    world.run()
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}
    assert set(world.phases(connection).values()) == {ConnectionPhase.TERMINATED}


def test_a_segment_that_its_operator_cancels_ends_the_others(world: World) -> None:
    connection = reserved(world)
    entry = world.ledgers["esnet"].list(_all())[0]
    world.ledgers["esnet"].run(Move(world.now, entry.handle, "operator", to=State.CANCELLED))
    world.tick()
    world.settle()
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}
    assert "esnet: its segment was cancelled" in world.domains["anl"].get(connection).why


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", range(1, 13))
@pytest.mark.in_short(*(f"{at}-{name}" for at in (2, 5, 8, 11) for name in NAMES))
def test_a_controller_that_is_killed_at_any_step_leaves_nothing_half(world: World, name: str, at: int) -> None:
    """It does so many pieces of work, is gone with what it had not kept, and comes back a minute later."""
    connection = world.domains["anl"].reserve(premium(), "hep").id
    for _ in range(at):
        if world.work:
            owner, work = world.work.pop(0)
            if owner in world.domains:
                work()
    world.kill(name)
    world.run()
    world.tick()
    world.start(name)
    world.settle()
    phases = set(phases_known(world, connection))
    rates = {tuple(each) for each in world.rates().values()}
    assert rates in ({()}, {(10_000_000,)}), world.rates()
    assert phases <= {ConnectionPhase.START} or ConnectionPhase.START not in phases
    assert not world.held()


def phases_known(world: World, connection: str) -> list[ConnectionPhase]:
    """Of the domains that have heard of a connection."""
    rows = [agreement.store.find(connection) for agreement in world.domains.values()]
    return [ConnectionPhase(row.phase) for row in rows if row]


@pytest.mark.parametrize("deed", [Deed.HOLD, Deed.KEEP, Deed.COMMIT])
@pytest.mark.parametrize("name", NAMES)
def test_a_controller_that_dies_between_its_ledger_and_its_note_does_it_again(
    world: World, name: str, deed: Deed, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = world.domains[name].segments
    dies = [True]
    do = type(segments).do

    class Died(BaseException):
        pass

    def then_die(self, what, connection, now):  # type: ignore[no-untyped-def]
        result = do(self, what, connection, now)
        if self is segments and what is deed and dies.pop():
            raise Died
        return result

    monkeypatch.setattr(type(segments), "do", then_die)
    connection = ""
    try:
        connection = world.domains["anl"].reserve(premium(), "hep").id
        world.run()
    except Died:
        pass
    monkeypatch.setattr(type(segments), "do", do)
    connection = connection or world.domains["anl"].latest(1)[0].id
    world.kill(name)
    world.start(name)
    world.settle()
    assert world.states() == COMMITTED


def test_a_domain_that_never_answers_is_named_and_nothing_stays_held(world: World) -> None:
    world.unreachable.add("lbnl")
    connection = reserved(world)
    with pytest.raises(
        ConnectionRefused,
        match=r"esnet has not answered yet: connection .*, and is given up where .* by 2027-03-01T12:02:00Z; see",
    ):
        world.domains["anl"].in_force(connection, 1, 0)
    with pytest.raises(ConnectionRefused, match=r"lbnl has not answered yet \(lbnl does not answer\): connection"):
        world.domains["esnet"].in_force(connection, 1, 0)
    world.tick(timedelta(seconds=60))
    for _ in range(25):
        world.tick()
    why = world.domains["anl"].get(connection).why
    assert why == "lbnl did not answer esnet within 2 min"
    assert world.rates() == {name: [] for name in NAMES}
    assert not world.held()
    world.unreachable.clear()
    world.settle()


def test_a_domain_that_is_gone_for_a_while_learns_what_was_decided(world: World) -> None:
    """It gave its word, and what was decided does not reach it until it is back."""
    decided: list[str] = []

    def lost(receiver: str, text: str) -> bool:
        committing = world.domains["anl"].latest(1)[0].phase in (ConnectionPhase.COMMITTING, ConnectionPhase.START)
        if committing and "lbnl" in (receiver, issuer_of(text)):
            decided.append(receiver)
            return True
        return False

    world.lost = lost
    connection = reserved(world)
    for _ in range(8):
        world.tick()
    assert decided
    assert world.domains["lbnl"].get(connection).in_doubt
    assert world.states()["lbnl"] == [State.HELD], "four minutes later it is held: the hold's two are over"
    world.lost = lambda _receiver, _text: False
    world.settle()
    assert world.states() == COMMITTED


def test_a_domain_that_is_gone_for_a_day_hears_of_the_end_when_it_is_back(world: World) -> None:
    """Meanwhile what is asked of it is refused by its name, and nothing stays held."""
    window = Window(NOW + timedelta(hours=1), NOW + timedelta(days=3))
    long = Reservation.constant(
        **{key: getattr(premium(), key) for key in ("name", "owner", "source", "destination", "protocol", "service")},
        direction=Direction.BOTH, windows=[window], rate_bps=10_000_000,
    )  # fmt: skip
    connection = world.domains["anl"].reserve(long, "hep").id
    world.run()
    world.kill("lbnl")
    world.tick(timedelta(hours=12))
    refused = world.domains["anl"].reserve(_later(), "hep").id
    world.run()
    for _ in range(10):
        world.tick()
    assert world.domains["anl"].get(refused).why == "lbnl did not answer esnet within 2 min"
    world.domains["anl"].end(connection, "not needed any more")
    world.run()
    world.tick(timedelta(hours=12))
    world.start("lbnl")
    world.settle()
    assert world.domains["lbnl"].get(connection).why == "anl: not needed any more"
    live = (State.HELD, State.COMMITTED)
    assert not [one for states in world.states().values() for one in states if one in live]


def _later() -> Reservation:
    one = premium(name="later")
    start = NOW + timedelta(hours=14)
    slots = [replace(slot, start=start, end=start + timedelta(hours=1)) for slot in one.slots]
    return one.model_copy(update={"slots": tuple(slots)})


def test_clocks_that_differ_too_much_are_told_and_nothing_is_held(world: World) -> None:
    world.clocks["esnet"] = timedelta(seconds=45)
    connection = reserved(world)
    for _ in range(5):
        world.tick()
    anl = world.domains["anl"]
    assert "the clock of anl is 45 s behind that of esnet" in anl.meetings.troubles["esnet"]
    assert anl.get(connection).why == "esnet did not answer anl within 2 min"
    assert not world.held()


def test_clocks_that_differ_a_little_agree(world: World) -> None:
    world.clocks["esnet"] = timedelta(seconds=20)
    reserved(world)
    assert world.states() == COMMITTED
    assert world.domains["esnet"].meetings.differences["anl"] == timedelta(seconds=-20)


def test_a_loop_of_domains_is_refused(world: World) -> None:
    esnet = world.domains["esnet"]
    request = PeerRequest(premium_by_address(), "hep", "anl", ("cern", "esnet"))
    with pytest.raises(NotThatWay, match="esnet: a loop of domains, cern → esnet → esnet"):
        esnet.reserve(request.reservation, "hep", behind=request, previous="anl")


def premium_by_address():  # type: ignore[no-untyped-def]
    return premium().model_copy(
        update={"source": Endpoint(host="10.10.11.2"), "destination": Endpoint(host="10.10.21.2")}
    )


def test_two_domains_that_mean_different_links_are_told_both(world: World) -> None:
    request = PeerRequest(premium_by_address(), "hep", "anl", ("anl",), own="10.10.2.6", other="10.10.2.1")
    with pytest.raises(
        NotThatWay, match=r"anl asks for the link whose end is 10\.10\.2\.6, and here it is 10\.10\.2\.2"
    ):
        world.domains["esnet"].reserve(request.reservation, "hep", behind=request, previous="anl")


def test_a_stranger_and_rubbish_are_refused(world: World) -> None:
    anl, esnet, lbnl = (world.domains[name] for name in NAMES)
    with pytest.raises(NotAuthentic, match="lbnl knows no neighbour anl; it has esnet"):
        lbnl.hear(signed_message(anl.key, "lbnl", {}, NOW))
    with pytest.raises(NotAuthentic, match="esnet knows no neighbour without a name; it has anl, lbnl"):
        esnet.hear("rubbish")
    for body in ({}, {"kind": "reserve"}, {"kind": "?", "connection": "c", "version": 1, "why": "", "content": ""},
                 {"kind": "query", "connection": "c", "version": "x", "why": "", "content": ""}):  # fmt: skip
        with pytest.raises(NotAuthentic, match="what anl said is no message between domains"):
            esnet.hear(signed_message(anl.key, "esnet", body, NOW))
    assert world.states() == {name: [] for name in NAMES}


def test_an_agent_asks_each_in_turn_and_the_first_commits(world: World) -> None:
    anl, esnet, lbnl = (world.domains[name] for name in NAMES)
    first = anl.reserve(premium(), "hep", by_agent=True)
    assert first.phase is ConnectionPhase.CHECKING
    with pytest.raises(
        protocol.NotNow, match=r"anl: connection .* is reserve-checking, on condition of esnet's ticket"
    ):
        anl.commit(first.id)
    second = agent_asks(world, "esnet", "anl", first.id)
    third = agent_asks(world, "lbnl", "esnet", first.id)
    assert (second.phase, third.phase) == (ConnectionPhase.CHECKING, ConnectionPhase.HELD)
    esnet.show(first.id, lbnl.ticket_for(lbnl.get(first.id)))
    anl.show(first.id, esnet.ticket_for(esnet.get(first.id)))
    assert world.states() == {name: [State.HELD] for name in NAMES}
    anl.commit(first.id)
    world.settle()
    assert world.states() == COMMITTED


def agent_asks(world: World, name: str, previous: str, connection: str):  # type: ignore[no-untyped-def]
    text = world.domains[previous].request_for_next(connection)
    request = PeerRequest.from_text(text)
    return world.domains[name].reserve(
        request.reservation, "hep", by_agent=True, behind=request, connection_id=connection, previous=previous
    )


def test_an_agent_that_goes_away_leaves_nothing(world: World) -> None:
    lbnl, esnet = world.domains["lbnl"], world.domains["esnet"]
    first = world.domains["anl"].reserve(premium(), "hep", by_agent=True)
    agent_asks(world, "esnet", "anl", first.id)
    agent_asks(world, "lbnl", "esnet", first.id)
    esnet.show(first.id, lbnl.ticket_for(lbnl.get(first.id)))
    for _ in range(6):
        world.tick()
    world.settle()
    assert world.states() == {"anl": [State.TIMED_OUT], "esnet": [State.CANCELLED], "lbnl": [State.CANCELLED]}


def test_a_ticket_of_another_connection_is_refused(world: World) -> None:
    anl, esnet, lbnl = (world.domains[name] for name in NAMES)
    connections = []
    for name in ("tonight", "tomorrow"):
        first = anl.reserve(premium(name=name), "hep", by_agent=True)
        agent_asks(world, "esnet", "anl", first.id)
        agent_asks(world, "lbnl", "esnet", first.id)
        connections.append(first.id)
    with pytest.raises(TicketRefused, match=r"lbnl's ticket is for another connection"):
        esnet.show(connections[0], lbnl.ticket_for(lbnl.get(connections[1])))
    with pytest.raises(TicketRefused, match=r"esnet's ticket is not signed with esnet's key"):
        anl.show(connections[0], lbnl.ticket_for(lbnl.get(connections[0])))


def test_what_is_over_by_time_is_over_in_all(world: World) -> None:
    connection = reserved(world)
    world.tick(timedelta(hours=3))
    assert set(world.phases(connection).values()) == {ConnectionPhase.ENDED}


def test_what_was_held_in_doubt_until_its_time_was_over_is_given_back(world: World) -> None:
    world.domains["anl"].reserve(premium(), "hep", connection_id="c", waits=True)
    world.run()
    world.kill("anl")
    assert world.phases("c") == {"esnet": ConnectionPhase.HELD, "lbnl": ConnectionPhase.HELD}
    world.tick(timedelta(hours=3))
    world.start("anl")
    world.tick()
    assert not world.held()
    assert not any(agreement.store.unsettled() for agreement in world.domains.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_domain_that_lost_a_connection_has_it_ended_in_all_for_they_ask(world: World, name: str) -> None:
    """As of a ledger that was restored as it was before."""
    connection = reserved(world)
    world.kill(name)
    lose(world, name, connection)
    world.start(name)
    world.tick()  # those that go on asked when they first saw it, an hour ago
    world.tick(ASK_EVERY - timedelta(minutes=59))
    world.settle()
    assert not any(rates for other, rates in world.rates().items() if other != name)


def lose(world: World, name: str, connection: str) -> None:
    import psycopg

    with psycopg.connect(world.databases[name], autocommit=True) as raw:
        raw.execute("DELETE FROM connection WHERE id = %s", [connection])


def test_an_operator_has_asked_what_is_open_and_it_is_settled_at_once(world: World) -> None:
    connection = reserved(world)
    anl = world.domains["anl"]
    lose(world, "lbnl", connection)
    assert anl.settle() == (connection,)
    world.domains["esnet"].settle(connection)
    world.run()
    assert {name: world.domains[name].get(connection).phase for name in ("anl", "esnet")} == {
        "anl": ConnectionPhase.TERMINATED,
        "esnet": ConnectionPhase.TERMINATED,
    }
    assert "lbnl has no connection" in anl.get(connection).why
    assert world.rates()["anl"] == world.rates()["esnet"] == []


def test_the_end_tells_what_each_domain_has_come_to(world: World) -> None:
    connection = reserved(world)
    anl = world.domains["anl"]
    assert [(state.domain, state.phase) for state in anl.segment_states(anl.get(connection))] == [
        ("anl", ConnectionPhase.START), ("esnet", ConnectionPhase.START), ("lbnl", ConnectionPhase.START),
    ]  # fmt: skip
    world.unreachable.add("lbnl")
    anl.end(connection, "not needed any more")
    world.run()
    ended = anl.over_everywhere(connection, 0)
    assert ended.phase is ConnectionPhase.TERMINATED
    phases = {state.domain: state.phase for state in anl.segment_states(ended)}
    assert phases == {
        "anl": ConnectionPhase.TERMINATED, "esnet": ConnectionPhase.TERMINATING, "lbnl": ConnectionPhase.START,
    }  # fmt: skip
    world.unreachable.clear()
    world.settle()
    assert all(state.is_over for state in anl.segment_states(anl.get(connection)))


def test_a_ticket_is_taken_once_and_its_number_forgotten_when_it_has_ended(world: World, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Of an issuer that signs two tickets with one number."""
    monkeypatch.setattr("slotcar.domains.tickets.secrets.token_urlsafe", lambda _bytes: "the-same")
    reserved(world, name="first")
    second = reserved(world, name="second")
    world.settle()
    why = world.domains["anl"].get(second).why
    assert why == f"esnet: lbnl's ticket the-same was taken already, for version 1 of connection {first_of(world)}"
    assert not world.held()
    esnet = world.domains["esnet"].store
    assert esnet.forget_tickets(NOW) == 0
    world.tick(timedelta(hours=3))
    assert esnet.forget_tickets(NOW + timedelta(days=300)) == 0, "they were forgotten by the tick"


def first_of(world: World) -> str:
    return next(one.id for one in world.domains["esnet"].latest(10) if not one.why)


def test_a_ticket_is_not_taken_for_what_is_over(world: World) -> None:
    anl, lbnl = world.domains["anl"], world.domains["lbnl"]
    first = anl.reserve(premium(), "hep", by_agent=True)
    agent_asks(world, "esnet", "anl", first.id)
    agent_asks(world, "lbnl", "esnet", first.id)
    ticket = lbnl.ticket_for(lbnl.get(first.id))
    world.domains["esnet"].show(first.id, ticket)
    anl.end(first.id, "not needed any more")
    world.domains["esnet"].end(first.id, "not needed any more")
    world.settle()
    with pytest.raises(TicketRefused, match=rf"esnet: connection {first.id} is terminated: no ticket is taken"):
        world.domains["esnet"].show(first.id, ticket)


def hour_free(world: World, **neighbours_at_lbnl: object) -> FreeBehind:
    """What anl is told of the hour of `premium`, of which lbnl lets esnet see so much."""
    lbnl = world.domains["lbnl"]
    esnet = lbnl.network.domains["esnet"].model_copy(update=neighbours_at_lbnl)
    lbnl.network = lbnl.network.model_copy(update={"domains": {**lbnl.network.domains, "esnet": esnet}})
    return world.domains["anl"].free_behind(premium(), "hep")


def test_an_enquiry_joins_what_is_free_along_the_chain(world: World) -> None:
    free = hour_free(world)
    assert {name: [step.rate_bps for step in steps] for name, steps in free.steps.items()} == {
        name: [44_160_000]
        for name in ("together", "forward", "reverse")  # of payload
    }
    assert free.unknown_beyond == ()
    reserved(world, 30_000_000)
    assert [step.rate_bps for step in hour_free(world).steps["together"]] == [14_159_999]
    assert [step.rate_bps for step in hour_free(world, at_most_bps=4_000_000).steps["together"]] == [4_000_000]


def test_an_enquiry_says_beyond_whom_it_knows_nothing(world: World) -> None:
    free = hour_free(world, tells_free=False)
    assert (free.unknown_beyond, set(free.steps)) == (("esnet",), {"together", "forward", "reverse"})
    world.unreachable.add("esnet")
    assert world.domains["anl"].free_behind(premium(), "hep") == FreeBehind(unknown_beyond=("anl",))
    assert world.states() == {name: [] for name in NAMES}


def test_an_event_of_a_step_is_kept_with_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the event cannot be kept the step is not either, and is done again: nobody is told twice, or never."""
    from slotcar.store import rows

    esnet = world.domains["esnet"]
    keep, failed = rows.as_json, []

    def dies(value: object) -> str:
        if not failed and isinstance(value, dict) and value.get("connection") and value.get("previous") == "anl":
            failed.append(value)
            raise LedgerUnavailable("gone in the middle")
        return keep(value)

    monkeypatch.setattr(rows, "as_json", dies)
    connection = world.domains["anl"].reserve(premium(), "hep").id
    while world.work:
        owner, work = world.work.pop(0)
        if owner not in world.domains:
            continue
        try:
            work()
        except LedgerUnavailable:
            world.kill(owner)
    if "esnet" not in world.domains:
        world.start("esnet")
    world.settle()
    assert failed
    assert world.domains["esnet"] is not esnet or world.phases(connection)["esnet"] is ConnectionPhase.START
    for name in NAMES:
        kinds = [event.kind for event in world.ledgers[name].events(None, 1000)]
        of_steps = [kind for kind in kinds if kind.startswith("connection.")]
        assert of_steps == ["connection.asked", *["connection.held"] * (name != "anl"), "connection.committed"], name


def test_a_tick_looks_at_what_is_due_or_has_changed_and_at_nothing_else(world: World) -> None:
    reserved(world, 1_000_000, "first")
    reserved(world, 1_000_000, "second")
    looked: list[str] = []
    anl = world.domains["anl"]
    is_in_force = anl.segments.is_in_force

    class Noted(LedgerSegments):
        def is_in_force(self, connection: Connection) -> bool:
            looked.append(PeerRequest.from_text(connection.request).reservation.name)
            return is_in_force(connection)

    anl.segments = Noted(anl.segments.desk, "anl")  # type: ignore[attr-defined]
    world.tick(timedelta(seconds=1))
    assert sorted(looked) == ["first", "second"], "what is there when it begins"
    looked.clear()
    world.tick(timedelta(seconds=1))
    world.tick(timedelta(seconds=1))
    assert looked == []
    entry = next(one for one in world.ledgers["anl"].list(_all()) if one.reservation.name == "second")
    world.ledgers["anl"].run(Move(world.now, entry.handle, "operator", to=State.CANCELLED))
    world.tick(timedelta(seconds=1))
    assert set(looked) == {"second"}
    looked.clear()
    world.settle()
    world.now = NOW + timedelta(hours=1)
    world.tick(timedelta(seconds=1))
    assert looked == ["first"], "its slot begins"


def test_no_lock_is_kept_of_what_nobody_works_on(world: World) -> None:
    for number in range(3):
        reserved(world, 1_000_000, f"c{number}")
    assert all(agreement._locks == {} for agreement in world.domains.values())
