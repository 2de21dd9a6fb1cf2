"""A real Prometheus scrapes a real controller: every query of the dashboard and every alert rule is asked of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar.views.phases import Phase
from slotcar.watching.model import DeviceWatch, WatchState, WatchStatus
from slotcar_lab import control, requirements
from tests.integration.api.conftest import ROOT, Serve, created
from tests.integration.api.test_metrics import DASHBOARD, RULES, an_evening, record
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port
from tests.support.receiver import SECRET

PROMETHEUS = ROOT / "deploy" / "prometheus"


@pytest.fixture(scope="module", autouse=True)
def prometheus_is_there() -> None:
    requirements.ensure_for("a Prometheus", control.quiet)


@pytest.fixture
def controller(serve: Serve, ledger: Ledger, tmp_path: Path) -> httpx.Client:
    """One to which everything happened that it has a figure for."""
    watch = WatchStatus()
    watch.devices["anl-7507-2"] = DeviceWatch(WatchState.BROKEN, "tc monitor", datetime.now(UTC), "Connection refused")
    loop = LoopStatus(
        leading=True, next_boundary=datetime.now(UTC) + timedelta(hours=1), troubles={"anl-7507-1": "no route"},
        ahead_us={"anl-7507-1": 3_000_000}, phases={"esnet-7507": Phase.ACTIVE},
    )  # fmt: skip
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    api = serve(how={"loop": loop, "watch": watch}, link_metrics=True)
    api.post("/v1/webhooks", json={"url": "http://127.0.0.1:9/", "secret": f"file:{secret}"}).raise_for_status()
    created(api, "now", start="now", rate="30 Mbit/s")
    api.get("/metrics").raise_for_status()
    an_evening(ledger)
    return api


class Prometheus:
    """The deployment's own configuration, but for where the controller is and how often it is asked."""

    def __init__(self, folder: Path, controller: httpx.Client) -> None:
        config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
        config["rule_files"] = [str(RULES)]
        (scraped,) = config["scrape_configs"]
        scraped["static_configs"] = [{"targets": [f"{controller.base_url.host}:{controller.base_url.port}"]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        address = f"127.0.0.1:{free_port()}"
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={address}"], stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._client = httpx.Client(base_url=f"http://{address}", timeout=PATIENCE_S)

    def get(self, path: str, **params: str) -> Any:
        """The data of an answer; None while it is not ready."""
        assert self._process.poll() is None, Path(self._log.name).read_text()[-2000:]
        try:
            if self._client.get("/-/ready").status_code != 200:
                return None
            answer = self._client.get(f"/api/v1/{path}", params=params).json()
        except httpx.TransportError:
            return None
        assert answer["status"] == "success", answer
        return answer["data"]

    def ask(self, expression: str) -> list[dict[str, Any]]:
        samples: list[dict[str, Any]] = (self.get("query", query=expression) or {"result": []})["result"]
        return samples

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        self._client.close()
        self._log.close()


@pytest.fixture
def prometheus(tmp_path: Path, controller: httpx.Client) -> Iterator[Prometheus]:
    folder = tmp_path / "prometheus"
    folder.mkdir()
    started = Prometheus(folder, controller)
    yield started
    started.close()


def queries_of_the_dashboard() -> list[str]:
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return panels + [one["expr"] for one in dashboard["annotations"]["list"]]


#: Nothing is left out of so small a network, and the boundary failed before Prometheus first asked.
EMPTY = {"max(slotcar_links_left_out) > 0"}


def test_every_query_of_the_dashboard_has_an_answer(prometheus: Prometheus, ledger: Ledger) -> None:
    wait_for(lambda: bool(prometheus.ask("count_over_time(slotcar_ledger_up[1h]) >= 3")), "three scrapes")
    an_evening(ledger)  # what counts in it has increased by now, as Prometheus sees it
    queries = queries_of_the_dashboard()
    assert len(queries) >= 30

    left = [one for one in queries if one not in EMPTY]

    def answered() -> bool:
        left[:] = [one for one in left if not prometheus.ask(one)]
        return not left

    with suppress(AssertionError):  # the next line says which queries they are
        wait_for(answered, "an answer to every query")
    assert left == []
    (boundary,) = prometheus.ask(queries[-2])
    assert float(boundary["value"][1]) / 1000 == pytest.approx(datetime.now(UTC).timestamp() + 3600, abs=600)


def test_what_is_reserved_and_free_of_links_is_told(prometheus: Prometheus) -> None:
    reserved = "slotcar_link_reserved_bits_per_second > 0"
    wait_for(lambda: bool(prometheus.ask(reserved)), "the slot to begin")
    free = {one["metric"]["resource"]: float(one["value"][1]) for one in prometheus.ask(reserved)}
    # The premium flow's way: 30 Mbit/s of payload and its headers, outbound on each link and of each SLS.
    assert {name.partition(":")[0] for name in free} == {"if", "sls"}
    assert all(30e6 < value < 40e6 for value in free.values()), free
    assert all(":out:ip-premium" in name for name in free if name.startswith("if:"))
    whole = prometheus.ask(
        "slotcar_link_reserved_bits_per_second + slotcar_link_free_bits_per_second == slotcar_link_capacity_bits_per_second"
    )
    capacities = prometheus.ask("slotcar_link_capacity_bits_per_second")
    assert len(whole) == len(capacities) > len(free)
    assert all(one["metric"]["device"] for one in capacities)


@pytest.mark.slow
def test_every_rule_is_evaluated_and_what_is_wrong_is_found(prometheus: Prometheus, ledger: Ledger) -> None:
    wait_for(lambda: bool(prometheus.ask("count_over_time(slotcar_ledger_up[1h]) >= 3")), "three scrapes")
    record(ledger, "device.drifted", 90, "esnet-7507", message="its configuration differs")

    def rules() -> dict[str, dict[str, Any]]:
        groups = prometheus.get("rules")["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    def raised() -> set[str]:
        return {name for name, rule in rules().items() if rule["state"] != "inactive"}

    expected = {"SlotcarDeviceInTrouble", "SlotcarWatchBroken", "SlotcarDeviceDrifted", "SlotcarClockOff"}
    wait_for(lambda: expected <= raised(), f"{expected} to be raised")
    assert {rule["health"] for rule in rules().values()} == {"ok"}
    assert not raised() & {"SlotcarNobodyLeads", "SlotcarTwoLead", "SlotcarLedgerDown", "SlotcarControllerDown"}
    written = yaml.safe_load(RULES.read_text())["groups"]
    assert set(rules()) == {rule["alert"] for group in written for rule in group["rules"]}


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_rule_is_raised_and_kept_still_by_its_cases() -> None:
    assert "SUCCESS" in promtool("check", "rules", RULES)
    assert "SUCCESS" in promtool("test", "rules", PROMETHEUS / "tests" / "slotcar.yml")
    tests = yaml.safe_load((PROMETHEUS / "tests" / "slotcar.yml").read_text())["tests"]
    cases = {
        (case["alertname"], bool(case["exp_alerts"])) for one in tests for case in one["alert_rule_test"]
    }  # fmt: skip
    rules = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert cases == {(name, raised) for name in rules for raised in (True, False)}


def test_the_configuration_is_one() -> None:
    promtool("check", "config", "--syntax-only", PROMETHEUS / "prometheus.yml")
