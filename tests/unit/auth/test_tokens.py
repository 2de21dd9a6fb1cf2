"""The token file under several who change and read it at once: nothing that was revoked comes back."""

from __future__ import annotations

import fcntl
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar.auth import tokens
from slotcar.auth.tokens import Token, TokenStore, create_token, read_tokens, revoke_token
from slotcar.book.rules.roles import Role
from tests.support.patience import PATIENCE_S, wait_for

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_a_token_that_is_revoked_while_another_is_made_stays_revoked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes one has read the file; another revokes then, and either is done or waits before the file is written."""
    create_token(file, "leaked", Role.OPERATOR, "ops", NOW)
    lock_wanted, revoking = threading.Event(), []
    flock = fcntl.flock

    def noticed(descriptor: int, operation: int) -> None:
        if threading.current_thread().name.startswith("other"):
            lock_wanted.set()
        flock(descriptor, operation)

    def read_and_let_the_other_in(path: Path) -> tuple[Token, ...]:
        before = read_tokens(path)
        if not revoking and not threading.current_thread().name.startswith("other"):
            revoking.append(pool.submit(revoke_token, path, "leaked"))
            wait_for(lambda: lock_wanted.is_set() or revoking[0].done(), "the other to ask for the file", pause_s=0.01)
        return before

    monkeypatch.setattr(fcntl, "flock", noticed)
    monkeypatch.setattr(tokens, "read_tokens", read_and_let_the_other_in)
    with ThreadPoolExecutor(1, "other") as pool:
        create_token(file, "new", Role.REQUESTER, "hep", NOW)
        revoking[0].result(PATIENCE_S)
    assert [one.name for one in read_tokens(file)] == ["new"]


def test_two_tokens_of_one_name_are_never_made(file: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        creations: list[Future[str]] = [
            pool.submit(create_token, file, "one", Role.OPERATOR, "ops", NOW) for _ in range(8)
        ]
    assert len([one for one in creations if one.exception() is None]) == 1
    assert len(read_tokens(file)) == 1


def test_the_file_is_the_owners_alone_and_so_is_its_lock(file: Path) -> None:
    create_token(file, "one", Role.OPERATOR, "ops", NOW)
    assert {one.name: one.stat().st_mode & 0o777 for one in file.parent.iterdir()} == {
        "tokens.json": 0o600,
        ".tokens.json.lock": 0o600,
    }


def test_two_threads_of_a_controller_never_keep_an_older_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One has read the file before the revocation, another after it, and the first one is the last to write down what
    it read: between the other's first thing that it writes down and its next."""
    create_token(file, "leaked", Role.OPERATOR, "ops", NOW)
    read_before, wrote_down, before_is_done = threading.Event(), threading.Event(), threading.Event()

    class Watched(TokenStore):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if threading.current_thread().name.startswith("after") and not wrote_down.is_set():
                wrote_down.set()
                assert before_is_done.wait(PATIENCE_S)

    def read(path: Path) -> tuple[Token, ...]:
        listed = read_tokens(path)
        if threading.current_thread().name.startswith("before"):
            read_before.set()
            assert wrote_down.wait(PATIENCE_S)
        return listed

    store = Watched(file)
    monkeypatch.setattr(tokens, "read_tokens", read)
    with ThreadPoolExecutor(1, "before") as first, ThreadPoolExecutor(1, "after") as second:
        before = first.submit(store.tokens)
        assert read_before.wait(PATIENCE_S)
        monkeypatch.setattr(tokens, "read_tokens", read_tokens)
        revoke_token(file, "leaked")
        after = second.submit(store.tokens)
        before.result(PATIENCE_S)
        before_is_done.set()
        assert after.result(PATIENCE_S) == ()
    assert store.tokens() == ()
