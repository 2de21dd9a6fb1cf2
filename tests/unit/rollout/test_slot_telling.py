"""What a leader says of slots: each change once, by what it verified, holds and set aside."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from slotcar.book.model import Entry, State
from slotcar.book.slot_now import SlotState
from slotcar.book.slot_states import SlotRecord
from slotcar.rollout.holding import Hold
from slotcar.rollout.slot_telling import ASIDE, HELD, SlotFindings, news
from tests.support.requests import at
from tests.unit.views.test_slot_states import END, START, entry

BOTH = frozenset({"r1", "r2"})
OPEN = START + 1


def findings(minute: int, **more: Any) -> SlotFindings:
    """All is well: what is open is admitted, and both devices were read and act by themselves."""
    is_open = START <= minute < END
    handles = {"h"} if is_open else set()
    usual: dict[str, Any] = {
        "open": handles, "admitted": handles, "armed": {} if is_open else {at(START): {"h"}}, "verified": BOTH,
        "acting": BOTH, "held": {}, "aside": {}, "verified_at": {"r1": at(minute), "r2": at(minute - 1)}, "devices": BOTH,
        "valid_for": timedelta(minutes=11),
    }  # fmt: skip
    return SlotFindings(at(minute), **(usual | more))


def news_at(
    findings_then: SlotFindings, before: SlotRecord | None = None, one: Entry | None = None
) -> list[SlotRecord]:
    entries = [entry()] if one is None else [one]
    return list(news(entries, {"h": before} if before else {}, findings_then))


def only(findings_then: SlotFindings, before: SlotRecord | None = None) -> SlotRecord:
    (record,) = news_at(findings_then, before)
    return record


def states(record: SlotRecord) -> tuple[str, ...]:
    return tuple(record.devices[name].value for name in ("r1", "r2"))


def test_a_slot_is_armed_then_in_place_then_ended_and_each_is_said_once() -> None:
    armed = only(findings(START - 5))
    assert states(armed) == ("armed", "armed")
    assert news_at(findings(START - 4), armed) == []
    in_place = only(findings(OPEN), armed)
    assert states(in_place) == ("in-place", "in-place")
    assert in_place.verified_at == at(OPEN - 1), "of the device that was read first"
    assert in_place.later == {"r1": at(OPEN)}, "what was read later had nothing of it yet when the first was read"
    assert in_place.until == at(OPEN - 1 + 11)
    assert news_at(findings(OPEN + 1), in_place) == []
    ended = news_at(findings(END), in_place)
    assert [one.state for one in ended] == [SlotState.ENDED]
    assert news_at(findings(END), in_place, entry(state=State.CANCELLED))[0].state is SlotState.ENDED


def test_nothing_is_said_of_what_is_far_off_and_nobody_has_armed() -> None:
    assert news_at(findings(0, armed={})) == []
    assert news_at(findings(0), one=entry(state=State.HELD)) == []


def test_devices_that_do_not_act_by_themselves_are_not_armed() -> None:
    assert states(only(findings(START - 5, acting={"r1"}))) == ("armed", "planned")


def test_a_slot_is_withheld_from_all_by_the_device_that_is_not_ready() -> None:
    record = only(findings(OPEN, admitted=set(), verified={"r1"}, aside={"r2": ASIDE}))
    assert (record.state, states(record)) == (SlotState.WITHHELD, ("withheld", "failed"))
    assert record.why == {"r2": ASIDE}
    early = only(findings(START - 5, armed={at(START): set()}, verified={"r1"}, aside={"r2": ASIDE}))
    assert states(early) == ("withheld", "failed")
    degraded = only(findings(OPEN, verified={"r1"}, aside={"r2": ASIDE}))
    assert (degraded.state, states(degraded)) == (SlotState.FAILED, ("in-place", "failed"))


def test_of_a_device_that_does_not_answer_any_more_nobody_knows() -> None:
    in_place = only(findings(OPEN))
    lost = findings(OPEN + 1, verified={"r1"}, aside={"r2": ASIDE})
    unknown = only(lost, in_place)
    assert (unknown.state, states(unknown)) == (SlotState.UNKNOWN, ("in-place", "unknown"))
    assert news_at(lost, unknown) == []
    after = news_at(findings(END, verified={"r1"}, aside={"r2": ASIDE}), unknown)
    assert [states(one) for one in after] == [("ended", "unknown")]
    assert news_at(findings(END + 1), after[0])[0].state is SlotState.ENDED


def test_a_held_device_keeps_what_it_has_and_gets_nothing() -> None:
    hold = Hold("r2", "a fan", "ops", at(OPEN))
    in_place = only(findings(OPEN))
    assert news_at(findings(OPEN, verified={"r1"}, held={"r2": hold}), in_place) == []
    fresh = only(findings(OPEN, admitted=set(), verified={"r1"}, held={"r2": hold}))
    assert (fresh.state, fresh.why) == (SlotState.WITHHELD, {"r2": HELD})
    armed = only(findings(START - 5))
    acted = only(findings(OPEN, admitted=set(), verified={"r1"}, held={"r2": hold}), armed)
    assert states(acted) == ("withheld", "unknown"), "it does what it was armed to do, and nobody reads it"


def test_a_rollback_is_of_the_slots_that_it_took() -> None:
    in_place = only(findings(OPEN))
    hold = Hold("r2", "rolled back", "ops", at(OPEN), removed=("h",))
    record = only(findings(OPEN + 1, verified={"r1"}, held={"r2": hold}), in_place)
    assert (record.state, states(record)) == (SlotState.ROLLED_BACK, ("in-place", "rolled-back"))
    assert news_at(findings(OPEN + 1, verified={"r1"}, held={"r2": replace(hold, removed=("h-2",))}), in_place) == []


def test_what_was_rolled_back_stays_so_under_a_later_hold_until_a_rollback_brings_it_back() -> None:
    """A hold that replaces another keeps what that one took, but for what came back."""
    hold = Hold("r2", "rolled back", "ops", at(OPEN), removed=("h",))
    (taken,) = news_at(findings(OPEN + 1, verified={"r1"}, held={"r2": hold}), only(findings(OPEN)))
    for later in (replace(hold, since=at(OPEN + 1), removed=("h", "h-2")), replace(hold, since=at(END + 1))):
        assert news_at(findings(OPEN + 2, verified={"r1"}, held={"r2": later}), taken) == []
    back = only(findings(OPEN + 2, verified={"r1"}, held={"r2": Hold("r2", "back", "ops", at(OPEN + 1))}), taken)
    assert (states(back), back.why) == (("in-place", "unknown"), {"r2": HELD})
    assert only(findings(OPEN + 2), taken).state is SlotState.IN_PLACE, "it is released, and was pushed to"


def test_a_recurring_slot_ends_before_the_next_one_is_armed() -> None:
    twice = entry((START, END), (30, 40))
    (in_place,) = news_at(findings(OPEN), one=twice)
    after = news_at(findings(END, armed={at(30): {"h"}}), in_place, twice)
    assert [(one.number, one.state) for one in after] == [(1, SlotState.ENDED), (2, SlotState.ARMED)]
