"""Webhooks are delivered at least once and in order per reservation, whatever fails; over real HTTP."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.base.settings import Settings
from slotcar.notify.backoff import Backoff
from slotcar.notify.dispatching import Dispatcher
from slotcar.notify.webhooks import Webhooks
from slotcar.store import Ledger
from slotcar.store.webhooks import Backlog
from tests.integration.notify.conftest import OPERATOR, QUICK, Add, dispatching, now, tell
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port
from tests.support.receiver import SECRET, Got, Receiver

ROOT = Path(__file__).resolve().parents[3]


def test_an_event_comes_signed_and_whole(ledger: Ledger, add: Add, running: Dispatcher) -> None:
    with Receiver() as receiver:
        hook = add(receiver.url)
        tell(ledger, "r-a", actor="ops")
        wait_for(lambda: bool(receiver.got), "the message")
        (got,) = receiver.got
    assert got.signed_by(SECRET)
    assert not got.signed_by(SECRET.replace("a", "b"))
    assert got.id == f"{hook}-1"
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 300
    assert got.headers["content-type"] == "application/json"
    assert (got.data["sequence"], got.data["kind"], got.data["handle"]) == (1, "reservation.bound", "r-a")
    assert got.data["details"] == {"actor": "ops"}
    assert SECRET[6:].encode() not in got.body


def test_only_what_is_recorded_later_and_of_its_kinds_comes(ledger: Ledger, add: Add, running: Dispatcher) -> None:
    tell(ledger, "r-a")
    with Receiver() as receiver:
        add(receiver.url, "push.", "reservation.cancelled")
        tell(ledger, "r-a", "r-b")
        tell(ledger, "r-a", kind="push.failed")
        tell(ledger, "r-a", kind="reservation.cancelled")
        wait_for(lambda: len(receiver.got) == 2, "both messages")
    assert receiver.numbers() == [4, 5]


def test_order_holds_per_reservation_while_one_fails_and_others_go_on(ledger: Ledger, add: Add) -> None:
    """r-bad's first event is refused until the others are through; no later one of it may overtake it."""
    open_now = threading.Event()

    def answer(got: Got) -> int:
        return 503 if got.data["handle"] == "r-bad" and not open_now.is_set() else 200

    with Receiver(answer) as receiver, dispatching(ledger, replace(QUICK, attempts=10_000)):
        add(receiver.url)
        tell(ledger, *("r-bad", "r-x", "r-bad", "r-y") * 5)
        wait_for(lambda: sum(got.data["handle"] != "r-bad" for got in receiver.got) == 10, "the others")
        assert {got.data["sequence"] for got in receiver.got if got.data["handle"] == "r-bad"} == {1}
        open_now.set()
        wait_for(lambda: not ledger.webhooks.backlogs(), "everything to be delivered")
    for handle in ("r-bad", "r-x", "r-y"):
        numbers = [got.data["sequence"] for got in receiver.got if got.data["handle"] == handle]
        assert numbers == sorted(numbers), f"{handle} came out of order: {numbers}"
        assert set(numbers) == {n for n in range(1, 21) if ("r-bad", "r-x", "r-bad", "r-y")[(n - 1) % 4] == handle}


@pytest.mark.slow
def test_what_fails_too_often_is_given_up_and_sent_again_on_demand(
    ledger: Ledger, add: Add, running: Dispatcher
) -> None:
    status = [500]
    with Receiver(lambda _got: status[0]) as receiver:
        hook = add(receiver.url)
        tell(ledger, "r-a", "r-a")
        wait_for(lambda: ledger.webhooks.backlogs().get(hook, Backlog()).dead == 2, "both to be given up")
        assert receiver.numbers() == [1, 1, 1, 2, 2, 2], "three attempts each, and the second not before"
        assert len({got.id for got in receiver.got}) == 2, "a repetition has the same id"
        letters = Webhooks(ledger, Settings()).dead_letters(hook, OPERATOR)
        assert [(one.event.sequence, one.attempts, one.last_error) for one in letters] == [
            (1, 3, "answered 500"), (2, 3, "answered 500")
        ]  # fmt: skip
        status[0] = 200
        assert Webhooks(ledger, Settings()).redeliver(hook, [2], OPERATOR, now()) == 1
        wait_for(lambda: receiver.numbers()[6:] == [2], "the one that was asked for")
        assert Webhooks(ledger, Settings()).redeliver(hook, None, OPERATOR, now()) == 1
        wait_for(lambda: not ledger.webhooks.backlogs(), "the rest")
    assert receiver.numbers()[6:] == [2, 1]


