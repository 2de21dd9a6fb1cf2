"""A real controller with few descriptors, clients that send nothing, plans that never end: it answers, its loop turns."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import httpx
import psutil
import pytest

from slotcar.base.timebase import iso
from tests.integration.api.conftest import GARNET, START, body, problem
from tests.integration.api.test_heavy_plans import ENDLESS
from tests.support.controllers import Controller
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.postgres import stop_server

#: Of which 256 are kept for the loop, the database and files, and 64 for connections that are not counted yet.
OPEN_FILES = 440
#: More than the controller could ever have open.
CROWD = 500


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    folder = tmp_path_factory.mktemp("attacked")
    settings = {"SLOTCAR_PLAN_TIMEOUT": "PT1H", "SLOTCAR_MAX_CONNECTIONS_PER_CLIENT": "60"}
    try:
        with Controller(folder, GARNET, OPEN_FILES, SLOTCAR_HEADER_TIMEOUT="PT1H", **settings) as running:
            yield running
    finally:
        stop_server(folder / "postgres")  # the last test kills the controller


def turns(controller: Controller, number: int) -> None:
    """A new first boundary is reserved, and the next turn of the loop tells it."""
    start = START - timedelta(minutes=number)
    document = body(f"slot-{number}", start=start.isoformat())
    answer = httpx.post(f"http://127.0.0.1:{controller.port}/v1/reservations", json=document, timeout=PATIENCE_S)
    assert answer.status_code == 201, answer.text
    wait_for(lambda: controller.get("/v1/controller")["next_boundary"] == iso(start), "a turn of the loop")


def send_nothing(crowd: ExitStack, controller: Controller, addresses: int) -> None:
    """So many connections as the controller could never have open, each with half a header, from so many addresses."""
    for number in range(CROWD):
        one = crowd.enter_context(socket.socket())
        one.bind((f"127.0.1.{number % addresses + 1}", 0))
        one.connect(("127.0.0.1", controller.port))
        one.sendall(b"POST /v1/plans HTTP/1.1\r\nHost: ")


def used_descriptors(controller: Controller) -> int:
    return len(list(Path(f"/proc/{controller.process.pid}/fd").iterdir()))


@pytest.mark.slow
def test_many_who_send_nothing_take_no_descriptor_from_the_rest(controller: Controller) -> None:
    with ExitStack() as crowd:
        send_nothing(crowd, controller, addresses=1)
        assert controller.get("/healthz")["status"] == "ok"
        turns(controller, 1)
    with ExitStack() as crowd:
        send_nothing(crowd, controller, addresses=5)
        assert used_descriptors(controller) <= OPEN_FILES - 100
    turns(controller, 2)
    log = controller.log.read_text(errors="replace")
    assert "out of system resource" not in log
    assert 0 < log.count("connection refused") <= 20


def plan_processes(pid: int) -> list[psutil.Process]:
    """Those of this controller that make plans."""
    return [one for one in psutil.Process(pid).children() if "slotcar.api.plan_process" in one.cmdline()]


def all_ended(processes: list[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


@pytest.mark.slow
def test_while_heavy_plans_run_everything_else_goes_on_and_they_end_with_the_controller(
    controller: Controller,
) -> None:
    """One plan is made, eight wait, the others are told to come again. A controller that is killed leaves none."""
    address = f"http://127.0.0.1:{controller.port}"
    with ThreadPoolExecutor(12) as pool:
        try:
            plans = [pool.submit(httpx.post, f"{address}/v1/plans", json=ENDLESS, timeout=None) for _ in range(12)]
            wait_for(lambda: sum(one.done() for one in plans) == 3, "the plans above the limit to be refused")
            for refused in (one.result() for one in plans if one.done()):
                assert "9 plans are being made or wait" in problem(refused, 503, "unavailable")["detail"]
                assert refused.headers["retry-after"]
            assert controller.get("/healthz")["status"] == "ok"
            turns(controller, 3)
            assert sum(one.done() for one in plans) == 3
            makers = plan_processes(controller.process.pid)
            assert makers
        finally:
            controller.kill()  # the last of this module
        wait_for(lambda: all_ended(makers), "the process that makes plans to end")


@pytest.mark.slow  # in short: above, where the process hears that the controller is gone
def test_a_plan_ends_by_itself_where_the_controller_hangs(tmp_path: Path) -> None:
    with Controller(tmp_path, GARNET, SLOTCAR_PLAN_TIMEOUT="20 s") as controller, ThreadPoolExecutor(1) as pool:
        pool.submit(httpx.post, f"http://127.0.0.1:{controller.port}/v1/plans", json=ENDLESS, timeout=None)
        wait_for(lambda: bool(plan_processes(controller.process.pid)), "its process to start")
        makers = plan_processes(controller.process.pid)
        # Beside the socket to the controller it has one to the database.
        wait_for(lambda: len(makers[0].net_connections("unix")) > 1, "the plan to begin")
        controller.process.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: all_ended(makers), "the process that makes plans to end")
        finally:
            controller.process.send_signal(signal.SIGCONT)
