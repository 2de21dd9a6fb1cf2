"""This domain as a provider for those who speak NSI: requests in, acknowledgments and callbacks out.

What is done follows from the states that are kept (`_act`), as between domains: after a crash it is done again, and twice
has the same result. Nothing here reserves by itself: each connection is one over domains (`slotcar.domains.agreement`), of
this one alone or of several, whose segments are entries of ledgers. A device has what the ledger has, and nothing else.
"""

from __future__ import annotations

import secrets
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from slotcar.base.problems import SlotcarError, in_one_line, printable, shortened
from slotcar.book.errors import LedgerUnavailable
from slotcar.domains.agreement import Agreement
from slotcar.domains.errors import NotThatWay, UnknownConnection
from slotcar.domains.model import Connection, ConnectionPhase
from slotcar.domains.nsi import messages, points, rules, soap
from slotcar.domains.nsi.documents import NsiIdentity
from slotcar.domains.nsi.messages import (
    Acknowledgment,
    Body,
    Child,
    Header,
    Notifications,
    NsiMessage,
    NsiSummaries,
    Query,
    Range,
    Reserve,
    Results,
    Simple,
    SoapFault,
    States,
    Summary,
    exception_of,
)
from slotcar.domains.nsi.model import Callback, NsiConnection, from_document, to_document
from slotcar.domains.nsi.names import SERVICE_TYPE, Fault
from slotcar.domains.nsi.rules import NsiRefused, Observation
from slotcar.domains.nsi.states import LifecycleState, ProvisionState, ReservationState
from slotcar.domains.protocol import NotNow
from slotcar.domains.way import NOBODY, Asker
from slotcar.network.path import NoPath
from slotcar.policy.verdict import NotAllowed
from slotcar.reservation.model import Reservation
from slotcar.store.connections import ConnectionRow, ConnectionStore

log = structlog.get_logger("slotcar.domains.nsi")
#: A step that others are quicker with is taken anew so often.
MOST_TRIES = 50
#: Another domain that has not answered for so long is told of.
SLOW = timedelta(minutes=2)
MOST_ANSWERED = 10_000
_UNKNOWN = Observation(ConnectionPhase.FAILED, 0, 0, "", provisioned=False, active=False)


class SegmentsOnDevices(Protocol):
    """The domain's own ledger, as far as routers are given what is in it."""

    def released(self, connection: Connection) -> bool:
        """Whether routers are given nothing of the connection's segment, or it is not in force."""

    def is_in_place(self, connection: Connection, now: datetime) -> bool:
        """Whether its routers were verified to carry it now."""

    def release(self, connection: Connection, *, released: bool, now: datetime) -> None:
        """Has routers be given it in its window, or not."""


@dataclass(frozen=True, slots=True)
class NsiCaller:
    """Who asks.

    Attributes:
        sees_all: also what others asked for. may_be_called_back: whether a callback may go to an address.
        require: raises `NotAllowed` where it may not `create`, or `change`, what an owner has.
        asker: as policies see it, also when they are asked about the reservation itself.
    """

    owner: str
    sees_all: bool
    may_be_called_back: Callable[[str], bool]
    require: Callable[[str, str], None]
    asker: Asker = NOBODY


@dataclass(frozen=True, slots=True)
class Reply:
    """`status`: of HTTP. `after`: what is done once it was sent."""

    status: int
    content: bytes
    after: Callable[[], None] = lambda: None


