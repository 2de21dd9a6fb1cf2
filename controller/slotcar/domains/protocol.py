"""Two phases over domains in a row: what a connection becomes by what happens, and what is then to be done. No I/O.

The first domain of the row decides, and only once all of them hold their segments in such a way that no clock ends them
(`Own.KEPT`). What is to be done follows from what is kept (`todo`), so that nothing is lost by a crash: it is done again
until the connection says that it was done. Lost messages are sent again by whoever waits, and a message that comes twice,
late or out of order is answered by the state (`receive`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from slotcar.base.problems import SlotcarError
from slotcar.base.units import format_duration
from slotcar.domains.model import (
    HOLD,
    LONGEST_CHECK,
    OVER,
    SETTLED,
    Connection,
    ConnectionPhase,
    Deed,
    DeedResult,
    Kind,
    NextSays,
    Own,
    PeerMessage,
)


class NotNow(SlotcarError):
    """The connection's phase does not allow it; the message says why."""


# -- what a client asks for ----------------------------------------------------------------------------------------


def begun(
    connection_id: str,
    domain: str,
    neighbours: tuple[str | None, str | None],
    request: str,
    ends: datetime,
    now: datetime,
    *,
    by_agent: bool = False,
    waits: bool = False,
) -> Connection:
    """A connection that is asked for. `neighbours`: the domains before and behind this one, where there are."""
    previous, behind = neighbours
    next_says = NextSays.NONE if by_agent and behind else NextSays.UNASKED
    return Connection(
        connection_id,
        domain,
        previous,
        behind,
        by_agent,
        request,
        ends,
        now,
        now + HOLD,
        next_says=next_says,
        waits=waits,
    )


def changed(
    connection: Connection, request: str, ends: datetime, now: datetime, version: int | None = None
) -> Connection:
    """The next attempt: another form of what is in force, which stays until that is committed.

    `version`: as the previous domain counts it, for an attempt may have failed before this domain heard of it.

    Raises:
        NotNow: nothing is in force, or an attempt is under way.
    """
    if connection.phase is not ConnectionPhase.START:
        raise NotNow(f"connection {connection.id} is {connection.phase.value}: only what is in force can be changed")
    next_says = NextSays.NONE if connection.by_agent and connection.next else NextSays.UNASKED
    return replace(
        connection,
        request=request,
        ends=max(ends, connection.ends),
        began=now,
        until=now + HOLD,
        version=version or connection.version + 1,
        phase=ConnectionPhase.CHECKING,
        own=Own.MISSING,
        next_says=next_says,
        held_until=None,
        ticket="",
        why="",
    )


def restated(connection: Connection, in_force: str) -> Connection:
    """The connection with what is in force said otherwise, in words that no other domain gets."""
    request = in_force if connection.request == connection.in_force else connection.request
    return replace(connection, in_force=in_force, request=request)


def ended(connection: Connection, why: str) -> Connection:
    """The end of the connection in all domains. An attempt is given up; one that others may have decided is ended, too."""
    if connection.phase in OVER:
        return connection
    if connection.is_first and connection.phase is ConnectionPhase.CHECKING and not connection.committed:
        return _aborting(connection, why)
    return _terminating(connection, why)


def given_up(connection: Connection, why: str) -> Connection:
    """The end of an attempt that nobody has decided yet; what was in force before it stays.

    Raises:
        NotNow: none is under way, or it is decided, or another domain decides.
    """
    if connection.phase is ConnectionPhase.ABORTING:
        return connection
    if not connection.is_first or connection.phase not in (ConnectionPhase.CHECKING, ConnectionPhase.HELD):
        raise NotNow(
            f"{connection.domain}: connection {connection.id} is {connection.phase.value}: nothing to give up"
        )
    return _aborting(connection, why)


def committed_by_agent(connection: Connection) -> Connection:
    """ConnectionPhase two, where a client leads: the first domain decides.

    Raises:
        NotNow: it is not held, or another domain decides.
    """
    if (
        connection.phase in (ConnectionPhase.COMMITTING, ConnectionPhase.START)
        and connection.committed <= connection.version
    ):
        return connection
    if connection.phase is not ConnectionPhase.HELD:
        awaited = awaited_ticket(connection)
        condition = f", on condition of {awaited}'s ticket" if awaited else ""
        raise NotNow(f"{connection.domain}: connection {connection.id} is {connection.phase.value}{condition}")
    if not connection.is_first:
        raise NotNow(f"{connection.domain}: the first domain of connection {connection.id} decides, not this one")
    return replace(connection, phase=ConnectionPhase.COMMITTING)


