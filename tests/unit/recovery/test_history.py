"""What the archive tells of reservations when the ledger is dead: which routers carry them, since when, and whom else it
would concern to go back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.planning.errors import NotPossible
from slotcar.recovery.history import Before, consequences, history_of, removal, taken_with
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import RESERVATIONS
from slotcar.rollout.holding import Removal
from slotcar.rollout.model import ConfiguredReservation, Revision
from slotcar.rollout.wanted import wanted_for
from tests.support.networks import line_network
from tests.support.requests import T0
from tests.unit.rollout.support import active, revision

NETWORK = line_network()
FIRST, *MIDDLE, LAST = sorted(NETWORK.devices)
PATH = tuple(sorted(NETWORK.devices))
#: What a push of nothing but the standing configuration carries.
NOTHING_RESERVED = revision(T0)


def configured(name: str, version: int = 1, devices: tuple[str, ...] = PATH) -> ConfiguredReservation:
    return ConfiguredReservation(f"r-{name}", f"hep/{name}", version, devices)


CMS, ATLAS = configured("cms"), configured("atlas")


def archive_of(folder: Path, *revisions: Mapping[str, tuple[ConfiguredReservation, ...]]) -> tuple[Archive, list[str]]:
    """An archive of these revisions, a minute apart: for each of its routers whom its configuration is for."""
    archive = Archive(folder)
    for minute, configured in enumerate(revisions):
        at = T0 + timedelta(minutes=minute)
        parts = {name: replace(NOTHING_RESERVED.devices[name], reservations=some) for name, some in configured.items()}
        archive.write(Revision(f"{at:%Y%m%dT%H%M%S.%fZ}-{minute:08x}", at, parts))
    return archive, list(archive.revisions())


def test_what_is_wanted_says_whom_it_is_for() -> None:
    """On every router of the path, so that the archive can tell it of each by itself."""
    wanted = wanted_for(NETWORK)([active(1, 10), active(2, 20)], T0).wanted
    assert {name: [one.handle for one in target.reservations] for name, target in wanted.items()} == {
        name: ["h1", "h2"] for name in PATH
    }
    assert all(one.devices == PATH for target in wanted.values() for one in target.reservations)
    assert wanted_for(NETWORK)((), T0).wanted[FIRST].reservations == ()


def test_routers_go_back_to_the_last_that_they_had_without_the_reservation(tmp_path: Path) -> None:
    unreserved = dict.fromkeys(PATH, ())
    archive, known = archive_of(
        tmp_path,
        unreserved,
        dict.fromkeys(PATH, (CMS,)),
        dict.fromkeys(PATH, (CMS, ATLAS)),
        dict.fromkeys(PATH, (CMS,)),
    )
    history = history_of(archive)
    assert history.before(history.find("hep/cms")) == dict.fromkeys(PATH, Before(known[0]))
    assert history.find("r-cms") == history.find("hep/cms") == CMS


def test_a_router_that_had_nothing_before_goes_back_to_before_its_first_push(tmp_path: Path) -> None:
    archive, known = archive_of(tmp_path, dict.fromkeys(PATH, (CMS,)))
    assert history_of(archive).before(CMS) == dict.fromkeys(PATH, Before(known[0], first=True))


def test_a_router_that_the_reservation_changed_nothing_on_keeps_what_it_had(tmp_path: Path) -> None:
    """As in the core of Cisco routers, whose queues follow the shares: only the edges are pushed to at a boundary."""
    edges = {FIRST: (CMS,), LAST: (CMS,)}
    archive, known = archive_of(tmp_path, dict.fromkeys(PATH, ()), edges)
    assert history_of(archive).before(CMS) == dict.fromkeys(PATH, Before(known[0]))


def test_one_that_came_again_goes_to_before_it_came_the_last_time(tmp_path: Path) -> None:
    with_it, without = dict.fromkeys(PATH, (CMS,)), dict.fromkeys(PATH, ())
    archive, known = archive_of(tmp_path, without, with_it, without, with_it)
    assert history_of(archive).before(CMS) == dict.fromkeys(PATH, Before(known[2]))


def test_a_router_that_it_was_taken_from_already_is_left_alone(tmp_path: Path) -> None:
    archive, known = archive_of(tmp_path, dict.fromkeys(PATH, ()), dict.fromkeys(PATH, (CMS,)), {FIRST: ()})
    assert history_of(archive).before(CMS) == dict.fromkeys([*MIDDLE, LAST], Before(known[0]))


def test_one_that_is_over_is_told_with_the_revision_that_ended_it(tmp_path: Path) -> None:
    archive, known = archive_of(tmp_path, dict.fromkeys(PATH, (CMS,)), dict.fromkeys(PATH, ()))
    with pytest.raises(NotPossible, match=rf"no router carries hep/cms any more: revision {known[1]} took it away"):
        history_of(archive).before(CMS)


def test_of_one_name_the_latest_is_meant(tmp_path: Path) -> None:
    again = replace(CMS, handle="r-again")
    archive, _ = archive_of(tmp_path, {FIRST: (CMS,)}, {FIRST: (again,)})
    assert history_of(archive).find("hep/cms") == again


def look(archive: Archive, minute: int, configured: Mapping[str, tuple[ConfiguredReservation, ...]]) -> None:
    """What a controller keeps of routers that it did not push to: another one did, or it was restored from a backup."""
    at = T0 + timedelta(minutes=minute)
    parts = {name: replace(NOTHING_RESERVED.devices[name], reservations=some) for name, some in configured.items()}
    archive.keep_only_as_good(Revision(f"{at:%Y%m%dT%H%M%S.%fZ}-ffffffff", at, parts, acted=True))


def test_what_routers_were_last_seen_with_is_known_though_no_revision_gave_it(tmp_path: Path) -> None:
    archive, known = archive_of(tmp_path, dict.fromkeys(PATH, ()), {FIRST: (ATLAS,)})
    look(archive, 5, {FIRST: (CMS,), LAST: (CMS,)})
    history = history_of(archive)
    assert history.find("hep/cms") == CMS
    assert {name: set(history.now(name)) for name in (FIRST, LAST)} == {FIRST: {"r-cms"}, LAST: {"r-cms"}}
    before = {FIRST: Before(known[1]), **dict.fromkeys([*MIDDLE, LAST], Before(known[0]))}
    assert history.before(CMS) == before, "to revisions, and never to a look"
    with pytest.raises(
        NotPossible, match="no router carries hep/atlas any more: they were seen without it since; say"
    ):
        history.before(ATLAS)
    assert archive.revisions() == known


def test_of_a_router_that_was_only_ever_seen_with_it_nobody_knows_what_it_had_before(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    look(archive, 0, dict.fromkeys(PATH, (CMS,)))
    history = history_of(archive)
    assert set(history.carriers(history.find("r-cms"))) == set(PATH)
    assert history.before(CMS) == {}


def test_what_is_taken_back_twice_was_taken_both_times(tmp_path: Path) -> None:
    """What is known good stays what was pushed last: it does not tell what a rollback left."""
    archive, known = archive_of(tmp_path, {FIRST: (ATLAS,)}, {FIRST: (ATLAS, CMS)})
    look(archive, 1, {FIRST: (ATLAS, CMS)})
    before = history_of(archive)
    for minute in (2, 3):
        part = replace(NOTHING_RESERVED.devices[FIRST], reservations=(ATLAS,))
        at = T0 + timedelta(minutes=minute)
        archive.keep_rollback(Revision(f"{at:%Y%m%dT%H%M%S.%fZ}-00000000", at, {FIRST: part}), known[1])
        assert taken_with(archive, known[1], before, [FIRST]) == {FIRST: Removal(("r-cms",), ("r-atlas",))}
        before = history_of(archive)


def test_what_comes_back_in_an_earlier_form_is_not_as_it_was_last_known(tmp_path: Path) -> None:
    """A rollback that brings it back so leaves its hold saying that it was taken."""
    later = replace(CMS, version=2)
    archive, _ = archive_of(tmp_path, {FIRST: (ATLAS, CMS)}, {FIRST: (ATLAS, later)}, {FIRST: (ATLAS,)})
    history = history_of(archive)
    for then, carried, lacks in (((ATLAS, CMS), ("r-atlas",), ("r-cms",)), ((ATLAS, later), ("r-atlas", "r-cms"), ())):
        one = removal(history.now(FIRST), then, history.last_versions())
        assert one == Removal((), carried)
        assert one.after(("r-cms",)) == lacks


def test_a_push_after_the_look_counts_and_not_the_look(tmp_path: Path) -> None:
    archive, _ = archive_of(tmp_path, dict.fromkeys(PATH, ()), dict.fromkeys(PATH, ()))
    look(archive, 0, dict.fromkeys(PATH, (CMS,)))
    history = history_of(archive)
    assert history.later_looks == {}
    assert history.now(FIRST) == {}


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("hep/cmz", "configured a reservation hep/cmz; did you mean hep/cms?"),
        ("r-cns", "did you mean r-cms?"),
        ("astro/vlbi", "the latest are hep/cms, hep/atlas"),
    ],
)
def test_an_unknown_one_is_told_with_what_is_like_it(tmp_path: Path, revision: str, words: str) -> None:
    archive, _ = archive_of(tmp_path, {FIRST: (CMS,)}, {FIRST: (CMS, ATLAS)})
    with pytest.raises(NotPossible) as unknown:
        history_of(archive).find(revision)
    assert words in str(unknown.value)


def test_an_archive_of_before_knows_no_reservations(tmp_path: Path) -> None:
    archive, (known,) = archive_of(tmp_path, {FIRST: (CMS,)})
    (archive.folder(known) / FIRST / RESERVATIONS).unlink()
    with pytest.raises(NotPossible, match="it tells of no reservation at all; name routers with --device"):
        history_of(archive).find("hep/cms")


def test_a_broken_file_of_the_archive_is_named(tmp_path: Path) -> None:
    archive, (known,) = archive_of(tmp_path, {FIRST: (CMS,)})
    file = archive.folder(known) / FIRST / RESERVATIONS
    for text in ("{", '["cms"]', "7", '[{"handle": "r-cms"}]'):
        file.write_text(text)
        with pytest.raises(InvalidInput, match="is not a list of reservations; restore it") as broken:
            history_of(archive)
        assert str(file) in str(broken.value)


def test_whom_else_it_concerns_is_said_by_router() -> None:
    lhcb, later = configured("lhcb"), configured("atlas", version=2)
    now = {FIRST: {one.handle: one for one in (CMS, later)}, LAST: {one.handle: one for one in (CMS, later)}}
    then: dict[str, tuple[ConfiguredReservation, ...]] = {FIRST: (ATLAS, lhcb), LAST: ()}
    assert consequences(now, then, but=CMS.handle) == (
        f"takes away hep/atlas on {LAST}",
        f"gives an earlier form of hep/atlas on {FIRST}",
        f"brings back hep/lhcb on {FIRST}",
    )
    assert consequences(now, {FIRST: (CMS, later)}, but="") == ()
