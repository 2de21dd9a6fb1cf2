"""Reservations over several domains, and this domain's neighbours (ADR 78)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from slotcar.base.timebase import iso
from slotcar.base.units import parse_remaining_bytes
from slotcar.book.rules.request_limits import require_reason
from slotcar.book.rules.roles import only_owner, owner_for
from slotcar.desk.agreeing import LONGEST_WAIT_S, volumes_of
from slotcar.desk.desk import Desk, answers
from slotcar.desk.reading import parsed_text
from slotcar.desk.reservations import owner_of_body
from slotcar.domains.agreeing_on_volumes import volume_of
from slotcar.domains.agreement import Agreement
from slotcar.domains.errors import ConnectionRefused, NotThatWay, UnknownConnection
from slotcar.domains.model import Connection
from slotcar.domains.protocol import awaited_ticket
from slotcar.domains.sls_requests import is_about_sls
from slotcar.domains.tickets import claims_of
from slotcar.domains.way import Asker, PeerRequest, received
from slotcar.planning.errors import NotPossible
from slotcar.planning.source import members_of_groups
from slotcar.policy.asking import require
from slotcar.policy.caller import Caller
from slotcar.policy.recalling import kept_of
from slotcar.reservation import from_mapping, require_valid
from slotcar.reservation.model import Reservation
from slotcar_client.wire import documents, verbs

MOST_LISTED = 1000
#: So long it is waited for neighbours that are asked about what is open.
LONGEST_SETTLING_S = 10.0


@answers(verbs.Connect)
def connect(verb: verbs.Connect, desk: Desk, caller: Caller, now: datetime) -> documents.Connection:
    reservation = _reservation(verb.reservation, caller, now)
    agreement = agreement_of(desk)
    asker = asker_of(caller, reservation.owner)
    if reservation.need is not None and not verb.agent:
        return _document(agreement, volumes_of(agreement).reserve(reservation, reservation.owner, asker))
    volume = None
    if reservation.need is not None:
        proposal = volumes_of(agreement).proposal(reservation, reservation.owner)
        reservation, volume = proposal.reservation, proposal.volume
    connection = agreement.reserve(reservation, reservation.owner, by_agent=verb.agent, asker=asker, volume=volume)
    if not verb.agent:
        connection = agreement.in_force(connection.id, connection.version, LONGEST_WAIT_S)
    return _document(agreement, _not_refused(connection))


@answers(verbs.ConnectTogether)
def connect_together(verb: verbs.ConnectTogether, desk: Desk, caller: Caller, now: datetime) -> documents.Connections:
    owner = owner_of_body(verb.group, caller)
    group = {**verb.group, "owner": owner}
    routed = members_of_groups([group], now, desk.settings.max_windows, desk.network, over_domains=True)
    members = [(require_valid(one.reservation), None) for one in routed]
    agreement = agreement_of(desk)
    ids = agreement.reserve_together(members, owner, asker_of(caller, owner))
    return {"items": [_document(agreement, each) for each in agreement.all_in_force(ids, LONGEST_WAIT_S)]}


@answers(verbs.ConnectFurther)
def connect_further(verb: verbs.ConnectFurther, desk: Desk, caller: Caller, _now: datetime) -> documents.Connection:
    agreement, request = agreement_of(desk), received(verb.request)
    if request.origin == agreement.name or not request.through:
        raise NotThatWay(f"{agreement.name} is where connection {verb.connection} begins, and not a further domain")
    owner_for(caller, f"{request.who}@{request.origin}")
    connection = agreement.reserve(
        request.reservation, request.who, by_agent=True, behind=request, connection_id=verb.connection,
        previous=verb.previous,
    )  # fmt: skip
    return _document(agreement, _not_refused(connection))


@answers(verbs.ShowTicket)
def show_ticket(verb: verbs.ShowTicket, desk: Desk, caller: Caller, _now: datetime) -> documents.Connection:
    agreement = agreement_of(desk)
    _changeable(agreement, verb.connection, caller)
    return _document(agreement, _not_refused(agreement.show(verb.connection, verb.ticket)))


@answers(verbs.CommitConnection)
def commit_connection(
    verb: verbs.CommitConnection, desk: Desk, caller: Caller, _now: datetime
) -> documents.Connection:
    agreement = agreement_of(desk)
    version = _changeable(agreement, verb.connection, caller).version
    agreement.commit(verb.connection)
    return _document(agreement, agreement.in_force(verb.connection, version, LONGEST_WAIT_S))


@answers(verbs.ModifyConnection)
def modify_connection(verb: verbs.ModifyConnection, desk: Desk, caller: Caller, now: datetime) -> documents.Connection:
    agreement = agreement_of(desk)
    before = PeerRequest.from_text(_changeable(agreement, verb.connection, caller).request)
    reservation = _reservation(verb.reservation, caller, now)
    if reservation.key != before.reservation.key:
        raise NotPossible(
            f"connection {verb.connection} is {'/'.join(before.reservation.key)}: it keeps owner and name"
        )
    asker = asker_of(caller, reservation.owner)
    if reservation.need is not None:
        return _document(agreement, volumes_of(agreement).change(verb.connection, reservation, asker))
    connection = agreement.modify(verb.connection, reservation, asker)
    return _document(agreement, agreement.in_force(verb.connection, connection.version, LONGEST_WAIT_S))


@answers(verbs.ReportConnection)
def report_connection(
    verb: verbs.ReportConnection, desk: Desk, caller: Caller, _now: datetime
) -> documents.Connection:
    agreement = agreement_of(desk)
    connection = _changeable(agreement, verb.connection, caller)
    remaining_bytes = parsed_text("remaining", parse_remaining_bytes, verb.remaining)
    asker = asker_of(caller, _owner(connection, agreement.name))
    return _document(agreement, volumes_of(agreement).report(verb.connection, remaining_bytes, asker))


@answers(verbs.EndConnection)
def end_connection(verb: verbs.EndConnection, desk: Desk, caller: Caller, _now: datetime) -> documents.Connection:
    agreement = agreement_of(desk)
    connection = _changeable(agreement, verb.connection, caller)
    require_reason(verb.reason)
    by = asker_of(caller, _owner(connection, agreement.name))
    agreement.end(verb.connection, verb.reason or "ended", by)
    agreement.settled(verb.connection, LONGEST_WAIT_S)
    return _document(agreement, agreement.over_everywhere(verb.connection, LONGEST_WAIT_S))


@answers(verbs.SettleConnections)
def settle_connections(
    verb: verbs.SettleConnections, desk: Desk, caller: Caller, _now: datetime
) -> documents.Connections:
    require(caller, verb.operation, "settle connections")
    agreement = agreement_of(desk)
    open_ones = agreement.settle(verb.connection)[:MOST_LISTED]
    until_s = time.monotonic() + LONGEST_SETTLING_S
    return {
        "items": [
            _document(agreement, agreement.settled(each, max(0.0, until_s - time.monotonic())))
            for each in open_ones
            if not is_about_sls(each)
        ]
    }


@answers(verbs.ConnectionStatus)
def connection_status(
    verb: verbs.ConnectionStatus, desk: Desk, caller: Caller, _now: datetime
) -> documents.Connection:
    agreement = agreement_of(desk)
    return _document(agreement, _own(agreement, verb.connection, caller))


@answers(verbs.Connections)
def connections(_verb: verbs.Connections, desk: Desk, caller: Caller, _now: datetime) -> documents.Connections:
    agreement = desk.agreement
    if agreement is None:
        return {"items": []}
    own = only_owner(caller)
    listed = [one for one in agreement.latest(MOST_LISTED) if own in (None, _owner(one, agreement.name))]
    return {"items": [_document(agreement, one) for one in listed]}


@answers(verbs.Domains)
def domains(_verb: verbs.Domains, desk: Desk, _caller: Caller, _now: datetime) -> documents.Domains:
    agreement = desk.agreement
    if agreement is None:
        return {"domain": None, "neighbours": []}
    meetings = agreement.meetings
    return {
        "domain": agreement.name,
        "neighbours": [
            {
                "domain": name,
                "controller": one.controller,
                "fingerprint": one.certificate.fingerprint,
                "clock_ahead_ms": _ms(meetings.differences.get(name)),
                "trouble": meetings.troubles.get(name, ""),
            }
            for name, one in sorted(agreement.neighbours.items())
        ],
    }


def _ms(difference: timedelta | None) -> int | None:
    return None if difference is None else difference // timedelta(milliseconds=1)


def agreement_of(desk: Desk, instead: str = "reserve with `create`") -> Agreement:
    """
    Args:
        instead: what is done where there is none.

    Raises:
        NotPossible: this controller has all domains of its inventory.
    """
    if desk.agreement is None:
        raise NotPossible(f"this controller has all domains of its inventory: {instead}")
    return desk.agreement


def asker_of(caller: Caller, owner: str) -> Asker:
    return Asker(caller.name, {**(kept_of(caller, owner) or {}), "proof": caller.proof})


def _reservation(body: Mapping[str, Any], caller: Caller, now: datetime) -> Reservation:
    return require_valid(from_mapping({"owner": owner_of_body(body, caller), **body}, now))


def _own(agreement: Agreement, connection_id: str, caller: Caller) -> Connection:
    """The connection, where the caller may see it; another's is as good as absent.

    Raises:
        UnknownConnection.
    """
    if is_about_sls(connection_id):
        raise UnknownConnection(connection_id)
    connection, own = agreement.get(connection_id), only_owner(caller)
    if own not in (None, _owner(connection, agreement.name)):
        raise UnknownConnection(connection_id)
    return connection


def _changeable(agreement: Agreement, connection_id: str, caller: Caller) -> Connection:
    """The connection, where the caller may change it.

    Raises:
        UnknownConnection, NotAllowed.
    """
    connection = _own(agreement, connection_id, caller)
    owner = _owner(connection, agreement.name)
    require(caller, "change", f"change a connection of owner {owner}", owner)
    return connection


def _owner(connection: Connection, domain: str) -> str:
    """As this domain's ledger calls it."""
    request = PeerRequest.from_text(connection.request)
    return request.who if request.origin == domain else f"{request.who}@{request.origin}"


