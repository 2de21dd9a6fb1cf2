"""No slot that has ended comes back out of the archive, and what is still open comes back with its end."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from slotcar.platforms import renderer_of
from slotcar.rollout import staging
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import AFTER, BEFORE, ENDS
from slotcar.rollout.model import DeviceRevision, NobodyNamed, Revision, still_open
from slotcar.rollout.playbook import Playbooks
from slotcar.rollout.slot_ends import EndsUnknown, file_at
from slotcar.rollout.wanted import wanted_for
from tests.support.networks import line_network
from tests.support.requests import T0
from tests.unit.rollout.support import NETWORK, active, wanted

ROUTER = "r1"
NOTHING_RESERVED = wanted()[ROUTER].configuration


def minutes(number: float) -> float:
    return (T0 + timedelta(minutes=number)).timestamp()


def revision(name: str, before: object, after: object) -> Revision:
    """Of one router, from what is wanted at one time to what is wanted at another."""
    device = NETWORK.devices[ROUTER]
    change = renderer_of(device).change(before.configuration, after.configuration, device)  # type: ignore[attr-defined]
    part = DeviceRevision(device, change, after.program, tuple(staging.commands(device)), ends=after.ends)  # type: ignore[attr-defined]
    return Revision(f"20260101T00000{name}.000000Z-0000000{name}", T0, {ROUTER: part})


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """First a slot until minute 10 and one until 20 come to the standing configuration, then one until 30."""
    archive = Archive(tmp_path)
    one, two, three = active(1, 10), active(2, 20), active(3, 30)
    for each in (
        revision("1", wanted()[ROUTER], wanted(one, two)[ROUTER]),
        revision("2", wanted(one, two)[ROUTER], wanted(one, two, three)[ROUTER]),
    ):
        archive.write(each)
        archive.keep_as_good(each)
    return archive


@pytest.mark.parametrize(
    ("target", "minute", "open_then"),
    [
        (AFTER, 5, (1, 2, 3)), (AFTER, 15, (2, 3)), (AFTER, 25, (3,)), (AFTER, 35, ()),
        (BEFORE, 5, (1, 2)), (BEFORE, 15, (2,)), (BEFORE, 25, ()),
    ],
)  # fmt: skip
def test_what_is_given_back_has_only_the_slots_that_are_open(
    archive: Archive, target: str, minute: int, open_then: tuple[int, ...]
) -> None:
    last = archive.revisions()[-1]
    folder = archive.device_folder(last, ROUTER)
    slots = {number: active(number, 10 * number) for number in (1, 2, 3)}
    lines = wanted(*(slots[number] for number in open_then))[ROUTER].configuration.lines
    assert folder.lines(file_at(folder, target, minutes(minute))) == lines
    left, ends = archive.wanted_at(last, NETWORK.devices[ROUTER], T0 + timedelta(minutes=minute), target)
    assert left.lines == lines
    assert [one.timestamp() for one in ends.instants] == [minutes(10 * number) for number in open_then]
    if open_then:
        assert ends.configurations[-1].lines == NOTHING_RESERVED.lines, "each slot has its end"


def test_ends_are_kept_for_routers_that_do_nothing_by_themselves_too() -> None:
    cisco = line_network(platform="cisco-mqc")
    one = wanted_for(cisco)([active(1, 10, network=cisco)], T0).wanted[ROUTER]
    assert one.program.instants == ()
    assert [instant.timestamp() for instant in one.ends.instants] == [minutes(10)]


def test_what_nobody_knows_the_ends_of_is_not_given_back_unless_somebody_says_so(archive: Archive) -> None:
    """A router had slots before the first push that the archive knows, or an older Slotcar wrote the revision."""
    drifted = replace(wanted(active(7, 40))[ROUTER])
    archive.write(revision("3", drifted, wanted()[ROUTER]))
    folder = archive.device_folder(archive.revisions()[-1], ROUTER)
    with pytest.raises(EndsUnknown, match=r"does not know when the slots in .* end"):
        file_at(folder, BEFORE, minutes(0))
    assert file_at(folder, BEFORE, minutes(0), unknown_ends=True) == BEFORE
    older = archive.device_folder(archive.revisions()[0], ROUTER)
    (older.path / ENDS).unlink()
    (older.path / "reservations.json").write_text(json.dumps([{"handle": "r-1"}]))
    with pytest.raises(EndsUnknown):
        file_at(older, AFTER, minutes(0))
    (older.path / "reservations.json").write_text("[]")
    assert file_at(older, AFTER, minutes(0)) == AFTER, "nothing was reserved"


def test_reservations_are_open_until_their_end() -> None:
    some = wanted_for(NETWORK)([active(1, 10), active(2, 20)], T0).wanted[ROUTER].reservations
    assert [one.handle for one in still_open(some, T0 + timedelta(minutes=10))] == ["h2"]


@pytest.mark.parametrize("names", [[], [""], ["r1", ""]])
def test_a_playbook_runs_on_nobody_that_was_not_named(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(NobodyNamed, match="rollback was to run on no device in particular"):
        Playbooks(tmp_path, tmp_path).run("rollback", names, {})
