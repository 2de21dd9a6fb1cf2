"""Pushes to Cisco routers through Ansible: all of the path or none of it, and nothing of the operator's is touched."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.ledger.model import Entry
from slotcar.recovery.history import history_of
from slotcar.rollout.model import NobodyNamed, PushFailed, Reading, Wanted
from slotcar.timebase import Window, iso
from slotcar.timeline import active_at
from slotcar.wiring import wanted_for
from slotcar_lab.ios import (
    DropOnCopy,
    DropOnLine,
    Fault,
    FullFlash,
    HangAfter,
    RefuseLine,
    Routers,
    Slow,
    WrongPassword,
)
from tests.integration.rollout.conftest import Garnet
from tests.support.cisco import ROOT, CiscoWorld, flow_of
from tests.support.command_line import Cli, in_this_process

FIRST, LAST = "anl-7507-1", "lbnl-7507"


def test_a_reservation_comes_changes_and_goes(garnet: Garnet) -> None:
    world = garnet.world
    assert world.push(flow_of(world)).changed == (FIRST, LAST)
    for name in (FIRST, LAST):
        assert " 20384000 " in world.running()[name], "20 Mb/s of payload in packets of 1500 bytes, in steps of 8 kb/s"
    assert world.push(flow_of(world)).changed == (), "twice the same changes nothing"
    world.push(flow_of(world, 30_000_000))
    assert " 20384000 " not in world.running()[FIRST]
    world.push()
    assert world.running() == garnet.standing


@pytest.mark.slow
def test_a_rollback_gives_back_what_was_there_byte_for_byte(garnet: Garnet) -> None:
    world = garnet.world
    world.push(flow_of(world))
    revisions = world.pusher.archive.revisions()
    world.pusher.roll_back(revisions[-1])
    assert world.running() == garnet.standing
    world.pusher.roll_back(revisions[0])
    assert world.running() == garnet.operators


@pytest.mark.slow
def test_a_rollback_is_a_revision_and_can_be_rolled_back(garnet: Garnet) -> None:
    """What the archive tells of a router is what it has, also after an operator took a push from one of two."""
    world, archive = garnet.world, garnet.world.pusher.archive
    (one,) = flow_of(world)
    world.push((one,))
    with_flow = world.running()
    world.pusher.roll_back(archive.revisions()[-1], [FIRST])
    history = history_of(archive)
    assert (list(history.now(FIRST)), list(history.now(LAST))) == ([], [one.handle])
    assert world.running()[FIRST] == garnet.standing[FIRST] != with_flow[FIRST]
    world.pusher.roll_back(archive.revisions()[-1])
    assert world.running() == with_flow
    assert list(history_of(archive).now(FIRST)) == [one.handle]


@pytest.fixture
def operator(garnet: Garnet, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """`slotcar …` with the inventory, the archive and the routers."""
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(garnet.world.settings.state_dir))
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(garnet.world.inventory))
    return in_this_process(monkeypatch, capfd)


@pytest.mark.slow
def test_the_operators_rollback_is_the_same_when_it_is_run_twice(garnet: Garnet, operator: Cli) -> None:
    world = garnet.world
    world.push(flow_of(world))
    pushed = world.pusher.archive.revisions()[-1]
    for _ in range(2):
        done = operator("rollback", "--yes")
        assert done.code == 0, done
        assert f"Rolled back and verified: {FIRST}, {LAST}" in done.out + done.err
        assert world.running() == garnet.standing
    listed = operator("rollback", "--list", "--format", "json").data
    assert [one["rollback_of"] for one in listed][-3:] == ["", pushed, pushed]
    assert listed[-3]["why"] == "hep/cms came"
    assert listed[-3]["devices"] == [FIRST, LAST]
    assert listed[-3]["reservations"] == ["hep/cms"]
    assert pushed in operator("rollback", "--list").out


@pytest.mark.slow
def test_what_an_operator_does_meanwhile_is_kept(garnet: Garnet) -> None:
    world = garnet.world
    mine = ["access-list 102 permit ip any any", "interface FastEthernet4/0/0", "ip access-group 102 in"]
    world.push(flow_of(world))
    assert world.routers[FIRST].configure("\n".join(mine)) == []
    world.push()
    text = world.running()[FIRST]
    undo = "interface FastEthernet4/0/0\nno ip access-group 102 in\nexit\nno access-list 102"
    assert world.routers[FIRST].configure(undo) == []
    assert "access-list 102 permit ip any any" in text
    assert " ip access-group 102 in" in text


#: FIRST takes a file and copies it, LAST takes no files and gets line after line.
REFUSES = RefuseLine("rate-limit input access-group 26")


@pytest.mark.in_short("refuses-a-line")
@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        pytest.param(FIRST, REFUSES, "Invalid input", id="refuses-a-line-of-a-file"),
        pytest.param(LAST, REFUSES, "Invalid input", id="refuses-a-line"),
        pytest.param(FIRST, HangAfter(3), "no answer to", id="hangs-in-a-copy", marks=pytest.mark.slow),
        pytest.param(LAST, HangAfter(3), "no answer to", id="hangs-on-a-line", marks=pytest.mark.slow),
        pytest.param(LAST, DropOnLine(3), "ended", id="drops-on-a-line", marks=pytest.mark.slow),
        pytest.param(FIRST, DropOnCopy(), "ended", id="drops-before-the-copy", marks=pytest.mark.slow),
        pytest.param(FIRST, DropOnCopy(after=True), "ended", id="drops-after-the-copy"),
    ],
)
def test_one_router_that_fails_takes_the_change_back_on_all(
    garnet: Garnet, name: str, fault: Fault, words: str
) -> None:
    world = garnet.world
    known = world.pusher.archive.revisions()
    world.routers[name].fault(fault)
    with pytest.raises(PushFailed, match=words) as failed:
        world.push(flow_of(world))
    assert set(failed.value.devices) >= {name}
    if not failed.value.rolled_back:  # the router that hangs cannot be told yet
        world.routers[name].heal()
        world.pusher.roll_back(failed.value.revision)
    else:
        assert world.pusher.archive.revisions() == known, "no router ever had it: nobody can go back to it"
    assert world.running() == garnet.standing


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [pytest.param(FullFlash(), id="full-flash"), pytest.param(Slow(20), id="slow", marks=pytest.mark.slow)]
)
def test_what_is_only_in_the_way_delays_and_does_not_fail(garnet: Garnet, fault: FullFlash | Slow) -> None:
    world = garnet.world
    world.routers[FIRST].fault(fault)
    assert world.push(flow_of(world)).changed == (FIRST, LAST)
    assert world.read()[FIRST].configuration == world.wanted(flow_of(world))[FIRST].configuration


@pytest.mark.in_short("dead")
@pytest.mark.parametrize("fault", ["wrong password", "changed host key", "dead"])
def test_a_router_that_cannot_be_logged_in_to_is_known_before_anything_is_touched(garnet: Garnet, fault: str) -> None:
    world = garnet.world
    router = world.routers[LAST]
    known_hosts = world.known_hosts
    if fault == "wrong password":
        router.fault(WrongPassword())
        words = "does not let slotcar in"
    elif fault == "dead":
        router.kill()
        words = "Connect call failed"
    else:
        router.change_host_key()
        words = f"is not the one that is known; if it was changed on purpose, put the new one into {known_hosts}"
    readings = world.pusher.read(sorted(world.routers))
    assert set(readings.failures) == {LAST}
    assert words in readings.failures[LAST].message
    assert router.password not in str(readings)
    assert world.running() == garnet.standing
    if fault == "dead":
        router.revive()
    elif fault == "changed host key":
        known_hosts.write_text("".join(one.known_hosts for one in world.routers.values()))


@pytest.mark.slow
def test_no_secret_stays_anywhere(garnet: Garnet) -> None:
    """Neither in the state folder, nor in what the routers were told, nor in what a failure says."""
    world = garnet.world
    secret = world.routers[FIRST].password
    world.routers[FIRST].fault(RefuseLine("rate-limit input access-group 26"))
    with pytest.raises(PushFailed) as failed:
        world.push(flow_of(world))
    assert secret not in str(failed.value)
    for file in (path for path in world.settings.state_dir.rglob("*") if path.is_file()):
        assert secret.encode() not in file.read_bytes(), file
    for router in world.routers.values():
        assert not any(secret in line for _, _, line in router.commands)


@pytest.mark.slow
def test_the_emergency_playbook_restores_cisco_routers_too(garnet: Garnet) -> None:
    world = garnet.world
    world.push(flow_of(world))
    for to, expected in (("before", garnet.standing), ("unmanaged", garnet.operators)):
        emergency(world, to)
        assert {name: world.running()[name] for name in (FIRST, LAST)} == {
            name: expected[name] for name in (FIRST, LAST)
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "archive", "transport"),
    [
        ("cisco-mqc", True, "ssh"),
        pytest.param("cisco-mqc", True, "napalm", marks=pytest.mark.slow),
        pytest.param("cisco-car", False, "napalm", marks=pytest.mark.slow),
    ],
)
def test_both_transports_on_routers_with_and_without_revert_timers(
    tmp_path: Path, platform: str, archive: bool, transport: str
) -> None:
    with Routers() as routers:
        world = CiscoWorld(
            routers, tmp_path, ROOT / "inventories" / "garnet", transport=transport, platform=platform, archive=archive
        )
        before = world.running()
        world.push()
        unreserved = world.running()
        assert world.push(flow_of(world)).changed == (FIRST, LAST)
        assert [router.pending for router in world.routers.values()] == [None] * len(world.routers), "confirmed"
        world.push()
        assert world.running() == unreserved
        world.pusher.roll_back(world.pusher.archive.revisions()[0])
        assert world.running() == before


@pytest.mark.slow
def test_a_router_takes_an_unconfirmed_change_back_by_itself(tmp_path: Path) -> None:
    """The session is lost right after the copy and the router cannot be reached again: nobody can undo it but itself."""
    with Routers() as routers:
        world = CiscoWorld(
            routers, tmp_path, ROOT / "inventories" / "garnet", platform="cisco-mqc", archive=True, minute_s=1.5
        )
        world.push()
        unreserved = world.running()
        last = world.routers[LAST]
        last.fault(DropOnCopy(after=True))

        def lock_out() -> None:
            assert last.wait_for(lambda router: router.pending)
            last.fault(WrongPassword())

        locking = threading.Thread(target=lock_out)
        locking.start()
        with pytest.raises(
            PushFailed, match=r"the rollback failed too: lbnl-7507: .* does not let slotcar in"
        ) as failed:
            world.push(flow_of(world))
        locking.join()
        assert not failed.value.rolled_back
        assert last.wait_for(lambda router: router.reverted)
        assert world.running() == unreserved


@pytest.mark.slow
def test_a_reservation_is_taken_from_its_routers_with_the_archive_alone(
    garnet: Garnet, operator: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no database: `slotcar rollback --reservation` has the inventory, the archive and the routers."""
    world = garnet.world
    monkeypatch.setenv("SLOTCAR_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")

    def rollback(*arguments: str, code: int = 0) -> str:
        done = operator("rollback", *arguments)
        assert done.code == code, done
        return done.out + done.err

    (one,) = flow_of(world)
    other = {"name": "atlas", "destination": one.reservation.destination.model_copy(update={"port": 5002})}
    two = replace(one, handle="r-two", number=2, reservation=one.reservation.model_copy(update=other))
    world.push((one,))
    with_one, latest = world.running(), world.pusher.archive.revisions()[-1]
    world.push((one, two))

    answer = rollback("--reservation", one.handle, "--device", FIRST, "--yes")
    assert f"this also takes away hep/atlas on {FIRST}\n" in answer
    assert world.running()[FIRST] == garnet.standing[FIRST]
    kept = sorted(file.name.partition("Z-")[2] for file in world.pusher.archive.unrecorded.iterdir())
    assert f"{FIRST}.json" in kept, "for the audit log, once there is a ledger again"
    answer = rollback("--to", latest, "--reservation", "hep/cms", "--yes")
    assert f"this also takes away hep/atlas on {LAST}\n" in answer
    assert world.running() == with_one
    assert "this also" not in rollback("--reservation", "hep/cms", "--yes")
    assert world.running() == garnet.standing
    assert "by the archive no router carries hep/cms any more" in rollback("--reservation", "hep/cms", code=1)
    assert "did you mean hep/cms" in rollback("--reservation", "hep/csm", code=1)
    assert "goes with --to, not with a revision alone" in rollback(latest, "--reservation", "hep/cms", code=2)