def test_what_waits_by_a_clock_that_was_ahead_is_sent_by_whoever_delivers_next(ledger: Ledger, add: Add) -> None:
    ahead = now() + timedelta(hours=1)
    with Receiver() as receiver:
        hook = add(receiver.url)
        tell(ledger, "r-new", "r-failed")
        ledger.webhooks.queue(ahead)
        ledger.webhooks.failed(hook, 2, 1, ahead + QUICK.first, ahead, "answered 500")
        with dispatching(ledger):
            wait_for(lambda: not ledger.webhooks.backlogs(), "both to be delivered")
    assert sorted(receiver.numbers()) == [1, 2]


@pytest.mark.parametrize(
    ("attempts", "longest_wait_s"), [(0, 0), (1, 5), (2, 10), (3, 20), (12, 10_240), (18, 14_400)]
)
def test_no_wait_is_shortened_that_is_as_long_as_it_may_be(
    ledger: Ledger, add: Add, attempts: int, longest_wait_s: int
) -> None:
    """The waits are those of `Backoff`, whose greatest chance is below one."""
    backoff, at = Backoff(), now()
    if 0 < attempts < backoff.attempts:
        assert backoff.wait(attempts, 1.0) == timedelta(seconds=longest_wait_s)
    hook = add("http://127.0.0.1:1/hook")
    tell(ledger, "r-a", "r-b")
    ledger.webhooks.queue(at)
    latest = at + timedelta(seconds=longest_wait_s)
    ledger.webhooks.failed(hook, 1, attempts, latest, at, "answered 500")
    ledger.webhooks.failed(hook, 2, attempts, latest + timedelta(seconds=1), at, "answered 500")
    assert ledger.webhooks.shorten_waits(backoff.longest_waits(), at) == 1
    waiting = [ledger.webhooks.first_of(hook, handle) for handle in ("r-a", "r-b")]
    assert [one.next_at for one in waiting if one] == [latest, latest]


def test_one_receiver_that_hangs_holds_up_no_other(ledger: Ledger, add: Add) -> None:
    free = threading.Event()
    with (
        Receiver(lambda _got: 200 if free.wait(PATIENCE_S) else 500) as stuck,
        Receiver() as well,
        dispatching(ledger),
    ):
        add(stuck.url)
        add(well.url)
        tell(ledger, *(f"r-{number}" for number in range(20)))
        wait_for(lambda: len(well.got) == 20, "the other receiver to have all")
        assert len(stuck.got) <= 4, "so many at a time"
        free.set()
        wait_for(lambda: len(stuck.got) == 20, "the rest")


def test_what_is_no_success_is_told_in_words(ledger: Ledger, add: Add) -> None:
    elsewhere = (302, {"Location": "http://127.0.0.1:1/elsewhere"})
    with (
        Receiver(lambda _got: elsewhere) as redirecting,
        Receiver(lambda _got: 404) as absent,
        dispatching(ledger),
    ):
        wanted = {
            add(redirecting.url): "answered 302, and redirects are not followed",
            add(absent.url): "answered 404",
        }
        tell(ledger, "r-a")
        wait_for(lambda: sum(one.dead for one in ledger.webhooks.backlogs().values()) == 2, "both to be given up")
    for hook, words in wanted.items():
        assert words in Webhooks(ledger, Settings()).dead_letters(hook, OPERATOR)[0].last_error
    assert {got.path for got in redirecting.got} == {"/hook"}


def test_who_does_not_answer_in_time_is_told_so(ledger: Ledger, add: Add) -> None:
    over = threading.Event()
    with Receiver(lambda _got: 200 if over.wait(PATIENCE_S) else 500) as silent, dispatching(ledger, answer_s=0.3):
        hook = add(silent.url)
        tell(ledger, "r-a")
        wait_for(lambda: ledger.webhooks.backlogs().get(hook, Backlog()).dead == 1, "it to be given up")
        over.set()
    assert Webhooks(ledger, Settings()).dead_letters(hook, OPERATOR)[0].last_error == "did not answer within 0.3 s"


@pytest.mark.slow
def test_a_receiver_that_drips_its_answer_is_left_in_time(ledger: Ledger, add: Add) -> None:
    """Byte by byte no single read takes long; the whole must not either."""
    stop = threading.Event()
    with Dripping(stop) as address, dispatching(ledger, answer_s=0.5):
        hook = add(address)
        tell(ledger, "r-a")
        wait_for(lambda: ledger.webhooks.backlogs().get(hook, Backlog()).dead == 1, "it to be given up")
        stop.set()
    assert "did not answer within 0.5 s" in Webhooks(ledger, Settings()).dead_letters(hook, OPERATOR)[0].last_error


