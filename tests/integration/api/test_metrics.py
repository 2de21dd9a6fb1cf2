"""What `/metrics` tells, and that alert rules and the dashboard ask for nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from slotcar.api import metrics
from slotcar.api.metrics import measured_until_us
from slotcar.base.timebase import iso, to_us
from slotcar.book.timeline import active_at
from slotcar.measuring.audits.rates import ways_out
from slotcar.measuring.audits.streams import windows_of
from slotcar.measuring.counters.metering import add_carried
from slotcar.network.model import Network
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar.store.audits import AuditedWay, WayState
from slotcar.store.counts import OUT, CountedStep
from slotcar.watching.model import DeviceWatch, WatchState, WatchStatus
from tests.integration.api.conftest import ROOT, Serve, created
from tests.integration.api.test_audits import SLS, with_figures
from tests.integration.notify.conftest import dispatching, tell
from tests.support.audits import HOUR_US, sls_of, stream_of
from tests.support.patience import wait_for
from tests.support.receiver import SECRET, Receiver

RULES = ROOT / "deploy" / "prometheus" / "rules" / "slotcar.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "slotcar.json"
RUNBOOK = ROOT / "docs" / "howto" / "boundaries.md"
T = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
#: Series name -> labels -> value.
Figures = dict[str, dict[tuple[tuple[str, str], ...], float]]


def figures_of(api: httpx.Client) -> Figures:
    figures: Figures = {}
    for family in text_string_to_metric_families(api.get("/metrics").raise_for_status().text):
        figures.setdefault(family.name + ("_total" if family.type == "counter" else ""), {})
        for sample in family.samples:
            figures.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return figures


def record(ledger: Ledger, kind: str, second: float, device: str | None = None, **details: Any) -> None:
    ledger.append_event(kind, T + timedelta(seconds=second), device=device, details=details)


def an_evening(ledger: Ledger) -> None:
    """A boundary that two devices act on, one that fails, a device that drifts, a reservation that is withheld."""
    devices = ["anl-7507-1", "esnet-7507"]
    record(ledger, "controller.leading", -60)
    record(ledger, "push.started", -14, devices[0], revision="one", activate_at=iso(T))
    record(ledger, "push.started", -14, devices[1], revision="two", activate_at=iso(T - timedelta(seconds=20)))
    record(ledger, "push.armed", -10, devices[1], revision="two", id="x", until=iso(T + timedelta(hours=2)))
    record(ledger, "push.verified", -8, devices[1], revision="two", activate_at=iso(T - timedelta(seconds=20)))
    lags = {devices[0]: 20_000, devices[1]: 320_000, "lbnl-7507": None}
    record(ledger, "boundary.active", 1, at=iso(T), devices=[*devices, "lbnl-7507"], lag_us=lags)
    record(ledger, "push.verified", 4, devices[0], revision="one", activate_at=iso(T))
    record(ledger, "boundary.failed", 60, at=iso(T + timedelta(minutes=1)), devices=devices, message="no route")
    record(ledger, "push.failed", 60, devices[0], revision="three", message="no route")
    record(ledger, "push.device-failed", 60, devices[0], message="no route")
    record(ledger, "push.not-rolled-back", 61, devices[0], revision="three", message="no route")
    record(ledger, "push.withheld", 62, devices=[devices[0]])
    record(ledger, "device.drifted", 90, devices[1], message="its configuration differs")


def test_boundaries_and_pushes_are_measured_from_the_log_once(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    before = figures_of(api)
    assert before["slotcar_boundary_activation_lag_seconds_count"][()] == 0
    assert before["slotcar_device_drifts_total"][(("device", "esnet-7507"),)] == 0, "there from the beginning"
    assert not any(name.endswith("_created") for name in before)
    an_evening(ledger)
    for _ in range(2):
        figures = figures_of(api)
        assert figures["slotcar_boundary_activation_lag_seconds_count"][()] == 2
        assert figures["slotcar_boundary_activation_lag_seconds_sum"][()] == pytest.approx(0.34)
        assert figures["slotcar_boundary_activation_lag_seconds_bucket"][(("le", "0.025"),)] == 1
        assert figures["slotcar_boundary_skew_seconds_sum"][()] == pytest.approx(0.3)
        # One waited for its boundary until T and took 4 s from there; the other was begun at once and took 6 s.
        assert figures["slotcar_push_duration_seconds_count"][()] == 2
        assert figures["slotcar_push_duration_seconds_sum"][()] == pytest.approx(4 + 6)
        for name in ("push_failures", "failures", "rollback_failures"):
            assert figures[f"slotcar_device_{name}_total"][(("device", "anl-7507-1"),)] == 1
        assert figures["slotcar_device_drifts_total"][(("device", "esnet-7507"),)] == 1
        for name in ("boundary_failures", "reservations_withheld", "leadership_changes"):
            assert figures[f"slotcar_{name}_total"][()] == 1
        verified = figures["slotcar_device_verified_timestamp_seconds"]
        assert verified[(("device", "anl-7507-1"),)] == T.timestamp() + 4
        armed = figures["slotcar_device_armed_until_timestamp_seconds"]
        assert armed[(("device", "esnet-7507"),)] == T.timestamp() + 7200


@pytest.mark.slow
def test_a_controller_that_starts_knows_what_was_armed_before_it(serve: Serve, ledger: Ledger) -> None:
    an_evening(ledger)
    figures = figures_of(serve())
    assert figures["slotcar_device_armed_until_timestamp_seconds"][(("device", "esnet-7507"),)] == T.timestamp() + 7200
    assert figures["slotcar_boundary_failures_total"][()] == 0, "it counts from its start on"


def test_what_was_recorded_before_the_first_scrape_is_counted(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    ledger.append_event("boundary.failed", datetime.now(UTC), details={"at": iso(T), "devices": ["anl-7507-1"]})
    assert figures_of(api)["slotcar_boundary_failures_total"][()] == 1


def test_who_leads_and_what_waits_is_told(serve: Serve, ledger: Ledger, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    status = LoopStatus(leading=True, next_boundary=T, troubles={"anl-7507-1": "no route"}, pushes=3)
    api = serve(how={"loop": status})
    with Receiver(lambda _got: 500) as receiver:
        hook = api.post("/v1/webhooks", json={"url": receiver.url, "secret": f"file:{secret}"}).json()["id"]
        label = (("webhook", hook),)
        tell(ledger, "r-a", "r-b")
        with dispatching(ledger):
            wait_for(lambda: figures_of(api)["slotcar_webhook_dead_letters"].get(label) == 2, "both to be given up")
        tell(ledger, "r-a")
        ledger.webhooks.queue(T)
    figures = figures_of(api)
    assert (figures["slotcar_leading"][()], figures["slotcar_devices_in_trouble"][()]) == (1, 1)
    assert figures["slotcar_next_boundary_seconds"][()] == T.timestamp()
    assert figures["slotcar_webhook_waiting"][label] == 1
    assert figures["slotcar_webhook_oldest_waiting_timestamp_seconds"][label] == T.timestamp()
    assert figures["slotcar_ledger_up"][()] == 1


def test_who_tells_of_changes_is_told(serve: Serve) -> None:
    watch = WatchStatus()
    watch.devices["anl-7507-1"] = DeviceWatch(WatchState.WATCHING, "tc monitor", T)
    watch.devices["anl-7507-2"] = DeviceWatch(WatchState.BROKEN, "tc monitor", T, "Connection refused")
    watch.changes["anl-7507-1"] = 3
    api = serve(how={"loop": LoopStatus(leading=True), "watch": watch})
    figures = figures_of(api)
    states = {dict(labels)["state"]: count for labels, count in figures["slotcar_watched_devices"].items() if count}
    assert states == {"watching": 1, "broken": 1}
    assert figures["slotcar_device_changes_told_total"][(("device", "anl-7507-1"),)] == 3
    checks = {one["name"]: one["message"] for one in api.get("/readyz").json()["checks"]}
    assert checks["watch"] == "1 of 2 devices tells of changes, 1 broken"
    assert checks["watch anl-7507-2"] == "tc monitor: Connection refused"
    listed = api.get("/v1/controller").json()["watches"]
    assert [(one["device"], one["state"], one["changes"]) for one in listed] == [
        ("anl-7507-1", "watching", 3),
        ("anl-7507-2", "broken", 0),
    ]


@pytest.mark.slow
def test_no_more_links_are_told_than_prometheus_should_keep(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("_link" in name for name in figures_of(serve())), (
        "who scrapes has no token: an operator says so first"
    )
    api = serve(link_metrics=True)
    figures = figures_of(api)
    series = figures["slotcar_link_reserved_bits_per_second"]
    assert (
        set(series)
        == set(figures["slotcar_link_capacity_bits_per_second"])
        == set(figures["slotcar_link_free_bits_per_second"])
    )
    resources = {dict(labels)["resource"] for labels in series}
    assert len(resources) == len(series) > 5
    assert not any(":in:" in name for name in resources)
    assert not any(name.startswith("if:anl-7507-1:Ethernet") for name in resources), "towards end systems"
    assert figures["slotcar_links_left_out"][()] == 0
    monkeypatch.setattr(metrics, "MOST_LINKS", 4)
    few = figures_of(api)
    assert len(few["slotcar_link_reserved_bits_per_second"]) == 4
    assert few["slotcar_links_left_out"][()] == len(series) - 4


@pytest.fixture
def everything(serve: Serve, ledger: Ledger, network: Network, tmp_path: Path) -> Figures:
    """What a controller tells to which everything happened that it has a figure for."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    watch = WatchStatus({"anl-7507-1": DeviceWatch(WatchState.BROKEN, "tc monitor", T)})
    how = {"loop": LoopStatus(leading=True, next_boundary=T), "watch": watch}
    api = serve(how=how, other=with_figures(network), link_metrics=True)
    api.post("/v1/webhooks", json={"url": "http://127.0.0.1:9/", "secret": f"file:{secret}"}).raise_for_status()
    created(api)
    figures_of(api)
    an_evening(ledger)
    measured(ledger, AuditedWay(SLS, "anl-premium", "lbnl-premium"), 30_000, this_hour())
    ledger.webhooks.queue(T)
    figures = figures_of(api)
    # Prometheus makes it of every scrape.
    figures["up"] = {(("instance", "controller-a:8470"), ("job", "slotcar")): 1}
    return figures