@pytest.mark.slow
def test_a_rollback_of_somebody_who_is_not_there_or_whom_nobody_was_asked_for_touches_no_router(
    garnet: Garnet, operator: Cli
) -> None:
    """An empty list of devices would be every host of the inventory to Ansible."""
    world = garnet.world
    world.push(flow_of(world))
    before, revision = world.running(), world.pusher.archive.revisions()[-1]
    for arguments in (
        (revision, "--device", "anl-7507-9", "--yes"),
        (revision, "--device", FIRST, "--device", "anl-7507-9", "--yes"),
        ("--to", revision, "--device", "anl-7507-9", "--yes"),
        ("--reservation", "hep/cms", "--device", "anl-7507-9", "--yes"),
    ):
        done = operator("rollback", *arguments)
        assert done.code == 1, done
        assert "no managed device anl-7507-9; did you mean `anl-7507-3`?" in done.err
    for names in ([], ["anl-7507-9"], [FIRST, "anl-7507-9"]):
        with pytest.raises(NobodyNamed):
            world.pusher.roll_back(revision, names)
    assert operator("rollback", revision).code == 2, "nobody can be asked"
    done = operator("rollback", "--to", "yesterday", "--yes")
    assert done.code == 1
    assert "--to yesterday is neither a revision nor a time" in done.err
    assert world.running() == before
    assert world.pusher.archive.revisions()[-1] == revision


