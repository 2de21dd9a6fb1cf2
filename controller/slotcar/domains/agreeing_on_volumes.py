"""Volumes by a deadline over several domains: the first domain asks what is free, proposes slots, and asks again where a
domain has less by then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from slotcar.base.timebase import iso
from slotcar.book.errors import ProgressRefused
from slotcar.domains import volumes
from slotcar.domains.agreement import Agreement
from slotcar.domains.enquiring import TOGETHER, FreeBehind
from slotcar.domains.errors import ConnectionRefused
from slotcar.domains.model import Connection, ConnectionPhase
from slotcar.domains.protocol import NotNow
from slotcar.domains.volumes import ProposedSlots, Volume
from slotcar.domains.way import NOBODY, Asker, PeerRequest
from slotcar.reservation.model import Reservation
from slotcar.reservation.need import VolumeByDeadline

#: What is free may change between the question and the request: so often it is asked anew.
MOST_ROUNDS = 3


class _Meanwhile(ConnectionRefused):
    """Somebody else has changed the connection since it was read."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """`wait`: gives the connection once an attempt, by its version, is in force, or raises `ConnectionRefused`."""

    agreement: Agreement
    wait: Callable[[str, int], Connection]

    def reserve(self, reservation: Reservation, owner: str, asker: Asker = NOBODY) -> Connection:
        """A connection that moves the reservation's volume by its deadline.

        Raises:
            ConnectionRefused: it does not fit, in the domains' own numbers. See `Agreement.reserve`.
        """

        def attempt(proposal: ProposedSlots) -> Connection:
            connection = self.agreement.reserve(proposal.reservation, owner, asker=asker, volume=proposal.volume)
            return self.wait(connection.id, connection.version)

        return _in_rounds(lambda: self.proposal(reservation, owner), attempt)

    def change(self, connection_id: str, reservation: Reservation, asker: Asker = NOBODY) -> Connection:
        """Another volume or deadline for what is in force, in all domains or in none; what is done counts.

        Raises:
            ConnectionRefused: it does not fit. See `Agreement.modify`.
        """
        connection, request = self._in_force(connection_id)
        need, now = reservation.need, self.agreement.now()
        assert need is not None, "it is a volume by a deadline"
        before = request.volume
        done = before.need.volume_bytes - volumes.remains(request.local, before, now) if before else 0
        volume = Volume(need, max(1, need.volume_bytes - done), now)

        def form_of(in_force: PeerRequest) -> Reservation:
            return reservation.model_copy(update={"need": None, "slots": in_force.local.slots})

        return self._moved(connection.id, form_of, volume, asker, is_all=True)

    def proposal(self, reservation: Reservation, owner: str) -> ProposedSlots:
        """The slots that all domains are to be asked for.

        Raises:
            ConnectionRefused: the volume does not fit over what they tell.
        """
        assert reservation.need is not None, "it is a volume by a deadline"
        now, need = self.agreement.now(), reservation.need
        free = self._free(reservation, need, owner)
        proposal = volumes.proposed(reservation, free.steps[TOGETHER], now, self.agreement.segments.least_rate_bps())
        if proposal is None:
            name = self.agreement.name
            raise ConnectionRefused(f"{name}: {volumes.refusal(need, free.steps[TOGETHER], free.alone)}")
        return proposal

    def report(self, connection_id: str, remaining_bytes: int, asker: Asker = NOBODY) -> Connection:
        """What remains of a connection's volume: its slots are found again, in all domains or in none; 0 ends it.

        A report is kept whatever becomes of the slots.

        Raises:
            ProgressRefused: more remains than before, or it is no volume, or not in force. UnknownConnection.
            NotNow: it is reported to another domain.
        """
        _, request = self._in_force(connection_id)
        volume = _volume_of(request, connection_id)
        if not remaining_bytes:
            return self.agreement.end(connection_id, "all of its volume is moved")
        volumes.require_possible(request.reservation.name, volume, remaining_bytes, self.agreement.now())
        return self._report(connection_id, request, remaining_bytes, asker)

    def plan_again(self, connection_id: str) -> Connection | None:
        """Finds the slots again of what is taken to have moved what its slots say; None where they will do."""
        _, request = self._in_force(connection_id)
        volume, now = _volume_of(request, connection_id), self.agreement.now()
        if not volumes.is_off(request.local, volume, now):
            return None
        remaining_bytes = max(1, volumes.remains(request.local, volume, now))
        return self._report(connection_id, request, remaining_bytes, Asker(request.actor, request.requester))

    def _report(self, connection_id: str, request: PeerRequest, remaining_bytes: int, asker: Asker) -> Connection:
        volume = _volume_of(request, connection_id)
        reported_volume = volumes.restated(request.local, volume, remaining_bytes, self.agreement.now())
        self.agreement.restate(connection_id, reported_volume)
        try:
            return self._moved(connection_id, lambda in_force: in_force.local, reported_volume, asker)
        except ConnectionRefused:
            return self.agreement.get(
                connection_id
            )  # what is in force stays, and the report says what it does not move

    def _moved(
        self,
        connection_id: str,
        form_of: Callable[[PeerRequest], Reservation],
        volume: Volume,
        asker: Asker,
        *,
        is_all: bool = False,
    ) -> Connection:
        """The connection with other slots for what remains.

        Args:
            form_of: the reservation with the slots of what is in force. is_all: nothing less than all that remains will do.

        Raises:
            ConnectionRefused: a domain does not have other slots for it.
        """

        rounds = count()

        def propose() -> ProposedSlots:
            in_force = self._request_in_force(connection_id)
            is_first = next(rounds) == 0
            return self._other_slots(form_of(in_force), volume, in_force.who, is_all=is_all, is_beside=is_first)

        def attempt(proposal: ProposedSlots) -> Connection:
            if proposal.reservation == form_of(self._request_in_force(connection_id)):
                return self.agreement.restate(connection_id, proposal.volume)
            try:
                changed = self.agreement.modify(connection_id, proposal.reservation, asker, proposal.volume)
            except NotNow as error:
                self._let_end(connection_id)
                raise _Meanwhile(str(error)) from error
            return self.wait(connection_id, changed.version)

        return _in_rounds(propose, attempt)

    def _request_in_force(self, connection_id: str) -> PeerRequest:
        return PeerRequest.from_text(self.agreement.get(connection_id).in_force)

    def _let_end(self, connection_id: str) -> None:
        """Waits for an attempt of somebody else, whatever becomes of it."""
        with suppress(ConnectionRefused):
            self.wait(connection_id, self.agreement.get(connection_id).version)

    def _other_slots(
        self, form: Reservation, volume: Volume, who: str, *, is_all: bool, is_beside: bool
    ) -> ProposedSlots:
        free = self._free(form, volume.need, who)
        least_rate_bps, now = self.agreement.segments.least_rate_bps(), self.agreement.now()
        steps = free.steps[TOGETHER]
        proposal = volumes.reported(form, volume, steps, now, least_rate_bps, is_beside=is_beside)
        if is_all and proposal.volume.missing_bytes:
            raise ConnectionRefused(f"{self.agreement.name}: {volumes.refusal(volume.need, steps, free.alone)}")
        return proposal

    def _free(self, reservation: Reservation, need: VolumeByDeadline, owner: str) -> FreeBehind:
        """
        Raises:
            ConnectionRefused: the time is over.
        """
        begin = volumes.begin_of(self.agreement.now())
        if begin >= need.by:
            raise ConnectionRefused(f"{self.agreement.name}: the deadline, {iso(need.by)}, is past")
        window = need.window_from(begin)
        return self.agreement.free_along(volumes.probe(reservation, window.start, window.end), owner)

    def _in_force(self, connection_id: str) -> tuple[Connection, PeerRequest]:
        """
        Raises:
            ProgressRefused: it is not in force. NotNow: it begins in another domain.
        """
        connection = self.agreement.get(connection_id)
        if connection.committed and not connection.is_settled:
            self._let_end(connection_id)
            connection = self.agreement.get(connection_id)
        if connection.phase is not ConnectionPhase.START or not connection.committed:
            raise ProgressRefused(f"connection {connection_id} is {connection.phase.value}: nothing of it remains")
        request = PeerRequest.from_text(connection.in_force)
        if not connection.is_first:
            raise NotNow(f"connection {connection_id} is reported to {request.origin}, where it begins")
        return connection, request


def _volume_of(request: PeerRequest, connection_id: str) -> Volume:
    """
    Raises:
        ProgressRefused: it is for none.
    """
    if request.volume is None:
        raise ProgressRefused(f"connection {connection_id} has fixed rates, and no volume of which a part remains")
    return request.volume


def _in_rounds(propose: Callable[[], ProposedSlots], attempt: Callable[[ProposedSlots], Connection]) -> Connection:
    """Proposes and tries, and again where a domain refuses and something else is free by then.

    Raises:
        ConnectionRefused: what is proposed was refused before, or too often.
    """
    refused: ConnectionRefused | None = None
    tried: ProposedSlots | None = None
    for _ in range(MOST_ROUNDS):
        proposal = propose()
        if refused is not None and tried is not None and proposal.reservation.slots == tried.reservation.slots:
            raise refused
        try:
            return attempt(proposal)
        except ConnectionRefused as error:
            refused, tried = error, None if isinstance(error, _Meanwhile) else proposal
    assert refused is not None, "it was tried"
    raise refused


def volume_of(connection: Connection) -> Volume | None:
    """What a connection is to move, where this is its first domain."""
    return PeerRequest.from_text(connection.in_force or connection.request).volume