@pytest.mark.slow
def test_nothing_listens_and_a_secret_is_gone(ledger: Ledger, add: Add, secret_file: Path) -> None:
    with dispatching(ledger):
        nowhere = add(f"http://127.0.0.1:{free_port()}/")
        tell(ledger, "r-a")
        wait_for(lambda: ledger.webhooks.backlogs().get(nowhere, Backlog()).dead == 1, "it to be given up")
        assert "could not be reached" in Webhooks(ledger, Settings()).dead_letters(nowhere, OPERATOR)[0].last_error
        with Receiver() as receiver:
            hook = add(receiver.url)
            secret_file.unlink()
            tell(ledger, "r-a")
            wait_for(lambda: ledger.webhooks.backlogs().get(hook, Backlog()).dead == 1, "it to be given up")
            assert not receiver.got, "nothing goes out unsigned"
            assert "cannot be read" in Webhooks(ledger, Settings()).dead_letters(hook, OPERATOR)[0].last_error
            secret_file.write_text(f"{SECRET}\nwhsec_{'QUJD' * 10}\n")
            Webhooks(ledger, Settings()).redeliver(hook, None, OPERATOR, now())
            wait_for(lambda: bool(receiver.got), "it to be delivered")
            assert receiver.got[0].signed_by(SECRET)
            assert receiver.got[0].signed_by(f"whsec_{'QUJD' * 10}"), "while a secret changes, both sign"


def test_details_that_are_too_large_are_left_out(ledger: Ledger, add: Add, running: Dispatcher) -> None:
    with Receiver() as receiver:
        add(receiver.url)
        tell(ledger, "r-a", words="x" * 100_000)
        wait_for(lambda: bool(receiver.got), "the message")
    assert receiver.got[0].data["details"]["left_out_bytes"] > 100_000
    assert len(receiver.got[0].body) < 1000


def test_one_of_two_delivers_and_the_other_takes_over(ledger: Ledger, add: Add) -> None:
    first_leads, second_leads = threading.Event(), threading.Event()
    first_leads.set()
    second_leads.set()
    with (
        Receiver() as receiver,
        dispatching(ledger, leads=first_leads.is_set) as first,
        dispatching(ledger, leads=second_leads.is_set) as second,
    ):
        hook = add(receiver.url)
        tell(ledger, *["r-a"] * 20)
        wait_for(lambda: not ledger.webhooks.backlogs() and len(receiver.got) >= 20, "all of them")
        assert receiver.numbers() == list(range(1, 21))
        delivered = [one.counts.delivered[hook] for one in (first, second)]
        assert sorted(delivered) == [0, 20]
        (first_leads if delivered[0] else second_leads).clear()
        tell(ledger, *["r-a"] * 5)
        # A message is there before its sender has counted it.
        wait_for(lambda: not ledger.webhooks.backlogs() and len(receiver.got) >= 25, "the other one's")
        assert receiver.numbers() == list(range(1, 26))
        assert sorted(one.counts.delivered[hook] for one in (first, second)) == [5, 20]


def test_a_controller_killed_between_sending_and_recording_sends_that_one_again(
    ledger: Ledger, add: Add, database_url: str
) -> None:
    """While the receiver answers, the test locks the table, so that what arrived cannot be recorded; then the process is
    killed, as by a power cut."""
    command = [sys.executable, "-m", "tests.support.dispatcher", database_url]
    with psycopg.connect(libpq(database_url)) as holder:

        def answer(_got: Got) -> int:
            if len(receiver.got) == 1:
                holder.execute("LOCK TABLE webhook_delivery IN EXCLUSIVE MODE")
            return 200

        def is_recording() -> bool:
            row = holder.execute(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'webhook_delivery'::regclass"
            ).fetchone()
            return row is not None and row[0] > 0

        with Receiver(answer) as receiver:
            add(receiver.url)
            tell(ledger, *["r-a"] * 3)
            with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL) as killed:
                try:
                    wait_for(lambda: bool(receiver.got), "the first message")
                    wait_for(is_recording, "its recording to be held up")
                finally:
                    killed.send_signal(signal.SIGKILL)
            holder.rollback()
            with dispatching(ledger):
                wait_for(lambda: not ledger.webhooks.backlogs(), "the rest")
    assert receiver.numbers() == [1, 1, 2, 3]
    assert receiver.got[0].id == receiver.got[1].id, "by which a receiver knows it"


def libpq(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


class Dripping:
    """Answers a request with one byte of a header every 50 ms, without end."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/"

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                continue
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Drip: ")
                while not self._stop.wait(0.05):
                    connection.sendall(b"x")
