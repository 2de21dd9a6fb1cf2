"""Writes a revision for the lab's routers, or for some devices of an inventory, without a ledger.

`python -m tests.support.revision FILE STATE_DIR [INVENTORY DEVICE...]` prints its folder.
The file's reservations count as admitted, and the slot is open from now.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slotcar.base.settings import load_settings
from slotcar.book.timeline import active_at
from slotcar.network import load_network
from slotcar.planning.offline import entries_of
from slotcar.planning.source import read_source
from slotcar.rollout.wanted import wanted_for
from slotcar.wiring import pusher_for

LAB = Path(__file__).resolve().parents[2] / "inventories" / "lab"


def write(file: Path, state_dir: Path, now: datetime, inventory: Path = LAB, devices: Sequence[str] = ()) -> Path:
    """The revision's folder; one that was prepared must be needed."""
    network = load_network(inventory)
    entries = entries_of(read_source([file], now, network).reservations, network, now)
    begun = max(window.start for entry in entries for window in entry.reservation.windows)  # `now` is the next second
    wanted = wanted_for(network)(active_at(entries, begun), begun).wanted
    wanted = {name: one for name, one in wanted.items() if not devices or name in devices}
    pusher = pusher_for(network, load_settings(inventory=inventory, state_dir=state_dir), None)
    readings = pusher.read(sorted(wanted))
    if readings.failures:
        raise SystemExit("; ".join(f"{one.device}: {one.message}" for one in readings.failures.values()))
    revision = pusher.prepare(wanted, readings.by_device, now)
    if revision is None:
        raise SystemExit("the routers have all of it already")
    return pusher.archive.write(revision)


if __name__ == "__main__":
    given, kept, *more = sys.argv[1:]
    chosen: dict[str, Any] = {"inventory": Path(more[0]), "devices": more[1:]} if more else {}
    sys.stdout.write(f"{write(Path(given), Path(kept), datetime.now(UTC), **chosen)}\n")