def awaited_ticket(connection: Connection) -> str:
    """Of an agent's connection, the domain on condition of whose ticket it is held; empty where it waits for none."""
    waits = connection.by_agent and connection.phase is ConnectionPhase.CHECKING
    return connection.next or "" if waits and connection.next_says is not NextSays.HELD else ""


# -- what happens by itself ----------------------------------------------------------------------------------------


def elapsed(connection: Connection, now: datetime) -> Connection:
    """The connection once it is `now`: its hold may have run out, its time may be over.

    Where others may have decided it stays held until this domain knows what: `todo` asks.
    """
    if now >= connection.ends and connection.phase not in OVER:
        return replace(connection, phase=ConnectionPhase.ENDED)
    if now < connection.until:
        return connection
    if connection.phase is ConnectionPhase.CHECKING:
        return _aborting(connection, _nobody_answered(connection))
    if connection.phase is ConnectionPhase.HELD and connection.is_first:
        return _aborting(connection, f"{connection.domain}: nobody committed it while it was held")
    return connection


def _nobody_answered(connection: Connection) -> str:
    waited = format_duration(connection.until - connection.began)
    if connection.own is Own.MISSING or connection.next is None:
        return f"{connection.domain} could not hold its segment within {waited}"
    if connection.by_agent:
        return f"{connection.domain}: nobody showed {connection.next}'s ticket within {waited}"
    return f"{connection.next} did not answer {connection.domain} within {waited}"


def awaited(connection: Connection) -> str:
    """Who is waited for in an attempt that is under way, in words."""
    if connection.own is Own.MISSING:
        return f"{connection.domain} does not hold its segment yet"
    if connection.next is None or connection.next_says is NextSays.COMMITTED:
        return f"{connection.domain} has not committed its segment yet"
    if connection.next_says is NextSays.HELD:
        return f"{connection.next} holds its segment, and has not said yet that it is committed"
    if connection.by_agent:
        return f"nobody has shown {connection.next}'s ticket yet"
    return f"{connection.next} has not answered yet"


def due_at(connection: Connection) -> datetime | None:
    """When `elapsed` changes something."""
    if connection.phase is ConnectionPhase.ENDED:
        return None
    waits = connection.phase is ConnectionPhase.CHECKING or (
        connection.phase is ConnectionPhase.HELD and connection.is_first
    )
    return min(connection.until, connection.ends) if waits else connection.ends


# -- what is to be done --------------------------------------------------------------------------------------------


def todo(connection: Connection, now: datetime) -> tuple[Deed | PeerMessage, ...]:
    """What this domain has to do, and to say, until the connection says that it was done."""
    match connection.phase:
        case ConnectionPhase.CHECKING:
            return _while_checking(connection)
        case ConnectionPhase.HELD:
            return _while_held(connection, now)
        case ConnectionPhase.COMMITTING:
            own: tuple[Deed | PeerMessage, ...] = () if connection.own is Own.COMMITTED else (Deed.COMMIT,)
            tell = connection.next is not None and connection.next_says is not NextSays.COMMITTED
            return (*own, *((_to_next(connection, Kind.COMMIT),) if tell else ()))
        case ConnectionPhase.ABORTING:
            own = () if connection.own is Own.RELEASED else (Deed.RELEASE,)
            tell = connection.next_says not in (NextSays.UNASKED, NextSays.ABORTED, NextSays.TERMINATED)
            return (*own, *((_to_next(connection, Kind.ABORT),) if tell else ()))
        case ConnectionPhase.TERMINATING:
            return _while_terminating(connection)
    return () if connection.is_settled else (Deed.RELEASE,)


def questions(connection: Connection) -> tuple[PeerMessage, ...]:
    """What a domain asks its neighbours about what it has in force: whether that is over, which it may have missed.

    Its answers change nothing where all is as it should be.
    """
    version = connection.committed or connection.version
    return tuple(
        PeerMessage(Kind.QUERY, connection.id, version, connection.domain, neighbour)
        for neighbour in (connection.previous, connection.next)
        if neighbour is not None
    )


