"""Neighbouring domains open, change and end SLSs between them while they run, with ledgers of their own (ADR 93)."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings
from slotcar.base.timebase import SYSTEM, Window
from slotcar.book.agreed_slss import AgreedSls, SlsAttempt, SlsForm
from slotcar.book.errors import SlsRefused
from slotcar.book.model import State
from slotcar.book.operation import Move
from slotcar.book.slss import CommitSls, HoldSls, ReleaseSls, promises
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Options, Requests
from slotcar.desk.segments import ITSELF
from slotcar.domains.agreement import ASK_EVERY
from slotcar.domains.errors import NotThatWay
from slotcar.domains.model import Connection, ConnectionPhase
from slotcar.domains.sls_requests import SlsRequest, change_of, changed_terms, opening
from slotcar.domains.tickets import checked_message, signed_message
from slotcar.domains.way import Asker
from slotcar.measuring.audits.rates import ways_out
from slotcar.measuring.pscheduler.reader import PSchedulerReader
from slotcar.network.model import InterfaceId
from slotcar.planning.errors import RefusedByAdmission
from slotcar.reservation.model import Reservation
from slotcar.rollout.configuring import Configuring
from slotcar.rollout.wanted import instants_of
from slotcar.store import open_ledger
from tests.integration.domains.slss import without_border
from tests.integration.domains.three import NOW, World, premium, three
from tests.unit.domains.networks import lab_of

HOUR = timedelta(hours=1)
MBPS = 1_000_000
OPERATOR = Asker("operator", {"role": "operator"})


@pytest.fixture
def open_world(server_url: str, migrated: str, tmp_path: Path) -> Iterator[World]:
    with three(server_url, migrated, tmp_path, without_border) as domains:
        yield domains


def words(name: str, upstream: str, ingress: str, rate: str = "20 Mbit/s", hours: int = 3) -> dict[str, Any]:
    return {
        "name": name, "upstream": upstream, "service": "ip-premium", "rate": rate, "burst": "500 kB", "ingress": ingress,
        "validity": {"start": NOW, "end": NOW + hours * HOUR},
    }  # fmt: skip


def anl_to_esnet(rate: str = "20 Mbit/s", hours: int = 3, name: str = "there") -> dict[str, Any]:
    return words(name, "anl", "esnet-hub:eth1", rate, hours)


def esnet_to_anl(rate: str = "20 Mbit/s", hours: int = 3) -> dict[str, Any]:
    return words("back", "esnet", "anl-border:eth2", rate, hours)


def open_sls(world: World, by: str, body: dict[str, Any]) -> Connection:
    agreement = world.domains[by]
    attempt = agreement.agree_on(opening(body, agreement.network, by), OPERATOR)
    world.run()
    return agreement.get(attempt.id)


def agreed(world: World, domain: str, name: str = "there") -> AgreedSls:
    return [one for one in world.ledgers[domain].slss() if one.name == name][-1]


def test_a_neighbour_asks_for_no_sls_of_others(open_world: World) -> None:
    """The other side of one between this domain and a third one is that, and not whoever says so."""
    esnet = open_world.domains["esnet"]
    request = opening(words("taken", "esnet", "lbnl-edge:eth1"), esnet.network, "esnet")
    body = {
        "kind": "reserve", "connection": "sls:anl-1", "version": 1, "why": "", "segments": [],
        "content": replace(request, origin="anl").to_text(own=False),
    }  # fmt: skip
    anl = open_world.domains["anl"]
    (answer,) = esnet.hear(signed_message(anl.key, "esnet", body, NOW))
    heard, _ = checked_message(answer, "esnet", anl.neighbours["esnet"].certificate, "anl", NOW)
    assert heard["kind"] == "reserveFailed"
    assert "anl asks for an SLS between esnet and lbnl, in the name of anl" in heard["why"]


@pytest.mark.parametrize("key", ["until", "ended_at"])
def test_a_request_beyond_the_calendar_is_none(key: str) -> None:
    network = lab_of("anl")
    document = json.loads(opening(anl_to_esnet(), network, "anl").to_text(own=False))
    with pytest.raises(NotThatWay, match="no request for an SLS"):
        SlsRequest.from_text(json.dumps({**document, key: "9999-12-31T23:59:59-14:00"}), network)


def change(
    world: World, by: str, rate_bps: int, end: datetime | None = None, ended_at: datetime | None = None
) -> Connection:
    before = agreed(world, by)
    assert before.in_force is not None
    sls = before.in_force.sls
    assert sls.validity is not None
    window = Window(sls.validity.start, end or sls.validity.end)
    form = SlsForm(sls.model_copy(update={"rate_bps": rate_bps, "validity": window}), ended_at)
    agreement = world.domains[by]
    attempt = agreement.agree_on(change_of(before, form, agreement.network, by), OPERATOR)
    world.run()
    return agreement.get(attempt.id)


def rate_of(world: World, domain: str, name: str = "there") -> int | None:
    sls = agreed(world, domain, name).for_admission()
    return sls.rate_bps if sls else None


def kinds(world: World, domain: str) -> list[str]:
    return [event.kind for event in world.ledgers[domain].events(None, 1000) if event.kind.startswith("sls.")]


def opened(world: World) -> None:
    assert open_sls(world, "anl", anl_to_esnet()).phase is ConnectionPhase.START
    assert open_sls(world, "esnet", esnet_to_anl()).phase is ConnectionPhase.START


def reserve(world: World, rate_bps: int, name: str = "tonight") -> Connection:
    connection = world.domains["anl"].reserve(_named(rate_bps, name), "hep")
    world.run()
    return world.domains["anl"].get(connection.id)


def _named(rate_bps: int, name: str) -> Reservation:
    reservation = premium(rate_bps, name)
    port = 5000 + sum(name.encode())
    return reservation.model_copy(update={"source": reservation.source.model_copy(update={"port": port})})


def test_what_both_agree_on_is_admitted_against_like_one_of_the_inventory(open_world: World) -> None:
    with pytest.raises(Exception, match=r"there is no SLS for ip-premium from anl into esnet"):
        reserve(open_world, 10 * MBPS)
    opened(open_world)
    assert [kinds(open_world, name) for name in ("anl", "esnet", "lbnl")] == [["sls.opened"] * 2] * 2 + [[]]
    first = reserve(open_world, 15 * MBPS, "first")
    assert first.phase is ConnectionPhase.START
    second = reserve(open_world, 10 * MBPS, "second")
    assert second.phase is ConnectionPhase.FAILED
    assert "SLS there" in second.why
    assert "20 Mbit/s" in second.why
    assert open_world.rates() == {name: [15 * MBPS] for name in ("anl", "esnet", "lbnl")}


def test_its_window_is_half_open(open_world: World) -> None:
    """The reservation is from one hour to two from now."""
    for body in (anl_to_esnet(hours=2), esnet_to_anl(hours=2)):
        open_sls(open_world, "anl", body)
    assert reserve(open_world, MBPS).phase is ConnectionPhase.START
    later = _named(MBPS, "later")
    slots = tuple(type(one)(one.start, one.end + timedelta(microseconds=1), *one.rates) for one in later.slots)
    connection = open_world.domains["anl"].reserve(later.model_copy(update={"slots": slots}), "hep")
    open_world.run()
    assert "is not valid over" in open_world.domains["anl"].get(connection.id).why


def test_a_neighbour_opens_no_more_than_the_inventory_lets_it(open_world: World) -> None:
    attempt = open_sls(open_world, "anl", anl_to_esnet("41 Mbit/s"))
    assert attempt.phase is ConnectionPhase.FAILED
    assert attempt.why == (
        "esnet: domain anl may not open the SLS there: the inventory lets it agree on no such rate (sls_at_most)"
    )
    assert not any(open_world.ledgers[name].slss() for name in ("anl", "esnet"))


@pytest.mark.parametrize("by", ["anl", "esnet"])
def test_either_side_changes_it_and_both_have_the_same(open_world: World, by: str) -> None:
    opened(open_world)
    assert change(open_world, by, 30 * MBPS).phase is ConnectionPhase.START
    assert {rate_of(open_world, name) for name in ("anl", "esnet")} == {30 * MBPS}
    assert kinds(open_world, "anl")[-1] == kinds(open_world, "esnet")[-1] == "sls.changed"
    assert reserve(open_world, 25 * MBPS, "wide").why.count("SLS back") == 1


@pytest.mark.parametrize("by", ["anl", "esnet"])
def test_what_is_promised_keeps_it_from_shrinking_below_that_in_numbers(open_world: World, by: str) -> None:
    opened(open_world)
    reserve(open_world, 15 * MBPS)
    wire = agreed(open_world, by)
    refused = change(open_world, by, 10 * MBPS)
    assert refused.phase is ConnectionPhase.FAILED
    assert "of the SLS there are promised 2027-03-01T13:00:00Z .. 2027-03-01T14:00:00Z" in refused.why
    assert "which is more than 10 Mbit/s" in refused.why
    shorter = change(open_world, by, 20 * MBPS, end=NOW + HOUR * 2 - timedelta(microseconds=1))
    assert "and it is to hold 2027-03-01T12:00:00Z .. 2027-03-01T13:59:59.999999Z" in shorter.why
    ended = change(open_world, by, 20 * MBPS, ended_at=NOW + HOUR)
    assert ended.phase is ConnectionPhase.FAILED
    assert agreed(open_world, by) == wire
    assert change(open_world, by, 20 * MBPS, end=NOW + HOUR * 2).phase is ConnectionPhase.START


def test_it_ends_once_nothing_is_promised_and_is_told_once(open_world: World) -> None:
    opened(open_world)
    connection = reserve(open_world, 15 * MBPS)
    open_world.domains["anl"].end(connection.id, "not needed")
    open_world.run()
    open_world.now += timedelta(minutes=1)
    assert change(open_world, "esnet", 20 * MBPS, ended_at=open_world.now).phase is ConnectionPhase.START
    for name in ("anl", "esnet"):
        assert kinds(open_world, name)[-1] == "sls.ended"
        assert agreed(open_world, name).over
        assert rate_of(open_world, name) == 20 * MBPS  # in the past, which what was reserved then names
    assert "is not valid over" in reserve(open_world, MBPS, "after").why
    # The name and the place are free again.
    assert open_sls(open_world, "anl", anl_to_esnet("5 Mbit/s")).phase is ConnectionPhase.START


def test_one_that_has_not_begun_is_ended_before_it_holds(open_world: World) -> None:
    body = anl_to_esnet()
    body["validity"] = {"start": NOW + HOUR, "end": NOW + 3 * HOUR}
    assert open_sls(open_world, "anl", body).phase is ConnectionPhase.START
    assert change(open_world, "anl", 20 * MBPS, ended_at=open_world.now).phase is ConnectionPhase.START
    open_world.tick()
    assert rate_of(open_world, "esnet") is None
    assert not any(sls.agreed for sls in open_world.domains["esnet"].network.sls.values())


def test_its_end_by_time_is_told_once_even_by_a_controller_that_was_away(open_world: World) -> None:
    opened(open_world)
    open_world.kill("esnet")
    open_world.now = NOW + 3 * HOUR
    open_world.start("esnet")
    for _ in range(3):
        open_world.tick()
    for name in ("anl", "esnet"):
        assert kinds(open_world, name) == ["sls.opened"] * 2 + ["sls.ended"] * 2


def test_another_sls_at_its_place_and_time_is_refused(open_world: World) -> None:
    opened(open_world)
    second = open_sls(open_world, "esnet", anl_to_esnet(name="again"))
    assert (
        "the SLS there holds 2027-03-01T12:00:00Z .. 2027-03-01T15:00:00Z, for ip-premium at esnet-hub:eth1"
        in second.why
    )
    assert "there is an SLS there already" in open_sls(open_world, "anl", anl_to_esnet()).why
    after = anl_to_esnet(name="afterwards")
    after["validity"] = {"start": NOW + 3 * HOUR, "end": NOW + 4 * HOUR}
    assert open_sls(open_world, "anl", after).phase is ConnectionPhase.START


def test_one_of_the_inventory_stays_and_its_name_is_taken(world: World) -> None:
    refused = open_sls(world, "anl", anl_to_esnet())
    assert "the SLS anl-esnet-ip-premium always holds, for ip-premium at esnet-hub:eth1" in refused.why
    assert (
        "there is an SLS anl-esnet-ip-premium already"
        in open_sls(world, "anl", anl_to_esnet(name="anl-esnet-ip-premium")).why
    )


@pytest.mark.parametrize("killed", ["anl", "esnet"])
def test_a_controller_that_is_killed_at_any_step_leaves_both_with_the_same(open_world: World, killed: str) -> None:
    """After each number of steps in turn, until the whole is done without it."""
    for steps in range(1, 40):
        name = f"s{steps}"
        world = open_world
        agreement = world.domains["anl"]
        body = anl_to_esnet(name=name)
        # Each has an hour of its own.
        body["validity"] = {"start": NOW + steps * HOUR * 24, "end": NOW + steps * HOUR * 24 + HOUR}
        attempt = agreement.agree_on(opening(body, agreement.network, "anl"), OPERATOR)
        finished = world.run_some(steps)
        world.kill(killed)
        world.tick()
        world.start(killed)
        world.settle()
        kept = {each: [one for one in world.ledgers[each].slss() if one.name == name] for each in ("anl", "esnet")}
        phases = {each: world.domains[each].store.find(attempt.id) for each in ("anl", "esnet")}
        assert {len(listed) for listed in kept.values()} in ({0}, {1}), (steps, phases)
        assert not any(one.proposed for listed in kept.values() for one in listed), steps
        if finished:
            assert kept["anl"], "nothing was in its way"
            return
    raise AssertionError("it never came to an end")


def test_a_change_in_doubt_gives_admission_what_both_forms_have(open_world: World) -> None:
    """esnet gave its word to a change, and anl is gone: until it is known, no more than the lower rate is promised."""
    world = open_world
    opened(world)
    before = agreed(world, "anl")
    assert before.in_force is not None
    form = SlsForm(before.in_force.sls.model_copy(update={"rate_bps": 12 * MBPS}))
    anl = world.domains["anl"]
    attempt = anl.agree_on(change_of(before, form, anl.network, "anl"), OPERATOR)
    while world.domains["esnet"].store.find(attempt.id) is None or not world.domains["esnet"].get(attempt.id).in_doubt:
        _, work = world.work.pop(0)
        work()
    world.kill("anl")
    world.now += timedelta(minutes=20)
    world.domains["esnet"].tick()
    world.work.clear()
    assert rate_of(world, "esnet") == 12 * MBPS
    assert world.domains["esnet"].get(attempt.id).in_doubt
    world.start("anl")
    world.settle()
    assert rate_of(world, "esnet") == rate_of(world, "anl")


def test_a_neighbour_that_lost_what_it_knew_ends_it_once_nothing_is_promised(open_world: World) -> None:
    """esnet's ledger is one of before: anl promises nothing more, and neither keeps an SLS that the other has not."""
    world = open_world
    opened(world)
    with world.ledgers["esnet"]._engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM connection")
        connection.exec_driver_sql("DELETE FROM agreed_sls")
        connection.exec_driver_sql("UPDATE head SET slss = slss + 1")
    world.tick(ASK_EVERY)
    world.settle()
    world.tick()
    for name in ("anl", "esnet"):
        assert not any(one.in_force and one.in_force.end > world.now for one in world.ledgers[name].slss())
    assert kinds(world, "anl")[-2:] == ["sls.ended"] * 2


