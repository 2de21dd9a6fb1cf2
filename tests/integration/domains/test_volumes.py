"""Volumes by a deadline over three ledgers: one profile in all of them, moved in all or in none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slotcar.base.timebase import Window
from slotcar.book.errors import ProgressRefused
from slotcar.book.model import Entry, State
from slotcar.desk.requests import Options, Requests
from slotcar.desk.segments import ITSELF, LedgerSegments
from slotcar.domains.agreeing_on_volumes import Volumes, volume_of
from slotcar.domains.errors import ConnectionRefused
from slotcar.domains.model import Connection, ConnectionPhase
from slotcar.reservation.model import Reservation, Slot
from slotcar.reservation.need import VolumeByDeadline
from tests.integration.domains.test_agreement import limit, reserved
from tests.integration.domains.three import NAMES, NOW, World, premium

BY = NOW + timedelta(hours=3)
GB = 10**9


def volume(size_bytes: int = 20 * GB, name: str = "run-7") -> Reservation:
    need = VolumeByDeadline(volume_bytes=size_bytes, by=BY)
    return premium(need.needed_bps(need.window_from(NOW)), name).model_copy(update={"need": need})


def volumes_of(world: World) -> Volumes:
    anl = world.domains["anl"]

    def wait(connection_id: str, version: int) -> Connection:
        world.run()
        return anl.in_force(connection_id, version, 0)

    return Volumes(anl, wait)


def slots(world: World) -> dict[str, tuple[Slot, ...]]:
    """Of what each domain has in force of the volume."""
    from slotcar.store.queries import EntryFilter

    return {
        name: entry.reservation.slots
        for name, ledger in world.ledgers.items()
        for entry in ledger.list(EntryFilter())
        if entry.state is State.COMMITTED and entry.reservation.name == "run-7"
    }


def moved_bytes(profile: tuple[Slot, ...]) -> int:
    return sum(slot.forward_bps * (slot.end_us - slot.start_us) for slot in profile) // 8_000_000


def test_all_domains_hold_the_profile_that_the_first_proposed(world: World) -> None:
    reserved(world, 40_000_000, "busy")  # from one to two o'clock
    connection = volumes_of(world).reserve(volume(), "hep")
    held = slots(world)
    assert held["anl"] == held["esnet"] == held["lbnl"]
    assert moved_bytes(held["anl"]) >= 20 * GB
    hour = Window(NOW + timedelta(hours=1), NOW + timedelta(hours=2))
    assert all(slot.forward_bps < 5_000_000 for slot in held["anl"] if slot.overlaps(hour)), (
        "that is all that is free then"
    )
    assert held["anl"][-1].end <= BY
    kept = volume_of(connection)
    assert kept is not None
    assert (kept.remaining_bytes, kept.missing_bytes) == (20 * GB, 0)
    assert volume_of(world.domains["lbnl"].get(connection.id)) is None, "what it is for stays in the first domain"


def test_what_does_not_fit_is_refused_in_the_numbers_of_the_domain_that_has_least(world: World) -> None:
    tell_at_most(world, "esnet", "lbnl", 5_000_000)
    with pytest.raises(
        ConnectionRefused,
        match=r"^anl: 20 GB by .* do not fit: all domains together leave at most 6\.7\d* GB; lbnl leaves the least, 6\.7",
    ):
        volumes_of(world).reserve(volume(), "hep")
    assert world.states() == {name: [] for name in NAMES}


def tell_at_most(world: World, sender: str, receiver: str, at_most_bps: int) -> None:
    """Has a domain tell its neighbour of no more."""
    agreement = world.domains[receiver]
    domain = agreement.network.domains[sender].model_copy(update={"at_most_bps": at_most_bps})
    agreement.network = agreement.network.model_copy(update={"domains": {**agreement.network.domains, sender: domain}})


@pytest.mark.parametrize("name", ["esnet", "lbnl"])
def test_a_domain_that_refuses_what_it_did_not_tell_says_so_and_nothing_stays(world: World, name: str) -> None:
    """Its policies forbid what its tables have room for."""
    limit(world, 5_000_000, name)
    with pytest.raises(ConnectionRefused, match=rf"^{name}: domain .* may not ask for so much"):
        volumes_of(world).reserve(volume(), "hep")
    world.settle()
    assert world.rates() == {each: [] for each in NAMES}
    assert not world.held()


def test_what_was_taken_after_the_question_is_asked_for_anew(world: World) -> None:
    """Somebody takes room in the last domain between its answer and the request."""
    volumes, taken = volumes_of(world), []
    wait = volumes.wait

    def wait_then(connection_id: str, version: int) -> Connection:
        if not taken:
            taken.append(take(world, "lbnl", 40_000_000))
        return wait(connection_id, version)

    connection = Volumes(volumes.agreement, wait_then).reserve(volume(), "hep")
    assert connection.phase is ConnectionPhase.START
    held = slots(world)
    assert held["anl"] == held["esnet"] == held["lbnl"]
    assert len(world.domains["anl"].latest(10)) == 2, "the one that was refused, and the one in force"


def take(world: World, name: str, rate_bps: int) -> Entry:
    """Room in one domain alone."""
    segments = world.domains[name].segments
    assert isinstance(segments, LedgerSegments)
    return Requests(segments.desk).create(premium(rate_bps, "meeting"), ITSELF, world.now, Options(is_segment=True))


def test_progress_moves_all_segments_or_none(world: World) -> None:
    volumes = volumes_of(world)
    connection = volumes.reserve(volume(), "hep")
    before = slots(world)
    world.now += timedelta(hours=1)
    ahead = volumes.report(connection.id, 5 * GB)
    assert ahead.committed == 2
    after = slots(world)
    assert after["anl"] == after["esnet"] == after["lbnl"] != before["anl"]
    assert 5 * GB <= moved_bytes(rest(world, after["anl"])) < 5.2 * GB
    limit(world, 1_000_000, "esnet")
    world.now += timedelta(minutes=30)
    behind = volumes.report(connection.id, 5 * GB)
    kept = volume_of(behind)
    assert slots(world) == after, "esnet refuses a raise, and all stay as they were"
    assert kept is not None
    assert kept.remaining_bytes == 5 * GB
    assert kept.missing_bytes > GB
    assert "esnet: domain anl may not ask for so much" in behind.why
    with pytest.raises(
        ProgressRefused, match=r"6 GB of run-7 cannot remain: that is more than what remained at .*, 5 GB"
    ):
        volumes.report(connection.id, 6 * GB)
    volumes.report(connection.id, 0)
    world.run()
    assert world.states() == {name: [State.CANCELLED] for name in NAMES}
    reports = [one for one in world.ledgers["anl"].events(None, 1000) if one.kind == "connection.progress"]
    assert {one.details["remaining_bytes"] for one in reports} == {5 * GB}
    assert max(one.details["missing_bytes"] for one in reports) == kept.missing_bytes


def rest(world: World, profile: tuple[Slot, ...]) -> tuple[Slot, ...]:
    return tuple(
        Slot(max(slot.start, world.now), slot.end, slot.forward_bps, slot.reverse_bps)
        for slot in profile
        if slot.end > world.now
    )


def test_what_is_behind_gets_what_has_come_free_by_itself(world: World) -> None:
    """The next turn of the first domain's controller asks again."""
    volumes = volumes_of(world)
    busy = reserved(world, 30_000_000, "busy")
    connection = volumes.reserve(volume(35 * GB), "hep")
    world.now += timedelta(minutes=50)
    behind = volume_of(volumes.report(connection.id, 35 * GB))
    assert behind is not None
    assert behind.missing_bytes
    assert volumes.plan_again(connection.id) is not None, "it is behind, and nothing more is free"
    assert volume_of(world.domains["anl"].get(connection.id)).missing_bytes  # type: ignore[union-attr]
    world.domains["anl"].end(busy, "not needed")
    world.run()
    volumes.plan_again(connection.id)
    caught_up = volume_of(world.domains["anl"].get(connection.id))
    assert caught_up is not None
    assert caught_up.missing_bytes == 0
    assert volumes.plan_again(connection.id) is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", [1, 3, 5, 7])
