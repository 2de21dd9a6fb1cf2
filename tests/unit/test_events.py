"""Each kind of event has one class, which says all that is known of the kind."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.base.events import (
    KINDS,
    BoundaryActive,
    ControllerChecked,
    DeviceHeld,
    Kind,
    Of,
    PushFailure,
    PushVerified,
    ReservationRate,
    read,
)
from slotcar.views.events import OWNERS_DETAILS
from tests.unit.notify.test_kinds import FILE, KIND, NO_KINDS, texts_of

ROOT = Path(__file__).parents[2]
AT = datetime(2027, 3, 1, 22, tzinfo=UTC)


def test_every_kind_that_the_code_names_has_a_class() -> None:
    for module in (ROOT / "controller" / "slotcar").rglob("*.py"):
        texts = {one for one in texts_of(module.read_text()) if KIND.fullmatch(one) and not FILE.fullmatch(one)}
        kinds = {one for one in texts if not one.endswith(".") and one.partition(".")[0] not in NO_KINDS}
        assert kinds <= KINDS.keys(), module


def test_every_kind_has_a_sentence_and_a_name_of_its_own() -> None:
    assert len({kind.sentence for kind in KINDS.values()}) == len(KINDS) == len(set(KINDS.values())) > 50
    assert all(kind.sentence.endswith(".") and kind.kind == name for name, kind in KINDS.items())


def test_a_detail_is_an_owners_in_each_kind_or_in_none() -> None:
    """What an owner is shown goes by the detail's name, for an event of an earlier version may be of any kind."""
    of_reservations = [detail for kind in KINDS.values() if kind.of is Of.RESERVATION for detail in kind.layout]
    assert {one.key for one in of_reservations if not one.owners}.isdisjoint(OWNERS_DETAILS)
    assert [
        kind for kind in KINDS.values() if kind.of is not Of.RESERVATION and any(d.owners for d in kind.layout)
    ] == []


@pytest.mark.parametrize(
    ("says", "details"),
    [
        (PushFailure(revision="x", message="no"), {"revision": "x", "message": "no"}),
        (ReservationRate(at=AT, forward_bps=1, reverse_bps=0), {"at": AT.isoformat(), "forward_bps": 1, "reverse_bps": 0}),
        (DeviceHeld(), {}),
        (DeviceHeld(until=AT, removed=("h",)), {"until": AT.isoformat(), "removed": ["h"]}),
        (
            ControllerChecked(read_at=AT, until=AT, lacking=(), later={}),
            {"read_at": AT.isoformat(), "until": AT.isoformat(), "except": [], "later": {}},
        ),
        (
            BoundaryActive(at=AT, devices=("r1",), lag_us={"r1": None}),
            {"at": AT.isoformat(), "devices": ["r1"], "lag_us": {"r1": None}},
        ),
    ],
)  # fmt: skip
def test_what_is_written_is_read_again(says: Kind, details: dict[str, object]) -> None:
    assert says.details == details
    assert read(says.kind, json.loads(json.dumps(details))) == says


def test_an_event_of_another_version_is_read_as_far_as_it_goes() -> None:
    assert read("tunnel.lost", {"at": AT.isoformat()}) is None
    assert read("push.verified", {"colour": "red"}) == PushVerified(revision="", activate_at=None, lines=0)
    local = read("push.verified", {"activate_at": "2027-03-01T22:00:00"})
    assert local == PushVerified(revision="", activate_at=None, lines=0), "whose time nobody knows"
    assert read("controller.checked", {"read_at": AT.isoformat()}) is None, "nobody knows until when it holds"
