"""Goes through what was asked of policies, as the log keeps it, with what was live at each moment: totals are exact."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from slotcar.book.model import OCCUPYING, Entry, Event, Proposal, State
from slotcar.book.permitting import windows_from
from slotcar.book.recording import IN_STATE
from slotcar.book.rights import with_proposed_change
from slotcar.book.rules.reserving import Whose, total_of
from slotcar.policy.reserving import Total
from slotcar.policy.site import Site
from slotcar.reservation.model import Reservation
from slotcar_client.wire.events import (
    InState,
    OfForms,
    OfReservation,
    PolicyPermitted,
    PolicyRefused,
    ReservationChangeProposed,
    ReservationChangeRejected,
    ReservationModified,
    ReservationProgress,
)

_STATES: Mapping[type[OfReservation], State] = {kind: state for state, kind in IN_STATE.items()}
#: The entry that a reservation would have had, of which there is none.
Routed = Callable[[Reservation, str, datetime], Entry]


@dataclass(slots=True)
class LiveThen:
    """What was live at a moment of the past, by handle; see `slotcar.book.permitting.LiveBeside`."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def totals(self, entry: Entry, wanted: Collection[Whose], site: Site, now: datetime) -> Mapping[Whose, Total]:
        others = [one.counted for one in self.entries.values() if one.handle != entry.handle]
        live = [one for one in (entry.counted, *others) if one is not None]
        windows = windows_from(entry, now)
        return {whose: total_of((one for one in live if whose in one.whose(site)), windows, now) for whose in wanted}


@dataclass(frozen=True, slots=True)
class PastRequest:
    """One request that policies were, or might have been, asked about.

    Attributes:
        event: that says it. entry: in the form that was asked for.
        kept: of who asked. permitted: what came of it. policy_event: the policies' event, where they were asked then.
    """

    event: Event
    entry: Entry
    actor: str
    kept: Mapping[str, Any] | None
    permitted: bool
    is_change: bool
    is_hold: bool
    policy_event: PolicyPermitted | PolicyRefused | None = None

    @property
    def attestation(self) -> str:
        """What the community's server had signed, where it was asked."""
        return self.policy_event.attestation if self.policy_event else ""


@dataclass(slots=True)
class PolicyReplay:
    """Attributes:
    present: the entries as they are now, by handle: ways and demands are theirs.
    routed: of what was refused.
    live: as of the event that is looked at.
    """

    present: Mapping[str, Entry]
    routed: Routed
    live: LiveThen = field(default_factory=LiveThen)
    _replaced: Entry | None = None

    def run(self, events: Sequence[Event]) -> Iterator[PastRequest]:
        """Each request in its turn, while `live` is what was live when it was decided, itself included.

        What one plan asked is decided together, after all of it is in its place.
        """
        last_of, by_policies = _last_of_plans(events), _policy_events(events)
        waiting: dict[str, list[PastRequest]] = {}
        for number, event in enumerate(events):
            request = self._follow(event)
            if request is not None:
                request = replace(request, policy_event=request.policy_event or by_policies.get(number))
                together = (request.kept or {}).get("together", "")
                if not together:
                    yield request
                elif last_of[together] == number:
                    yield from (*waiting.pop(together, ()), request)
                else:
                    waiting.setdefault(together, []).append(request)
            if isinstance(event.says, PolicyRefused):
                self._take_back(event)

    def _follow(self, event: Event) -> PastRequest | None:
        """Takes over what the event says; the request that it is of, if it is of any."""
        says, handle = event.says, event.handle or ""
        if isinstance(says, PolicyRefused):
            return self._refused(event, says, handle)
        if not isinstance(says, OfReservation) or handle not in self.present:
            return None
        before = self.live.entries.get(handle)
        after = self._after(says, before, handle, event.at)
        if after is None or after.state not in OCCUPYING:
            self.live.entries.pop(handle, None)
            return None
        self.live.entries[handle] = after
        return _request_of(event, says, before, after)

    def _after(self, says: OfReservation, before: Entry | None, handle: str, at: datetime) -> Entry | None:
        state = _STATES.get(type(says))
        form = _form_of(getattr(says, "reservation", None))
        if before is None:
            if state is None or form is None:
                return None
            return replace(self.present[handle], proposed=None, state=state, reservation=form, hold_until=None)
        if state is not None:
            return replace(before, state=state, proposed=None)
        if isinstance(says, ReservationChangeProposed) and form is not None:
            return replace(before, proposed=Proposal(form, before.paths, before.demands, says.actor, at))
        proposed = None if isinstance(says, ReservationModified | ReservationChangeRejected) else before.proposed
        if not isinstance(says, OfForms | ReservationProgress) or form is None:
            form = before.reservation
        return replace(before, reservation=form, proposed=proposed)

    def _refused(self, event: Event, says: PolicyRefused, handle: str) -> PastRequest:
        form = _form_of(says.reservation)
        assert form is not None
        before = self.live.entries.get(handle)
        if before is not None:
            entry = replace(before, reservation=form, proposed=None)
        else:
            entry = replace(self.routed(form, handle, event.at), state=State.HELD if says.is_hold else State.COMMITTED)
        self._replaced = before
        self.live.entries[handle] = entry
        return PastRequest(event, entry, says.actor, says.requester, False, says.is_change, says.is_hold, says)

    def _take_back(self, event: Event) -> None:
        """What was refused is gone again, and what it would have changed is as it was."""
        handle = event.handle or ""
        if self._replaced is None:
            self.live.entries.pop(handle, None)
        else:
            self.live.entries[handle] = self._replaced


def _request_of(event: Event, says: OfReservation, before: Entry | None, after: Entry) -> PastRequest | None:
    """A change that was approved was asked about when it was proposed."""
    is_new = before is None and isinstance(says, InState)
    approved = before is not None and before.proposed is not None and before.proposed.reservation == after.reservation
    is_change = isinstance(says, ReservationChangeProposed) or (isinstance(says, ReservationModified) and not approved)
    if not is_new and not is_change:
        return None
    kept = says.requester if isinstance(says, InState | OfForms) else None
    entry = with_proposed_change(after) if isinstance(says, ReservationChangeProposed) else after
    return PastRequest(event, entry, says.actor, kept, True, is_change, after.state is State.HELD)


def _form_of(document: object) -> Reservation | None:
    return Reservation.from_document(document) if isinstance(document, dict) else None


def _last_of_plans(events: Sequence[Event]) -> Mapping[str, int]:
    """By what the requests of a plan have in common, where the last of them stands."""
    return {
        together: number
        for number, event in enumerate(events)
        if isinstance(event.says, InState | OfForms) and (together := (event.says.requester or {}).get("together"))
    }


def _policy_events(events: Sequence[Event]) -> Mapping[int, PolicyPermitted]:
    """By where a request stands, what policies said of it: the next that they said of its reservation."""
    by_request: dict[int, PolicyPermitted] = {}
    open_requests: dict[str, int] = {}
    for number, event in enumerate(events):
        says = event.says
        if isinstance(says, PolicyPermitted) and (before := open_requests.pop(event.handle or "", None)) is not None:
            by_request[before] = says
        elif isinstance(says, InState | OfForms) and getattr(says, "reservation", None) is not None:
            open_requests[event.handle or ""] = number
    return by_request