def test_a_controller_that_is_killed_while_a_profile_moves_leaves_one_in_all(world: World, name: str, at: int) -> None:
    volumes = volumes_of(world)
    connection = volumes.reserve(volume(), "hep")
    world.now += timedelta(hours=1)
    before = slots(world)["anl"]
    volumes.agreement.restate(connection.id, volume_of(connection))  # type: ignore[arg-type]

    class Killed(Exception):
        pass

    def killed(_connection_id: str, _version: int) -> Connection:
        for _ in range(at):
            if world.work:
                owner, work = world.work.pop(0)
                if owner in world.domains:
                    work()
        raise Killed

    with pytest.raises(Killed):
        Volumes(volumes.agreement, killed).report(connection.id, 5 * GB)
    world.kill(name)
    world.run()
    world.tick()
    world.start(name)
    world.settle()
    held = slots(world)
    assert held["anl"] == held["esnet"] == held["lbnl"]
    first = world.domains["anl"].get(connection.id)
    assert (held["anl"] == before) is (first.committed == 1)
    assert volume_of(first).remaining_bytes == 5 * GB, "the report was kept before"  # type: ignore[union-attr]
    assert not world.held()


def test_the_controller_plans_a_volume_again_that_is_behind_once_a_minute(world: World) -> None:
    anl, volumes = world.domains["anl"], volumes_of(world)
    anl.plan_again = volumes.plan_again
    busy = reserved(world, 30_000_000, "busy")
    connection = volumes.reserve(volume(35 * GB), "hep")
    world.now += timedelta(minutes=50)
    volumes.report(connection.id, 35 * GB)
    anl.end(busy, "not needed")
    world.run()
    world.tick(timedelta(seconds=2))
    assert volume_of(anl.get(connection.id)).missing_bytes == 0  # type: ignore[union-attr]
    committed = anl.get(connection.id).committed
    world.tick(timedelta(seconds=61))
    assert anl.get(connection.id).committed == committed, "its slots will do"


