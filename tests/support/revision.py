"""Writes a revision for the lab's routers without a ledger.

`python -m tests.support.revision FILE STATE_DIR` prints its folder.
The file's reservations count as admitted, and the slot is open from now.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from controller.network import load_network
from controller.planning.offline import entries_of
from controller.planning.source import read_source
from controller.settings import load_settings
from controller.timeline import active_at
from controller.wiring import pusher_for, wanted_for

LAB = Path(__file__).resolve().parents[2] / "inventories" / "lab"


def write(file: Path, state_dir: Path, now: datetime) -> Path:
    """The revision's folder; one that was prepared must be needed."""
    network = load_network(LAB)
    entries = entries_of(read_source([file], now, network).reservations, network, now)
    begun = max(window.start for entry in entries for window in entry.reservation.windows)  # `now` is the next second
    wanted = wanted_for(network)(active_at(entries, begun), begun).wanted
    pusher = pusher_for(network, load_settings(inventory=LAB, state_dir=state_dir), None)
    readings = pusher.read(sorted(wanted))
    if readings.failures:
        raise SystemExit("; ".join(f"{one.device}: {one.message}" for one in readings.failures.values()))
    revision = pusher.prepare(wanted, readings.by_device, now)
    if revision is None:
        raise SystemExit("the routers have all of it already")
    return pusher.archive.write(revision)


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]), Path(sys.argv[2]), datetime.now(UTC))}\n")
