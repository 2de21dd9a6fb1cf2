"""What policies were asked in the past: why a request was permitted, and what other policies would have said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.book.errors import UnknownHandle
from slotcar.book.model import OCCUPYING, Entry, Event
from slotcar.book.permitting import LiveInTransaction, owners_of
from slotcar.book.rules.reserving import whose_of
from slotcar.book.rules.roles import require_operator
from slotcar.book.share_bounds import share_sentence, verdicts_on_shares
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.planning.policy_answers import (
    PolicyAnswer,
    PolicyDecision,
    PolicyDifference,
    caller_of,
    decision_on,
    decision_then,
    differences,
)
from slotcar.planning.policy_replay import PastRequest, PolicyReplay
from slotcar.planning.routing import route
from slotcar.policy.asking import verdict_on
from slotcar.policy.caller import Caller
from slotcar.policy.sharing import USE_SHARE
from slotcar.policy.site import Site
from slotcar.reservation.model import Reservation, is_storable
from slotcar.store.queries import EventFilter
from slotcar_client.wire.events import PolicyRefused

#: Kinds that may say a request; of one reservation there are no more of these than are read.
REQUESTS = ("reservation.", PolicyRefused.kind)
MOST_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class Why:
    """`then`: with what was live when it was decided. `now`: with what is live; both by the policies in force now."""

    request: PastRequest
    then: PolicyDecision
    now: PolicyDecision


@dataclass(frozen=True, slots=True)
class PastPolicies:
    desk: Desk

    def why(self, which: str, caller: Caller, now: datetime) -> Why:
        """Of the last request about a reservation, or of one that was refused.

        Raises:
            UnknownHandle: there is none that the caller may see.
        """
        handle, owner = self._of(which, caller)
        site = self.desk.ledger.terms.policy.reserving.site
        owners = frozenset().union(*(owners_of(one, site) for one in whose_of(site, owner)))
        events = self._events(handle, REQUESTS)
        if not events:
            raise UnknownHandle(which)
        history = self.desk.ledger.policy_history(events[0].at, owners)
        replay = PolicyReplay(history.entries, self.routed)
        last = None
        for request in replay.run(history.events):
            if request.event.handle == handle:
                last = request, decision_then(self.desk.ledger.terms, request, replay.live)
        if last is None:
            raise UnknownHandle(which)
        return Why(*last, self._as_of_now(last[0], now))

    def differences(
        self, site: Site, since: datetime, caller: Caller
    ) -> Iterator[tuple[PastRequest, PolicyDifference | None]]:
        """Each request since then, with what a site's policies would have decided otherwise than those in force.

        Raises:
            NotAllowed: no operator.
        """
        require_operator(caller, "see what other policies would have refused")
        history = self.desk.ledger.policy_history(since)
        replay = PolicyReplay(history.entries, self.routed)
        return differences(self.desk.ledger.terms, site, history, replay, since)

    def _of(self, which: str, caller: Caller) -> tuple[str, str]:
        """The handle and the owner of what is named; what was refused has an event and no entry."""
        if not is_storable(which):
            raise UnknownHandle(which)
        refused = () if "/" in which else self._events(which, (PolicyRefused.kind,))
        if not refused or self.desk.ledger.get(which) is not None:
            entry = Entries(self.desk).status(which, caller)
            if not verdict_on(
                caller, "policy_why", entry.reservation.owner
            ).allowed:  # totals are no delegate's business
                raise UnknownHandle(which)
            return entry.handle, entry.reservation.owner
        owner = str(refused[-1].details["owner"])
        if not verdict_on(caller, "policy_why", owner).allowed:
            raise UnknownHandle(which)
        return which, owner

    def _events(self, handle: str, kinds: Sequence[str]) -> tuple[Event, ...]:
        return self.desk.ledger.events_of(EventFilter(kinds, handle=handle), after=None, limit=MOST_EVENTS)

    def _as_of_now(self, request: PastRequest, now: datetime) -> PolicyDecision:
        """As if it were asked again: with its present form where there is one."""
        terms = self.desk.ledger.terms
        transaction = self.desk.ledger.live_copy(now).transaction()
        live = LiveInTransaction(transaction)
        present = self.desk.ledger.get(request.entry.handle)
        entry = present if present is not None and request.permitted and present.state in OCCUPYING else request.entry
        site = terms.policy.reserving.site
        entry = replace(entry, proposed=None)
        decision = decision_on(
            terms, entry, caller_of(request, site), live, now,
            is_change=request.is_change, is_hold=request.is_hold, attestation=request.attestation,
        )  # fmt: skip
        owner = entry.reservation.owner
        of_shares = tuple(
            PolicyAnswer(
                USE_SHARE, verdict, "" if verdict.allowed else share_sentence(verdict, share, used, owner, site)
            )
            for share, verdict, used in verdicts_on_shares(transaction, entry, None, now)
        )
        return replace(decision, answers=decision.answers + of_shares)

    def routed(self, reservation: Reservation, handle: str, at: datetime) -> Entry:
        """What was refused, on its shortest way."""
        return route(reservation, self.desk.network).entry(handle, 0, at)
