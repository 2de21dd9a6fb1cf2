"""Rollbacks of pushes to Cisco routers: by the operator, by the archive alone, and by the playbook for an emergency."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.timebase import Window, iso
from slotcar.book.model import Entry
from slotcar.book.timeline import active_at
from slotcar.recovery.history import history_of
from slotcar.rollout.model import NobodyNamed, Reading, Wanted
from slotcar.rollout.wanted import wanted_for
from tests.integration.rollout.conftest import Garnet
from tests.support.cisco import ROOT, CiscoWorld, flow_of
from tests.support.command_line import Cli, in_this_process
from tests.support.patience import PATIENCE_S

FIRST, LAST = "anl-7507-1", "lbnl-7507"


@pytest.mark.slow
def test_a_rollback_gives_back_what_was_there_byte_for_byte(garnet: Garnet) -> None:
    world = garnet.world
    world.push(flow_of(world))
    revisions = world.pusher.archive.revisions()
    world.pusher.roll_back(revisions[-1])
    assert world.running() == garnet.base
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
    assert world.running()[FIRST] == garnet.base[FIRST] != with_flow[FIRST]
    world.pusher.roll_back(archive.revisions()[-1])
    assert world.running() == with_flow
    assert list(history_of(archive).now(FIRST)) == [one.handle]


def other_flow(one: Entry, port: int) -> Entry:
    more = {"name": f"n{port}", "destination": one.reservation.destination.model_copy(update={"port": port})}
    return replace(one, handle=f"r-{port}", number=port, reservation=one.reservation.model_copy(update=more))


@pytest.mark.slow
def test_rollbacks_after_each_other_can_be_rolled_back_each(garnet: Garnet) -> None:
    """Each gives back what the router had before it; also where no push that is known good had that."""
    world, archive = garnet.world, garnet.world.pusher.archive
    recorded: list[Mapping[str, Any]] = []
    pusher = replace(world.pusher, record=lambda says, _device: recorded.append(says.details))
    (one,) = flow_of(world)
    two, three = other_flow(one, 5002), other_flow(one, 5003)
    with_flows = [garnet.base]
    for flows in ((one,), (one, two), (one, two, three)):
        world.push(flows)
        with_flows.append(world.running())
    pushed = archive.revisions()[-3:]
    for left, revision in reversed([*enumerate(pushed)]):
        recorded.clear()
        pusher.roll_back(revision)
        assert world.running() == with_flows[left]
        assert [len(each["reservations"]["ending"]) for each in recorded] == [1, 1], "and not what earlier ones took"
    rollbacks = archive.revisions()[-3:]
    for left, revision in zip((1, 2, 3), reversed(rollbacks), strict=True):
        pusher.roll_back(revision)
        assert world.running() == with_flows[left]


@pytest.mark.slow
def test_a_rollback_after_the_emergency_playbook_can_be_rolled_back(garnet: Garnet) -> None:
    """The archive does not know what the playbook did: by it the routers would get the last push again."""
    world, archive = garnet.world, garnet.world.pusher.archive
    (one,) = flow_of(world)
    for flows in ((one,), (one, other_flow(one, 5002))):
        world.push(flows)
    pushed = archive.revisions()[-1]
    emergency(world, "before")
    with_one = world.running()
    for revision in (pushed, None):
        world.pusher.roll_back(revision or archive.revisions()[-1])
        assert world.running() == with_one
    emergency(world, "unmanaged")
    unmanaged = world.running()
    world.pusher.roll_back(pushed)
    assert world.running() == with_one != unmanaged
    world.pusher.roll_back(archive.revisions()[-1])
    assert world.running() == unmanaged


@pytest.fixture
def operator(garnet: Garnet, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """`slotcar …` with the inventory, the archive and the routers."""
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(garnet.world.settings.state_dir))
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(garnet.world.inventory))
    return in_this_process(monkeypatch, capfd)


@pytest.mark.slow
def test_the_operators_rollback_is_the_same_when_it_is_run_twice(garnet: Garnet, operator: Cli) -> None:
    world = garnet.world
    (flow,) = flow_of(world)
    world.push((flow,))
    pushed = world.pusher.archive.revisions()[-1]
    for _ in range(2):
        done = operator("rollback", "--yes")
        assert done.code == 0, done
        assert f"Rolled back and verified: {FIRST}, {LAST}" in done.out + done.err
        assert world.running() == garnet.base
        kept = [json.loads(file.read_text()) for file in sorted(world.pusher.archive.unrecorded.glob("*.json"))]
        assert [one["details"]["taken"] for one in kept[-2:]] == [[flow.handle], [flow.handle]]
    listed = operator("rollback", "--list", "--format", "json").data
    assert [one["rollback_of"] for one in listed][-3:] == ["", pushed, pushed]
    assert listed[-3]["why"] == "hep/cms came"
    assert listed[-3]["devices"] == [FIRST, LAST]
    assert listed[-3]["reservations"] == ["hep/cms"]
    assert pushed in operator("rollback", "--list").out


@pytest.mark.slow
def test_the_emergency_playbook_restores_cisco_routers_too(garnet: Garnet) -> None:
    world = garnet.world
    world.push(flow_of(world))
    for to, expected in (("before", garnet.base), ("unmanaged", garnet.operators)):
        emergency(world, to)
        assert {name: world.running()[name] for name in (FIRST, LAST)} == {
            name: expected[name] for name in (FIRST, LAST)
        }


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
    assert world.running()[FIRST] == garnet.base[FIRST]
    kept = [json.loads(file.read_text())["device"] for file in world.pusher.archive.unrecorded.iterdir()]
    assert FIRST in kept, "for the audit log, once there is a ledger again"
    answer = rollback("--to", latest, "--reservation", "hep/cms", "--yes")
    assert f"this also takes away hep/atlas on {LAST}\n" in answer
    assert world.running() == with_one
    assert "this also" not in rollback("--reservation", "hep/cms", "--yes")
    assert world.running() == garnet.base
    assert "by the archive no router carries hep/cms any more" in rollback("--reservation", "hep/cms", code=1)
    assert "did you mean hep/cms" in rollback("--reservation", "hep/csm", code=1)
    assert "goes with --to, not with a revision alone" in rollback(latest, "--reservation", "hep/cms", code=2)


@pytest.mark.slow
def test_a_rollback_after_the_emergency_playbook_says_whom_it_brings_back(garnet: Garnet, operator: Cli) -> None:
    """By the archive the router has them yet, and nothing of them would change."""
    world = garnet.world
    (one,) = flow_of(world)
    two = other_flow(one, 5002)
    world.push((one,))
    with_one = world.running()
    world.push((one, two))
    emergency(world, "unmanaged")
    done = operator("rollback", "--reservation", two.handle, "--yes")
    assert done.code == 0, done
    assert f"this also brings back hep/{one.reservation.name} on {FIRST}, {LAST}\n" in done.out + done.err
    assert world.running() == with_one


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
        self._pushed = self._wanted()

    def _wanted(self, *entries: Entry) -> dict[str, Wanted]:
        """What was wanted while both were open."""
        then = self.ended - timedelta(minutes=5)
        outlook = wanted_for(self.world.network)(active_at(entries, then), then)
        return {name: one for name, one in outlook.wanted.items() if name in self.world.routers}

    def pushed(self, *entries: Entry) -> str:
        """The archive after a push of these that was verified; the routers are left as they are."""
        archive, wanted = self.world.pusher.archive, self._wanted(*entries)
        readings = {name: Reading(one.configuration) for name, one in self._pushed.items()}
        revision = self.world.pusher.prepare(wanted, readings, datetime.now(UTC))
        assert revision is not None
        archive.write(revision)
        archive.keep_as_good(revision)
        self._pushed = wanted
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
    assert world.running() == garnet.base

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
    assert world.running() == garnet.base
    past.pushed(past.two)
    emergency(world, "good")
    assert world.running() == garnet.base
    past.pushed(past.two, past.one)
    emergency(world, "before")
    assert world.running() == garnet.base


def emergency(world: CiscoWorld, to: str) -> str:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(world.inventory),
            "playbooks/emergency-rollback.yml", "-e", f"slotcar_emergency_to={to}", "--limit", f"{FIRST},{LAST}",
        ],
        cwd=ROOT, env=os.environ | {"SLOTCAR_STATE_DIR": str(world.settings.state_dir)}, capture_output=True,
        text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
