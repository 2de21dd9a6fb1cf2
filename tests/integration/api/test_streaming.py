"""Server-sent events: nothing lost and nothing twice, whatever breaks; bounded; ended at shutdown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.api.streaming import MOST_STREAMS_EACH, Streams
from slotcar.auth.tokens import revoke_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.store import Ledger
from slotcar_client.watching import Watching
from tests.integration.api.conftest import GARNET, As, Running, Serve, created, problem
from tests.support.controllers import SLOTCAR, Controller, heeds_interrupts
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port


def write(ledger: Ledger, count: int, kind: str = "push.verified", **more: Any) -> None:
    for number in range(count):
        ledger.append_event(kind, datetime.now(UTC), details={"number": number}, **more)


@contextmanager
def stream(api: httpx.Client, last: int | None = None, **params: Any) -> Iterator[Iterator[str]]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with api.stream("GET", "/v1/events/stream", params=params, headers=headers, timeout=PATIENCE_S) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield response.iter_lines()


def numbers(lines: Iterator[str], count: int) -> list[int]:
    """Of the next `count` events."""
    watching = Watching()
    return [event["sequence"] for event in islice(filter(None, map(watching.heard, lines)), count)]


def comment(lines: Iterator[str], words: str) -> None:
    assert any(line.startswith(":") and words in line for line in lines), f"the stream ended without: {words}"


def test_an_event_is_streamed_as_a_page_has_it(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    write(ledger, 3)
    with stream(api, after=2) as lines:
        got = [line for line in islice(lines, 6) if line and not line.startswith((":", "retry:"))]
    page = api.get("/v1/events", params={"after": 2}).json()
    assert got[:2] == ["id: 3", "event: push.verified"]
    assert json.loads(got[2].removeprefix("data: ")) == page["items"][0]


@pytest.mark.slow
def test_a_stream_ends_when_its_token_is_revoked_or_over(as_: As, ledger: Ledger, tmp_path: Path) -> None:
    revoked, over = as_("ops", Role.OPERATOR), as_("brief", Role.OPERATOR, valid=timedelta(seconds=8))
    stays = as_("stays", Role.OPERATOR)
    with stream(revoked) as first, stream(over) as second, stream(stays) as third:
        revoke_token(tmp_path / "tokens.json", "ops")
        for lines in (first, second):
            assert not [line for line in lines if line.startswith("id:")]
        write(ledger, 1)
        assert numbers(third, 1) == [1]
    problem(revoked.get("/v1/events/stream"), 401, "unauthenticated")


def test_without_a_number_it_begins_with_what_comes(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    write(ledger, 5)
    with stream(api) as lines:
        comment(lines, "events after 5")
        write(ledger, 1)
        assert numbers(lines, 1) == [6]


def test_readers_that_break_off_and_come_again_get_every_event_once(serve: Serve, ledger: Ledger) -> None:
    """Events are written by three threads meanwhile; each reader leaves after a few of them."""
    api = serve()
    total = 3 * 120
    writers = [threading.Thread(target=write, args=(ledger, 120)) for _ in range(3)]
    for writer in writers:
        writer.start()
    got: list[int] = []
    for want in (1, 7, 40, 90, total):
        with stream(api, last=got[-1] if got else 0) as lines:
            got += numbers(lines, min(want, total - len(got)))
    for writer in writers:
        writer.join()
    assert got == list(range(1, total + 1))


def test_a_filtered_stream_leaves_the_others_out_and_loses_none(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    handle = created(api)["handle"]  # event 1
    write(ledger, 2, "push.armed", device="anl-7507-1")  # 2, 3
    write(ledger, 1, "push.failed", device="esnet-7507")  # 4
    api.post(f"/v1/reservations/{handle}/cancel").raise_for_status()  # 5
    for params, wanted in (
        ({"kind": "push."}, [2, 3, 4]), ({"kind": ["push.failed", "reservation."]}, [1, 4, 5]),
        ({"device": "anl-7507-1"}, [2, 3]), ({"reservation": "hep/cms"}, [1, 5]), ({"reservation": handle}, [1, 5]),
    ):  # fmt: skip
        with stream(api, after=0, **params) as lines:
            assert numbers(lines, len(wanted)) == wanted
            assert [one["sequence"] for one in api.get("/v1/events", params=params).json()["items"]] == wanted
    with stream(api, after=5, kind="push.") as lines:
        write(ledger, 3, "device.drifted")
        write(ledger, 1, "push.armed")
        assert numbers(lines, 1) == [9], "what came before it was none of its kinds"


@pytest.mark.slow
def test_a_quiet_stream_says_that_it_lives(serve: Serve) -> None:
    with stream(serve(how={"streams": Streams(heartbeat_s=0.1)})) as lines:
        beats = (line for line in lines if line == ":")
        assert len(list(islice(beats, 2))) == 2


@pytest.mark.slow
def test_there_are_at_most_so_many(serve: Serve) -> None:
    streams = Streams(most=2)
    api = serve(how={"streams": streams})
    with stream(api), stream(api):
        refused = api.get("/v1/events/stream")
        assert "2 event streams are open" in problem(refused, 503, "unavailable")["detail"]
        assert refused.headers["retry-after"]
    wait_for(lambda: streams.count == 0, "the streams to be over")
    with stream(api):
        assert streams.count == 1


@pytest.mark.slow
def test_one_reader_does_not_take_the_places_of_others(as_: As) -> None:
    one, other = as_("ops", Role.OPERATOR), as_("audit", Role.AUDITOR)
    with ExitStack() as stack:
        for _ in range(MOST_STREAMS_EACH):
            stack.enter_context(stream(one))
        refused = one.get("/v1/events/stream")
        assert "you have 20 event streams open" in problem(refused, 429, "too-many-streams")["detail"]
        assert refused.headers["retry-after"]
        assert one.get("/v1/events").status_code == 200
        stack.enter_context(stream(other))


def test_a_number_that_is_none_of_this_ledgers_is_refused(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    write(ledger, 2)
    ahead = problem(api.get("/v1/events/stream", params={"after": 3}), 422, "invalid-input")
    assert "is after the last event, 2" in ahead["detail"]
    assert problem(api.get("/v1/events/stream", headers={"Last-Event-ID": "x"}), 422, "invalid-input")["errors"]
    for params in ({"kind": "Push"}, {"after": -1}):
        assert problem(api.get("/v1/events/stream", params=params), 422, "invalid-input")["errors"]
    problem(api.get("/v1/events/stream", params={"device": "nowhere"}), 404, "unknown-device")
    problem(api.get("/v1/events/stream", params={"reservation": "hep/nobody"}), 404, "unknown-reservation")


def test_it_outlives_the_database(serve: Serve, ledger: Ledger, database_url: str, server_url: str) -> None:
    api = serve()
    name = make_url(database_url).database
    write(ledger, 1)
    with psycopg.connect(server_url, autocommit=True) as admin, stream(api, after=0) as lines:
        assert numbers(lines, 1) == [1]
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")  # type: ignore[arg-type]
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        comment(lines, "database does not answer")
        refused = problem(api.get("/v1/events/stream"), 503, "ledger-unavailable")
        assert refused["detail"]
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")  # type: ignore[arg-type]
        write(ledger, 2)
        assert numbers(lines, 2) == [2, 3]


@pytest.mark.slow
def test_a_controller_that_stops_ends_its_streams(database_url: str, tmp_path: Path) -> None:
    with (
        Controller(tmp_path, GARNET, SLOTCAR_DATABASE_URL=database_url, SLOTCAR_RECONCILE="false") as controller,
        httpx.Client(base_url=f"http://127.0.0.1:{controller.port}", timeout=PATIENCE_S) as api,
    ):
        with stream(api) as lines:
            comment(lines, "events after 0")
            controller.process.send_signal(signal.SIGTERM)
            # A stream that is cut off instead of ended would raise here.
            assert [line for line in lines if line.strip(": ")] == []
        controller.process.wait(PATIENCE_S)
        assert "Traceback" not in controller.log.read_text()


@pytest.mark.slow
def test_the_command_line_follows_over_a_restart(ledger: Ledger, network: Network, tmp_path: Path) -> None:
    port, settings = free_port(), Settings(state_dir=tmp_path, inventory=GARNET, open=True)
    first, second = Running(), Running()
    first.start(ledger, network, settings, port=port)
    write(ledger, 3)
    command = [sys.executable, str(SLOTCAR), "events", "--follow", "--after", "1", "--format", "json"]
    environment = os.environ | {"SLOTCAR_API": f"http://127.0.0.1:{port}"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        preexec_fn=heeds_interrupts,
    ) as process:  # fmt: skip
        try:
            assert process.stdout
            assert process.stderr
            got = [json.loads(process.stdout.readline())["sequence"] for _ in range(2)]
            assert process.stderr.readline() == f"asking the controller at http://127.0.0.1:{port}\n"
            first.stop()
            write(ledger, 2)
            assert "trying again" in process.stderr.readline()
            second.start(ledger, network, settings, port=port)
            got += [json.loads(process.stdout.readline())["sequence"] for _ in range(2)]
            assert got == [2, 3, 4, 5]
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            first.stop()
            second.stop()