def _while_checking(connection: Connection) -> tuple[Deed | PeerMessage, ...]:
    if connection.own is Own.MISSING:
        return (Deed.HOLD,)
    if connection.next is None or connection.next_says is NextSays.HELD:
        return (Deed.KEEP,)
    extend = (Deed.EXTEND,) if connection.held_until and connection.held_until < connection.until else ()
    return extend if connection.by_agent else (*extend, _to_next(connection, Kind.RESERVE, content=connection.request))


def _while_held(connection: Connection, now: datetime) -> tuple[Deed | PeerMessage, ...]:
    if connection.is_first:
        return ()
    if not connection.by_agent:
        return (_to_previous(connection, Kind.CONFIRMED),)
    return (_to_previous(connection, Kind.QUERY),) if now >= connection.until else ()


def _while_terminating(connection: Connection) -> tuple[Deed | PeerMessage, ...]:
    own: tuple[Deed | PeerMessage, ...] = () if connection.own is Own.RELEASED else (Deed.CANCEL,)
    tell_next = not _next_knows(connection)
    tell_previous = not connection.is_first and not connection.previous_knows
    return (
        *own,
        *((_to_next(connection, Kind.TERMINATE),) if tell_next else ()),
        *((_to_previous(connection, Kind.TERMINATE),) if tell_previous else ()),
    )


def _to_next(connection: Connection, kind: Kind, content: str = "") -> PeerMessage:
    assert connection.next is not None
    why = connection.why if kind in (Kind.ABORT, Kind.TERMINATE) else ""
    return PeerMessage(kind, connection.id, connection.version, connection.domain, connection.next, why, content)


def _to_previous(connection: Connection, kind: Kind) -> PeerMessage:
    assert connection.previous is not None
    why = connection.why if kind in (Kind.REFUSED, Kind.TERMINATE) else ""
    return PeerMessage(kind, connection.id, connection.version, connection.domain, connection.previous, why)


# -- what the ledger did -------------------------------------------------------------------------------------------


def done(connection: Connection, result: DeedResult) -> Connection:
    """The connection after its ledger has done something, or has refused to. Of another attempt it is old news."""
    if result.version != connection.version:
        return connection
    match connection.phase, result.action:
        case ConnectionPhase.CHECKING, _:
            return _done_while_checking(connection, result)
        case ConnectionPhase.COMMITTING, Deed.COMMIT if connection.own is Own.KEPT:
            failed = bool(result.why)
            return (
                _terminating(connection, result.why) if failed else _maybe_committed(_with(connection, Own.COMMITTED))
            )
        case ConnectionPhase.ABORTING | ConnectionPhase.ENDED, Deed.RELEASE:
            return _maybe_aborted(_with(connection, Own.RELEASED))
        case ConnectionPhase.TERMINATING, Deed.CANCEL:
            return _maybe_terminated(_with(connection, Own.RELEASED))
    return connection


def _done_while_checking(connection: Connection, result: DeedResult) -> Connection:
    match connection.own, result.action:
        case Own.MISSING, Deed.HOLD if result.why:
            return _aborting(_with(connection, Own.RELEASED), result.why)
        case Own.MISSING, Deed.HOLD:
            may_know = connection.next is not None and connection.next_says is NextSays.UNASKED
            next_says = NextSays.NONE if may_know else connection.next_says
            return replace(connection, own=Own.HELD, next_says=next_says, held_until=connection.until)
        case Own.HELD, Deed.KEEP | Deed.EXTEND if result.why:
            return _aborting(connection, result.why)
        case Own.HELD, Deed.EXTEND:
            return replace(connection, held_until=connection.until)
        case Own.HELD, Deed.KEEP:
            leads = connection.is_first and not (connection.by_agent or connection.waits)
            return replace(
                connection, own=Own.KEPT, phase=ConnectionPhase.COMMITTING if leads else ConnectionPhase.HELD
            )
    return connection


def _with(connection: Connection, own: Own) -> Connection:
    return replace(connection, own=own)


# -- what others say -----------------------------------------------------------------------------------------------