@dataclass
class Past:
    """A slot that is open and one that ended ten minutes ago, and pushes of which the archive tells.

    GARNET's routers end nothing by themselves.
    """

    world: CiscoWorld
    ended: datetime = field(default_factory=lambda: datetime.now(UTC) - timedelta(minutes=10))

    def __post_init__(self) -> None:
        (self.one,) = flow_of(self.world)
        window = Window(self.ended - timedelta(minutes=30), self.ended)
        port = self.one.reservation.destination.model_copy(update={"port": 5002})
        other = self.one.reservation.over([window]).model_copy(update={"name": "atlas", "destination": port})
        self.two = replace(self.one, handle="r-two", number=2, reservation=other)
        self._had = self._wanted()

    def _wanted(self, *entries: Entry) -> dict[str, Wanted]:
        """What was wanted while both were open."""
        then = self.ended - timedelta(minutes=5)
        outlook = wanted_for(self.world.network)(active_at(entries, then), then)
        return {name: one for name, one in outlook.wanted.items() if name in self.world.routers}

    def pushed(self, *entries: Entry) -> str:
        """The archive after a push of these that was verified; the routers are left as they are."""
        archive, wanted = self.world.pusher.archive, self._wanted(*entries)
        readings = {name: Reading(one.configuration) for name, one in self._had.items()}
        revision = self.world.pusher.prepare(wanted, readings, datetime.now(UTC))
        assert revision is not None
        archive.write(revision)
        archive.keep_as_good(revision)
        self._had = wanted
        return revision.id


