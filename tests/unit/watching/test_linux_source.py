"""A connection to a Linux router: here a local shell that prints what `tc monitor` prints, and ends as connections end."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import psutil
import pytest

from slotcar.watching import linux
from slotcar.watching.linux import READY, LinuxSource
from slotcar.watching.model import ChangeListener, WatchBroken
from tests.support.patience import PATIENCE_S, wait_for

CHANGED = "deleted filter dev eth2 ingress protocol ip pref 20813 flower chain 0 handle 0x1"


@dataclass
class Heard:
    """What was reported to a listener."""

    up: threading.Event = field(default_factory=threading.Event)
    changes: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def of(self, *command: str) -> str:
        """Until the connection breaks; why it did."""
        with pytest.raises(WatchBroken) as broken:
            LinuxSource(command, ["eth2"]).watch(self.listener)
        return str(broken.value)

    @property
    def listener(self) -> ChangeListener:
        return ChangeListener(self.up.set, self.changes.append, self.ended)


def test_what_is_printed_is_told_line_by_line_from_ready_on() -> None:
    heard = Heard()
    lines = [
        CHANGED,
        READY,
        CHANGED,
        "  Sent 0 bytes",
        "added filter dev eth9 ingress protocol ip pref 20813",
        CHANGED,
    ]
    why = heard.of(
        "sh", "-c", "".join(f"echo '{line}'; " for line in lines) + "printf 'deleted qdisc clsact ffff: dev eth2'"
    )
    assert heard.up.is_set()
    assert heard.changes == ["filter deleted on eth2"] * 2, "what has no end yet is no line"
    assert why == "the connection ended"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            ["sh", "-c", "echo one >&2; echo 'Permission denied (publickey).' >&2; exit 255"],
            "Permission denied (publickey).",
        ),
        (["sh", "-c", f"echo '{READY}'; printf 'a\\033[31mb' >&2"], "a\ufffd[31mb"),
        (["/no/such/ssh"], "/no/such/ssh cannot be started: No such file or directory"),
        (["sh", "-c", f"echo '{READY}'; exec tr '\\0' x < /dev/zero"], "it prints what tc monitor does not print"),
    ],
)
def test_a_connection_that_breaks_says_why(command: list[str], why: str) -> None:
    heard = Heard()
    assert heard.of(*command) == why
    assert heard.changes == []


def test_who_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "LOGIN_S", 0.2)
    heard = Heard()
    assert heard.of("sleep", "60") == "no answer within 0 s"
    assert not heard.up.is_set()


def test_notices_that_the_kernel_had_no_room_for_are_a_change() -> None:
    heard = Heard()
    words = "netlink receive error No buffer space available (105)"
    heard.of("sh", "-c", f"echo '{READY}'; echo '{words}' >&2; sleep 1")
    assert heard.changes == ["more changed than its kernel could tell"]


def test_a_flood_is_told_and_nothing_is_left_when_nobody_listens_any_more() -> None:
    heard = Heard()
    endless = f"print({READY!r}, flush=True)\nwhile True: print({CHANGED!r})"
    before = {child.pid for child in psutil.Process().children()}
    source = LinuxSource([sys.executable, "-c", endless], ["eth2"])
    thread = threading.Thread(target=source.watch, args=(heard.listener,))
    thread.start()
    assert heard.up.wait(PATIENCE_S)
    heard.ended.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert {child.pid for child in psutil.Process().children()} == before


def names_of(processes: Iterable[psutil.Process]) -> set[str]:
    """One that has ended meanwhile has none."""
    names = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            names.add(process.name())
    return names


def test_the_part_on_the_router_ends_with_the_connection() -> None:
    """`tc` is a script here, which would go on for an hour."""
    script = linux.REMOTE.replace("tc monitor", "sleep 3600").replace("command -v tc", "command -v sleep")
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        assert shell.stdin is not None
        assert shell.stdout.readline().decode().strip() == READY
        of_shell = psutil.Process(shell.pid)
        wait_for(lambda: "sleep" in names_of(of_shell.children(recursive=True)), "the command to be started")
        children = of_shell.children(recursive=True)
        shell.stdin.close()
        shell.wait(PATIENCE_S)
        assert psutil.wait_procs(children, timeout=PATIENCE_S)[1] == []
