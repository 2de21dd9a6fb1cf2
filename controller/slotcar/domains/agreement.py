"""A domain's part in the agreement: it keeps connections, does what they say is to be done, and hears its neighbours.

What is decided is `protocol`'s. Each step is kept before anything is done or said because of it. Two controllers of one
domain may do this at once: a step that another one was quicker with is forgotten and taken anew, and what a ledger is
asked for has the same result twice.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import structlog

from slotcar.base.problems import SlotcarError, in_one_line, printable, shortened
from slotcar.base.timebase import iso
from slotcar.base.vocabulary import OnFailure
from slotcar.book.errors import LedgerUnavailable, ProgressRefused
from slotcar.domains import protocol, together, volumes
from slotcar.domains.delays import DelayPart, Parts, shared_out
from slotcar.domains.enquiring import FreeBehind, Steps, at_most, joined_with, with_worst
from slotcar.domains.errors import (
    ConnectionRefused,
    ConnectionUndecided,
    NotAuthentic,
    NotThatWay,
    TicketRefused,
    UnknownConnection,
)
from slotcar.domains.keeping import connection_of, row_of
from slotcar.domains.keys import DomainKey
from slotcar.domains.model import OVER, Connection, ConnectionPhase, Deed, DeedResult, Kind, PeerMessage
from slotcar.domains.neighbours import Meetings, Neighbour, known
from slotcar.domains.of_reservations import OfReservations
from slotcar.domains.of_slss import OfSlss
from slotcar.domains.segment_states import (
    SegmentState,
    for_receiver,
    heard_states,
    in_order,
    own_state,
    row_of_state,
    state_of_row,
    tells,
)
from slotcar.domains.sls_requests import PREFIX, SlsRequest, is_about_sls
from slotcar.domains.slss_with_reservations import WITH_RESERVATIONS, SlssWithReservations, holds_nothing_yet
from slotcar.domains.subjects import Keeper, RequestedWay, Subject
from slotcar.domains.tickets import LARGEST_CLOCK_DIFFERENCE, checked_message, issuer_of, signed_message
from slotcar.domains.volumes import Volume
from slotcar.domains.way import NOBODY, Asker, PeerRequest, Segment, for_next, for_others, plain, received
from slotcar.network import Network
from slotcar.network.path import find_paths
from slotcar.reservation.model import Reservation
from slotcar.store.connections import ConnectionRow, ConnectionStore, TicketRow
from slotcar_client.wire.events import ConnectionReleased, ConnectionWithheld
from slotcar_client.wire.events import Kind as EventKind

log = structlog.get_logger("slotcar.domains")
#: What is not answered is said again after so long, and then twice as long, up to the longest.
FIRST_REPEAT, LONGEST_REPEAT = timedelta(seconds=1), timedelta(seconds=30)
LONGEST_WHY = 2000
#: Neighbours are asked about what is in force when a controller begins, and then so often: an end may have been missed.
ASK_EVERY = timedelta(hours=1)
#: A question goes along the row no more often than this.
ASK_AGAIN = timedelta(seconds=1)
#: How often it is looked what devices have of a slot.
LOOK_AT_SLOTS = timedelta(seconds=5)
FORGET_TICKETS_EVERY = timedelta(hours=1)
#: A volume that its slots do not move in time is planned again so often: room may have come free.
PLAN_AGAIN = timedelta(seconds=60)
#: A neighbour that does not let an SLS be changed down is asked again so often.
CHANGE_DOWN_AGAIN = timedelta(seconds=60)
#: What is asked, and answered, of what is free: it belongs to no connection, and changes nothing.
ENQUIRE, FREE = "enquire", "free"
#: What is known of the slot of a connection of which nothing was looked at.
_NO_SLOT = "", False
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
#: Another controller of the domain may have gone on with a connection.
LOOK_AGAIN_S = 0.2
#: A step that others are quicker with is taken anew so often.
MOST_TRIES = 50


class SegmentKeeper(Keeper, Protocol):
    """The domain's own ledger, for segments."""

    def free(self, request: PeerRequest, now: datetime) -> Mapping[str, Steps]:
        """What is free over its windows: `together`, and by each of its directions.

        Raises:
            SlotcarError: nothing can be said of it.
        """

    def has_held(self, connection: Connection) -> bool:
        """Whether what the attempt asks for is held already."""

    def own_reservation(self, request: PeerRequest, connection_id: str) -> Reservation:
        """The request as this domain's ledger has it."""

    def worst_delay(self, request: PeerRequest, now: datetime) -> DelayPart:
        """The worst delay and jitter that its packets have here, beside what is reserved now.

        Raises:
            SlotcarError: none follows.
        """

    def least_rate_bps(self) -> int:
        """What no step of a profile may be slower than, by what the domain's devices can police."""


class ForeignNeighbour(Protocol):
    """A neighbour that speaks another protocol, and is asked as the next domain only. It gives no tickets."""

    def cannot(self, reservation: Reservation) -> str:
        """Why it cannot be asked for a reservation, where its protocol has no words for it; empty where it can."""

    def say(self, message: PeerMessage, connection: Connection) -> Sequence[PeerMessage]:
        """What it is known to answer; what it is not known to have done yet is asked again later.

        Raises:
            SlotcarError: it was not reached, or in no words that can be read.
        """


class Carrier(Protocol):
    """How messages go to neighbours."""

    def say(self, neighbour: Neighbour, text: str) -> Sequence[str]:
        """What the neighbour answers at once, signed.

        Raises:
            NotAuthentic: another one answers. SlotcarError: nobody does, or in no words that can be read.
        """


@dataclass(slots=True)
class _Repeats:
    """When what was said last is said again."""

    at: datetime
    after: timedelta


