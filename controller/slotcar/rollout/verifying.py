"""Around an attempt to push: every device of a path is asked before a slot begins, and what was verified is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from slotcar.book.model import Entry, State
from slotcar.book.slot_states import configured_devices, present_slot
from slotcar.rollout.program import acts
from slotcar.rollout.slot_telling import ASIDE, UNADOPTED, SlotFindings
from slotcar_client.wire.events import ControllerChecked

if TYPE_CHECKING:
    from slotcar.rollout.pushing import Pushing

#: What was read so shortly ago is not asked again for a slot: boundaries may be as dense as readings.
RECENT = timedelta(seconds=10)


def ask_paths(pushing: Pushing, live: Sequence[Entry]) -> None:
    """Has every device of a path read before a slot begins, also where none of its lines change: once for each slot,
    unless it has been read just before. `live`: the entries as the ledger has them."""
    now, starts, read_at = pushing.clock(), pushing.path_asked_for, pushing.status.read_at
    for entry in live:
        if entry.reservation.start > now + pushing.lead:
            continue
        _, window = present_slot(entry.reservation.windows, now)
        begins = entry.state is State.COMMITTED and window.start <= now + pushing.lead and now < window.end
        if begins and starts.get(entry.handle) != window.start:
            starts[entry.handle] = window.start
            devices = configured_devices(entry) & read_at.keys()
            pushing.states.doubt([name for name in devices if now - read_at[name] > RECENT])
    for handle in starts.keys() - {entry.handle for entry in live}:
        del starts[handle]


def tell(pushing: Pushing, live: Sequence[Entry]) -> None:
    """Says of each slot what is on its devices, where that has changed. `live`: the entries as the ledger has them."""
    view, known = pushing.view, pushing.pusher.devices
    held, wanted = pushing.holds.holds, view.outlook.wanted
    verified = {name for name, one in wanted.items() if pushing.states.is_verified(name, one)}
    findings = SlotFindings(
        view.at,
        view.open,
        view.handles,
        view.armed,
        verified=verified - held.keys(),
        acting={name for name, device in known.items() if acts(device)},
        held=held,
        aside={**dict.fromkeys(pushing.health.reasons(), ASIDE), **dict.fromkeys(pushing.adoption.waiting, UNADOPTED)},
        verified_at=pushing.verified_at,
        devices=known,
        valid_for=pushing.valid_for,
    )
    pushing.telling.tell(live, findings, pushing.clock())


def record_check(pushing: Pushing) -> None:
    """All devices were read, and have what is wanted; but for those that are held or set aside. Of those that were given it
    only now it says when."""
    but = {*pushing.holds.held, *pushing.health.reasons()}
    verified_at = {name: at for name, at in pushing.verified_at.items() if name not in but}
    read_at = min(verified_at.values(), default=pushing.clock())
    checked = ControllerChecked(
        read_at=read_at,
        until=read_at + pushing.valid_for,
        lacking=tuple(sorted(but)),
        later={name: at.isoformat() for name, at in sorted(verified_at.items()) if at > read_at},
    )
    pushing.ledger.record(checked, pushing.clock())