def test_a_forged_request_in_another_domains_name_is_refused(open_world: World) -> None:
    esnet = open_world.domains["esnet"]
    request = opening(anl_to_esnet(), open_world.domains["anl"].network, "anl")
    slss = esnet.slss
    assert slss is not None
    with pytest.raises(Exception, match="lbnl asks for an SLS between anl and esnet, in the name of anl"):
        slss.way(request.to_text(own=False), "lbnl", open_world.now)


PROBES = {"task": "https://ps.example.net/pscheduler/tasks/1", "source": "ps-anl", "destination": "ps-esnet"}


def test_its_scope_is_agreed_on_by_address_and_stays(open_world: World) -> None:
    terms = anl_to_esnet() | {"egress": ["esnet-hub:eth2"]}
    assert open_sls(open_world, "anl", terms).phase is ConnectionPhase.START
    (address,) = {str(open_world.domains["esnet"].network.interface(each).address.ip) for each in scope(open_world)}
    for name in ("anl", "esnet"):
        in_force = agreed(open_world, name).in_force
        assert in_force is not None
        assert in_force.sls.scope == (address,)
        assert list(map(str, in_force.sls.egresses)) == ["esnet-hub:eth2"]
    assert change_to(open_world, "esnet", rate="10 Mbit/s").phase is ConnectionPhase.START
    assert len(scope(open_world)) == 1
    assert list(map(str, ways_out(open_world.domains["esnet"].network.sls["there"], lab_of("esnet")))) == [
        "esnet-hub:eth2"
    ]