def labels_of(figures: Figures, name: str) -> set[str]:
    return {label for series in figures[name] for label, _ in series}


#: Their series are of what the loop has done, of which there is nothing here.
OF_THE_LOOP = {"slotcar_devices", "slotcar_device_clock_ahead_seconds"}


def faults(expression: str, template: str, figures: Figures) -> Iterator[str]:
    """What an expression and the text beside it ask for that is not told."""
    names = set(re.findall(r"\b(?:slotcar_\w+|up)\b", expression))
    if not names:
        yield f"{expression} asks for nothing"
    known: set[str] = set()
    for name in names:
        if name not in figures:
            yield f"{name} is not told"
        else:
            known |= labels_of(figures, name)
    kept = {word.strip() for words in re.findall(r"\bby \(([^)]*)\)", expression) for word in words.split(",")}
    matched = set(re.findall(r"[{,]\s*(\w+)\s*=", expression))
    if not names & OF_THE_LOOP:
        yield from (f"{label} is no label of {names}" for label in (kept | matched) - known)
    shown = set(re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", template))
    allowed = kept or known
    yield from (f"{label} is shown and not kept" for label in shown - allowed - {"phase"})


def test_alert_rules_ask_for_what_is_told(everything: Figures) -> None:
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in RUNBOOK.read_text().splitlines()
        if line.startswith("#")
    }
    for rule in rules:
        assert list(faults(rule["expr"], rule["annotations"]["summary"], everything)) == []
        assert rule["labels"]["severity"] in ("warning", "critical")
        file, _, heading = rule["annotations"]["runbook"].partition("#")
        assert ROOT / file == RUNBOOK
        assert heading in headings, rule["alert"]


