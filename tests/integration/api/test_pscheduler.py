"""What a pScheduler answers over HTTP, in the ledger and in audits; and what it does not answer, which is unknown."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import Window
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.auditing import Auditing
from slotcar.desk.desk import Desk
from slotcar.measuring.audits.verdicts import Verdicts, worst_of
from slotcar.measuring.pscheduler.reader import PSchedulerReader
from slotcar.network.model import Network, PSchedulerTask
from slotcar.store import Ledger
from slotcar_client.wire import documents
from tests.integration.api.conftest import GARNET
from tests.support.pscheduler import Site, pscheduler, raw_result, summed_result, task_document

SLS = "anl-esnet-ip-premium"
OPERATOR = Caller(name="ops", role=Role.OPERATOR)
HOUR = datetime(2027, 3, 1, 12, tzinfo=UTC)
AFTER = HOUR + timedelta(hours=1, minutes=5)
MINUTES = 40
Delays = Sequence[int | None]
GOOD: Delays = [10_000] * 599
SLOW: Delays = [30_000] * 599
LOSSY: Delays = [None, *[10_000] * 299] * 2


@pytest.fixture
def site() -> Iterator[Site]:
    with pscheduler() as running:
        yield running


class Controller:
    """One that reads the site, and is asked for the hour."""

    def __init__(self, ledger: Ledger, network: Network, folder: Path, source: PSchedulerTask) -> None:
        more = {"delay_us": 20_000, "variation_us": 5_000, "loss_ppm": 1_000, "pscheduler": (source,)}
        sls = network.sls[SLS].model_copy(update=more)
        whole = network.model_copy(update={"sls": {**network.sls, SLS: sls}})
        self._desk = Desk(ledger, whole, Settings(state_dir=folder, inventory=GARNET))
        self.reader = PSchedulerReader(ledger, whole, lambda: True, lambda: AFTER)

    def item(self) -> documents.AuditItem:
        self.reader.read_all()
        window = Window(HOUR, HOUR + timedelta(hours=1))
        answer = Auditing(self._desk).audits(SLS, None, window, "hour", OPERATOR, AFTER)
        return next(one for one in answer["items"][0]["items"] if one["source"] == "ps-anl")


@pytest.fixture
def controller_of(ledger: Ledger, network: Network, tmp_path: Path, site: Site) -> Any:
    def make(**more: Any) -> Controller:
        given = {"task": site.address, "source": "ps-anl", "destination": "ps-lbnl", "in_class": True, **more}
        return Controller(ledger, network, tmp_path, PSchedulerTask(**given))

    return make


def fill(site: Site, delays_us: Delays, raw: bool = True, **more: Any) -> None:
    """A run each minute of the first two thirds of the hour."""
    for minute in range(MINUTES):
        start = HOUR + timedelta(minutes=minute)
        site.add(start, raw_result(start, delays_us, **more) if raw else summed_result(delays_us, **more))


def figures(item: documents.AuditItem) -> list[str]:
    return [one["verdict"] for one in (item["delay"], item["variation"], item["loss"]) if one is not None]


@pytest.mark.parametrize(
    ("delays_us", "verdicts"),
    [
        (GOOD, ["kept", "kept", "kept"]),
        (SLOW, ["broken", "kept", "kept"]),
        ([10_000, 18_000] * 300, ["kept", "broken", "kept"]),
        (LOSSY, ["kept", "kept", "broken"]),
    ],
)
def test_single_packets_tell_all_that_a_probe_tells(
    controller_of: Any, site: Site, delays_us: Delays, verdicts: list[str]
) -> None:
    fill(site, delays_us)
    item = controller_of().item()
    assert figures(item) == verdicts
    assert item["measured_s"] == pytest.approx(MINUTES * 60, rel=0.01)
    assert (item["source"], item["destination"]) == ("ps-anl", "ps-lbnl")
    assert item["sent_packets"] == MINUTES * len(delays_us)


def test_the_pattern_of_losses_is_that_of_the_packets(controller_of: Any, site: Site) -> None:
    fill(site, LOSSY)
    item = controller_of().item()
    assert (item["lost_packets"], item["loss_periods"], item["longest_loss"]) == (2 * MINUTES, 2 * MINUTES, 1)
    assert item["shortest_distance"] == 300


def test_sums_tell_delay_and_loss_where_the_site_knows_its_clocks(controller_of: Any, site: Site) -> None:
    fill(site, GOOD, raw=False)
    item = controller_of(clock_error_us=100).item()
    assert figures(item) == ["kept", "unknown", "kept"]
    assert item["delay"] is not None
    assert (item["delay"]["low"], item["delay"]["high"]) == (9984, 10_111)  # the bucket of 10 ms
    assert item["delay"]["error"] == 210  # pScheduler's 0.2 ms, beyond the site's, and what both were rounded by
    assert item["variation"] is not None
    assert item["variation"]["reason"] == "no two packets in a row arrived"


@pytest.mark.parametrize(
    ("delays_us", "verdicts"), [(SLOW, ["broken", "unknown", "kept"]), (LOSSY, ["kept", "unknown", "broken"])]
)
def test_sums_break_an_sls_by_delay_and_by_loss(
    controller_of: Any, site: Site, delays_us: Delays, verdicts: list[str]
) -> None:
    fill(site, delays_us, raw=False)
    assert figures(controller_of(clock_error_us=100).item()) == verdicts


@pytest.mark.parametrize(
    ("clocks", "raw"),
    [
        ({"dst-clock-sync": False}, True),
        ({"src-clock-err": ""}, True),
        ({}, False),  # nobody says whether anything keeps the clocks right
    ],
)
def test_a_delay_by_clocks_that_nobody_vouches_for_is_unknown(
    controller_of: Any, site: Site, clocks: dict[str, Any], raw: bool
) -> None:
    fill(site, GOOD, raw=raw, **clocks)
    item = controller_of().item()
    assert item["delay"] is not None
    assert (item["delay"]["verdict"], item["loss"] and item["loss"]["verdict"]) == ("unknown", "kept")
    assert item["delay"]["reason"] == "no clocks that are kept right measured it"
    assert item["verdict"] == "unknown"


@pytest.mark.parametrize("raw", [True, False])
def test_what_nobody_says_to_be_of_the_class_is_unknown(controller_of: Any, site: Site, raw: bool) -> None:
    fill(site, GOOD, raw=raw)
    item = controller_of(in_class=False, clock_error_us=100).item()
    assert figures(item) == ["unknown", "unknown", "unknown"]
    assert item["loss"] is not None
    assert "nobody says in which class" in item["loss"]["reason"]


@pytest.mark.parametrize(
    ("end", "answer", "words"),
    [
        ("runs", (500, b"down"), "answers with status 500"),
        ("runs", (200, b"<html>"), "answers with what is no JSON"),
        ("runs", (200, b'{"runs": []}'), "answers with what is no list of runs"),
        ("runs", (302, b"http://192.0.2.1/"), "answers with status 302"),
        ("runs", (200, b"[]"), ""),
        ("/run-0000", (404, b"gone"), "answers with status 404"),
        ("/run-0000", (200, b'{"state": "finished"}'), "it is not what pScheduler answers (start-time"),
    ],
)
def test_what_is_not_answered_is_unknown_and_why_is_noted(
    controller_of: Any, site: Site, end: str, answer: tuple[int, bytes], words: str
) -> None:
    site.add(HOUR, raw_result(HOUR, GOOD))
    site.answers[end] = answer
    controller = controller_of()
    item = controller.item()
    assert item["verdict"] == "unknown"
    assert item["measured_s"] == 0
    assert words in controller.reader.troubles.get(site.address, "")


def test_a_task_that_is_silent_stands_beside_one_that_is_not(controller_of: Any, site: Site) -> None:
    fill(site, GOOD)
    controller = controller_of()
    away = PSchedulerTask(task="http://127.0.0.1:9/pscheduler/tasks/x", source="ps-anl", destination="ps-away")
    sls = controller.reader.network.sls[SLS]
    whole = {SLS: sls.model_copy(update={"pscheduler": (*sls.pscheduler, away)})}
    controller.reader.read_all()
    verdicts = Verdicts(controller.reader.ledger, controller.reader.network.model_copy(update={"sls": whole}))
    latest = verdicts.latest(HOUR + timedelta(minutes=59))[SLS]
    assert {one["destination"]: one["verdict"] for one in latest} == {"ps-lbnl": "kept", "ps-away": "unknown"}
    assert worst_of(latest) == "unknown"


def test_a_site_that_is_away_is_unknown(controller_of: Any) -> None:
    controller = controller_of(task="http://127.0.0.1:9/pscheduler/tasks/x")
    assert controller.item()["verdict"] == "unknown"
    assert "127.0.0.1:9" in controller.reader.troubles["http://127.0.0.1:9/pscheduler/tasks/x"]


@pytest.mark.parametrize(
    "result", [None, {"succeeded": False, "error": "no route"}, summed_result([])], ids=["none", "failed", "empty"]
)
def test_a_run_that_measured_nothing_is_no_loss(controller_of: Any, site: Site, result: dict[str, Any] | None) -> None:
    site.add(HOUR, result)
    site.add(HOUR + timedelta(minutes=1), raw_result(HOUR, GOOD), state="running")
    item = controller_of().item()
    assert (item["sent_packets"], item["lost_packets"], item["verdict"]) == (0, 0, "unknown")


def test_runs_in_which_all_was_lost_are_broken_and_not_silent(controller_of: Any, site: Site) -> None:
    fill(site, [None] * 599)
    item = controller_of().item()
    assert item["loss"] is not None
    assert (item["loss"]["verdict"], item["lost_packets"]) == ("broken", MINUTES * 599)


def test_a_run_counts_once_and_a_bad_one_harms_no_other(controller_of: Any, site: Site) -> None:
    fill(site, GOOD)
    site.runs["run-0003"]["result-merged"]["raw-packets"][0]["src-ts"] = -1
    controller = controller_of()
    first, second = controller.item(), controller.item()
    assert first["sent_packets"] == second["sent_packets"] == (MINUTES - 1) * len(GOOD)
    assert figures(first) == ["kept", "kept", "kept"]


def test_an_address_in_an_answer_leads_nowhere_else(controller_of: Any, site: Site) -> None:
    site.add(HOUR, raw_result(HOUR, GOOD))
    site.answers["/runs"] = (200, b'["http://192.0.2.1/secret/run-0000"]')
    assert controller_of().item()["sent_packets"] == len(GOOD)
    assert site.requests[-1].endswith("/runs/run-0000")


def test_it_stops_between_two_runs(controller_of: Any, site: Site) -> None:
    fill(site, GOOD)
    reader, stopping = controller_of().reader, threading.Event()
    reader.leads = lambda: len(site.requests) < 5 or stopping.set() or False
    reader.run(stopping)
    assert len(site.requests) == 5


def test_a_task_of_another_test_is_none(controller_of: Any, site: Site) -> None:
    site.task = task_document("throughput")
    controller = controller_of()
    assert controller.item()["verdict"] == "unknown"
    assert "is a test of 'throughput'" in controller.reader.troubles[site.address]
