"""The command line in this process."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from slotcar.cli import main
from tests.support.patience import PATIENCE_S


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What `--format json` printed: all of standard output."""
        return json.loads(self.out)

    @property
    def items(self) -> Any:
        """Of a list that `--format json` printed."""
        return self.data["items"]


Cli = Callable[..., Done]


def in_this_process(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """`slotcar …` with the environment that `monkeypatch` has set."""

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["slotcar", *map(str, arguments)])
        before = os.umask(0o077)
        os.umask(before)
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            os.umask(before)  # a command's own, which what runs after it here must not have
        captured = capfd.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return run


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, typed: str) -> Iterator[list[str]]:
    """A pseudo-terminal as standard input and output of this process, at which somebody types; what it shows."""
    master, slave = os.openpty()
    shown: list[str] = []

    def read() -> None:
        with suppress(OSError):  # nobody has the other side open any more
            while text := os.read(master, 4096):
                shown.append(text.decode())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        os.write(master, typed.encode())
        with os.fdopen(slave) as keyboard, os.fdopen(os.dup(slave), "w") as screen, monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", keyboard)
            patched.setattr(sys, "stdout", screen)
            yield shown
    finally:
        reader.join(timeout=PATIENCE_S)
        os.close(master)
