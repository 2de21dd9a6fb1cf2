"""A controller that is told twice to stop ends, whatever its threads wait for."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil

from tests.support.controllers import Controller
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.postgres import stop_server

GARNET = Path(__file__).parents[3] / "inventories" / "garnet"
#: More than the API has threads.
REQUESTS = 45


def test_told_twice_it_ends_though_its_database_hangs(tmp_path: Path) -> None:
    with Controller(tmp_path, GARNET, SLOTCAR_RECONCILE="false") as controller, ThreadPoolExecutor(REQUESTS) as pool:
        postmaster = psutil.Process(int((tmp_path / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0]))
        servers = [postmaster, *postmaster.children(recursive=True)]
        address = f"http://127.0.0.1:{controller.port}"
        try:
            for one in servers:
                one.suspend()
            requests = [
                pool.submit(httpx.get, f"{address}/v1/{what}", timeout=PATIENCE_S)
                for what in ("reservations", "events", "timeline") * (REQUESTS // 3)
            ]
            assert controller.get("/healthz")["status"] == "ok"
            controller.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not controller.answers(), "the API to end")
            assert controller.process.poll() is None, "it waits for its threads"
            controller.process.send_signal(signal.SIGTERM)
            assert controller.process.wait(PATIENCE_S) == 128 + signal.SIGTERM, controller.log.read_text()
            for one in requests:
                one.cancel()
        finally:
            for one in servers:
                one.resume()
            stop_server(tmp_path / "postgres")