def receive(
    connection: Connection | None, message: PeerMessage, now: datetime
) -> tuple[Connection | None, PeerMessage | None]:
    """The connection after a message of its previous or next domain, and what is answered.

    A first `RESERVE`, for which there is no connection yet, and one for a further attempt need a path and so a network:
    `begun` and `changed` are the caller's.
    """
    if connection is None:
        return None, _to_stranger(message)
    if message.kind is Kind.TERMINATE:
        connection = _end_heard(connection, message)
        return connection, _reply(connection, message, Kind.TERMINATED)
    if message.kind is Kind.TERMINATED:
        return _end_known(connection, message.sender), None
    if message.kind is Kind.ABORT and _has_in_force(connection, message):
        return _terminating(connection, message.why), None
    if message.kind is Kind.QUERY and message.sender == connection.next and _is_behind(connection, message):
        return connection, replace(_reply(connection, message, Kind.RESERVE), version=connection.committed,
                                   content=connection.in_force)  # fmt: skip
    if message.version == connection.version:
        from_previous = message.sender == connection.previous
        connection = (
            _heard_of_previous(connection, message) if from_previous else _heard_of_next(connection, message, now)
        )
    return connection, _by_state(connection, message)


def _has_in_force(connection: Connection, message: PeerMessage) -> bool:
    """Whether a neighbour has given up, or never heard of, what is in force here: it lost what it knew, and all end it."""
    return connection.phase is ConnectionPhase.START and message.version == connection.committed


def _is_behind(connection: Connection, message: PeerMessage) -> bool:
    """Whether the next domain has an older version in force than all: it lost what it knew, and is asked for it again."""
    in_force = connection.phase is ConnectionPhase.START and not connection.by_agent
    return in_force and message.version < connection.committed


def _to_stranger(message: PeerMessage) -> PeerMessage | None:
    """What a domain answers about a connection that it does not have: it never was, or was given up (presumed abort)."""
    kind = {
        Kind.ABORT: Kind.ABORTED,
        Kind.TERMINATE: Kind.TERMINATED,
        Kind.CONFIRMED: Kind.ABORT,
        Kind.QUERY: Kind.ABORT,
        Kind.COMMIT: Kind.TERMINATE,
    }.get(message.kind)
    if kind is None:
        return None
    why = f"{message.receiver} has no connection {message.connection}"
    return PeerMessage(kind, message.connection, message.version, message.receiver, message.sender, why)


def _heard_of_next(connection: Connection, message: PeerMessage, now: datetime) -> Connection:
    """What a message of the next domain about the present attempt changes."""
    match connection.phase, message.kind:
        case ConnectionPhase.CHECKING, Kind.PENDING:
            until = min(now + HOLD, connection.began + LONGEST_CHECK)
            return replace(connection, until=max(connection.until, until))
        case ConnectionPhase.CHECKING, Kind.CONFIRMED:
            return replace(connection, next_says=NextSays.HELD, ticket=message.content)
        case ConnectionPhase.CHECKING, Kind.REFUSED:
            return _aborting(replace(connection, next_says=NextSays.ABORTED), message.why)
        case ConnectionPhase.COMMITTING, Kind.COMMITTED:
            return _maybe_committed(replace(connection, next_says=NextSays.COMMITTED))
        case ConnectionPhase.ABORTING, Kind.ABORTED | Kind.REFUSED:
            return _maybe_aborted(replace(connection, next_says=NextSays.ABORTED))
    return connection


def _heard_of_previous(connection: Connection, message: PeerMessage) -> Connection:
    if message.kind is Kind.COMMIT and connection.phase is ConnectionPhase.HELD:
        return replace(connection, phase=ConnectionPhase.COMMITTING)
    if message.kind is Kind.ABORT and connection.phase in (ConnectionPhase.CHECKING, ConnectionPhase.HELD):
        return _aborting(connection, message.why)
    return connection


