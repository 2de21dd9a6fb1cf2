"""The command line in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controller.cli import main


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


Cli = Callable[..., Done]


def in_this_process(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """`slotcar …` with the environment that `monkeypatch` has set."""

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["slotcar", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return run
