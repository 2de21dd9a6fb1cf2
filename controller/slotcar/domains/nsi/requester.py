"""This domain as a requester: a neighbour that speaks NSI is asked for its segment as any next domain is.

What the neighbour has is asked by query, each time, and what is to be said follows from that: callbacks tell when to ask,
and why something failed. So nothing is lost with a callback, or with a crash between a request and its answer: the
neighbour's connection is found by its global identifier, which is that of the connection here.

Such a neighbour's hold ends by its clock. A commit that comes too late ends the connection in all domains (ADR 85).
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import structlog

from slotcar.base.problems import SlotcarError, printable, shortened
from slotcar.domains.agreement import Agreement
from slotcar.domains.errors import NotThatWay
from slotcar.domains.model import Connection, ConnectionPhase, Kind, PeerMessage
from slotcar.domains.nsi import soap
from slotcar.domains.nsi.documents import NsiIdentity
from slotcar.domains.nsi.messages import (
    Acknowledgment,
    Body,
    Criteria,
    ErrorMessage,
    Failed,
    Header,
    Notification,
    NsiMessage,
    NsiSchedule,
    NsiSummaries,
    PointToPoint,
    Query,
    Reserve,
    ServiceException,
    Simple,
    SoapFault,
    Summary,
)
from slotcar.domains.nsi.names import PROVIDER_VERSION, SERVICE_TYPE
from slotcar.domains.nsi.points import capacity_mbps
from slotcar.domains.nsi.states import LifecycleState, ProvisionState, ReservationState
from slotcar.domains.way import PeerRequest
from slotcar.network.model import Network, NsiSide
from slotcar.network.path import find_paths
from slotcar.reservation.model import Reservation
from slotcar.store.connections import ConnectionRow, ConnectionStore

log = structlog.get_logger("slotcar.domains.nsi")
#: So many correlations of requests are remembered; a callback of an older one is no hint any more.
MOST_REMEMBERED = 10_000
LONGEST_TEXT = 1500


class NeighbourRefused(SlotcarError):
    """A neighbour answered with a service exception; the message has its words."""


@dataclass(frozen=True, slots=True)
class Requested:
    """What is kept of a connection at a neighbour.

    Attributes:
        id: of this domain. provider_id: what the neighbour calls it; empty before that is known.
        why: by attempt, why the neighbour has refused it. ended: it is known that the neighbour has ended it.
    """

    id: str
    neighbour: str
    provider_id: str = ""
    why: tuple[tuple[int, str], ...] = ()
    ended: bool = False

    def reason(self, version: int) -> str:
        return dict(self.why).get(version, "")


@dataclass(slots=True)
class NsiNeighbour:
    """A neighbour that is asked by NSI; see `slotcar.domains.agreement.ForeignNeighbour`. Thread-safe.

    Attributes:
        name: of the domain. own: this domain's, as the network has it. post: sends an envelope, and gives the answer's.
    """

    name: str
    own: str
    side: NsiSide
    identity: NsiIdentity
    network: Network
    store: ConnectionStore
    post: Callable[[str, str, bytes], bytes]
    now: Callable[[], datetime]
    _correlations: dict[str, tuple[str, int]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def cannot(self, reservation: Reservation) -> str:
        """NSI has one window with one rate, exact, between two termination points."""
        if reservation.claim is not None:
            what = f"has no words for {reservation.claim.kind} of a host"
        elif reservation.share is not None:
            what = "has no words for a background share, whose rate is what others leave"
        elif len(reservation.slots) != 1:
            what = f"has one window: {len(reservation.slots)} were asked for"
        else:
            return ""
        return f"{self.name} is asked by NSI, which {what}"

    def say(self, message: PeerMessage, connection: Connection) -> Sequence[PeerMessage]:
        """Does the next step towards what is asked for, and tells what the neighbour is known to have done."""
        kept = self._kept(connection.id)
        theirs = self._theirs(connection.id, kept)
        if theirs is not None and theirs.connection != kept.provider_id:
            kept = self._keep(replace(kept, provider_id=theirs.connection), connection)
        step = {Kind.RESERVE: self._reserve, Kind.COMMIT: self._commit, Kind.ABORT: self._abort}.get(
            message.kind, self._terminate
        )
        try:
            answer = step(message, connection, kept, theirs)
        except NeighbourRefused as error:
            # A step that it does not take now, as in a state that has changed meanwhile, is looked at again.
            if message.kind is not Kind.RESERVE:
                raise
            answer = self._answer(message, Kind.REFUSED, str(error))
        return [answer] if answer else []

    # -- the steps -----------------------------------------------------------------------------------------------

    def _reserve(
        self, message: PeerMessage, connection: Connection, kept: Requested, theirs: Summary | None
    ) -> PeerMessage | None:
        why = kept.reason(message.version)
        if theirs is None or _is_over(theirs):
            is_new = not kept.provider_id
            return (
                self._ask_for(message, connection, kept, "")
                if is_new else self._answer(message, Kind.REFUSED, why or "it was ended there")
            )  # fmt: skip
        state = theirs.states.reservation
        is_there = state is ReservationState.START and _version(theirs) >= _nsi_version(message.version)
        if state is ReservationState.CHECKING:
            return self._answer(message, Kind.PENDING)
        if state is ReservationState.HELD or (is_there and not why):
            return self._answer(message, Kind.CONFIRMED, content=f"nsi:{theirs.connection}")
        if state is ReservationState.START and message.version > 1 and not why:
            return self._ask_for(message, connection, kept, theirs.connection)
        timed_out = state is ReservationState.TIMEOUT
        default = "its hold ran out" if timed_out else "it is refused there, with no reason given"
        return self._answer(message, Kind.REFUSED, why or default)

    def _ask_for(self, message: PeerMessage, connection: Connection, kept: Requested, provider_id: str) -> PeerMessage:
        try:
            criteria = self.criteria(connection)
        except SlotcarError as error:
            return self._answer(message, Kind.REFUSED, str(error))
        kept = self._keep(kept, connection)
        body = Reserve(criteria, provider_id, _global_id(connection.id), "over domains, by Slotcar")
        answer = self._send(body, connection)
        if isinstance(answer, Simple) and answer.connection != kept.provider_id:
            self._keep(replace(kept, provider_id=answer.connection), connection)
        return self._answer(message, Kind.PENDING)

    def _commit(
        self, message: PeerMessage, connection: Connection, kept: Requested, theirs: Summary | None
    ) -> PeerMessage | None:
        state = theirs.states.reservation if theirs else None
        if theirs is None or _is_over(theirs) or state in (ReservationState.TIMEOUT, ReservationState.FAILED):
            return self._answer(message, Kind.TERMINATE, "it does not hold its segment any more")
        if state is ReservationState.HELD:
            self._send(Simple("reserveCommit", theirs.connection), connection)
            return None
        if state is not ReservationState.START:
            return None
        if why := kept.reason(message.version):
            return self._answer(message, Kind.TERMINATE, why)
        if _version(theirs) < _nsi_version(message.version):
            return self._answer(message, Kind.TERMINATE, "it has an older version in force")
        if theirs.states.provision is ProvisionState.RELEASED:
            self._send(Simple("provision", theirs.connection), connection)
        return self._answer(message, Kind.COMMITTED)

    def _abort(
        self, message: PeerMessage, connection: Connection, kept: Requested, theirs: Summary | None
    ) -> PeerMessage | None:
        if message.version == 1:
            return self._ended(message, connection, kept, theirs, Kind.ABORTED)
        if theirs is None or _is_over(theirs):
            return self._answer(message, Kind.ABORTED)
        if theirs.states.reservation is ReservationState.START:
            return self._answer(message, Kind.ABORTED)
        if theirs.states.reservation in (
            ReservationState.HELD, ReservationState.FAILED, ReservationState.TIMEOUT
        ):  # fmt: skip
            self._send(Simple("reserveAbort", theirs.connection), connection)
        return None

    def _terminate(
        self, message: PeerMessage, connection: Connection, kept: Requested, theirs: Summary | None
    ) -> PeerMessage | None:
        return self._ended(message, connection, kept, theirs, Kind.TERMINATED)

    def _ended(
        self, message: PeerMessage, connection: Connection, kept: Requested, theirs: Summary | None, then: Kind
    ) -> PeerMessage | None:
        over = theirs is None or theirs.states.lifecycle is LifecycleState.TERMINATED
        if over:
            self._keep(replace(kept, ended=True), connection)
            return self._answer(message, then)
        assert theirs is not None
        if theirs.states.lifecycle is not LifecycleState.TERMINATING:
            self._send(Simple("terminate", theirs.connection), connection)
        return None

    # -- what it says by itself ----------------------------------------------------------------------------------

    def hear(self, message: NsiMessage, agreement: Agreement) -> bool:
        """Takes a callback as a hint to ask; whether it answers something that was asked of this neighbour."""
        header, body = message.header, message.body
        if header is None:
            return False
        remembered = self._correlations.get(header.correlation_id)
        own_id = remembered[0] if remembered else self._own_id_of(getattr(body, "connection", ""))
        if own_id is None:
            return False
        if remembered and isinstance(body, Failed | ErrorMessage):
            self._note(own_id, remembered[1], _words(body.exception), agreement)
        if isinstance(body, Notification) and body.kind == "errorEvent":
            self.look_after(agreement.get(own_id), agreement)
        agreement.ask_again(own_id)
        return True

    def look_after(self, connection: Connection, agreement: Agreement) -> None:
        """Asks whether the neighbour still has what is in force, and ends the connection everywhere where it has not."""
        if connection.phase is not ConnectionPhase.START or not connection.committed:
            return
        theirs = self._theirs(connection.id, self._kept(connection.id))
        if theirs is None or (
            theirs.states.lifecycle is not LifecycleState.CREATED
            and theirs.states.lifecycle is not LifecycleState.PASSED_END_TIME
        ):
            why = f"{self.name} has ended its segment"
            terminate = PeerMessage(
                Kind.TERMINATE, connection.id, connection.version, self.name, connection.domain, why
            )
            agreement.take(terminate)

    def _own_id_of(self, provider_id: str) -> str | None:
        """By what the neighbour calls it. What is answered to nothing, and says no connection, is nobody's."""
        rows = self.store.latest(MOST_REMEMBERED) if provider_id else ()
        return next(
            (
                row.document["id"] for row in rows
                if row.document["neighbour"] == self.name and row.document["provider_id"] == provider_id
            ),
            None,
        )  # fmt: skip

    def _note(self, own_id: str, version: int, why: str, agreement: Agreement) -> None:
        kept = self._kept(own_id)
        self._keep(replace(kept, why=(*dict([*kept.why, (version, why)]).items(),)), agreement.get(own_id))

    # -- parts ---------------------------------------------------------------------------------------------------

    def criteria(self, connection: Connection) -> Criteria:
        """What the neighbour is asked for.

        Raises:
            NotThatWay: NSI cannot say it, or the inventory names no termination point.
        """
        request = PeerRequest.from_text(connection.request)
        reservation = request.reservation
        if why := self.cannot(reservation):
            raise NotThatWay(why)
        slot = reservation.slots[0]
        source, destination = self._ends(request)
        service = PointToPoint(
            capacity_mbps(max(slot.rates)), source, destination, bidirectional=all(slot.rates),
        )  # fmt: skip
        return Criteria(_nsi_version(connection.version), NsiSchedule(slot.start, slot.end), service, SERVICE_TYPE)

    def _ends(self, request: PeerRequest) -> tuple[str, str]:
        """Where the traffic comes in and where it leaves; of both directions, those of the forward one."""
        path = find_paths(request.local, self.network)[0]
        hops = [hop for hop in path.hops if self.network.devices[hop.device].domain == self.name]
        if not hops:
            raise NotThatWay(f"the way does not cross {self.name}")
        interfaces = (str(hops[0].ingress), str(hops[-1].egress))
        for interface in interfaces:
            if interface not in self.side.stps:
                raise NotThatWay(f"the inventory names no STP of {interface} in {self.name}'s `nsi`")
        first, last = (self.side.stps[interface] for interface in interfaces)
        return first, last

    def _theirs(self, own_id: str, kept: Requested) -> Summary | None:
        """What the neighbour has of it; one that was ended is as good as none."""
        if self.store.find(f"{self.name}/{own_id}") is None:
            return None  # it was never asked for
        # OpenNSA has no answer to a query by global identifiers: what it has for this agent is looked through instead.
        answer = self._post(Query("querySummarySync", (kept.provider_id,) if kept.provider_id else ()), None)
        if not isinstance(answer, NsiSummaries):
            raise NeighbourRefused(f"{self.name} answers a query with something else")
        theirs = [
            each for each in answer.reservations
            if each.connection == kept.provider_id or each.global_id == _global_id(own_id)
        ]  # fmt: skip
        alive = [each for each in theirs if each.states.lifecycle is not LifecycleState.TERMINATED]
        return next(iter(alive or theirs), None)

    def _send(self, body: Body, connection: Connection) -> Body:
        return self._post(body, connection)

    def _post(self, body: Body, connection: Connection | None) -> Body:
        """
        Raises:
            NeighbourRefused: a fault, with its words. NotTaken, NotNsi.
        """
        correlation = uuid.uuid4().urn
        if connection is not None:
            with self._guard:
                self._correlations[correlation] = (connection.id, connection.version)
                while len(self._correlations) > MOST_REMEMBERED:
                    del self._correlations[next(iter(self._correlations))]
        # Also with what is answered at once: OpenNSA refuses a query without it.
        header = Header(
            correlation, self.identity.nsa, self.side.nsa, self.identity.requester,
            PROVIDER_VERSION,
        )  # fmt: skip
        kind: Any = "reserve" if isinstance(body, Reserve) else getattr(body, "kind", "")
        content = self.post(self.side.provider, kind, soap.written(NsiMessage(header, body)))
        answer = soap.read(content, soap.LARGEST_ANSWER_BYTES).body
        if isinstance(answer, SoapFault):
            why = _words(answer.exception) if answer.exception else shortened(printable(answer.text), LONGEST_TEXT)
            raise NeighbourRefused(why)
        return answer

    def _answer(self, message: PeerMessage, kind: Kind, why: str = "", content: str = "") -> PeerMessage:
        reason = f"{self.name}: {printable(' '.join(why.split()))}" if why else ""
        return PeerMessage(
            kind,
            message.connection,
            message.version,
            self.name,
            message.sender,
            shortened(reason, LONGEST_TEXT),
            content,
        )

    def _kept(self, own_id: str) -> Requested:
        row = self.store.find(f"{self.name}/{own_id}")
        if row is None:
            return Requested(own_id, self.name)
        document = row.document
        why = tuple((int(version), str(text)) for version, text in document["why"])
        return Requested(own_id, self.name, document["provider_id"], why, document["ended"])

    def _keep(self, kept: Requested, connection: Connection) -> Requested:
        key, now = f"{self.name}/{kept.id}", self.now()
        document = {
            "id": kept.id, "neighbour": self.name, "provider_id": kept.provider_id, "ended": kept.ended,
            "why": [list(each) for each in kept.why],
        }  # fmt: skip
        before = self.store.find(key)
        revision = before.revision + 1 if before else 1
        phase = "ended" if kept.ended else "asked"
        row = ConnectionRow(key, phase, kept.ended, revision, connection.ends, document, now)
        # Somebody who was quicker has learnt the same.
        _ = self.store.change(row) if before else self.store.add(row)
        return kept


def acknowledged(message: NsiMessage) -> bytes:
    """What a callback is answered with, whatever it says."""
    header = replace(message.header, reply_to="") if message.header else None
    return soap.written(NsiMessage(header, Acknowledgment()))


def _global_id(own_id: str) -> str:
    return f"urn:slotcar:connection:{own_id}"


def _nsi_version(version: int) -> int:
    """NSI's first version is 0."""
    return version - 1


def _version(theirs: Summary) -> int:
    return max((each.version or 0 for each in theirs.criteria), default=0)


def _is_over(theirs: Summary) -> bool:
    return theirs.states.lifecycle in (
        LifecycleState.TERMINATED, LifecycleState.TERMINATING, LifecycleState.FAILED
    )  # fmt: skip


def _words(exception: ServiceException) -> str:
    text = f"{exception.text} ({exception.error}, {exception.nsa})"
    inner = "; ".join(_words(each) for each in exception.children)
    return shortened(printable(" ".join((text + (f": {inner}" if inner else "")).split())), LONGEST_TEXT)
