"""For which reservations a push changes a device, as its events say."""

from __future__ import annotations

from datetime import timedelta

from slotcar.base.timebase import iso
from slotcar.rollout.model import ConfiguredReservation
from slotcar.rollout.reservations_of_push import MOST_NAMED, reservations_of_push
from tests.support.requests import T0

MINUTE = timedelta(minutes=1)
AT = T0 + 5 * MINUTE


def _configured(name: str, start: int = 0, end: int = 60, version: int = 1) -> ConfiguredReservation:
    return ConfiguredReservation(f"r-{name}", f"hep/{name}", version, ("r1",), T0 + end * MINUTE, T0 + start * MINUTE)


def _boundary(minutes: int) -> str:
    return iso(T0 + minutes * MINUTE).replace("Z", "+00:00")


def test_what_starts_and_ends_late_is_named_with_the_boundary_that_it_was_for() -> None:
    before, after = (
        [_configured("old", end=4), _configured("stays")],
        [_configured("new", start=4), _configured("stays")],
    )
    assert reservations_of_push(before, after, AT) == {
        "starting": ["hep/new"], "ending": ["hep/old"], "boundary": _boundary(4),
    }  # fmt: skip


def test_what_is_cancelled_or_modified_has_no_boundary() -> None:
    before, after = [_configured("gone"), _configured("more")], [_configured("more", version=2)]
    assert reservations_of_push(before, after, AT) == {"ending": ["hep/gone"], "changing": ["hep/more"]}


def test_another_rate_within_a_profile_is_a_change_with_its_boundary() -> None:
    assert reservations_of_push([_configured("steps")], [_configured("steps", start=5)], AT) == {
        "changing": ["hep/steps"], "boundary": _boundary(5),
    }  # fmt: skip


def test_a_repair_names_what_is_active() -> None:
    same = [_configured("one"), _configured("two")]
    assert reservations_of_push(same, same, AT) == {"active": ["hep/one", "hep/two"]}
    assert reservations_of_push([], [], AT) == {}


def test_who_is_one_of_many_is_counted() -> None:
    many = [_configured(f"n{number:03}") for number in range(MOST_NAMED + 7)]
    listed = reservations_of_push([], many, AT)
    assert len(listed["starting"]) == MOST_NAMED
    assert listed["not_named"] == 7


def test_what_an_older_slotcar_kept_has_no_instants() -> None:
    old = ConfiguredReservation("r-old", "hep/old", 1, ("r1",))
    assert reservations_of_push([old], [], AT) == {"ending": ["hep/old"]}