def test_the_dashboard_asks_for_what_is_told(everything: Figures) -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    targets = [target for panel in panels for target in panel["targets"]]
    assert len(targets) >= 20
    annotations = json.loads(DASHBOARD.read_text())["annotations"]["list"]
    assert {one["name"] for one in annotations} == {"Boundaries", "Failed boundaries"}
    targets += [{"expr": one["expr"], "legendFormat": ""} for one in annotations]
    faults_ = [fault for one in targets for fault in faults(one["expr"], one["legendFormat"], everything)]
    assert faults_ == []


@pytest.mark.slow
def test_the_check_sees_what_is_not_told(everything: Figures) -> None:
    assert list(faults("slotcar_speed > 1", "", everything)) == ["slotcar_speed is not told"]
    assert list(faults("sum by (who) (slotcar_leading)", "", everything))
    assert list(faults("max by (device) (slotcar_device_drifts_total)", "{{ $labels.webhook }}", everything))
    assert list(faults("1 > 0", "", everything))


def test_prometheus_reads_the_rules_where_compose_puts_them() -> None:
    (pattern,) = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())["rule_files"]
    volumes = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["prometheus"]["volumes"]
    mounted = {one.split(":")[1]: one.split(":")[0] for one in volumes}
    assert ROOT / mounted[str(Path(pattern).parent)] == RULES.parent


def test_units_and_counters_are_named_as_prometheus_wants(everything: Figures) -> None:
    for name in everything:
        assert re.fullmatch(r"up|slotcar_[a-z_]+", name), name
        assert not re.search(r"_(ms|us|minutes|bits)\b", name), name