@dataclass(slots=True)
class NsiProvider:
    """`post`: sends an envelope to an address, or raises a `SlotcarError`. Thread-safe."""

    identity: NsiIdentity
    agreement: Agreement
    store: ConnectionStore
    on_devices: SegmentsOnDevices
    post: Callable[[str, str, bytes], bytes]
    open_end: timedelta
    now: Callable[[], datetime]
    spread: Callable[[Callable[[], None]], None]
    _locks: dict[str, threading.RLock] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    # -- what is asked -------------------------------------------------------------------------------------------

    def hear(self, content: bytes, caller: NsiCaller) -> Reply:
        """What is answered to a request: an acknowledgment, the answer of a synchronous query, or a fault."""
        header: Header | None = None
        try:
            message = soap.read(content)
            header = message.header
            return self._heard(self._checked(header), message.body, caller)
        except soap.NotNsi as error:
            return self._fault(header, error.fault, str(error))
        except NsiRefused as error:
            return self._fault(header, error.fault, str(error), error.connection)
        except UnknownConnection as error:
            return self._fault(header, Fault.NO_CONNECTION, str(error))
        except NotAllowed as error:
            return self._fault(header, Fault.UNAUTHORIZED, str(error))
        except LedgerUnavailable as error:
            return self._fault(header, Fault.INTERNAL, str(error))

    def _checked(self, header: Header | None) -> Header:
        """
        Raises:
            NsiRefused.
        """
        if header is None:
            raise NsiRefused(Fault.MISSING_PARAMETER, "the message has no nsiHeader")
        if "cs.v2." not in header.protocol_version:
            shown = shortened(printable(header.protocol_version), 100)
            raise NsiRefused(Fault.VERSION_NOT_SUPPORTED, f"the protocol version {shown} is not spoken here")
        if header.provider != self.identity.nsa:
            shown = shortened(printable(header.provider), 200)
            raise NsiRefused(Fault.UNSUPPORTED_PARAMETER, f"this is {self.identity.nsa}, and not {shown}")
        return header

    def _heard(self, header: Header, body: Body, caller: NsiCaller) -> Reply:
        match body:
            case Reserve(confirmed=False):
                return self._reserve(header, body, caller)
            case Simple() if body.kind in messages.ON_CONNECTION:
                return self._on_connection(header, body, caller)
            case Query():
                return self._query(header, body, caller)
            case Range():
                return self._range(header, body, caller)
        raise NsiRefused(Fault.NOT_IMPLEMENTED, f"{type(body).__name__} is nothing that a provider is asked")

    def _reserve(self, header: Header, body: Reserve, caller: NsiCaller) -> Reply:
        now, reply_to = self.now(), self._reply_to(header, caller)
        header = replace(header, reply_to=reply_to)
        if body.connection:
            before = self._own(body.connection, caller)
            caller.require("change", before.owner)
            criteria = points.criteria_with_times(
                body.criteria, before.in_force or before.requested, now, self.open_end
            )
            self._reservation(criteria, before.id, before.owner)
            self._step(before.id, lambda each: rules.changed(each, header, criteria, self.now()))
            return self._reply(header, Simple("reserveResponse", before.id), lambda: self.drive(before.id))
        caller.require("create", caller.owner)
        new_id = f"{self.agreement.name}-{secrets.token_hex(8)}"
        criteria = points.criteria_with_times(body.criteria, None, now, self.open_end)
        criteria = replace(criteria, version=criteria.version or 0, service_type=criteria.service_type or SERVICE_TYPE)
        self._reservation(criteria, new_id, caller.owner)
        connection = NsiConnection(
            new_id, caller.owner, header.requester, reply_to, criteria, now, body.global_id, body.description,
            reserving=header.correlation_id, actor=caller.asker.name,
            asker=None if caller.asker.kept is None else dict(caller.asker.kept),
        )  # fmt: skip
        self.store.add(_row(connection, 1, now))
        return self._reply(header, Simple("reserveResponse", new_id), lambda: self.drive(new_id))

    def _reply_to(self, header: Header, caller: NsiCaller) -> str:
        """Where callbacks go; empty where there are to be none: all that they say is told by queries too."""
        may = header.reply_to and caller.may_be_called_back(header.reply_to)
        return header.reply_to if may else ""

    def _on_connection(self, header: Header, body: Simple, caller: NsiCaller) -> Reply:
        connection = self._own(body.connection, caller)
        caller.require("change", connection.owner)
        header = replace(header, reply_to=self._reply_to(header, caller))

        def step(each: NsiConnection) -> NsiConnection:
            after = rules.stepped(each, body.kind, header, self.now())
            is_same = (each.provision, each.lifecycle) == (after.provision, after.lifecycle)
            return rules.repeated_result(after, body.kind, self.now(), self.identity.nsa) if is_same else after

        self._step(connection.id, step)
        return self._reply(header, Acknowledgment(), lambda: self.drive(connection.id))

    def _query(self, header: Header, query: Query, caller: NsiCaller) -> Reply:
        visible = [each for each in self._visible(caller) if _is_asked_for(each, query)]
        recursive = query.kind == "queryRecursive"
        listed = tuple(self._summary(each, recursive=recursive) for each in visible[:MOST_ANSWERED])
        last = max((each.changed_at for each in visible), default=None)
        return self._answer(header, caller, query.kind, NsiSummaries(f"{query.kind}Confirmed", listed, last))

    def _range(self, header: Header, numbers: Range, caller: NsiCaller) -> Reply:
        connection = self._own(numbers.connection, caller)
        kind = f"{numbers.kind}Confirmed"

        def within(number: int) -> bool:
            return (numbers.first is None or numbers.first <= number) and (
                numbers.last is None or number <= numbers.last
            )

        body: Notifications | Results
        if numbers.kind in messages.NOTIFICATION_QUERIES:
            body = Notifications(kind, tuple(each for each in connection.notifications if within(each.number)))
        else:
            body = Results(kind, tuple(each for each in connection.results if within(each.number)))
        return self._answer(header, caller, numbers.kind, body)

    def _answer(self, header: Header, caller: NsiCaller, kind: str, body: Body) -> Reply:
        """A query's answer: at once, or as a callback."""
        if kind.endswith("Sync"):
            return self._reply(header, body)
        reply_to = self._reply_to(header, caller)
        content = soap.written(NsiMessage(header.answering, body))

        def call_back() -> None:
            self._post(Callback(0, f"{kind}Confirmed", reply_to, content.decode(), self.now()))

        return self._reply(header, Acknowledgment(), call_back if reply_to else lambda: None)

    # -- what is done --------------------------------------------------------------------------------------------

    def drive(self, connection_id: str) -> None:
        """Does what the states of a connection ask for, notes what came of it, and calls its requester back."""
        with self._lock(connection_id):
            for _ in range(MOST_TRIES):
                before = self.get(connection_id)
                try:
                    after = self._acted(before)
                except LedgerUnavailable as error:
                    log.warning(
                        "a connection of NSI waits for the ledger", connection=connection_id, because=str(error)
                    )
                    break
                if after == before:
                    break
            self._deliver(connection_id)

    def _acted(self, connection: NsiConnection) -> NsiConnection:
        """The connection after its next deed, and after what is seen of it then."""
        failed = self._begun(connection)
        if failed is not None:
            return failed
        connection = self.get(connection.id)
        self._act(connection)
        observation, now = self._observation(connection), self.now()
        is_slow = (
            connection.lifecycle is LifecycleState.TERMINATING or connection.reservation is ReservationState.COMMITTING
        ) and now - connection.changed_at >= SLOW

        def step(each: NsiConnection) -> NsiConnection:
            after = rules.observed(each, observation, now, self.identity.nsa)
            return rules.delayed(after, now, self.identity.nsa) if is_slow and after == each else after

        return self._step(connection.id, step)

    def _begun(self, connection: NsiConnection) -> NsiConnection | None:
        """Has the domains begin what was asked for; the connection where they could not."""
        if connection.reservation is not ReservationState.CHECKING or connection.attempt:
            return None
        asker = Asker(connection.actor, connection.asker)
        try:
            reservation = self._reservation(connection.requested, connection.id, connection.owner)
            if connection.in_force is None:
                attempt = self.agreement.reserve(
                    self._released(reservation, connection), connection.owner, connection_id=connection.id, waits=True,
                    asker=asker,
                ).version  # fmt: skip
            else:
                attempt = self.agreement.modify(connection.id, self._released(reservation, connection), asker).version
        except LedgerUnavailable:
            raise
        except SlotcarError as error:
            fault = Fault.NO_PATH if isinstance(error, NoPath | NotThatWay) else Fault.RESOURCE_UNAVAILABLE
            why, now = printable(in_one_line(str(error))), self.now()
            return self._step(connection.id, lambda each: rules.not_begun(each, fault, why, now, self.identity.nsa))
        self._step(connection.id, lambda each: replace(each, attempt=attempt))
        return None

    def _act(self, connection: NsiConnection) -> None:
        try:
            domains = self.agreement.get(connection.id)
        except UnknownConnection:
            return
        try:
            if connection.lifecycle is LifecycleState.TERMINATING:
                self.agreement.end(connection.id, f"terminated by {connection.requester}")
            elif connection.reservation is ReservationState.COMMITTING:
                self.agreement.commit(connection.id)
            elif connection.reservation is ReservationState.ABORTING:
                self.agreement.give_up(connection.id, f"given up by {connection.requester}")
        except NotNow:
            log.debug("what is seen of it says what came of it", connection=connection.id)
        wanted = connection.provision in (ProvisionState.PROVISIONING, ProvisionState.PROVISIONED)
        if domains.committed and self.on_devices.released(domains) == wanted:
            self.on_devices.release(domains, released=not wanted, now=self.now())

    def _observation(self, connection: NsiConnection) -> Observation:
        try:
            domains = self.agreement.get(connection.id)
        except UnknownConnection:
            return _UNKNOWN
        in_force = bool(domains.committed) and domains.phase not in (
            ConnectionPhase.TERMINATING, ConnectionPhase.TERMINATED,
        )  # fmt: skip
        provisioned = in_force and not self.on_devices.released(domains)
        active = provisioned and self.on_devices.is_in_place(domains, self.now())
        return Observation(domains.phase, domains.version, domains.committed, domains.why, provisioned, active)

    def tick(self) -> None:
        """What time brings: windows that begin and end, callbacks that are tried again."""
        for row in self.store.unsettled():
            self.drive(row.id)

    def changed(self, connection_id: str) -> None:
        """The domains have gone on with a connection, of NSI or not."""
        if self.store.find(connection_id) is not None:
            self.spread(lambda: self.drive(connection_id))

    # -- callbacks -----------------------------------------------------------------------------------------------

    def _deliver(self, connection_id: str) -> None:
        """What is due, in its order; nobody waits for it, and its failure is noted and changes nothing else."""
        while True:
            now = self.now()
            due = [each for each in self.get(connection_id).outbox if each.due <= now]
            if not due:
                return
            callback = due[0]
            ok = self._post(callback)

            def step(each: NsiConnection, callback: Callback = callback, ok: bool = ok) -> NsiConnection:
                if ok:
                    return rules.delivered(each, callback.number)
                return rules.not_delivered(each, callback.number, self.now())

            self._step(connection_id, step)

    def _post(self, callback: Callback) -> bool:
        try:
            self.post(callback.url, callback.kind, callback.envelope.encode())
        except SlotcarError as error:
            log.info("a callback was not taken", kind=callback.kind, because=shortened(str(error), 300))
            return False
        return True

    # -- parts ---------------------------------------------------------------------------------------------------

    def get(self, connection_id: str) -> NsiConnection:
        """
        Raises:
            UnknownConnection.
        """
        row = self.store.find(connection_id)
        if row is None:
            raise UnknownConnection(connection_id)
        return from_document(row.document)

    def _own(self, connection_id: str, caller: NsiCaller) -> NsiConnection:
        """The connection, where the caller may see it; another's is as good as absent."""
        connection = self.get(connection_id)
        if not caller.sees_all and connection.owner != caller.owner:
            raise UnknownConnection(connection_id)
        return connection

    def _visible(self, caller: NsiCaller) -> Sequence[NsiConnection]:
        visible = [from_document(row.document) for row in self.store.latest(MOST_ANSWERED)]
        return [each for each in visible if caller.sees_all or each.owner == caller.owner]

    def _summary(self, connection: NsiConnection, *, recursive: bool) -> Summary:
        summary = connection.summary
        try:
            domains = self.agreement.get(connection.id)
        except UnknownConnection:
            return summary
        if domains.next is None:
            return summary
        child = Child(domains.id, self._nsa_of(domains.next), _states_of(domains) if recursive else None)
        return replace(summary, criteria=tuple(replace(each, children=(child,)) for each in summary.criteria))

    def _nsa_of(self, domain: str) -> str:
        nsi = self.agreement.network.domains[domain].nsi
        return nsi.nsa if nsi else f"urn:slotcar:domain:{domain}"

    def _reservation(self, criteria: messages.Criteria, connection_id: str, owner: str) -> Reservation:
        name = f"nsi-{connection_id.rpartition('-')[2]}"
        return points.reservation_of(criteria, name, owner, self.agreement.network, self.identity.network)

    def _released(self, reservation: Reservation, connection: NsiConnection) -> Reservation:
        wanted = connection.provision in (ProvisionState.PROVISIONING, ProvisionState.PROVISIONED)
        return reservation.model_copy(update={"released": not wanted})

    def _step(self, connection_id: str, step: Callable[[NsiConnection], NsiConnection]) -> NsiConnection:
        """Keeps what a step makes of a connection."""
        for _ in range(MOST_TRIES):
            row = self.store.find(connection_id)
            if row is None:
                raise UnknownConnection(connection_id)
            before = from_document(row.document)
            after = step(before)
            if after == before or self.store.change(_row(after, row.revision + 1, self.now())):
                return after
        raise LedgerUnavailable(f"connection {connection_id} is changed by others all the time")

    def _lock(self, connection_id: str) -> threading.RLock:
        with self._guard:
            return self._locks.setdefault(connection_id, threading.RLock())

    def _reply(self, header: Header, body: Body, after: Callable[[], None] = lambda: None) -> Reply:
        answering = replace(header, reply_to="")
        return Reply(200, soap.written(NsiMessage(answering, body)), after)

    def _fault(self, header: Header | None, fault: Fault, text: str, connection: str = "") -> Reply:
        exception = exception_of(self.identity.nsa, fault, text, connection)
        answering = replace(header, reply_to="") if header else None
        return Reply(500, soap.written(NsiMessage(answering, SoapFault(text, exception))))


