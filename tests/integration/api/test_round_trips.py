"""What a request costs that does not depend on the machine: questions to the database, hops to threads, readings of the
token file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx
import psycopg
import pytest

from slotcar.api.answers import model_of
from slotcar.auth import tokens
from slotcar.book.rules.roles import Role
from slotcar.store import database
from slotcar_client.wire import documents
from tests.integration.api.conftest import START, As, at, body, created

#: A statement is prepared where it was asked so often; its first times cost more.
WARM = 6
QUESTION, HOP, TOKENS = "question to the database", "hop to a thread", "reading of the tokens"


class Counts:
    """How often each was done since the last `clear`, by whichever thread; questions as libpq's own trace has them."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace
        self._calls: Counter[str] = Counter()
        self._from = 0

    def add(self, what: str) -> None:
        self._calls[what] += 1

    def clear(self) -> None:
        self._calls.clear()
        self._from = self._trace.stat().st_size

    def so_far(self) -> dict[str, int]:
        """Each message `Query` or `Sync` of this end is one question, which waits for its answer."""
        with self._trace.open() as trace:
            trace.seek(self._from)
            messages = [line.split("\t") for line in trace]
        questions = sum(one[1] == "F" and one[3].strip() in ("Query", "Sync") for one in messages if len(one) > 3)
        return {what: number for what, number in {QUESTION: questions, **self._calls}.items() if number}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Counts]:
    """Before there is a ledger: each of its connections is traced. None is asked whether it is still there, however long
    a busy machine takes between two requests.
    """
    file = tmp_path / "trace"
    counted = Counts(file)
    connect = psycopg.connect

    def traced(*arguments: Any, **named: Any) -> Any:
        connection = connect(*arguments, **named)
        connection.pgconn.trace(trace.fileno())
        return connection

    def count(owner: Any, name: str, what: str) -> None:
        original = getattr(owner, name)

        def counting(*arguments: Any, **named: Any) -> Any:
            counted.add(what)
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, counting)

    with file.open("a") as trace:
        monkeypatch.setattr(psycopg, "connect", traced)
        monkeypatch.setattr(database, "USED_LATELY_S", float("inf"))
        count(anyio.to_thread, "run_sync", HOP)
        count(tokens, "read_tokens", TOKENS)
        yield counted


@pytest.fixture
def client(counts: Counts, as_: As) -> httpx.Client:
    return as_("night-shift", Role.OPERATOR)


def cost(client: httpx.Client, counts: Counts, method: str, address: str, bodies: Iterator[Any]) -> dict[str, int]:
    """What the last one of several requests cost."""
    for _ in range(WARM):
        counts.clear()
        client.request(method, address, json=next(bodies)).raise_for_status()
    return counts.so_far()


def nothing() -> Iterator[None]:
    while True:
        yield None


def test_reading_one_entry_costs_two_questions_and_one_hop(client: httpx.Client, counts: Counts) -> None:
    address = at(created(client))
    assert cost(client, counts, "GET", address, nothing()) == {QUESTION: 2, HOP: 1}


def test_a_page_costs_as_much_as_one_entry(client: httpx.Client, counts: Counts) -> None:
    for number in range(10):
        created(client, f"cms-{number}", rate="1 Mbit/s")
    for limit in (2, 50):
        assert cost(client, counts, "GET", f"/v1/reservations?limit={limit}", nothing()) == {QUESTION: 2, HOP: 1}


def test_liveness_costs_neither(client: httpx.Client, counts: Counts) -> None:
    assert not cost(client, counts, "GET", "/healthz", nothing())


def test_creating_asks_of_slots_once(client: httpx.Client, counts: Counts) -> None:
    """Of the questions all but one are the ledger's transaction, which concurrent requests share."""
    bodies = (body(f"cms-{number}", rate="1 Mbit/s") for number in range(100))
    assert cost(client, counts, "POST", "/v1/reservations", bodies) == {QUESTION: 14, HOP: 1}


def test_answers_that_are_written_as_they_are_have_the_form_of_their_models(client: httpx.Client) -> None:
    by = (START + timedelta(hours=5)).isoformat()
    volume = {"volume": "2 GB", "by": by, "rate": None, "start": None, "duration": None}
    share = {"share": {"weight": 2, "at_most": "5 Mbit/s"}, "rate": None}
    for number, more in enumerate(({}, volume, share, {"labels": {"project": "ü"}, "destination": "lbnl-premium"})):
        document = created(client, f"cms-{number}", **more)
        assert model_of(documents.Entry).model_validate(document).model_dump(mode="json") == document
    page = client.get("/v1/reservations").json()
    assert len(page["items"]) == 4
    assert model_of(documents.Entries).model_validate(page).model_dump(mode="json") == page
