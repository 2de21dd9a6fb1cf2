"""The reconcile loop's state in a document."""

from __future__ import annotations

from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.desk.desk import Desk
from slotcar.rollout.status import LoopStatus
from slotcar.watching.model import WatchStatus
from slotcar_client.wire import documents


def phases_of(loop: LoopStatus) -> dict[str, str]:
    """How far each device is, by its name."""
    phases: dict[str, str] = getattr(loop, "phases", {})
    return {name: str(phase) for name, phase in sorted(phases.items())}


def controller_document(desk: Desk, now: datetime) -> documents.Controller:
    loop = desk.loop or LoopStatus()
    return {
        "now": iso(now),
        "started_at": iso(desk.started_at),
        "reconciles": desk.loop is not None,
        "leading": loop.leading,
        "settled": loop.settled,
        "checked_at": iso(loop.checked_at) if loop.checked_at else None,
        "next_boundary": iso(loop.next_boundary) if loop.next_boundary else None,
        "phases": phases_of(loop),
        "troubles": dict(sorted(loop.troubles.items())),
        "pushes": loop.pushes,
        "failed_pushes": loop.failed_pushes,
        "last_push_at": iso(loop.last_push_at) if loop.last_push_at else None,
        "last_revision": loop.last_revision,
        "error": loop.error,
        "watches": _watches(desk.watch or WatchStatus()),
    }


def _watches(watch: WatchStatus) -> list[documents.Watch]:
    return [
        {
            "device": name,
            "state": one.state.value,
            "how": one.how,
            "since": iso(one.since),
            "message": one.message,
            "changes": watch.changes[name],
            "checks": watch.checks[name],
        }
        for name, one in sorted(watch.devices.copy().items())
    ]