@dataclass(slots=True)
class _Lock:
    """For one connection, as long as somebody has it or waits for it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    users: int = 0


@dataclass(slots=True)
class Agreement:
    """Attributes:
    name: the domain's. network: as `seen_by` gives it. spread: runs what sends messages, beside whoever asked.
    foreign: neighbours that speak another protocol. closes: what ends with it.
    watchers: are told which connection has changed. slss: for SLSs that are agreed on with neighbours; None for none.
    plan_again: finds the slots of a connection's volume again; see `slotcar.domains.agreeing_on_volumes`.
    """

    name: str
    network: Network
    store: ConnectionStore
    segments: SegmentKeeper
    key: DomainKey
    neighbours: Mapping[str, Neighbour]
    carrier: Carrier
    now: Callable[[], datetime]
    spread: Callable[[Callable[[], None]], None]
    closes: tuple[Callable[[], None], ...] = ()
    watchers: list[Callable[[str], None]] = field(default_factory=list)
    foreign: Mapping[str, ForeignNeighbour] = field(default_factory=dict)
    slss: OfSlss | None = None
    plan_again: Callable[[str], object] | None = None
    meetings: Meetings = field(default_factory=Meetings)
    _locks: dict[str, _Lock] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _repeats: dict[PeerMessage, _Repeats] = field(default_factory=dict)
    _queried_at: dict[tuple[str, str], datetime] = field(default_factory=dict)
    _planned_at: dict[str, datetime] = field(default_factory=dict)
    _changed_down_at: dict[str, datetime] = field(default_factory=dict)
    _slots: dict[str, tuple[str, bool]] = field(default_factory=dict)
    #: Connections of which a slot is open, and when it was looked at what devices have of it.
    _open: dict[str, datetime] = field(default_factory=dict)
    #: Connections that the ledger has changed, until they were looked at.
    _to_look_at: set[str] = field(default_factory=set)
    _has_begun: bool = False
    _tickets_forgotten: datetime | None = None

    # -- what clients ask for ------------------------------------------------------------------------------------

    def reserve(
        self, reservation: Reservation, owner: str, *, by_agent: bool = False, behind: PeerRequest | None = None,
        connection_id: str | None = None, previous: str | None = None, waits: bool = False, asker: Asker = NOBODY,
        volume: Volume | None = None,
    ) -> Connection:  # fmt: skip
        """Begins a connection whose first domain is this one, for the asker; with `behind`, an agent asks a further domain.

        `volume`: what the reservation's slots are to move.
        `waits`: a requester of NSI asks. It is held in all domains from this one on until `commit` or `give_up` says what
        becomes of it, or the hold runs out.

        Raises:
            NoPath, NotThatWay, NotAuthentic: there is no way over domains that are known. ConnectionRefused: the
                connection that an agent asks for further is another one here.
        """
        request = behind or self._first_request(reservation, owner, self.name, asker, volume, is_onward=waits)
        reservations = self._reservations
        way = reservations.begun(request, reservations.segment(request, previous))
        connection_id = connection_id or f"{self.name}-{secrets.token_hex(8)}"
        if is_about_sls(connection_id):
            raise NotThatWay(f"{self.name}: {connection_id} is no name of a connection that carries a reservation")
        if behind is not None:
            self._require_free_or_same(connection_id, way)
        return self._begin(connection_id, way, by_agent=by_agent, waits=waits)

    def _require_free_or_same(self, connection_id: str, way: RequestedWay) -> None:
        """An agent that asks again gets what it had; whoever says another one's connection is told nothing of that.

        Raises:
            ConnectionRefused.
        """
        row = self.store.find(connection_id)
        if row is None:
            return
        present = connection_of(row)
        if not present.by_agent or (present.request, present.previous) != (way.request, way.previous):
            raise ConnectionRefused(f"{self.name}: there is a connection {connection_id} already, for something else")

    def _first_request(
        self, reservation: Reservation, who: str, origin: str, asker: Asker, volume: Volume | None = None, *,
        is_onward: bool = False,
    ) -> PeerRequest:  # fmt: skip
        """
        Raises:
            ConnectionRefused: a bound of delay cannot be kept by the domains together. See `reserve`.
        """
        form = for_others(reservation, self.network)
        request = PeerRequest(
            form,
            who,
            origin,
            (),
            written=reservation,
            actor=asker.name,
            requester=asker.kept,
            volume=volume,
            is_onward=is_onward,
        )
        return replace(request, parts=self._delay_parts(request)) if reservation.is_bounded else request

    def _delay_parts(self, request: PeerRequest) -> Parts:
        """
        Raises:
            ConnectionRefused: the domains have more than the bound, or one tells nothing.
        """
        answer = self._free_from_here(request, self._reservations.segment(request, None))
        unknown = ", ".join(answer.unknown_beyond)
        why = answer.unbounded or (f"nothing is told of delays beyond {unknown}" if unknown else "")
        parts = why or shared_out(request.reservation, answer.worst)
        if isinstance(parts, str):
            raise ConnectionRefused(self._worded(parts))
        return parts

    def agree_on(
        self, request: SlsRequest, asker: Asker = NOBODY, *, waits: bool = False, connection_id: str | None = None
    ) -> Connection:
        """Begins an attempt to open, change or end an SLS with a neighbour; see `waits` of `reserve`.

        Raises:
            NotAuthentic: the other side is no neighbour that is known. NotThatWay: this controller agrees on no SLSs.
        """
        known(self.neighbours, request.other, self.name)
        way = self._slss().begun(replace(request, actor=asker.name, requester=asker.kept))
        return self._begin(connection_id or f"{PREFIX}{self.name}-{secrets.token_hex(8)}", way, waits=waits)

    def _slss(self) -> OfSlss:
        if self.slss is None:
            raise NotThatWay(f"{self.name} agrees on no SLSs with its neighbours")
        return self.slss

    def reserve_together(
        self, members: Sequence[tuple[Reservation, Volume | None]], owner: str, asker: Asker = NOBODY,
        connection_ids: Sequence[str] = (),
    ) -> tuple[str, ...]:  # fmt: skip
        """Begins connections that are committed in all domains together, or not at all; their ids, new ones by default.

        Raises:
            NoPath, NotThatWay, NotAuthentic: as `reserve`, of any of them.
        """
        reservations, begun = self._reservations, []
        ids = connection_ids or [f"{self.name}-{secrets.token_hex(8)}" for _ in members]
        for (reservation, volume), connection_id in zip(members, ids, strict=True):
            alone = reservation.model_copy(update={"together": None})
            request = self._first_request(alone, owner, self.name, asker, volume)
            way = reservations.begun(request, reservations.segment(request, None))
            begun.append(self._begun(connection_id, way))
        goes_on = [one.together is not None and one.together.on_failure is not OnFailure.END_ALL for one, _ in members]
        formed = together.formed(begun, goes_on)
        rows = [(row_of(each, 1, self.now()), self._subject(each.id).event_of(None, each)) for each in formed]
        self.store.add_all(rows)
        for each in formed:
            self.drive(each.id)
        return tuple(each.id for each in formed)

    def all_in_force(self, members: Sequence[str], timeout_s: float) -> tuple[Connection, ...]:
        """The connections that are reserved together, once they are in force.

        Raises:
            ConnectionRefused: one was refused, and with it all. ConnectionUndecided.
        """
        until_s = time.monotonic() + timeout_s
        connections = [self.settled(each, max(0.0, until_s - time.monotonic())) for each in members]
        refused = together.refused_first(connections)
        if refused is not None:
            raise ConnectionRefused(f"{PeerRequest.from_text(refused.request).reservation.name}: {refused.why}")
        return tuple(self.in_force(each, 1, 0) for each in members)

    def _decide_together(self, members: Sequence[str]) -> None:
        """Takes what is to be decided of connections that are reserved together, in one transaction."""
        for _ in range(MOST_TRIES):
            rows = [self._row(each) for each in members]
            before = [connection_of(row) for row in rows]
            changed = [
                (row, old, new)
                for row, old, new in zip(rows, before, together.decided(before), strict=True)
                if new != old
            ]
            if not changed:
                return
            now = self.now()
            kept = [
                (row_of(new, row.revision + 1, now), self._subject(new.id).event_of(old, new))
                for row, old, new in changed
            ]
            if self.store.change_all(kept):
                for _, old, new in changed:
                    self._tell_of(old, new)
                    self.drive(new.id)
                return
        raise LedgerUnavailable(f"connections {', '.join(members)} are changed by others all the time")

    def _begin(
        self, connection_id: str, way: RequestedWay, *, by_agent: bool = False, waits: bool = False
    ) -> Connection:
        self._add(self._begun(connection_id, way, by_agent=by_agent, waits=waits))
        self.drive(connection_id)
        return self.get(connection_id)

    def _begun(
        self, connection_id: str, way: RequestedWay, *, by_agent: bool = False, waits: bool = False
    ) -> Connection:
        return protocol.begun(
            connection_id, self.name, (way.previous, way.next), way.request, way.ends, self.now(),
            by_agent=by_agent, waits=waits,
        )  # fmt: skip

    def _add(self, connection: Connection) -> None:
        """Keeps a new connection, unless it is there already."""
        says = self._subject(connection.id).event_of(None, connection)
        self.store.add(row_of(connection, 1, self.now()), says)

    def _subject(self, connection_id: str) -> Subject:
        """What a connection is about, by its id."""
        return self._slss() if is_about_sls(connection_id) else self._reservations

    @property
    def _reservations(self) -> OfReservations:
        return OfReservations(self.name, self.network, self.key, self.segments, self.neighbours, self.foreign)

    def modify(
        self, connection_id: str, reservation: Reservation, asker: Asker = NOBODY, volume: Volume | None = None
    ) -> Connection:
        """Begins another form of what is in force, for the asker; see `volume` of `reserve`.

        Raises:
            UnknownConnection, NotThatWay, NotNow: nothing is in force, or an attempt is under way; or another domain leads.
        """
        now = self.now()
        is_onward = PeerRequest.from_text(self.get(connection_id).request).is_onward
        request = self._first_request(reservation, *self._who(connection_id), asker, volume, is_onward=is_onward)
        reservations = self._reservations
        way = reservations.begun(request, reservations.segment(request, None))

        def changed(connection: Connection) -> Connection:
            self._require_first(connection)
            self._require_same_row(connection, way)
            return protocol.changed(connection, request.to_text(), reservation.end, now)

        self._step(connection_id, changed)
        self.drive(connection_id)
        return self.get(connection_id)

    def restate(self, connection_id: str, volume: Volume) -> Connection:
        """Keeps what remains of a connection's volume, which changes nothing of what is agreed on.

        Raises:
            UnknownConnection.
        """

        def restated(connection: Connection) -> Connection:
            in_force = replace(PeerRequest.from_text(connection.in_force), volume=volume).to_text()
            return protocol.restated(connection, in_force)

        return self._step(connection_id, restated)

    def _who(self, connection_id: str) -> tuple[str, str]:
        request = PeerRequest.from_text(self.get(connection_id).request)
        return request.who, request.origin

    def _require_first(self, connection: Connection) -> None:
        if not connection.is_first:
            first = PeerRequest.from_text(connection.request).origin
            raise protocol.NotNow(f"{self.name}: connection {connection.id} is changed in {first}, where it begins")

    def _require_same_row(self, connection: Connection, way: RequestedWay) -> None:
        """That the same neighbours are asked as before.

        Raises:
            NotThatWay.
        """
        for before, after in ((connection.previous, way.previous), (connection.next, way.next)):
            if before != after:
                raise NotThatWay(
                    f"{self.name}: connection {connection.id} goes by {before or 'no other domain'} there, and this would"
                    f" go by {after or 'no other domain'}: end it, and reserve anew"
                )

    def end(self, connection_id: str, why: str, by: Asker = NOBODY) -> Connection:
        """Ends a connection in all domains. `by`: who wants that, here."""

        def ended(connection: Connection) -> Connection:
            after = protocol.ended(connection, f"{self.name}: {why}")
            if after is connection or not by.name:
                return after
            return replace(after, request=replace(PeerRequest.from_text(after.request), ended_by=by).to_text())

        self._step(connection_id, ended)
        self.drive(connection_id)
        return self.get(connection_id)

    def give_up(self, connection_id: str, why: str) -> Connection:
        """Ends an attempt that is not decided; what was in force before it stays.

        Raises:
            UnknownConnection, NotNow.
        """
        self._step(connection_id, lambda connection: protocol.given_up(connection, f"{self.name}: {why}"))
        self.drive(connection_id)
        return self.get(connection_id)

    def commit(self, connection_id: str) -> Connection:
        """Phase two, where a client leads: an agent, or a requester of NSI.

        Raises:
            UnknownConnection, NotNow.
        """
        self._step(connection_id, protocol.committed_by_agent)
        self.drive(connection_id)
        return self.get(connection_id)

    def show(self, connection_id: str, ticket: str) -> Connection:
        """Takes the next domain's ticket from an agent.

        Raises:
            UnknownConnection, TicketRefused.
        """
        connection = self.get(connection_id)
        if connection.next is None:
            raise TicketRefused(
                f"{self.name} is the last domain of connection {connection_id}: it needs nobody's ticket"
            )
        message = PeerMessage(
            Kind.CONFIRMED, connection_id, connection.version, connection.next, self.name, content=ticket
        )
        if connection.phase in OVER:
            raise TicketRefused(
                f"{self.name}: connection {connection_id} is {connection.phase.value}: no ticket is taken"
            )
        self._require_ticket(connection, message)
        self._step(connection_id, lambda each: protocol.receive(each, message, self.now())[0] or each)
        self.drive(connection_id)
        return self.get(connection_id)

    def ticket_for(self, connection: Connection) -> str:
        """What an agent shows to the previous domain; empty where this one cannot vouch yet."""
        if connection.previous is None or connection.phase is not ConnectionPhase.HELD:
            return ""
        return self._subject(connection.id).ticket(connection, self.now())

    def request_for_next(self, connection_id: str) -> str:
        """What an agent asks the next domain for; empty where this is the last one."""
        connection = self.get(connection_id)
        return self._subject(connection_id).for_next(connection.request) if connection.next else ""

    def get(self, connection_id: str) -> Connection:
        """
        Raises:
            UnknownConnection.
        """
        return connection_of(self._row(connection_id))

    def latest(self, limit: int) -> tuple[Connection, ...]:
        """Those that carry a reservation."""
        return tuple(map(connection_of, self.store.latest(limit, without=PREFIX)))

    def settled(self, connection_id: str, timeout_s: float) -> Connection:
        """The connection once nothing is left to do, or after so long."""
        until_s = time.monotonic() + timeout_s
        while not (connection := self.get(connection_id)).is_settled and self._waits(until_s):
            pass
        return connection

    def over_everywhere(self, connection_id: str, timeout_s: float) -> Connection:
        """The connection once all domains that are known of have said that it is over, or after so long."""
        until_s = time.monotonic() + timeout_s
        while True:
            connection = self.get(connection_id)
            is_over = all(state.is_over for state in self.segment_states(connection))
            if is_over or not self._waits(until_s):
                return connection
            if connection.is_settled:
                self.ask(connection)

    def _waits(self, until_s: float) -> bool:
        """Waits until something may have changed; whether there is time left."""
        rest_s = until_s - time.monotonic()
        if rest_s > 0:
            with self._changed:
                self._changed.wait(min(rest_s, LOOK_AGAIN_S))
        return rest_s > 0

    # -- what is free --------------------------------------------------------------------------------------------

    def free_behind(self, reservation: Reservation, owner: str) -> FreeBehind:
        """What the domains behind this one tell of what is free on a reservation's way; its rate does not matter.

        Raises:
            NoPath.
        """
        paths = find_paths(reservation, self.network)
        unknown = FreeBehind(unknown_beyond=(self.name,))
        try:
            request = PeerRequest(plain(reservation, paths), owner, self.name, (), written=reservation)
            segment = self._reservations.flow_segment(request, paths)
            if segment.next is None:
                return FreeBehind()
        except NotThatWay:
            return unknown
        return self._ask_free(request, segment)

    def free_along(self, reservation: Reservation, owner: str) -> FreeBehind:
        """What is free on a reservation's way in this domain and in those behind it; its rate does not matter.

        Raises:
            NoPath, NotThatWay, NotAuthentic: see `reserve`. SlotcarError: nothing can be said of it here.
        """
        request = self._first_request(reservation, owner, self.name, NOBODY)
        segment = self._reservations.segment(request, None)
        return self._free_from_here(request, segment)

    def _free_from_here(self, request: PeerRequest, segment: Segment, at_most_bps: int | None = None) -> FreeBehind:
        """What this domain has for a request, and those behind it tell."""
        now = self.now()
        own = {name: at_most(steps, at_most_bps) for name, steps in self.segments.free(request, now).items()}
        joined = joined_with(self.name, own, self._ask_free(request, segment) if segment.next else FreeBehind())
        if not request.reservation.is_bounded:
            return joined
        try:
            return with_worst(self.name, self.segments.worst_delay(request, now), joined)
        except SlotcarError as error:
            return with_worst(self.name, self._named(error), joined)

    def _ask_free(self, request: PeerRequest, segment: Segment) -> FreeBehind:
        unknown = FreeBehind(unknown_beyond=(self.name,))
        neighbour = self.neighbours.get(segment.next.domain) if segment.next else None
        if neighbour is None or neighbour.name in self.foreign:
            return unknown
        body = {"kind": ENQUIRE, "content": for_next(request, segment, self.name).to_text()}
        try:
            texts = self.carrier.say(neighbour, signed_message(self.key, neighbour.name, body, self.now()))
            if not texts:
                return unknown
            answer, _ = checked_message(texts[0], neighbour.name, neighbour.certificate, self.name, self.now())
            behind = FreeBehind.from_text(str(answer.get("content")), neighbour.name)
        except SlotcarError as error:
            self.meetings.troubles[neighbour.name] = self._named(error)
            return unknown
        return behind if behind.steps else unknown

    def _tell_free(self, sender: str, text: str) -> FreeBehind:
        """What a neighbour is told; nothing where the inventory says so, or its way is none."""
        neighbour = self.network.domains[sender]
        if not neighbour.tells_free:
            return FreeBehind()
        try:
            request = received(text)
            segment = self._reservations.segment(request, sender)
            return self._free_from_here(request, segment, neighbour.at_most_bps)
        except (SlotcarError, ValueError):
            return FreeBehind()

    # -- what was missed -----------------------------------------------------------------------------------------

    def settle(self, connection_id: str | None = None) -> tuple[str, ...]:
        """Asks the neighbours at once about a connection, or all that are open; which ones. What they say is followed.

        Raises:
            UnknownConnection.
        """
        now = self.now()
        rows = [*self.store.unsettled(), *self.store.not_over(now, ConnectionPhase.START.value)]
        ids = tuple(row.id for row in rows) if connection_id is None else (connection_id,)
        for each in ids:
            self.drive(each)
            self.ask_again(each)
            self.ask(self.get(each))
        return ids

    def ask(self, connection: Connection, *, but: str = "") -> None:
        """Asks neighbours, `but` the one that wants to know, what they have of a connection that is settled here."""
        now = self.now()
        for question in protocol.questions(connection):
            key = (connection.id, question.receiver)
            with self._changed:
                queried_at = self._queried_at.get(key)
                if question.receiver == but or (queried_at is not None and now - queried_at < ASK_AGAIN):
                    continue
                self._queried_at[key] = now
            self._say(question)

    def segment_states(self, connection: Connection) -> list[SegmentState]:
        """What each domain of the row says of its segment, as far as it was heard."""
        words, not_ready = self._slots.get(connection.id, _NO_SLOT)
        own = own_state(connection, words, self.now(), not_ready=not_ready)
        return in_order([own, *map(state_of_row, self.store.segment_rows(connection.id))], connection)

    def in_force(self, connection_id: str, version: int, timeout_s: float) -> Connection:
        """The connection once an attempt is in force.

        Raises:
            ConnectionRefused: it failed. ConnectionUndecided.
        """
        connection = self.settled(connection_id, timeout_s)
        if connection.committed >= version:
            return connection
        if connection.why:
            raise ConnectionRefused(connection.why)
        raise ConnectionUndecided(self._undecided(connection))

    def _undecided(self, connection: Connection) -> str:
        """That it may still come about, until when, and what is known of who is waited for."""
        awaited, until = protocol.awaited(connection), iso(connection.until.replace(microsecond=0))
        trouble = self.meetings.troubles.get(connection.next or "", "")
        reason = f" ({trouble.removeprefix(f'{self.name}: ')})" if trouble else ""
        return (
            f"{self.name}: the domains have not agreed yet; {awaited}{reason}: connection {connection.id} is"
            f" {connection.phase.value}, and is given up where they have not agreed by {until}; see"
            f" `slotcar domains show {connection.id}`, or end it"
        )

    # -- what neighbours say -------------------------------------------------------------------------------------

    def hear(self, text: str) -> list[str]:
        """What is answered to a neighbour's message, signed.

        Raises:
            NotAuthentic: it is no neighbour's, or not for this domain, or its clock differs.
        """
        sender = issuer_of(text)
        try:
            neighbour = known(self.neighbours, sender, self.name)
            body, difference = checked_message(text, sender, neighbour.certificate, self.name, self.now())
            if body.get("kind") == ENQUIRE:
                free = {"kind": FREE, "content": self._tell_free(sender, str(body.get("content"))).to_text()}
                return [signed_message(self.key, sender, free, self.now())]
            message = _message_of(body, sender, self.name)
        except NotAuthentic as error:
            if sender in self.neighbours:
                self.meetings.troubles[sender] = str(error)
            raise
        self.meetings.differences[sender] = difference
        self.meetings.troubles.pop(sender, None)
        self._hear_segments(message, body.get("segments"))
        if message.kind is Kind.STATES:
            return []
        reply = self._take(message)
        if reply is None and message.kind is Kind.QUERY:
            reply = replace(message, kind=Kind.STATES, sender=self.name, receiver=sender, why="", content="")
        return [self._signed(reply)] if reply else []

    def _hear_segments(self, message: PeerMessage, listed: object) -> None:
        """Keeps what a neighbour says of segments on its side, and hands on what no other message will bring."""
        row = self.store.find(message.connection)
        connection = connection_of(row) if row else None
        if connection is None or message.sender not in (connection.previous, connection.next):
            return
        states = heard_states(listed, message.sender, self.name)
        before = {state.domain: state.not_ready for state in map(state_of_row, self.store.segment_rows(connection.id))}
        news = [
            state
            for state in states
            if self.store.tell(row_of_state(connection.id, state), _readiness(connection, state, before))
        ]
        if news:
            with self._changed:
                self._changed.notify_all()
        if connection.is_settled or connection.phase is ConnectionPhase.TERMINATING:
            other = connection.next if message.sender == connection.previous else connection.previous
            if news and other is not None:
                self._say(self._telling(connection, other))
            if message.kind is Kind.QUERY:
                self.spread(lambda: self.ask(connection, but=message.sender))

    def _telling(self, connection: Connection, receiver: str) -> PeerMessage:
        return PeerMessage(Kind.STATES, connection.id, connection.version, self.name, receiver)

    def _take(self, message: PeerMessage) -> PeerMessage | None:
        row = self.store.find(message.connection)
        connection = connection_of(row) if row else None
        if connection is not None and message.sender not in (connection.previous, connection.next):
            raise NotAuthentic(f"{message.sender} has no part in connection {message.connection} at {self.name}")
        if message.kind is Kind.RESERVE and (connection is None or _asks_for_more(connection, message)):
            return self._answer_request(message, connection)
        if connection is None:
            return protocol.receive(None, message, self.now())[1]
        if message.kind is Kind.CONFIRMED and message.sender == connection.next:
            message = self._with_ticket_checked(connection, message)
        replies: list[PeerMessage | None] = []

        def received(each: Connection) -> Connection:
            after, reply = protocol.receive(each, message, self.now())
            replies.append(reply)
            return after or each

        after = self._step(message.connection, received)
        self.spread(lambda: self.drive(message.connection))
        return replies[-1] if after else None

    def _answer_request(self, message: PeerMessage, present: Connection | None) -> PeerMessage | None:
        """A first, or a further, attempt that a neighbour asks for."""
        now = self.now()
        try:
            way = self._subject(message.connection).way(message.content, message.sender, now)
            if present is not None:
                self._require_same_row(present, way)
        except (SlotcarError, ValueError) as error:
            why = self._named(error)
            return PeerMessage(
                Kind.REFUSED, message.connection, message.version, self.name, message.sender, why[:LONGEST_WHY]
            )
        if present is None:
            self._add(self._begun(message.connection, way))
        else:
            self._step(
                message.connection,
                lambda each: (
                    protocol.changed(each, way.request, way.ends, now, message.version)
                    if _asks_for_more(each, message) else each
                ),
            )  # fmt: skip
        self.spread(lambda: self.drive(message.connection))
        return PeerMessage(Kind.PENDING, message.connection, message.version, self.name, message.sender)

    def _with_ticket_checked(self, connection: Connection, message: PeerMessage) -> PeerMessage:
        """The message, or where its ticket does not hold what the domain would say that refused."""
        if message.sender in self.foreign:
            return message
        try:
            self._require_ticket(connection, message)
        except TicketRefused as error:
            self.meetings.troubles[message.sender] = str(error)
            return replace(message, kind=Kind.REFUSED, why=self._named(error), content="")
        return message

    def _require_ticket(self, connection: Connection, message: PeerMessage) -> None:
        neighbour = known(self.neighbours, message.sender, self.name)
        if message.version == connection.version and connection.phase is ConnectionPhase.CHECKING:
            subject = self._subject(connection.id)
            claims = subject.checked(connection, message, neighbour.certificate, self.now())
            self._require_first_use(message, claims)

    def _require_first_use(self, message: PeerMessage, claims: Mapping[str, Any]) -> None:
        """
        Raises:
            TicketRefused: a ticket of this number was taken for another attempt.
        """
        ends = datetime.fromtimestamp(float(claims["exp"]), UTC)
        ticket = TicketRow(message.sender, claims["jti"], message.connection, message.version, ends)
        first = self.store.take_ticket(ticket)
        if (first.connection, first.version) != (ticket.connection, ticket.version):
            raise TicketRefused(
                f"{message.sender}'s ticket {ticket.number} was taken already, for version {first.version} of connection"
                f" {first.connection}"
            )

    # -- what is done and said -----------------------------------------------------------------------------------

    def drive(self, connection_id: str) -> None:
        """Does what is to be done for a connection until only others can go on, and says what is to be said."""
        for _ in range(MOST_TRIES):
            with self._locked(connection_id):
                connection = self.get(connection_id)
                deed = next((item for item in protocol.todo(connection, self.now()) if isinstance(item, Deed)), None)
                if deed is None:
                    break
                result = self._done(deed, connection)
                if result is None:
                    break
                self._step(connection_id, lambda each, result=result: protocol.done(each, result))  # type: ignore[misc]
        for message in self._unsaid(connection_id):
            self._say(message)

    def _done(self, deed: Deed, connection: Connection) -> DeedResult | None:
        """None where it cannot be done yet: it is asked for again."""
        try:
            if deed is not Deed.HOLD or is_about_sls(connection.id):
                return self._subject(connection.id).keeper.do(deed, connection, self.now())
            return self._held(connection)
        except LedgerUnavailable as error:
            log.warning("a segment waits for the ledger", connection=connection.id, because=str(error))
            return None

    def _held(self, connection: Connection) -> DeedResult | None:
        """Holds a segment, once the SLSs with the next domain have room for it, where these go with reservations."""
        why = self._room_with_next(connection)
        if why != "":
            return None if why is None else DeedResult(Deed.HOLD, connection.version, why)
        result = self.segments.do(Deed.HOLD, connection, self.now())
        if result.why and self._room_with_next(connection) is None:
            return None  # somebody else took the room
        return result

    def _room_with_next(self, connection: Connection) -> str | None:
        """Empty where there is room, or the ledger is to say that; None while it is agreed on; else why there is none."""
        goes_with, neighbour = self._slss_with_reservations, self.network.domains.get(connection.next or "")
        if goes_with is None or neighbour is None or not neighbour.sls_with_reservations:
            return ""
        if neighbour.name not in self.neighbours or self.segments.has_held(connection):
            return ""
        request = PeerRequest.from_text(connection.request)
        if request.local.claim is not None:
            return ""
        try:
            reservation = self.segments.own_reservation(request, connection.id)
            before = None
            if connection.committed:
                in_force = PeerRequest.from_text(connection.in_force)
                before = self.segments.own_reservation(in_force, connection.id)
            return goes_with.room(connection, reservation, before, self.now())
        except LedgerUnavailable:
            raise
        except SlotcarError as error:
            return self._named(error)

    @property
    def _slss_with_reservations(self) -> SlssWithReservations | None:
        if self.slss is None:
            return None
        return SlssWithReservations(self.name, self.network, self.slss.keeper, self.store, self._agree_for_itself)

    def _agree_for_itself(self, request: SlsRequest, connection_id: str) -> None:
        """Begins an attempt about an SLS that no person asked for: the inventory did."""
        self.agree_on(request, Asker(f"domain {self.name}", {"role": "operator"}), connection_id=connection_id)

    def _unsaid(self, connection_id: str) -> list[PeerMessage]:
        """What is to be said and was not said lately."""
        now = self.now()
        messages = [item for item in protocol.todo(self.get(connection_id), now) if isinstance(item, PeerMessage)]
        with self._changed:
            due = [each for each in messages if each not in self._repeats or self._repeats[each].at <= now]
            for each in due:
                before = self._repeats.get(each)
                after = min(before.after * 2, LONGEST_REPEAT) if before else FIRST_REPEAT
                self._repeats[each] = _Repeats(now + after, after)
        return due

    def _say(self, message: PeerMessage) -> None:
        self.spread(lambda: self._say_now(message))

    def _say_now(self, message: PeerMessage) -> None:
        if message.receiver in self.foreign:
            if message.kind not in (Kind.QUERY, Kind.STATES):  # it is looked after by its own protocol
                self._say_foreign(message)
            return
        neighbour = self.neighbours.get(message.receiver)
        if neighbour is None:
            self.meetings.troubles[message.receiver] = f"{self.name} knows no controller of {message.receiver}"
            return
        try:
            answers = self.carrier.say(neighbour, self._signed(message))
            for text in answers:
                self.hear(text)
        except SlotcarError as error:
            self.meetings.troubles[message.receiver] = self._named(error)
            log.info("a neighbour was not reached", neighbour=message.receiver, because=shortened(str(error), 300))

    def _say_foreign(self, message: PeerMessage) -> None:
        try:
            for answer in self.foreign[message.receiver].say(message, self.get(message.connection)):
                self._take(answer)
            self.meetings.troubles.pop(message.receiver, None)
        except SlotcarError as error:
            self.meetings.troubles[message.receiver] = self._named(error)
            log.info("a neighbour was not asked", neighbour=message.receiver, because=shortened(str(error), 300))

    def take(self, message: PeerMessage) -> None:
        """What a foreign neighbour has said by itself."""
        self._take(message)

    def ask_again(self, connection_id: str) -> None:
        """Says at once what is to be said: there may be an answer by now."""
        for item in protocol.todo(self.get(connection_id), self.now()):
            if isinstance(item, PeerMessage):
                self._say(item)

    def _signed(self, message: PeerMessage) -> str:
        content = message.content
        if message.kind is Kind.RESERVE:
            content = self._subject(message.connection).for_next(content)
        elif message.kind is Kind.CONFIRMED:
            content = self._subject(message.connection).ticket(self.get(message.connection), self.now())
        body = {
            "kind": message.kind.value,
            "connection": message.connection,
            "version": message.version,
            "why": message.why[:LONGEST_WHY],
            "content": content,
            "segments": self._segments_for(message),
        }
        return signed_message(self.key, message.receiver, body, self.now())

    def _segments_for(self, message: PeerMessage) -> list[dict[str, Any]]:
        row = self.store.find(message.connection)
        return for_receiver(self.segment_states(connection_of(row)), message.receiver) if row else []

    def close(self) -> None:
        for close in self.closes:
            close()

    # -- time ----------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """What time brings: holds that run out, messages that are said again, segments that somebody has taken away.

        Of what is in force it looks at what is due, or has changed in the ledger; at all of it once, when it begins.
        """
        now = self.now()
        if self.slss is not None:
            self.slss.tick(now)
            self._change_down(now)
        for row in (*self.store.unsettled(), *self.store.over(now, ConnectionPhase.START.value)):
            self._alone(row.id, lambda row=row: self._elapse(row.id, now))  # type: ignore[misc]
        for row in self._due(now):
            self._alone(row.id, lambda row=row: self._look_after(row, now))  # type: ignore[misc]
            self._to_look_at.discard(row.id)
        for connection_id, looked_at in list(self._open.items()):
            if now - looked_at >= LOOK_AT_SLOTS:
                self._alone(connection_id, lambda each=connection_id: self._look_at_slot(each, now))  # type: ignore[misc]
        self.forget(now)

    def _change_down(self, now: datetime) -> None:
        """Has SLSs that went up with reservations go down with them."""
        goes_with = self._slss_with_reservations
        if goes_with is None:
            return
        for of, request in goes_with.too_large(now):
            if now - self._changed_down_at.get(of, _LONG_AGO) < CHANGE_DOWN_AGAIN:
                continue
            self._changed_down_at[of] = now
            attempt = f"{WITH_RESERVATIONS}{self.name}-{secrets.token_hex(8)}"
            self._alone(of, lambda: self._agree_for_itself(request, attempt))  # noqa: B023

    def _elapse(self, connection_id: str, now: datetime) -> None:
        after = self._step(connection_id, lambda each: protocol.elapsed(each, now))
        self.drive(connection_id)
        if after.members:
            self._decide_together(after.members)

    def _alone(self, connection_id: str, work: Callable[[], None]) -> None:
        """What cannot be done for one connection, such as one whose host the inventory has no more, stops no other one.

        Raises:
            LedgerUnavailable: nothing can be done for any.
        """
        try:
            work()
        except LedgerUnavailable:
            raise
        except SlotcarError as error:
            log.warning("a connection waits", connection=connection_id, because=shortened(str(error), 300))

    def _due(self, now: datetime) -> Iterable[ConnectionRow]:
        in_force = ConnectionPhase.START.value
        subjects: list[Subject] = [self._reservations, *([self.slss] if self.slss else [])]
        self._to_look_at.update(each for subject in subjects for each in subject.keeper.changed())
        if not self._has_begun:
            self._to_look_at.update(row.id for row in self.store.not_over(now, in_force))
            self._has_begun = True
        rows = {row.id: row for row in self.store.due(now, in_force)}
        for each in sorted(self._to_look_at - rows.keys()):
            row = self.store.find(each)
            if row is not None and row.phase == in_force and row.ends > now:
                rows[each] = row
            else:
                self._to_look_at.discard(each)  # it is looked at once it is in force
        return list(rows.values())

    def _look_after(self, row: ConnectionRow, now: datetime) -> None:
        """What is in force: somebody may have cancelled it here, or ended it elsewhere, and devices get it at its start."""
        connection = connection_of(row)
        if not connection.committed:
            return
        if connection.members:
            self._decide_together(connection.members)
        subject = self._subject(connection.id)
        if not subject.keeper.is_in_force(connection):
            self.end(connection.id, "its segment was cancelled")
            return
        keys = [(connection.id, name) for name in (connection.previous, connection.next) if name is not None]
        if any(now - self._queried_at.get(key, _LONG_AGO) >= ASK_EVERY for key in keys):
            self.ask(connection)
        is_open, changes_at = subject.slots(connection, now)
        if is_open or connection.id in self._slots or subject.keeper.not_ready(connection):
            self._look_at_slot(connection.id, now)
        if not is_open:
            self._open.pop(connection.id, None)
        asks_at = min((self._queried_at.get(key, now) for key in keys), default=now) + ASK_EVERY
        if self._is_off(connection, now):
            self._plan_again(connection.id, now)
            asks_at = min(asks_at, now + PLAN_AGAIN)
        self.store.look_at(row.id, row.revision, min(asks_at, changes_at or asks_at))

    def _is_off(self, connection: Connection, now: datetime) -> bool:
        """Whether its slots move more or less than what remains of its volume."""
        if is_about_sls(connection.id) or not connection.is_first:
            return False
        request = PeerRequest.from_text(connection.in_force)
        return request.volume is not None and volumes.is_off(request.local, request.volume, now)

    def _plan_again(self, connection_id: str, now: datetime) -> None:
        plan_again, planned_at = self.plan_again, self._planned_at.get(connection_id, _LONG_AGO)
        if plan_again is None or now - planned_at < PLAN_AGAIN:
            return
        self._planned_at[connection_id] = now

        def plan() -> None:
            with suppress(protocol.NotNow, ConnectionRefused, ProgressRefused):  # somebody else is at it, or was
                plan_again(connection_id)

        self.spread(plan)

    def _look_at_slot(self, connection_id: str, now: datetime) -> None:
        """Tells the neighbours what devices have of the slot that is open, where that is something else than before."""
        connection = self.get(connection_id)
        if connection.phase in OVER:
            self._open.pop(connection_id, None)
            return
        self._open[connection_id] = now
        keeper = self._subject(connection_id).keeper
        before = self._slots.get(connection_id, _NO_SLOT)
        self._slots[connection_id] = keeper.slot(connection, now), keeper.not_ready(connection)
        if self._slots[connection_id] != before:
            for name in (connection.previous, connection.next):
                if name is not None:
                    self._say(self._telling(connection, name))

    def forget(self, now: datetime) -> None:
        """What is remembered of the past, and changes nothing any more."""
        with self._changed:
            old, long_ago = now - 4 * LONGEST_REPEAT, now - 2 * ASK_EVERY
            self._repeats = {message: each for message, each in self._repeats.items() if each.at > old}
            self._changed_down_at = {
                key: at for key, at in self._changed_down_at.items() if now - at < CHANGE_DOWN_AGAIN
            }
            self._planned_at = {key: at for key, at in self._planned_at.items() if now - at < PLAN_AGAIN}
            self._queried_at = {key: at for key, at in self._queried_at.items() if at > long_ago}
            self._slots = {key: each for key, each in self._slots.items() if key in self._open or each != _NO_SLOT}
        if self._tickets_forgotten is None or now - self._tickets_forgotten >= FORGET_TICKETS_EVERY:
            self.store.forget_tickets(now - LARGEST_CLOCK_DIFFERENCE)
            self._tickets_forgotten = now

    # -- parts ---------------------------------------------------------------------------------------------------

    def _step(self, connection_id: str, step: Callable[[Connection], Connection]) -> Connection:
        """Keeps what a step makes of a connection, and tells who waits."""
        for _ in range(MOST_TRIES):
            row = self._row(connection_id)
            before = connection_of(row)
            after = step(before)
            if after == before:
                return after
            says = self._subject(connection_id).event_of(before, after)
            if self.store.change(row_of(after, row.revision + 1, self.now()), says):
                self._tell_of(before, after)
                return after
        raise LedgerUnavailable(f"connection {connection_id} is changed by others all the time")

    def _tell_of(self, before: Connection, after: Connection) -> None:
        """Tells of a step that is kept: who waits, neighbours, and those that are reserved together with it."""
        with self._changed:
            self._changed.notify_all()
        for watcher in self.watchers:
            watcher(after.id)
        news = protocol.news(before, after)
        if news is not None:
            self._say(news)
        for neighbour in tells(before, after):
            self._say(self._telling(after, neighbour))
        if is_about_sls(after.id) and after.is_settled and not before.is_settled:
            self.spread(self._go_on)
        if after.members and after.phase is not before.phase:
            self.spread(lambda: self._decide_together(after.members))

    def _go_on(self) -> None:
        """With what may have waited for an SLS."""
        for row in self.store.unsettled():
            if not is_about_sls(row.id) and holds_nothing_yet(connection_of(row)):
                self._alone(row.id, lambda row=row: self.drive(row.id))  # type: ignore[misc]

    def _row(self, connection_id: str) -> ConnectionRow:
        row = self.store.find(connection_id)
        if row is None:
            raise UnknownConnection(connection_id)
        return row

    @contextmanager
    def _locked(self, connection_id: str) -> Iterator[None]:
        """One thread at a time for each connection."""
        with self._changed:
            own = self._locks.setdefault(connection_id, _Lock())
            own.users += 1
        try:
            with own.lock:
                yield
        finally:
            with self._changed:
                own.users -= 1
                if not own.users:
                    del self._locks[connection_id]

    def _named(self, error: Exception) -> str:
        return self._worded(printable(in_one_line(str(error))))

    def _worded(self, words: str) -> str:
        return words if self.name in words else f"{self.name}: {words}"


def _readiness(connection: Connection, state: SegmentState, before: Mapping[str, bool]) -> EventKind | None:
    """What the log is told where a domain has its devices ready, or has not, other than before."""
    if state.not_ready is before.get(state.domain, False):
        return None
    kind = ConnectionWithheld if state.not_ready else ConnectionReleased
    return kind(connection=connection.id, domain=state.domain)


def _asks_for_more(connection: Connection, message: PeerMessage) -> bool:
    return (
        connection.phase is ConnectionPhase.START
        and message.version > connection.version
        and message.sender == connection.previous
    )


def _message_of(body: Mapping[str, Any], sender: str, receiver: str) -> PeerMessage:
    """
    Raises:
        NotAuthentic: it is no message.
    """
    try:
        texts = {name: body[name] for name in ("connection", "why", "content")}
        version = body["version"]
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError
        if not isinstance(version, int) or not 1 <= version <= 10**6:
            raise ValueError
        if not texts["connection"].isprintable() or not 1 <= len(texts["connection"]) <= 200:
            raise ValueError
        kind = Kind(body["kind"])
    except (KeyError, TypeError, ValueError) as error:
        raise NotAuthentic(f"what {sender} said is no message between domains") from error
    return PeerMessage(kind, texts["connection"], version, sender, receiver, printable(texts["why"]), texts["content"])


class Threads:
    """Runs pieces of work in a few threads of their own, until it is closed."""

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._pool = ThreadPoolExecutor(8, "slotcar-domains")

    def __call__(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # it was closed: what is kept says that the work is still to be done
            self._pool.submit(_reported, work)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def _reported(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception:
        log.exception("a step between domains failed; it is taken again")
