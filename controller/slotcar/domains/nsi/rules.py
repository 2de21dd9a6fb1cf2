"""What becomes of a connection that was asked for by NSI: by its requester's requests, and by what the domains did. Pure.

Every result and every notification is kept, numbered, and put into the outbox: a callback that is lost is told again by
`queryResult` and `queryNotification`, and its failure changes nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from slotcar.base.problems import SlotcarError, shortened
from slotcar.domains.model import HOLD, ConnectionPhase
from slotcar.domains.nsi import soap, states
from slotcar.domains.nsi.messages import (
    Criteria,
    ErrorMessage,
    Failed,
    Header,
    Notification,
    NsiMessage,
    NsiResult,
    Reserve,
    Simple,
    exception_of,
)
from slotcar.domains.nsi.model import Callback, NsiConnection
from slotcar.domains.nsi.names import REQUESTER_VERSION, Fault
from slotcar.domains.nsi.states import Happening, LifecycleState, ProvisionState, ReservationState

#: So many results, and notifications, are kept of a connection.
MOST_KEPT = 200
LONGEST_TEXT = 1500
#: What is not delivered is tried again after so long, then twice as long; after so many tries it is left to queries.
FIRST_RETRY, LONGEST_RETRY, MOST_TRIES = timedelta(seconds=1), timedelta(seconds=60), 10
_OVER = (ConnectionPhase.TERMINATED, ConnectionPhase.FAILED, ConnectionPhase.ENDED)


class NsiRefused(SlotcarError):
    """A request that is not done; `fault` is its number in NSI."""

    def __init__(self, fault: Fault, text: str, connection: str = "") -> None:
        super().__init__(text)
        self.fault, self.connection = fault, connection


@dataclass(frozen=True, slots=True)
class Observation:
    """What the domains and the ledger have of a connection.

    Attributes:
        phase, version, committed, why: of `slotcar.domains.model.Connection`.
        provisioned: routers are to carry it in its window. active: they were verified to carry it now.
    """

    phase: ConnectionPhase
    version: int
    committed: int
    why: str
    provisioned: bool
    active: bool


def changed(connection: NsiConnection, header: Header, criteria: Criteria, now: datetime) -> NsiConnection:
    """Another form of what is in force is asked for.

    Raises:
        NsiRefused: nothing is in force, or something is under way; or the version is no later one.
    """
    if connection.lifecycle is not LifecycleState.CREATED or connection.in_force is None:
        raise _no_transition(connection, "reserve")
    before = connection.in_force.version or 0
    version = before + 1 if criteria.version is None else criteria.version
    if version <= before:
        raise NsiRefused(Fault.PAYLOAD, f"version {version} is not after {before}, which is in force", connection.id)
    after = _moved(connection, Happening.RESERVE)
    return replace(
        after, requested=replace(criteria, version=version), attempt=0,
        reserving=header.correlation_id, reply_to=header.reply_to or connection.reply_to, changed_at=now,
    )  # fmt: skip


def stepped(connection: NsiConnection, kind: str, header: Header, now: datetime) -> NsiConnection:
    """The connection once its requester asks for one of `messages.ON_CONNECTION`. Asked again for what is under way, or
    what is so already, nothing changes but the correlation that is answered.

    Raises:
        NsiRefused: its states do not allow it.
    """
    happening = Happening(kind)
    after = connection
    if not _is_repeated(connection, happening):
        if kind in ("provision", "release") and (
            connection.in_force is None or connection.lifecycle is not LifecycleState.CREATED
        ):
            raise _no_transition(connection, kind)
        if kind in ("reserveCommit", "reserveAbort") and connection.lifecycle is not LifecycleState.CREATED:
            raise _no_transition(connection, kind)
        after = _moved(connection, happening)
    slot: str = {"provision": "provisioning", "release": "provisioning", "terminate": "ending"}.get(kind, "reserving")
    form: dict[str, Any] = {slot: header.correlation_id}
    return replace(after, reply_to=header.reply_to or connection.reply_to, changed_at=now, **form)


def repeated_result(connection: NsiConnection, kind: str, now: datetime, nsa: str) -> NsiConnection:
    """Confirms again what is so already: the first confirmation may have been lost."""
    so_already = {
        "provision": connection.provision is ProvisionState.PROVISIONED,
        "release": connection.provision is ProvisionState.RELEASED,
        "terminate": connection.lifecycle is LifecycleState.TERMINATED,
    }
    if not so_already.get(kind, False):
        return connection
    correlation = connection.ending if kind == "terminate" else connection.provisioning
    return _result(connection, correlation, Simple(f"{kind}Confirmed", connection.id), now, nsa)


def _is_repeated(connection: NsiConnection, happening: Happening) -> bool:
    return {
        Happening.COMMIT: connection.reservation is ReservationState.COMMITTING,
        Happening.ABORT: connection.reservation is ReservationState.ABORTING,
        Happening.PROVISION: connection.provision in (ProvisionState.PROVISIONING, ProvisionState.PROVISIONED),
        Happening.RELEASE: connection.in_force is not None
        and connection.provision in (ProvisionState.RELEASING, ProvisionState.RELEASED),
        Happening.TERMINATE: connection.lifecycle in (LifecycleState.TERMINATING, LifecycleState.TERMINATED),
    }.get(happening, False)


def observed(connection: NsiConnection, observation: Observation, now: datetime, nsa: str) -> NsiConnection:
    """The connection once it is known what the domains and the ledger have of it, with what its requester is told."""
    after = _reservation_seen(connection, observation, now, nsa)
    after = _lifecycle_seen(after, observation, now, nsa)
    after = _provision_seen(after, observation, now, nsa)
    return _data_plane_seen(after, observation, now, nsa)


def _reservation_seen(connection: NsiConnection, observation: Observation, now: datetime, nsa: str) -> NsiConnection:
    if connection.attempt == 0 and connection.reservation is ReservationState.CHECKING:
        return connection  # the domains do not know of it yet
    in_force = connection.attempt > 0 and observation.committed >= connection.attempt
    given_up = not in_force and observation.phase not in (
        ConnectionPhase.CHECKING, ConnectionPhase.HELD, ConnectionPhase.COMMITTING,
    )  # fmt: skip
    happening = {
        ReservationState.CHECKING: (observation.phase is ConnectionPhase.HELD, Happening.CONFIRMED, Happening.FAILED),
        ReservationState.HELD: (False, Happening.CONFIRMED, Happening.TIMEOUT),
        ReservationState.COMMITTING: (in_force, Happening.COMMITTED, Happening.COMMIT_FAILED),
    }.get(connection.reservation)
    if connection.reservation is ReservationState.ABORTING:
        settled = given_up and observation.phase is not ConnectionPhase.ABORTING
        return _reserving(connection, Happening.ABORTED, observation.why, now, nsa) if settled else connection
    if happening is None or not (happening[0] or given_up):
        return connection
    return _reserving(connection, happening[1] if happening[0] else happening[2], observation.why, now, nsa)


def not_begun(connection: NsiConnection, fault: Fault, why: str, now: datetime, nsa: str) -> NsiConnection:
    """The domains could not even begin what was asked for."""
    after = _moved(connection, Happening.FAILED)
    exception = exception_of(nsa, fault, shortened(why, LONGEST_TEXT), after.id)
    return _result(after, after.reserving, Failed("reserveFailed", after.id, after.states, exception), now, nsa)


def _reserving(connection: NsiConnection, what: Happening, why: str, now: datetime, nsa: str) -> NsiConnection:
    after = _moved(connection, what)
    if what is Happening.TIMEOUT:
        seconds = int(HOLD.total_seconds())
        return _notified(after, Notification("reserveTimeout", after.id, 0, now, timeout_s=seconds, nsa=nsa), now)
    body: Reserve | Failed | Simple
    if what is Happening.CONFIRMED:
        body = Reserve(after.requested, after.id, after.global_id, after.description, confirmed=True)
    elif what in (Happening.FAILED, Happening.COMMIT_FAILED):
        fault = Fault.CAPACITY_UNAVAILABLE if what is Happening.FAILED else Fault.CONNECTION
        text = shortened(why or "the hold is over", LONGEST_TEXT)
        body = Failed(what.value, after.id, after.states, exception_of(nsa, fault, text, after.id))
    else:
        body = Simple(what.value, after.id)
    if what is Happening.COMMITTED:
        after = replace(after, in_force=after.requested)
    return _result(after, after.reserving, body, now, nsa)


def _lifecycle_seen(connection: NsiConnection, observation: Observation, now: datetime, nsa: str) -> NsiConnection:
    if connection.lifecycle is LifecycleState.TERMINATING and observation.phase in _OVER:
        after = _moved(connection, Happening.TERMINATED)
        return _result(after, after.ending, Simple("terminateConfirmed", after.id), now, nsa)
    if connection.lifecycle is not LifecycleState.CREATED:
        return connection
    ends = connection.in_force.schedule.end if connection.in_force else None
    if observation.phase is ConnectionPhase.ENDED or (ends is not None and ends <= now):
        return replace(_moved(connection, Happening.END_TIME), changed_at=now)
    if connection.in_force is not None and observation.phase in (
        ConnectionPhase.TERMINATING,
        ConnectionPhase.TERMINATED,
    ):
        after = _moved(connection, Happening.FORCED_END)
        text = shortened(observation.why or "it was ended", LONGEST_TEXT)
        event = Notification("errorEvent", after.id, 0, now, event="forcedEnd", text=text, nsa=nsa)
        return _notified(after, event, now)
    return connection


def _provision_seen(connection: NsiConnection, observation: Observation, now: datetime, nsa: str) -> NsiConnection:
    done = {
        ProvisionState.PROVISIONING: (observation.provisioned, Happening.PROVISIONED),
        ProvisionState.RELEASING: (not observation.provisioned, Happening.RELEASED),
    }.get(connection.provision)
    if done is None or not done[0]:
        return connection
    after = _moved(connection, done[1])
    return _result(after, after.provisioning, Simple(done[1].value, after.id), now, nsa)


def _data_plane_seen(connection: NsiConnection, observation: Observation, now: datetime, nsa: str) -> NsiConnection:
    version = (connection.in_force.version or 0) if connection.in_force else 0
    if observation.active == connection.active and (not observation.active or version == connection.active_version):
        return connection
    after = replace(connection, active=observation.active, active_version=version)
    change = Notification(
        "dataPlaneStateChange", after.id, 0, now, active=observation.active, version=version, nsa=nsa
    )
    return _notified(after, change, now)


def delayed(connection: NsiConnection, now: datetime, nsa: str) -> NsiConnection:
    """Tells that another domain has not answered for long; what was asked goes on."""
    correlation = connection.ending or connection.reserving
    is_noted = any(
        each.kind == "messageDeliveryTimeout" and each.correlation_id == correlation
        for each in connection.notifications
    )
    if is_noted or not correlation:
        return connection
    event = Notification("messageDeliveryTimeout", connection.id, 0, now, correlation_id=correlation, nsa=nsa)
    return _notified(connection, event, now)


# -- the outbox ----------------------------------------------------------------------------------------------------


def delivered(connection: NsiConnection, number: int) -> NsiConnection:
    return replace(connection, outbox=tuple(each for each in connection.outbox if each.number != number))


def not_delivered(connection: NsiConnection, number: int, now: datetime) -> NsiConnection:
    """To be tried later, or left to queries."""
    left = []
    for each in connection.outbox:
        if each.number == number:
            wait = min(FIRST_RETRY * 2**each.tries, LONGEST_RETRY)
            each = replace(each, tries=each.tries + 1, due=now + wait)
            if each.tries >= MOST_TRIES:
                continue
        left.append(each)
    return replace(connection, outbox=tuple(left))


def _result(
    connection: NsiConnection,
    correlation: str,
    body: Reserve | Simple | Failed | ErrorMessage,
    now: datetime,
    nsa: str,
) -> NsiConnection:
    number = connection.last_number + 1
    results = (*connection.results, NsiResult(number, correlation, now, body))[-MOST_KEPT:]
    after = replace(connection, results=results, last_number=number, changed_at=now)
    return _sent(after, Header(correlation, connection.requester, nsa), body, now)


def _notified(connection: NsiConnection, notification: Notification, now: datetime) -> NsiConnection:
    number = connection.last_number + 1
    notification = replace(notification, number=number)
    kept = (*connection.notifications, notification)[-MOST_KEPT:]
    after = replace(connection, notifications=kept, last_number=number, changed_at=now)
    # Nobody asked for it: it has a correlation of its own, the same however often it is computed.
    correlation = uuid.uuid5(uuid.NAMESPACE_URL, f"{connection.id}/{number}").urn
    return _sent(after, Header(correlation, connection.requester, notification.nsa), notification, now)


def _sent(connection: NsiConnection, header: Header, body: object, now: datetime) -> NsiConnection:
    if not connection.reply_to:
        return connection
    header = replace(header, reply_to="", protocol_version=REQUESTER_VERSION)
    envelope = soap.written(NsiMessage(header, body)).decode()  # type: ignore[arg-type]
    number = connection.callbacks + 1
    kind = getattr(body, "kind", "") or ("reserveConfirmed" if isinstance(body, Reserve) else "error")
    callback = Callback(number, kind, connection.reply_to, envelope, now)
    return replace(connection, outbox=(*connection.outbox, callback)[-MOST_KEPT:], callbacks=number)


# -- states --------------------------------------------------------------------------------------------------------


_MACHINES: Mapping[str, Mapping[tuple[object, Happening], object]] = {
    "reservation": states.RESERVATION,  # type: ignore[dict-item]
    "provision": states.PROVISION,  # type: ignore[dict-item]
    "lifecycle": states.LIFECYCLE,  # type: ignore[dict-item]
}


def _moved(connection: NsiConnection, happening: Happening) -> NsiConnection:
    """
    Raises:
        NsiRefused: no state machine has that transition.
    """
    for name, table in _MACHINES.items():
        to = table.get((getattr(connection, name), happening))
        if to is not None:
            return replace(connection, **{name: to})  # type: ignore[arg-type]
    raise _no_transition(connection, happening.value)


def _no_transition(connection: NsiConnection, kind: str) -> NsiRefused:
    now_is = f"{connection.reservation.value}, {connection.provision.value}, {connection.lifecycle.value}"
    return NsiRefused(Fault.INVALID_TRANSITION, f"{kind} is not possible in the states {now_is}", connection.id)
