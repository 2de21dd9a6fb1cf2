"""Costs over HTTP, on a real ledger: what was measured comes back as an estimate, and the estimate is judged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.costs import costs, record_probe
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Requests
from slotcar.network.model import Network
from slotcar.reservation import from_mapping
from slotcar.store import Ledger
from slotcar.store import measurements as kept_measurements
from slotcar_client.wire import verbs
from tests.integration.api.conftest import GARNET, As

ENDS = {"source": "anl-premium", "destination": "lbnl-premium"}
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
OPERATOR = Caller(name="ops", role=Role.OPERATOR)


def record(api: httpx.Client, megabytes: int, ended_minutes_ago: int) -> httpx.Response:
    """A transfer of ten seconds."""
    end = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=ended_minutes_ago)
    times = {"start": iso(end - timedelta(seconds=10)), "end": iso(end)}
    return api.post("/v1/transfers", json={**ENDS, "volume": f"{megabytes} MB", **times})


def test_of_a_way_that_nobody_measured_unknown_is_said(api: httpx.Client) -> None:
    document = api.get("/v1/costs", params={**ENDS, "volume": "1 GB"}).json()
    assert document["best_effort"] is None
    assert document["closeness"] is None
    assert document["reserved"]["cost_ms"] > 0
    assert "their monitoring domains anl and lbnl" in document["unknown"][0]
    closest = api.post("/v1/closest", json={"files": {"f": ["anl-premium"]}, "ces": ["lbnl-premium"]}).json()
    assert (closest["best"], closest["items"][0]["score_ppm"]) == (None, None)


def test_what_transfers_took_is_expected_again_and_the_estimates_are_judged(api: httpx.Client) -> None:
    first = record(api, 100, 60)
    assert (first.status_code, first.json()["estimated_ms"]) == (201, None)
    second = record(api, 100, 50).json()
    assert (second["throughput_bps"], second["estimated_ms"]) == (80_000_000, 10_000)
    for minutes, megabytes in ((40, 110), (30, 90), (20, 500)):
        assert record(api, megabytes, minutes).status_code == 201
    plain = api.get("/v1/costs", params={**ENDS, "volume": "1 GB"}).json()["best_effort"]
    assert (plain["cost_ms"], plain["source"], plain["between"], plain["samples"]) == (
        100_000,
        "transfers",
        "hosts",
        5,
    )
    assert plain["low_ms"] < 100_000 < plain["high_ms"]
    judged = api.get("/v1/costs/accuracy").json()
    assert (judged["estimated"], judged["unknown"], judged["within_68"]) == (4, 1, 1)
    assert (judged["bounded"], judged["within_nine_in_ten"]) == (2, 1), "the last took a fifth of what was expected"
    assert api.get("/v1/costs", params={**ENDS, "volume": "1 GB", "tolerance": "5 min"}).json()["best_effort"] is None


def test_a_probe_is_an_operators_to_hand_in(as_: As) -> None:
    probe = {**ENDS, "tool": "iperf3", "throughput": "100 Mbit/s", "rtt": "50 ms", "loss": "0 %"}
    assert as_("hep", Role.REQUESTER).post("/v1/probes", json=probe).status_code == 403
    assert as_("ops", Role.OPERATOR).post("/v1/probes", json=probe).json()["rtt_us"] == 50_000
    assert as_("look", Role.AUDITOR).post("/v1/transfers", json=probe).status_code in (403, 422)
    document = as_("hep2", Role.REQUESTER).get("/v1/costs", params={**ENDS, "volume": "1 GB"}).json()
    assert (document["best_effort"]["by_tool"], document["best_effort"]["error_ms"]) == (True, 8889)
    assert document["closeness"]["closeness_ppm"] == 500_000


@pytest.mark.parametrize(
    ("request_of_it", "words"),
    [
        (("GET", "/v1/costs", {**ENDS, "source": "nowhere", "volume": "1 GB"}), "is no end system of the inventory"),
        (("GET", "/v1/costs", {**ENDS, "destination": "anl-premium", "volume": "1 GB"}), "is the source itself"),
        (("GET", "/v1/costs", {**ENDS, "volume": "1 G"}), "is not a size"),
        (("GET", "/v1/costs", {**ENDS, "volume": "1 GB", "service": "qbss"}), "is no service that is reserved"),
        (("GET", "/v1/costs", {**ENDS, "volume": "1 GB", "tolerance": "soon"}), "is not a duration"),
        (("POST", "/v1/closest", {"files": {}, "ces": ["lbnl-premium"]}), "names no file"),
        (("POST", "/v1/closest", {"files": {"f": []}, "ces": ["lbnl-premium"]}), "names no storage element"),
        (("POST", "/v1/closest", {"files": {"f": ["anl-premium"]}}), "names no computing element"),
        (("POST", "/v1/gathering", {"fragments": {}, "ces": ["lbnl-premium"]}), "names no storage element"),
        (("POST", "/v1/probes", {**ENDS, "tool": "x"}), "is missing, and so are throughput and loss"),
        (("POST", "/v1/probes", {**ENDS, "tool": "x", "loss": "2"}), "is no percentage"),
        (("POST", "/v1/transfers", {**ENDS, "volume": "1 B", "start": "2999-01-01T00:00:00Z"}), "is in the future"),
        (
            ("POST", "/v1/transfers", {**ENDS, "volume": "1 B", **dict.fromkeys(("start", "end"), "2020-01-01T00:00:01Z")}),
            "is not after the start",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_answered_with_its_key(
    api: httpx.Client, request_of_it: tuple[str, str, dict[str, object]], words: str
) -> None:
    method, path, given = request_of_it
    answer = api.request(method, path, **{"params" if method == "GET" else "json": given})
    assert answer.status_code == 422, answer.text
    assert words in answer.text


def test_a_reserved_volume_that_is_moved_becomes_history(ledger: Ledger, network: Network, tmp_path: Path) -> None:
    """By the reports that the mover makes; and it does not count as what is had without a reservation."""
    desk = Desk(ledger, network, Settings(state_dir=tmp_path, inventory=GARNET))
    written = {
        "name": "run", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium", "protocol": "tcp",
        "service": "ip-premium", "volume": "1 GB", "start": "2027-03-01T12:00:10Z", "by": "2027-03-01T13:00:00Z",
    }  # fmt: skip
    entry = Requests(desk).create(from_mapping(written, NOW), OPERATOR, NOW)
    (slot,) = entry.reservation.slots
    done = slot.start + timedelta(minutes=50)
    Requests(desk).report(entry.handle, 0, OPERATOR, done)
    (sample,) = ledger.measurements.all_transfers(NOW)
    assert (sample.volume_bytes, sample.started_at, sample.ended_at) == (10**9, slot.start, done)
    assert sample.reserved_bps == slot.forward_bps
    assert sample.throughput_bps > slot.forward_bps, "it was sooner than promised"
    document = costs(verbs.Costs("anl-premium", "lbnl-premium", "1 MB"), desk, OPERATOR, done + timedelta(1))
    assert document["best_effort"] is None
    assert document["reserved"] is not None
    assert document["reserved"]["kept_ppm"] == 1_000_000


def test_of_each_way_the_latest_are_kept(
    ledger: Ledger, network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_measurements, "KEPT", 3)
    desk = Desk(ledger, network, Settings(state_dir=tmp_path, inventory=GARNET))
    for minute in range(5):
        at = iso(NOW - timedelta(minutes=minute))
        probe = verbs.RecordProbe("anl-premium", "lbnl-premium", "ping", at, f"{minute + 1} ms")
        record_probe(probe, desk, OPERATOR, NOW)
    record_probe(verbs.RecordProbe("lbnl-premium", "anl-premium", "ping", None, "9 ms"), desk, OPERATOR, NOW)
    way = kept_measurements.MeasuredWay("anl-premium", "lbnl-premium", "anl", "lbnl")
    listed = ledger.measurements.probes([way], NOW - timedelta(days=1), NOW + timedelta(days=1))
    assert [one.rtt_us for one in listed] == [1000, 2000, 3000]
