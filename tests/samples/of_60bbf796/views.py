"""What is asked of the sample: command lines, each at an instant, and what rollbacks of its state folder would do.

It runs in the checkout that made the sample and in today's, so it names only what both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from slotcar.network.model import Network
from slotcar.platforms.model import Configuration
from slotcar.recovery.rollback import Goal, plan_rollback, revisions_document
from slotcar.rollout.model import Reading
from slotcar.rollout.pusher import Pusher, Readings
from slotcar.wiring import pusher_for

#: Before all slots, and while the first ones are open: a hold has run out by then that nobody has taken away.
NOON, MORNING = "2027-03-01T12:00:00+00:00", "2027-03-02T08:30:00+00:00"
#: Each with the instant at which it is given; FILE and OTHERS stand for reservation files.
COMMANDS = (
    *((NOON, f"explain hep/{name}") for name in ("cms", "both", "bulk", "rest")),
    (NOON, "status --all"),
    (NOON, "status --groups --all"),
    (NOON, "timeline --hours 96"),
    (NOON, "events --limit 1000"),
    (NOON, "limits --owner hep"),
    (NOON, "enquire --add hep/cms"),
    (NOON, "webhook list"),
    (NOON, "render --at 2027-03-02T08:30:00Z"),
    (NOON, "plan FILE --set all"),
    (NOON, "plan OTHERS --set all"),
    (MORNING, "status hep/job.line"),
    (MORNING, "status --name held"),
    (MORNING, "timeline --hours 4"),
    (MORNING, "plan OTHERS --set all"),
    (MORNING, "rollback --list"),
)
#: What a rollback goes back to: `Goal`'s fields.
GOALS: Sequence[dict[str, Any]] = (
    {"to": "baseline", "devices": None, "reservation": None},
    {"to": None, "devices": None, "reservation": "hep/cms"},
    {"to": "FIRST", "devices": None, "reservation": None},
    {"to": "FIRST", "devices": ["anl-7507-1"], "reservation": None},
)


class AsLastPushed(Pusher):
    """Devices that have what was pushed to them last."""

    __slots__ = ()

    def read(self, names: Sequence[str]) -> Readings:
        return Readings({name: Reading(self._last_of(name)) for name in names}, {})

    def _last_of(self, name: str) -> Configuration:
        for revision in reversed(self.archive.revisions()):
            if name in self.archive.devices_of(revision):
                return self.archive.configuration(revision, self.devices[name])
        return Configuration(name, self.devices[name].platform)


def rollbacks(settings: Any, network: Network, now: datetime) -> dict[str, Any]:
    """What each of the goals would change, in the words of a preview. `settings`: of that commit, or of today."""
    pusher = pusher_for(network, settings, None)
    pusher = AsLastPushed(pusher.playbooks, pusher.archive, pusher.devices, pusher.record)
    first = pusher.archive.revisions()[0]
    previews = {}
    for goal in GOALS:
        target = Goal(**{key: first if value == "FIRST" else value for key, value in goal.items()})
        preview = plan_rollback(pusher, network, target, now)
        previews[f"{goal}"] = {
            "words": target.words,
            "diffs": {one.device: list(one.diff) for one in preview.diffs},
            "texts": {name: list(one.configuration.lines) for name, one in sorted(preview.wanted.items())},
            "reservations": {
                name: [configured.name for configured in one.reservations]
                for name, one in sorted(preview.wanted.items())
            },
            "failures": [one.message for one in preview.failures],
            "consequences": list(preview.consequences),
            "notes": list(preview.notes),
            "until": None if preview.until is None else preview.until.isoformat(),
        }
    previews["revisions"] = revisions_document(pusher.archive)
    return previews