def test_what_was_used_and_dropped_is_heard_from_sls_and_link_from_the_beginning(serve: Serve, ledger: Ledger) -> None:
    status = LoopStatus(leading=True, not_counted={"lbnl-7507": "it refuses"})
    api = serve(how={"loop": status}, link_metrics=True)
    created(api, direction="both", start="now", duration="PT1H")
    (entry,) = ledger.live_between(datetime.now(UTC))
    before = figures_of(api)
    sls, way = (("sls", "anl-esnet-ip-premium"),), (("device", "anl-7507-1"), ("interface", "ATM1/0/0"))
    assert (before["slotcar_sls_used_bytes_total"][sls], before["slotcar_link_sent_bytes_total"][way]) == (0, 0)
    assert before["slotcar_devices_not_counted"][()] == 1
    flow = ("forward", "ip-premium", "anl-7507-1", "FastEthernet4/0/0", 300, 0, 300_000_000)
    queue = (OUT, "ip-premium", "anl-7507-1", "ATM1/0/0", 300, 0, 300_000_000)
    steps = [
        CountedStep(entry.number, *flow, 8_000, 5, 700, 1, 50, 3, 300), CountedStep(0, *queue, 8_000, 5, 750, 0, 0, 2, 0),
        CountedStep(entry.number + 1, *flow, 8_000, 5, 700, 1, 50, 3, 300),
    ]  # fmt: skip
    add_carried(status.carried, steps, active_at([entry], entry.reservation.windows[0].start))
    figures = figures_of(api)
    of_sls = {name: figures[f"slotcar_sls_{name}_bytes_total"][sls] for name in ("promised", "used", "dropped")}
    assert of_sls == {"promised": 1_000, "used": 750, "dropped": 300}
    assert figures["slotcar_sls_used_bytes_total"][(("sls", "esnet-anl-ip-premium"),)] == 0, "of the other direction"
    assert figures["slotcar_link_sent_bytes_total"][way] == 750
    assert figures["slotcar_link_dropped_packets_total"][way] == 2
    assert not any("sls_used" in name for name in figures_of(serve(how={"loop": status}))), "no token is asked for"


def measured(ledger: Ledger, way: AuditedWay, delay_us: int, hour: datetime) -> None:
    """A whole hour of it."""
    stream = replace(stream_of([delay_us] * 20_000, hour, 150_000), way=way)
    windows = windows_of(stream, sls_of())
    assert ledger.audits.add(way, stream.start_us, to_us(hour) + HOUR_US, windows) is not None


def this_hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def test_an_sls_is_told_by_the_worst_of_its_ways(serve: Serve, ledger: Ledger, network: Network) -> None:
    api = serve(other=with_figures(network))
    assert figures_of(api)["slotcar_sls_kept"] == {}
    hour = this_hour()
    measured(ledger, AuditedWay(SLS, "anl-premium", "far"), 10_000, hour)
    measured(ledger, AuditedWay("gone", "anl-premium", "far"), 10_000, hour)
    figures = figures_of(api)
    assert figures["slotcar_sls_kept"] == {(("sls", SLS),): 1}
    assert figures["slotcar_sls_measured_timestamp_seconds"] == {(("sls", SLS),): hour.timestamp() + 3600}
    measured(ledger, AuditedWay(SLS, "anl-premium", "farther"), 30_000, hour)
    assert figures_of(api)["slotcar_sls_kept"] == {(("sls", SLS),): 0}


def test_an_sls_that_nobody_measures_any_longer_is_not_told_as_kept(
    serve: Serve, ledger: Ledger, network: Network
) -> None:
    way = AuditedWay(SLS, "anl-premium", "far")
    measured(ledger, way, 10_000, this_hour() - timedelta(hours=5))
    ledger.audits.stand(way, "kept")
    assert figures_of(serve(other=with_figures(network)))["slotcar_sls_kept"] == {}


def test_what_routers_dropped_is_told_where_nobody_probes(serve: Serve, ledger: Ledger, network: Network) -> None:
    border = ways_out(network.sls[SLS], network)[0]
    place = (0, OUT, "ip-premium", border.device, border.name, 300, to_us(this_hour()))
    ledger.counts.keep([CountedStep(*place, 300_000_000, 0, 9, 900, 0, 0, 4, 400)], [])
    figures = figures_of(serve(other=with_figures(network)))
    assert figures["slotcar_sls_kept"] == {(("sls", SLS),): 0}
    assert figures["slotcar_sls_measured_timestamp_seconds"] == {}


def test_a_probe_that_is_gone_is_not_waited_for() -> None:
    day_us, name = 86_400_000_000, "x-y"
    ways = [WayState(AuditedWay(name, "a", str(at)), at, "kept") for at in (day_us, 3 * day_us, 3 * day_us - 7)]
    ways.append(WayState(AuditedWay(name, "", ""), 3 * day_us - 9, "broken"))
    assert measured_until_us(ways) == {name: 3 * day_us - 7}
