"""Each boundary of a plan says which reservations begin, end or change there."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from slotcar.planning.plan_causes import CAUSES_SHOWN, OF_OTHERS, boundary_words, causes_of
from slotcar.planning.plan_lines import changes_first
from slotcar.planning.step import Action
from slotcar.views.explain import profile_lines
from tests.golden.test_plan_markdown import NOW, document_of, planned, source

START = datetime.fromisoformat("2027-03-01T21:00:00Z")
TWO_HOURS, DAY = timedelta(hours=2), timedelta(days=1)
DAY_AND_NIGHT = {
    "start": "2027-03-01T13:00:00+01:00", "duration": "P3D", "timezone": "Europe/Zurich",
    "hours": [{"from": "20:00", "to": "06:00", "rate": "34 Mbit/s"}], "rate": "8 Mbit/s",
}  # fmt: skip


def test_a_slot_begins_and_ends_and_an_occurrence_has_its_number() -> None:
    plan = planned(source(document_of("cms"), document_of("daily", rate="1 Mbit/s", recurrence="FREQ=DAILY;COUNT=2")))
    causes = causes_of(plan)
    words = {at: boundary_words(at, plan, causes)[1] for at in (START, START + TWO_HOURS, START + DAY)}
    assert words == {
        START: "+hep/cms begins; +hep/daily begins, 1 of 2",
        START + TWO_HOURS: "-hep/cms ends; -hep/daily ends, 1 of 2",
        START + DAY: "+hep/daily begins, 2 of 2",
    }


def test_a_rate_that_changes_by_the_hours_of_the_day_is_stated_at_each_change() -> None:
    plan = planned(source(document_of("sat", **DAY_AND_NIGHT)))
    causes = causes_of(plan)
    evening, morning = (datetime.fromisoformat(f"2027-03-02T{hour}:00:00+01:00") for hour in ("20", "06"))
    assert [str(one) for one in causes[evening]] == ["~hep/sat goes from 8 Mbit/s to 34 Mbit/s"]
    assert [str(one) for one in causes[morning]] == ["~hep/sat goes from 34 Mbit/s to 8 Mbit/s"]
    (step,) = plan.steps
    assert step.reservation is not None
    assert profile_lines(step.reservation) == [
        "34 Mbit/s, 20:00 to 06:00 Europe/Zurich", "8 Mbit/s, 06:00 to 20:00 Europe/Zurich",
    ]  # fmt: skip


def test_rates_that_are_not_the_same_each_day_are_listed_with_their_instants() -> None:
    schedule = [
        {"start": "2027-03-01T21:00:00Z", "end": "2027-03-01T22:00:00Z", "rate": "8 Mbit/s"},
        {"start": "2027-03-01T22:00:00Z", "end": "2027-03-01T23:30:00Z", "rate": "9 Mbit/s"},
    ]
    (step,) = planned(source(document_of("steps", rate=None, start=None, duration=None, schedule=schedule))).steps
    assert step.reservation is not None
    assert profile_lines(step.reservation) == [
        "8 Mbit/s, 2027-03-01T21:00:00Z to 2027-03-01T22:00:00Z", "9 Mbit/s, 2027-03-01T22:00:00Z to 2027-03-01T23:30:00Z",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ([document_of("open", start="now", rate="21 Mbit/s")], "~hep/open is changed"),
        ([], "-hep/open is cancelled"),
    ],
)
def test_what_the_apply_does_to_an_open_slot_is_said(wanted: list[dict[str, object]], words: str) -> None:
    plan = planned(
        source(*wanted, document_of("other")), source(document_of("open", start="now"), document_of("other"))
    )
    assert boundary_words(NOW, plan, causes_of(plan)) == ("once, with the apply", words)


def test_a_boundary_of_many_names_the_first_and_counts_the_others() -> None:
    count = CAUSES_SHOWN + 3
    plan = planned(source(*(document_of(f"n{number}", rate="1 Mbit/s") for number in range(count))))
    assert boundary_words(START, plan, causes_of(plan))[1].endswith("; and 3 more")


def test_a_boundary_of_none_of_them_says_so() -> None:
    plan = planned(source(document_of("cms")))
    assert boundary_words(START + DAY, plan, causes_of(plan)) == ("2027-03-02T21:00:00Z", OF_OTHERS)


def test_refusals_come_first_then_changes_and_what_stays_is_apart() -> None:
    live = source(document_of("same"), document_of("gone"))
    plan = planned(source(document_of("same"), document_of("new"), document_of("greedy", rate="90 Mbit/s")), live)
    changes, same = changes_first(plan.steps)
    assert [(step.key[1], bool(step.refusal)) for step in changes] == [
        ("greedy", True),
        ("new", False),
        ("gone", False),
    ]
    assert [(step.key[1], step.action) for step in same] == [("same", Action.NO_OP)]
