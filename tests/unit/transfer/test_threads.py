"""A transfer's threads end with it, also one that begins while they are joined."""

from __future__ import annotations

import threading

import pytest

from slotcar_transfer.threads import Threads
from tests.support.patience import PATIENCE_S


def test_a_thread_that_begins_while_they_are_joined_is_joined_too(monkeypatch: pytest.MonkeyPatch) -> None:
    starting, joining, begin = threading.Event(), threading.Event(), threading.Thread.start

    def slowly(thread: threading.Thread) -> None:
        if thread.name == "late":
            starting.set()
            joining.wait(PATIENCE_S)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", slowly)
    threads, worked = Threads(), threading.Event()
    other = threading.Thread(target=lambda: threads.start(worked.set, "late"))
    other.start()
    assert starting.wait(PATIENCE_S)
    joining.set()
    threads.join()
    assert worked.is_set()
    other.join()


def test_none_begins_afterwards() -> None:
    threads, worked = Threads(), threading.Event()
    assert threads.start(lambda: None, "first")
    threads.join()
    assert not threads.start(worked.set, "second")
    assert not worked.is_set()


def test_one_that_ends_by_itself_is_left() -> None:
    def listen() -> None:
        end.wait(PATIENCE_S)

    threads, end = Threads(), threading.Event()
    threads.start(listen, "listen")
    threads.join(leave=("listen",))
    end.set()
