"""The process that serves: begun, and ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Served:
    """Where the application and the bare endpoint are, as whom to ask, and the process that answers."""

    port: int
    bare_port: int
    token: str
    process: psutil.Process

    @property
    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def served(url: str, folder: Path) -> Iterator[Served]:
    """A process that serves, and is gone afterwards."""
    command = [sys.executable, "-m", "benchmarks.api.serving", url, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port, bare_port, token = json.loads(process.stdout.readline())
            yield Served(port, bare_port, token, psutil.Process(process.pid))
        finally:
            process.terminate()
