"""Each kind of event has one class, which says all that is known of the kind."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.views.events import owners_details
from slotcar_client.wire.events import (
    KINDS,
    BoundaryActive,
    BoundaryStaged,
    ControllerChecked,
    DeviceHeld,
    Kind,
    Of,
    PushFailure,
    PushVerified,
    ReservationRate,
    layout_of,
    read,
    sentence_of,
)
from tests.unit.notify.test_kinds import FILE, KIND, NO_KINDS, texts_of

CONTROLLER = Path(__file__).parents[2] / "controller" / "slotcar"
IN_SQL = {"store/instants.py", "store/summaries.py"}
AT = datetime(2027, 3, 1, 22, tzinfo=UTC)


def literal_kinds(source: str) -> set[str]:
    """The kinds that a module names by themselves, and those in its SQL."""
    texts = [one for one in texts_of(source) if not FILE.fullmatch(one)]
    whole = {one for one in texts if KIND.fullmatch(one) and not one.endswith(".")}
    in_sql = {one for text in texts for one in re.findall(r"kind = '([^']+)'", text)}
    return {one for one in whole | in_sql if one.partition(".")[0] not in NO_KINDS}


def test_no_kind_is_named_but_by_its_class() -> None:
    """But in SQL, which an index serves that has the same text."""
    literals = {
        path.relative_to(CONTROLLER).as_posix(): kinds
        for path in CONTROLLER.rglob("*.py")
        if path.name != "events.py" and "migrations" not in path.parts
        if (kinds := literal_kinds(path.read_text()))
    }
    assert literals.keys() == IN_SQL
    assert {kind for kinds in literals.values() for kind in kinds} <= KINDS.keys()


def test_the_check_sees_a_literal_kind() -> None:
    assert literal_kinds('ledger.append_event("tunnel.lost", now)') == {"tunnel.lost"}
    assert literal_kinds("""text("SELECT * FROM event WHERE kind = 'tunnel.lost'")""") == {"tunnel.lost"}
    assert literal_kinds('FAMILIES = ("push.", "slot."); FILE = "device.json"') == set()


def test_every_kind_has_a_sentence_and_a_name_of_its_own() -> None:
    assert len({sentence_of(kind) for kind in KINDS.values()}) == len(KINDS) == len(set(KINDS.values())) > 50
    assert all(sentence_of(kind).endswith(".") and kind.kind == name for name, kind in KINDS.items())


def test_a_detail_is_an_owners_in_each_kind_or_in_none() -> None:
    """What an owner is shown goes by the detail's name, for an event of an earlier version may be of any kind."""
    of_reservations = [detail for kind in KINDS.values() if kind.of is Of.RESERVATION for detail in layout_of(kind)]
    assert {one.key for one in of_reservations if not one.owners}.isdisjoint(owners_details())
    assert [
        kind for kind in KINDS.values() if kind.of is not Of.RESERVATION and any(d.owners for d in layout_of(kind))
    ] == []


@pytest.mark.parametrize(
    ("says", "details"),
    [
        (PushFailure(revision="x", message="no"), {"revision": "x", "message": "no"}),
        (ReservationRate(at=AT, forward_bps=1, reverse_bps=0), {"at": AT.isoformat(), "forward_bps": 1, "reverse_bps": 0}),
        (DeviceHeld(), {}),
        (BoundaryStaged(at=AT, devices=("r1",)), {"at": AT.isoformat(), "devices": ["r1"]}),
        (
            BoundaryStaged(at=AT, devices=("r1",), revision=""),
            {"at": AT.isoformat(), "devices": ["r1"], "revision": ""},
        ),
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


def test_an_event_cannot_be_made_without_its_details_nor_with_others_nor_be_changed() -> None:
    with pytest.raises(TypeError, match=r"PushFailure has no \['colour'\], and needs \['message'\]"):
        PushFailure(revision="x", colour="red")  # type: ignore[call-arg]
    says = PushFailure(revision="x", message="no")
    with pytest.raises(AttributeError):
        says.message = "yes"  # type: ignore[misc]
    assert repr(says) == "PushFailure(revision='x', message='no')"