def _not_refused(connection: Connection) -> Connection:
    """
    Raises:
        ConnectionRefused: its present attempt has failed.
    """
    if connection.why:
        raise ConnectionRefused(connection.why)
    return connection


def _document(agreement: Agreement, connection: Connection) -> documents.Connection:
    request = PeerRequest.from_text(connection.request)
    return {
        "connection": connection.id,
        "domain": connection.domain,
        "previous": connection.previous,
        "next": connection.next,
        "name": request.reservation.name,
        "owner": f"{request.who}@{request.origin}",
        "phase": connection.phase.value,
        "version": connection.version,
        "committed": connection.committed,
        "condition": awaited_ticket(connection),
        "in_doubt": connection.in_doubt,
        "why": connection.why,
        "hold_until": iso(connection.until),
        "slots": [
            {
                "start": iso(slot.start),
                "end": iso(slot.end),
                "forward_bps": slot.forward_bps,
                "reverse_bps": slot.reverse_bps,
            }
            for slot in request.reservation.slots
        ],
        "volume": _volume(connection),
        "delays": [
            {"domain": name, "delay_us": part.delay_us, "jitter_us": part.jitter_us}
            for name, part in request.parts.items()
        ],
        "members": list(connection.members),
        "ticket": agreement.ticket_for(connection) if connection.by_agent else "",
        "request_for_next": agreement.request_for_next(connection.id) if connection.by_agent else "",
        "rests_on": _kept_ticket(connection),
        "segments": [
            {
                "domain": state.domain,
                "phase": state.phase.value,
                "committed": state.committed,
                "not_ready": state.not_ready,
                "slot": state.slot,
                "why": state.why,
                "stated_at": iso(state.stated_at.replace(microsecond=0)),
            }
            for state in agreement.segment_states(connection)
        ],
    }


def _volume(connection: Connection) -> documents.ConnectionVolume | None:
    volume = volume_of(connection)
    if volume is None:
        return None
    return {
        "volume_bytes": volume.need.volume_bytes,
        "by": iso(volume.need.by),
        "remaining_bytes": volume.remaining_bytes,
        "at": iso(volume.at.replace(microsecond=0)),
        "missing_bytes": volume.missing_bytes,
    }


def _kept_ticket(connection: Connection) -> documents.KeptTicket | None:
    claims = claims_of(connection.ticket)
    if claims is None:
        return None
    return {
        "issuer": claims["iss"],
        "number": claims["jti"],
        "ends": iso(datetime.fromtimestamp(float(claims["exp"]), UTC)),
        "sls": list(claims["sls"]),
        "ticket": connection.ticket,
    }
