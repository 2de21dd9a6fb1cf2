"""What asks the slot tables for room: create, modify, report, bind, enquire, on one of the paths that a reservation may
take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slotcar.admission.model import Refused
from slotcar.book.model import AdmissionRequest, Alternative, Entry, State
from slotcar.book.operations import Admit, Rebind
from slotcar.book.reporting import Report
from slotcar.book.rules import request_limits, roles
from slotcar.book.rules.request_limits import require_few_windows, require_short_key
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.network.elsewhere import leaves
from slotcar.network.path.finding import domain_of_place
from slotcar.network.path.model import Path
from slotcar.planning.enquiry import EnquiryAnswer, ask_tables, ask_to_add
from slotcar.planning.errors import CannotExpress, LeavesTheDomain, NotPossible, RefusedByAdmission
from slotcar.planning.modification import Modification, modified, with_ports
from slotcar.planning.never_fits import never_fits, require_it_may_fit
from slotcar.planning.platform_limits import after_admission
from slotcar.planning.routing import RoutedReservation, route, routed_ways, ways
from slotcar.policy.asking import kind_of
from slotcar.policy.reserving import ACTION
from slotcar.reservation import require_valid
from slotcar.reservation.model import Reservation


@dataclass(frozen=True, slots=True)
class Options:
    """How a create is meant: `hold` keeps it for that long instead of committing it. `is_segment`: other domains have the
    rest of its path, and agree."""

    hold: timedelta | None = None
    idempotency_key: str | None = None
    fingerprint: str = ""
    is_segment: bool = False


@dataclass(frozen=True, slots=True)
class Requests:
    """Errors are `SlotcarError`s; `RefusedByAdmission` carries the numbers."""

    desk: Desk

    def create(self, reservation: Reservation, caller: Caller, now: datetime, options: Options = Options()) -> Entry:
        """Admits and commits, or holds, or leaves it to approval.

        Raises:
            RefusedByAdmission: no room; nothing is held. CannotExpress: a platform on the path has no words for it.
            InvalidInput: see `require_valid`. NameTaken, IdempotencyConflict, NoPath. RefusedByPolicy: the operator's
            rules forbid it.
        """
        roles.owner_for(caller, reservation.owner)
        require_short_key(options.idempotency_key)
        hold_until = now + options.hold if options.hold else None
        return self._admit(
            reservation,
            caller,
            now,
            hold_until=hold_until,
            idempotency_key=options.idempotency_key,
            fingerprint=options.fingerprint,
            is_segment=options.is_segment,
        )

    def modify(
        self,
        which: str,
        change: Modification,
        caller: Caller,
        now: datetime,
        expected_version: int | None = None,
    ) -> Entry:
        """Another rate or window, atomically: if the new one is refused, the old one stays as it was.

        A raise of a committed reservation above the operator's gate is `proposed` until an operator approves it, and
        the old one stays in force; it takes the place of an earlier change that waits, and so does any other change.

        Raises:
            RefusedByAdmission: no room. CannotExpress, RefusedByPolicy: see `create`. StaleVersion: it is not at
            `expected_version`. NotPossible: see `modified`.
        """
        entry, caller = Entries(self.desk).changeable(which, caller, "modify", now, alone=True)
        reservation = modified(entry.reservation, change, now)
        return self._admit(
            reservation,
            caller,
            now,
            present=entry.paths,
            hold_until=entry.hold_until,
            replaces=entry.handle,
            expected_version=expected_version if expected_version is not None else entry.version,
        )

    def propose(self, entry: Entry, reservation: Reservation, caller: Caller, now: datetime) -> Entry:
        """Keeps room for another form of a committed reservation beside what is in force; others decide which one stays.

        Raises:
            RefusedByAdmission, CannotExpress, RefusedByPolicy: see `create`.
        """
        return self._admit(
            reservation, caller, now, present=entry.paths, hold_until=None, replaces=entry.handle,
            expected_version=entry.version, proposes=True, is_segment=True,
        )  # fmt: skip

    def report(
        self,
        which: str,
        remaining_bytes: int,
        caller: Caller,
        now: datetime,
        expected_version: int | None = None,
    ) -> Entry:
        """What remains of a volume by a deadline; its rates are found again, and 0 ends it.

        Raises:
            ProgressRefused: more remains than before, or it is no such reservation, or not in force. StaleVersion.
        """
        entry, caller = Entries(self.desk).changeable(which, caller, "progress", now)
        reported = self.desk.ledger.run(
            Report(now, entry.handle, caller.actor, expected_version, remaining_bytes=remaining_bytes, as_read=entry)
        )
        if reported.state is State.ENDED:
            from slotcar.measuring.costs.history import note_finished

            note_finished(reported, self.desk.ledger.measurements, self.desk.network)
        return reported

    def bind(
        self,
        which: str,
        caller: Caller,
        now: datetime,
        source_port: int | None = None,
        destination_port: int | None = None,
        expected_version: int | None = None,
    ) -> Entry:
        """Ports that were not known before (GARA §3.1). What a flow costs the network does not change by it.

        Raises:
            NotPossible: no port was given, or it is no flow. LeavesTheDomain: others would have other ports.
            CannotExpress: flows that shared a policer would need one each, too many.
            RefusedByPolicy: see `create`.
        """
        if source_port is None and destination_port is None:
            raise NotPossible("bind needs a source port, a destination port, or both")
        entry, caller = Entries(self.desk).changeable(which, caller, "bind", now)
        if entry.reservation.claim is not None:
            raise NotPossible(f"{entry.handle} reserves {entry.reservation.claim.kind}, which has no ports to bind")
        if leaves(entry.paths, self.desk.network):
            raise LeavesTheDomain(
                f"the way of {entry.handle} leaves this controller's domain, and its ports are the same in all domains: say"
                " them with `slotcar domains modify`"
            )
        change = entry.proposed
        reservation = with_ports(entry.reservation, source_port, destination_port)
        return self.desk.ledger.run(
            Rebind(
                now,
                entry.handle,
                caller.actor,
                expected_version if expected_version is not None else entry.version,
                reservation=require_valid(reservation),
                condition=self.desk.platform_limits.condition(
                    RoutedReservation(reservation, entry.paths, entry.demands)
                ),
                proposed=with_ports(change.reservation, source_port, destination_port) if change else None,
                names_others=roles.may_see_all(caller),
            )
        )

    def enquire(self, reservation: Reservation, caller: Caller, now: datetime) -> EnquiryAnswer:
        """The highest rate each way over the windows (GARA's enquire), and what is free over time.

        Raises:
            NoPath: the endpoints are not connected, or not known. BeyondHorizon: reservations end earlier.
        """
        self.desk.ledger.terms.policy.check_reservation(reservation, now)
        request_limits.require_few_windows([("", reservation)], self.desk.settings.max_windows)
        choices = ways(reservation, self.desk.network, self.desk.settings.paths)
        answer, _ = self.desk.ledger.ask(
            lambda tables: ask_tables(reservation, choices, self.desk.network, tables), now
        )
        return answer

    def addable(self, which: str, caller: Caller, now: datetime) -> EnquiryAnswer:
        """What could be added to a reservation of the caller's own, from now to its end.

        Raises:
            UnknownHandle: see `status`. NotPossible: see `ask_to_add`.
        """
        entry = Entries(self.desk).status(which, caller)
        answer, _ = self.desk.ledger.ask(lambda tables: ask_to_add(entry, self.desk.network, tables, now), now)
        return answer

    def _admit(
        self, reservation: Reservation, caller: Caller, now: datetime, present: Sequence[Path] = (), **how: Any
    ) -> Entry:
        """`present`: the paths of the reservation that this is another form of."""
        require_few_windows([("", reservation)], self.desk.settings.max_windows)
        routed = route(require_valid(reservation), self.desk.network)
        how |= self.approvals(caller)(reservation)
        if self.desk.settings.paths == 1:
            require_it_may_fit([routed], self.desk.ledger.terms.capacities, now)
            answer = self.desk.ledger.run(Admit(now, self.request(routed, caller, **how)))
        else:
            answer = self._admit_on_one(routed, caller, now, present, **how)
        if isinstance(answer, Refused):
            raise RefusedByAdmission(reservation, answer)
        return answer

    def approvals(self, caller: Caller) -> Callable[[Reservation], Mapping[str, Any]]:
        """What the servers of owners' communities say of reservations that are asked for together, where they have one and
        policies may ask for it, as parts of a request. They are asked before the ledger's lock is taken."""
        site = self.desk.ledger.terms.policy.reserving.site
        servers = any(one.server for one in site.communities.values())
        if not servers or site.policies.is_open(ACTION, kind_of(caller)):
            return lambda _reservation: {}
        from slotcar.desk.community_servers import Approvals

        return Approvals(site).of

    def _admit_on_one(
        self, routed: RoutedReservation, caller: Caller, now: datetime, present: Sequence[Path], **how: Any
    ) -> Entry | Refused:
        """Admits on the shortest path, which is free for most requests; other paths are only looked for where it is not.

        `routed`: the reservation on its shortest path.
        """
        capacities = self.desk.ledger.terms.capacities
        if not present and never_fits(routed, capacities, now) is None:
            answer = self.desk.ledger.run(Admit(now, self.request(routed, caller, moves=False, **how)))
            if isinstance(answer, Entry):
                return answer
        choices = routed_ways(routed, self.desk.network, self.desk.settings.paths, present)
        require_it_may_fit(choices, capacities, now)
        first, *others = [one for one in choices if never_fits(one, capacities, now) is None]
        alternatives = tuple(self._alternatives(others))
        return self.desk.ledger.run(Admit(now, self.request(first, caller, alternatives=alternatives, **how)))

    def _alternatives(self, choices: Sequence[RoutedReservation]) -> Iterator[Alternative]:
        """The choices as alternatives, without the paths on which a platform cannot express the reservation."""
        for one in choices:
            with suppress(CannotExpress):
                yield Alternative(one.paths, one.demands, self.desk.platform_limits.condition(one))

    def request(
        self, routed: RoutedReservation, caller: Caller, *, is_segment: bool = False, **how: Any
    ) -> AdmissionRequest:
        """
        Raises:
            LeavesTheDomain: the path leaves for domains of other controllers, which nobody asks.
        """
        claim, network = routed.reservation.claim, self.desk.network
        if not is_segment and claim is not None and domain_of_place(claim.place, network).elsewhere:
            raise LeavesTheDomain(
                f"{claim.place} is in a domain of another controller: reserve the group with `slotcar domains`, which asks"
                " that one, too"
            )
        if not is_segment and leaves(routed.paths, network):
            raise LeavesTheDomain(
                f"the way from {routed.paths[0].source} to {routed.paths[0].destination} leaves this controller's domain:"
                " reserve, change and end it with `slotcar domains`, which asks the others, too"
            )
        return AdmissionRequest(
            reservation=self.granted(routed.reservation, caller),
            paths=routed.paths,
            demands=routed.demands,
            actor=caller.actor,
            condition=after_admission(self.desk.platform_limits.condition, routed),
            names_others=roles.may_see_all(caller),
            caller=caller,
            **how,
        )

    def granted(self, reservation: Reservation, caller: Caller) -> Reservation:
        """The reservation with the accounts whose processes it may bind. Every request passes here, whatever document
        it came in (ADR 48)."""
        return self.desk.ledger.terms.policy.endpoints.granted(reservation, operator=roles.is_operator(caller))