@pytest.mark.slow
def test_a_slot_that_has_ended_does_not_come_back_by_a_reservations_or_a_times_rollback(
    garnet: Garnet, operator: Cli
) -> None:
    world = garnet.world
    past = Past(world)
    past.pushed(past.two)
    both = past.pushed(past.two, past.one)

    done = operator("rollback", "--reservation", "hep/cms", "--yes")
    assert done.code == 0, done
    assert f"note: hep/atlas stays out, its slot ended at {past.ended.isoformat().replace('+00:00', 'Z')}" in done.err
    assert world.running() == garnet.standing

    done = operator("rollback", "--to", both, "--yes")
    assert done.code == 0, done
    assert f"note: hep/cms stays open beyond its end, {iso(past.one.reservation.end)}, unless" in done.err
    text = world.running()[FIRST]
    assert " eq 5001" in text
    assert " eq 5002" not in text


@pytest.mark.slow
def test_a_slot_that_has_ended_does_not_come_back_by_what_was_there_before(garnet: Garnet, operator: Cli) -> None:
    """By the rollback of a whole push, and by the playbook for an emergency."""
    world = garnet.world
    past = Past(world)
    past.pushed(past.two)
    past.pushed()
    assert operator("rollback", "--yes").code == 0
    assert world.running() == garnet.standing
    past.pushed(past.two)
    emergency(world, "good")
    assert world.running() == garnet.standing
    past.pushed(past.two, past.one)
    emergency(world, "before")
    assert world.running() == garnet.standing


def emergency(world: CiscoWorld, to: str) -> str:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(world.inventory),
            "playbooks/emergency-rollback.yml", "-e", f"slotcar_emergency_to={to}", "--limit", f"{FIRST},{LAST}",
        ],
        cwd=ROOT, env=os.environ | {"SLOTCAR_STATE_DIR": str(world.settings.state_dir)}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