def change_to(world: World, by: str, **terms: Any) -> Connection:
    """In an inventory's words."""
    before, agreement = agreed(world, by), world.domains[by]
    assert before.in_force is not None
    form = SlsForm(changed_terms(before.in_force.sls, terms, agreement.network))
    attempt = agreement.agree_on(change_of(before, form, agreement.network, by), OPERATOR)
    world.run()
    return agreement.get(attempt.id)


def scope(world: World) -> tuple[InterfaceId, ...]:
    in_force = agreed(world, "esnet").in_force
    assert in_force is not None
    return in_force.sls.egresses


def test_a_scope_that_the_domain_does_not_have_is_refused_in_words(open_world: World) -> None:
    network = open_world.domains["anl"].network
    request = opening(anl_to_esnet(), network, "anl")
    form = replace(request.form, sls=request.sls.model_copy(update={"scope": ("192.0.2.9",)}))
    attempt = open_world.domains["anl"].agree_on(replace(request, form=form), OPERATOR)
    open_world.run()
    why = open_world.domains["anl"].get(attempt.id).why
    assert why == "esnet has no interface with the address 192.0.2.9, which the scope of the SLS names"
    for wrong, words in (
        ("anl-border:eth2", "is an interface of another domain"), ("esnet-hub:eth1", "is where the traffic comes in"),
        ("esnet-hub:eth9", "is no interface of the inventory"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=words):
            opening(anl_to_esnet() | {"egress": [wrong]}, network, "anl")


def test_each_side_has_its_own_probes_and_gets_none_of_the_neighbours(open_world: World) -> None:
    terms = anl_to_esnet() | {"delay": "20 ms", "pscheduler": [PROBES]}
    assert open_sls(open_world, "anl", terms).phase is ConnectionPhase.START
    assert (tasks(open_world, "anl"), tasks(open_world, "esnet")) == ([PROBES["task"]], [])
    own = {**PROBES, "task": "https://ps.esnet.example.net/pscheduler/tasks/2"}
    assert change_to(open_world, "esnet", pscheduler=[own]).phase is ConnectionPhase.START
    assert (tasks(open_world, "anl"), tasks(open_world, "esnet")) == ([PROBES["task"]], [own["task"]])
    with pytest.raises(InvalidInput, match="measures from a place to itself"):
        change_to(open_world, "esnet", pscheduler=[PROBES | {"destination": "ps-anl"}])
    with pytest.raises(InvalidInput, match="measures what nothing was agreed of"):
        opening(anl_to_esnet() | {"pscheduler": [PROBES]}, open_world.domains["anl"].network, "anl")


def tasks(world: World, name: str) -> list[str]:
    """What the running controller reads."""
    world.domains[name].tick()
    reader = PSchedulerReader(world.ledgers[name], world.domains[name].network, lambda: True, lambda: world.now)
    return [source.task for sls, source in reader.sources if sls.name == "there"]


@pytest.mark.parametrize("key", ["pscheduler", "egresses", "agreed"])
def test_a_neighbour_cannot_say_what_is_a_domains_own(open_world: World, key: str) -> None:
    network = open_world.domains["esnet"].network
    request = json.loads(opening(anl_to_esnet(), network, "esnet").to_text(own=False))
    request["sls"][key] = [PROBES] if key == "pscheduler" else []
    with pytest.raises(NotThatWay, match="is no request for an SLS"):
        SlsRequest.from_text(json.dumps(request), network)


def test_changes_and_admissions_at_once_never_exceed_it(open_world: World) -> None:
    """Two controllers of esnet admit on four threads while a third changes the SLS: whatever it looks at is within it."""
    world = open_world
    opened(world)
    stop, admitted, refused, wrong = threading.Event(), [0], [0], list[str]()

    def admit(desk: Desk, thread: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            name = f"t{thread}-{number}"
            reservation = premium((1 + number % 3) * MBPS, name).model_copy(update={"owner": "hep@anl"})
            source = reservation.source.model_copy(update={"port": 2000 + thread * 10_000 + number})
            try:
                entry = Requests(desk).create(
                    reservation.model_copy(update={"source": source}), ITSELF, NOW, Options(is_segment=True)
                )
                admitted[0] += 1
                if number % 2:
                    desk.ledger.run(Move(NOW, entry.handle, "operator", to=State.CANCELLED))
            except RefusedByAdmission:
                refused[0] += 1

    with ExitStack() as stack:
        desks = []
        for _ in range(2):
            ledger = stack.enter_context(open_ledger(world.databases["esnet"], world.folder / "esnet"))
            settings = Settings(state_dir=world.folder / "esnet", domain="esnet")
            clocks = replace(SYSTEM, now=lambda: NOW)
            desks.append(Desk(ledger, without_border("esnet").model_copy(), settings, clocks))
        threads = [threading.Thread(target=admit, args=(desks[number % 2], number)) for number in range(4)]
        for thread in threads:
            thread.start()
        changes = _change_at_random(world, wrong)
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert changes["held"] > 3, changes
    assert changes["refused"] > 3, changes
    assert admitted[0] > 10
    assert refused[0] > 0


def _change_at_random(world: World, wrong: list[str]) -> Counter[str]:
    """Changes of esnet's side by a seed, each committed or given up; what is promised is looked at after each step."""
    ledger, chance, happened = world.ledgers["esnet"], random.Random(93), Counter[str]()
    before = agreed(world, "esnet")
    assert before.in_force is not None

    def look(most_bps: int, when: str) -> None:
        promised = ledger.ask(lambda tables: promises(tables, "there", NOW), NOW)[0]
        wrong.extend(f"{when}: {rate_bps} of {most_bps}" for _, rate_bps in promised if rate_bps > most_bps)

    rate_bps = before.in_force.sls.rate_bps
    for number in range(60):
        wanted_bps = chance.randrange(2, 40) * MBPS
        form = SlsForm(before.in_force.sls.model_copy(update={"rate_bps": wanted_bps}))
        attempt = SlsAttempt(f"sls:anl-{number}", before.id, form, "domain anl")
        try:
            ledger.run(HoldSls(NOW, attempt))
        except SlsRefused:
            happened["refused"] += 1
            look(rate_bps, "after a refusal")
            continue
        happened["held"] += 1
        look(min(rate_bps, wanted_bps), "while it is held")
        commits = chance.randrange(2)
        ledger.run(CommitSls(NOW, attempt) if commits else ReleaseSls(NOW, attempt))
        rate_bps = wanted_bps if commits else rate_bps
        look(rate_bps, "after the decision")
    return happened


def test_a_running_controllers_routers_follow(open_world: World) -> None:
    """The aggregate's policer comes with the SLS, at its rate, and goes with its end."""
    network = open_world.domains["esnet"].network
    configure = Configuring(network)

    def lines(at: datetime) -> tuple[str, ...]:
        return configure([], at)[0]["esnet-hub"].lines

    inside = NOW + HOUR
    without = lines(inside)
    opened(open_world)
    assert lines(inside) != without
    at_20 = lines(inside)
    change(open_world, "anl", 30 * MBPS)
    assert lines(inside) not in (without, at_20)
    assert lines(NOW + 3 * HOUR) == without
    assert set(instants_of(network)) >= {NOW, NOW + 3 * HOUR}