def _by_state(connection: Connection, message: PeerMessage) -> PeerMessage | None:
    """What a message is answered with: what this domain knows of the attempt that it is about."""
    version = message.version
    under_way = version == connection.version and connection.phase not in SETTLED
    decided = version <= connection.committed or (under_way and connection.phase is ConnectionPhase.COMMITTING)
    over = connection.phase in (ConnectionPhase.TERMINATING, ConnectionPhase.TERMINATED)
    given_up = not decided and (not under_way or connection.phase is ConnectionPhase.ABORTING)
    kind: Kind | None = None
    match message.kind:
        case Kind.RESERVE if version > connection.version and connection.phase not in SETTLED:
            kind = Kind.PENDING  # what the attempt before it left is still to be done
        case Kind.RESERVE:
            held = under_way and connection.phase is ConnectionPhase.HELD
            kind = Kind.REFUSED if given_up else Kind.CONFIRMED if decided or held else Kind.PENDING
        case Kind.CONFIRMED | Kind.QUERY:
            kind = Kind.COMMIT if decided else Kind.ABORT if given_up else None
        case Kind.COMMIT if version <= connection.committed:
            kind = Kind.COMMITTED
        case Kind.ABORT if given_up:
            kind = Kind.ABORTED
    if over and message.kind in (Kind.RESERVE, Kind.CONFIRMED, Kind.QUERY, Kind.COMMIT):
        kind = Kind.TERMINATE
    if connection.phase is ConnectionPhase.ENDED or kind is None:
        return None
    return _reply(connection, message, kind)


def _reply(connection: Connection, message: PeerMessage, kind: Kind) -> PeerMessage:
    why = connection.why if kind in (Kind.REFUSED, Kind.ABORT, Kind.TERMINATE) else ""
    return PeerMessage(kind, connection.id, message.version, connection.domain, message.sender, why)


def news(before: Connection | None, after: Connection) -> PeerMessage | None:
    """What the previous domain is told at once of a step. It asks again where this is lost."""
    if after.is_first or after.by_agent or (before is not None and before.phase is after.phase):
        return None
    if after.phase is ConnectionPhase.START and after.committed == after.version:
        return _to_previous(after, Kind.COMMITTED)
    given_up = (ConnectionPhase.ABORTING, ConnectionPhase.FAILED, ConnectionPhase.START)
    if before is not None and before.phase is ConnectionPhase.CHECKING and after.phase in given_up:
        return _to_previous(after, Kind.REFUSED)
    return None


# -- steps that several of these take ------------------------------------------------------------------------------


def _aborting(connection: Connection, why: str) -> Connection:
    return _maybe_aborted(replace(connection, phase=ConnectionPhase.ABORTING, why=why))


def _maybe_aborted(connection: Connection) -> Connection:
    known = connection.next_says in (NextSays.UNASKED, NextSays.ABORTED, NextSays.TERMINATED)
    if connection.own is not Own.RELEASED or not known or connection.phase is ConnectionPhase.ENDED:
        return connection
    return replace(connection, phase=ConnectionPhase.START if connection.committed else ConnectionPhase.FAILED)


def _maybe_committed(connection: Connection) -> Connection:
    if connection.own is not Own.COMMITTED or (connection.next and connection.next_says is not NextSays.COMMITTED):
        return connection
    return replace(
        connection,
        phase=ConnectionPhase.START,
        committed=connection.version,
        in_force=connection.request,
        held_until=None,
    )


def _terminating(connection: Connection, why: str) -> Connection:
    if connection.phase in (
        ConnectionPhase.FAILED,
        ConnectionPhase.TERMINATING,
        ConnectionPhase.TERMINATED,
        ConnectionPhase.ENDED,
    ):
        return connection
    own = Own.KEPT if connection.own is Own.RELEASED else connection.own  # what was in force before is still there
    return replace(connection, phase=ConnectionPhase.TERMINATING, own=own, why=why)


def _end_heard(connection: Connection, message: PeerMessage) -> Connection:
    return _end_known(_terminating(connection, message.why), message.sender)


def _end_known(connection: Connection, who: str) -> Connection:
    if connection.phase is not ConnectionPhase.TERMINATING:
        return connection
    if who == connection.previous:
        connection = replace(connection, previous_knows=True)
    elif who == connection.next:
        connection = replace(connection, next_says=NextSays.TERMINATED)
    return _maybe_terminated(connection)


def _next_knows(connection: Connection) -> bool:
    """Whether the next domain knows that the connection is over, or never heard of it."""
    never = connection.next_says is NextSays.UNASKED and not connection.committed
    return connection.next is None or connection.next_says is NextSays.TERMINATED or never


def _maybe_terminated(connection: Connection) -> Connection:
    if (
        connection.own is Own.RELEASED
        and _next_knows(connection)
        and (connection.is_first or connection.previous_knows)
    ):
        return replace(connection, phase=ConnectionPhase.TERMINATED, committed=0)
    return connection
