"""Audits on a real ledger: what probes hand in is added up, judged, told once, and asked for again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import Window, iso, to_us
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.auditing import Auditing
from slotcar.desk.desk import Desk
from slotcar.measuring.audits.rates import ways_out
from slotcar.measuring.audits.verdicts import Verdicts
from slotcar.network.model import Network
from slotcar.store import Ledger
from slotcar.store import audits as kept
from slotcar.store.counts import CountedStep
from slotcar_client.wire import documents, verbs
from tests.integration.api.conftest import GARNET, As, problem
from tests.support.audits import HOUR_US

SLS, ENDS = "anl-esnet-ip-premium", {"source": "anl-premium", "destination": "lbnl-premium"}
OPERATOR = Caller(name="ops", role=Role.OPERATOR)
HOUR = datetime(2027, 3, 1, 12, tzinfo=UTC)
MINUTES = 40
Pattern = list[int | None]
GOOD: Pattern = [10_000] * 600


def with_figures(network: Network) -> Network:
    """GARNET, and one of its SLSs with figures."""
    sls = network.sls[SLS].model_copy(update={"delay_us": 20_000, "variation_us": 5_000, "loss_ppm": 1_000})
    return network.model_copy(update={"sls": {**network.sls, SLS: sls}})


@pytest.fixture
def auditing(ledger: Ledger, network: Network, tmp_path: Path) -> Auditing:
    return Auditing(Desk(ledger, with_figures(network), Settings(state_dir=tmp_path, inventory=GARNET)))


def stream(delays_us: Pattern, start: datetime, **more: Any) -> verbs.RecordStream:
    packets = [[number, number * 100_000, one] for number, one in enumerate(delays_us)]
    given = {"clock_error_us": 200, "variation_error_us": 100, **more}
    return verbs.RecordStream(SLS, **ENDS, start=iso(start), interval_us=100_000, packets=packets, **given)


def hand_in(auditing: Auditing, delays_us: Pattern, hour: datetime = HOUR, **more: Any) -> documents.AuditedStream:
    """A stream a minute, for the first two thirds of an hour; the last answer."""
    for minute in range(MINUTES):
        start = hour + timedelta(minutes=minute)
        answer = auditing.record_stream(stream(delays_us, start, **more), OPERATOR, start + timedelta(minutes=2))
    return answer


def audit(auditing: Auditing, window: Window, step: str | None = None, name: str | None = SLS) -> documents.SlsAudit:
    answer = auditing.audits(name, None, window, step, OPERATOR, HOUR + timedelta(days=1))
    return next(one for one in answer["items"] if one["sls"] == SLS)


def first_hour(auditing: Auditing) -> documents.AuditItem:
    (item,) = audit(auditing, Window(HOUR, HOUR + timedelta(hours=1)))["items"]
    return item


def verdicts(item: documents.AuditItem) -> list[str]:
    return [one["verdict"] for one in (item["delay"], item["variation"], item["loss"]) if one]


def test_an_hour_is_kept_and_all_others_are_unknown(auditing: Auditing, ledger: Ledger) -> None:
    answer = hand_in(auditing, GOOD)
    assert answer["is_new"]
    item = first_hour(auditing)
    assert (item["verdict"], item["due_s"], item["measured_s"]) == ("kept", 3600, 60 * MINUTES)
    assert answer["items"] == [item]
    assert item["delay"] is not None
    assert (item["delay"]["low"] or 0) <= 10_000 <= (item["delay"]["high"] or 0)
    day = audit(auditing, Window(HOUR.replace(hour=0), HOUR.replace(hour=0) + timedelta(days=1)))
    assert (day["kept"], day["broken"], day["unknown"], len(day["items"])) == (1, 0, 23, 24)
    (whole,) = audit(auditing, Window(HOUR, HOUR + timedelta(hours=1)), "day")["items"]
    assert (whole["verdict"], whole["sent_packets"]) == ("unknown", item["sent_packets"])
    assert whole["loss"] is not None
    assert "less than 50 %" in whole["loss"]["reason"]
    assert ledger.events() == ()


@pytest.mark.parametrize(
    ("delays_us", "broken", "expected"),
    [
        ([25_000] * 600, "delay", ["broken", "kept", "kept"]),
        ([3_000, 12_000] * 300, "variation", ["kept", "broken", "kept"]),
        ([10_000, *[None] * 5, *[10_000] * 594], "loss", ["kept", "kept", "broken"]),
    ],
)
def test_each_figure_breaks_an_hour_alone_and_is_told_once(
    auditing: Auditing, ledger: Ledger, delays_us: Pattern, broken: str, expected: list[str]
) -> None:
    hand_in(auditing, delays_us)
    item = first_hour(auditing)
    assert (item["verdict"], verdicts(item)) == ("broken", expected)
    hand_in(auditing, GOOD, HOUR + timedelta(hours=1))
    hand_in(auditing, GOOD, HOUR + timedelta(hours=2))
    recorded = [(one.kind, one.details.get("broken")) for one in ledger.events()]
    assert recorded == [("sls.broken", [broken]), ("sls.kept", None)]
    assert ledger.events()[0].details["message"] == f"{SLS} is broken from anl-premium to lbnl-premium by {broken}"


def test_losses_have_their_pattern(auditing: Auditing) -> None:
    auditing.record_stream(stream([10, None, None, 10, None, 10], HOUR), OPERATOR, HOUR + timedelta(minutes=1))
    item = first_hour(auditing)
    assert (item["lost_packets"], item["loss_periods"]) == (3, 2)
    assert (item["longest_loss"], item["shortest_distance"]) == (2, 1)


def test_what_is_handed_in_again_counts_once(auditing: Auditing) -> None:
    now = HOUR + timedelta(minutes=5)
    answers = [auditing.record_stream(stream(GOOD, HOUR), OPERATOR, now) for _ in range(2)]
    assert [one["is_new"] for one in answers] == [True, False]
    assert first_hour(auditing)["sent_packets"] == 600


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"remarked": 600}, "no probe may use the class"),
        ({"untold": 600}, "nobody says in which class"),
        ({"clock_error_us": None}, "no clocks that are kept right"),
        ({"clock_error_us": 15_000}, "may be off by more"),
    ],
)
def test_what_cannot_be_known_is_never_kept(auditing: Auditing, more: dict[str, Any], words: str) -> None:
    hand_in(auditing, GOOD, **more)
    item = first_hour(auditing)
    assert item["verdict"] == "unknown"
    assert item["delay"] is not None
    assert words in item["delay"]["reason"]


def test_a_probe_that_nobody_answers_is_no_loss(auditing: Auditing) -> None:
    hand_in(auditing, [], unanswered=600)
    item = first_hour(auditing)
    assert (item["verdict"], item["lost_packets"], item["unanswered_packets"]) == ("unknown", 0, 600 * MINUTES)


def test_packets_that_devices_dropped_within_the_rate_break_it(auditing: Auditing, ledger: Ledger) -> None:
    hand_in(auditing, GOOD)
    network = auditing.desk.network
    border = ways_out(network.sls[SLS], network)[0]
    place = (0, "out", "ip-premium", border.device, border.name, 3600, to_us(HOUR))
    ledger.counts.keep([CountedStep(*place, HOUR_US, 0, 9, 900, 0, 0, 0, 0)], [])
    assert first_hour(auditing)["rate"]["verdict"] == "kept"
    ledger.counts.keep([CountedStep(*place, 0, 0, 0, 0, 0, 0, 4, 400)], [])
    item = first_hour(auditing)
    assert (item["rate"]["verdict"], item["rate"]["high"], item["verdict"]) == ("broken", 4, "broken")
    judged = Verdicts(ledger, network)
    for _ in range(2):
        judged.tell(HOUR + timedelta(minutes=70))
    hand_in(auditing, GOOD, HOUR + timedelta(hours=1))
    judged.tell(HOUR + timedelta(minutes=110))
    recorded = [(one.kind, one.details.get("broken")) for one in ledger.events()]
    assert recorded == [("sls.broken", ["rate"]), ("sls.kept", None)]


def test_packets_that_devices_drop_are_told_each_time_where_nobody_probes(auditing: Auditing, ledger: Ledger) -> None:
    network = auditing.desk.network
    border, judged = ways_out(network.sls[SLS], network)[0], Verdicts(ledger, network)
    for number, dropped in enumerate((0, 4, 4, 0, 2)):
        start = to_us(HOUR) + number * HOUR_US
        place = (0, "out", "ip-premium", border.device, border.name, 3600, start)
        ledger.counts.keep([CountedStep(*place, HOUR_US, 0, 9, 900, 0, 0, dropped, 400)], [])
        judged.tell(HOUR + timedelta(hours=number, minutes=59))
    details = [one.details for one in ledger.events()]
    assert [one["message"] for one in details] == [f"{SLS} is broken by rate"] * 2
    assert [(one["start"][:13], one["source"]) for one in details] == [("2027-03-01T13", ""), ("2027-03-01T16", "")]
    ledger.audits.forget(HOUR + timedelta(days=1))
    judged.tell(HOUR + timedelta(hours=5))
    assert len(ledger.events()) == 2


def test_an_hour_that_is_broken_by_its_last_minute_is_told(auditing: Auditing, ledger: Ledger) -> None:
    start = HOUR + timedelta(minutes=59, seconds=30)
    auditing.record_stream(stream([30_000] * 300 + [10_000] * 300, start), OPERATOR, start + timedelta(minutes=2))
    assert [(one.kind, one.details["start"]) for one in ledger.events()] == [
        ("sls.broken", "2027-03-01T12:00:00+00:00")
    ]


def test_hours_that_are_forgotten_are_not_said_to_be_unmeasured(auditing: Auditing) -> None:
    day, later = Window(HOUR, HOUR + timedelta(hours=1)), HOUR + timedelta(days=70)
    reasons = {}
    for step in ("hour", "day"):
        (item,) = auditing.audits(SLS, None, day, step, OPERATOR, later)["items"][0]["items"]
        assert item["delay"] is not None
        reasons[step] = item["delay"]["reason"]
    assert reasons["hour"] == "it is forgotten: hours are kept for 62 days, and days for 400"
    assert reasons["day"] == "nobody measured it"


def test_an_sls_without_figures_has_nothing_to_audit(auditing: Auditing) -> None:
    answer = auditing.audits(None, "ip-premium", Window(HOUR, HOUR + timedelta(hours=1)), None, OPERATOR, HOUR)
    others = [one for one in answer["items"] if one["sls"] != SLS]
    assert {one["service"] for one in answer["items"]} == {"ip-premium"}
    assert {one["nothing"] for one in others} == {"no delay, variation or loss was agreed"}
    assert [item for one in others for item in one["items"]] == []


def test_hours_are_kept_for_two_months_and_days_for_a_year(auditing: Auditing, ledger: Ledger) -> None:
    hand_in(auditing, GOOD)
    day = Window(HOUR.replace(hour=0), HOUR.replace(hour=0) + timedelta(days=1))
    for days, counts in ((61, (1, 1)), (63, (0, 1)), (402, (0, 0))):
        ledger.audits.forget(HOUR + timedelta(days=days))
        assert tuple(len(ledger.audits.windows([SLS], step, day)) for step in (kept.HOUR_S, kept.DAY_S)) == counts
    assert ledger.audits.ways() == ()


def test_who_may_ask_and_hand_in(as_: As) -> None:
    requester = as_("hep", Role.REQUESTER)
    problem(requester.get("/v1/audits"), 403, "not-allowed")
    problem(as_("watch", Role.AUDITOR).post("/v1/audits/streams", json=body()), 403, "not-allowed")
    problem(requester.post("/v1/audits/streams", json=body()), 422, "invalid-input")


def body(**more: Any) -> dict[str, Any]:
    start = iso(datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5))
    packets = [[0, 0, 10_000], [1, 100_000, None]]
    return {"sls": SLS, **ENDS, "start": start, "interval_us": 100_000, "packets": packets, **more}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sls": "anl-esnet-ip-premiun"}, "is no SLS of the inventory"),
        ({}, "has nothing to audit"),
        ({"start": "2100-01-01T00:00:00Z"}, "is in the future"),
        ({"destination": "anl-premium"}, "is the source itself"),
        ({"packets": []}, "is empty"),
        ({"packets": [[1, 0, 5], [1, 1, 5]]}, "has no greater number"),
        ({"packets": [[1, -1, 5]]}, "before the stream began"),
        ({"packets": [[None, 0, 5]]}, "is no packet"),
        ({"packets": [[1, 0]]}, "packets"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(api: httpx.Client, more: dict[str, Any], words: str) -> None:
    answer = api.post("/v1/audits/streams", json=body(**more))
    assert answer.status_code == 422, answer.text
    assert words in answer.text


def test_what_is_asked_of_nothing_is_refused(api: httpx.Client) -> None:
    for params, words in (
        ({"sls": "nobody"}, "is no SLS"), ({"service": "qbss"}, "is no class that an SLS promises"),
        ({"from": "2027-03-02T00:00:00Z", "until": "2027-03-01T00:00:00Z"}, "is not after"),
        ({"step": "week"}, "step"),
    ):  # fmt: skip
        answer = api.get("/v1/audits", params=params)
        assert (answer.status_code, words in answer.text) == (422, True), answer.text