def correlation() -> str:
    """A new one."""
    return uuid.uuid4().urn


def _row(connection: NsiConnection, revision: int, now: datetime) -> ConnectionRow:
    ends = (connection.in_force or connection.requested).schedule.end
    assert ends is not None
    state = connection.reservation.value
    return ConnectionRow(connection.id, state, connection.is_settled, revision, ends, to_document(connection), now)


def _is_asked_for(connection: NsiConnection, query: Query) -> bool:
    if query.connections and connection.id not in query.connections:
        return False
    if query.global_ids and connection.global_id not in query.global_ids:
        return False
    return query.modified_since is None or connection.changed_at > query.modified_since


_RESERVING: Mapping[ConnectionPhase, ReservationState] = {
    ConnectionPhase.CHECKING: ReservationState.CHECKING,
    ConnectionPhase.HELD: ReservationState.HELD,
    ConnectionPhase.COMMITTING: ReservationState.COMMITTING,
    ConnectionPhase.ABORTING: ReservationState.ABORTING,
    ConnectionPhase.FAILED: ReservationState.FAILED,
}


def _states_of(connection: Connection) -> States:
    """Those of the next domain, as far as it is known here: it has said so, or is asked for that."""
    lifecycle = {
        ConnectionPhase.TERMINATING: LifecycleState.TERMINATING,
        ConnectionPhase.TERMINATED: LifecycleState.TERMINATED,
        ConnectionPhase.ENDED: LifecycleState.PASSED_END_TIME,
    }.get(connection.phase, LifecycleState.CREATED)
    provision = ProvisionState.PROVISIONED if connection.committed else ProvisionState.RELEASED
    return States(
        _RESERVING.get(connection.phase, ReservationState.START), provision, lifecycle, active=False, version=0
    )