def test_another_volume_counts_what_is_done_or_all_stay_as_they_were(world: World) -> None:
    volumes = volumes_of(world)
    connection = volumes.reserve(volume(), "hep")
    world.now += timedelta(hours=1)
    volumes.report(connection.id, 12 * GB)
    larger = volumes.change(connection.id, volume(30 * GB))
    kept, held = volume_of(larger), slots(world)
    assert kept is not None
    assert (kept.need.volume_bytes, kept.remaining_bytes, kept.missing_bytes) == (30 * GB, 22 * GB, 0)
    assert held["anl"] == held["esnet"] == held["lbnl"]
    assert moved_bytes(rest(world, held["anl"])) >= 22 * GB
    with pytest.raises(ConnectionRefused, match=r"^anl: 90 GB by .* do not fit"):
        volumes.change(connection.id, volume(90 * GB))
    assert slots(world) == held
    assert volume_of(world.domains["anl"].get(connection.id)) == kept


def test_what_a_neighbour_lets_another_have_at_most_is_proposed_where_more_is_refused(world: World) -> None:
    """It tells so much to be free, beside what the volume has: both together are more than it may have."""
    limit(world, 20_000_000, "esnet")
    tell_at_most(world, "anl", "esnet", 20_000_000)
    volumes = volumes_of(world)
    connection = volumes.reserve(volume(), "hep")
    world.now += timedelta(hours=1)
    behind = volume_of(volumes.report(connection.id, 20 * GB))
    held = slots(world)
    assert held["anl"] == held["esnet"] == held["lbnl"]
    assert held["anl"][-1].forward_bps == 20_000_000
    assert behind is not None
    assert 0 < behind.missing_bytes < 3 * GB
