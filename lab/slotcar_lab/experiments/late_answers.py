"""A long path: what a host sends back is late by a round trip, which is what TCP sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slotcar_lab.experiments.bench import Bench


@contextmanager
def late_answers(bench: Bench, host: str, round_trip_ms: float, most_packets: int = 20_000) -> Iterator[None]:
    """Meanwhile what the host sends leaves it so much later. `most_packets`: on their way at once."""
    delay = ["netem", "limit", str(most_packets), "delay", f"{round_trip_ms:g}ms"]
    bench.lab.check(host, ["tc", "qdisc", "replace", "dev", "eth1", "root", *delay])
    try:
        yield
    finally:
        bench.lab.exec(host, ["tc", "qdisc", "del", "dev", "eth1", "root"])
