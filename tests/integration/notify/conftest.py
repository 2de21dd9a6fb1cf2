"""A dispatcher over a ledger of the test's own, with real receivers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Caller, Role
from slotcar.notify.backoff import Backoff
from slotcar.notify.dispatching import Dispatcher
from slotcar.notify.signing import DerivedSecrets
from slotcar.notify.webhooks import Webhooks
from slotcar.store import Ledger
from tests.support.patience import PATIENCE_S
from tests.support.receiver import SECRET

NO_KEY = DerivedSecrets(Path("/nowhere/webhook-key"))
OPERATOR = Caller("ops", Role.OPERATOR)
#: Quick, so that tests see retries and their end.
QUICK = Backoff(first=timedelta(milliseconds=10), longest=timedelta(milliseconds=40), attempts=3)
#: Adds a webhook for a URL and gives its id.
Add = Callable[..., str]


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "webhook-secret"
    file.write_text(SECRET + "\n")
    return file


@pytest.fixture
def add(ledger: Ledger, secret_file: Path) -> Add:
    def register(url: str, *kinds: str) -> str:
        return Webhooks(ledger, Settings()).add(url, f"file:{secret_file}", kinds, OPERATOR, now()).id

    return register


@contextmanager
def dispatching(ledger: Ledger, backoff: Backoff = QUICK, **how: Any) -> Iterator[Dispatcher]:
    """Delivers until the `with` ends; an error in it fails the test."""
    stopping, errors = threading.Event(), []
    how.setdefault("answer_s", PATIENCE_S)
    dispatcher = Dispatcher(ledger, how.pop("leads", lambda: True), now, how.pop("derived", NO_KEY), backoff, **how)

    def run() -> None:
        try:
            dispatcher.run(stopping)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield dispatcher
    finally:
        stopping.set()
        thread.join()
    assert errors == []


@pytest.fixture
def running(ledger: Ledger) -> Iterator[Dispatcher]:
    with dispatching(ledger) as dispatcher:
        yield dispatcher


def tell(ledger: Ledger, *handles: str, kind: str = "reservation.bound", **details: Any) -> None:
    """An event of each of these reservations, in this order."""
    for handle in handles:
        ledger.append_event(kind, now(), handle=handle, details=details)
