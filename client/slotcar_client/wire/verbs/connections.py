"""Connections over several domains, each of which has a controller of its own (ADR 78)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs.texts import LONGEST_QUANTITY, QUANTITY_PATTERN, Reason
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Place, Verb

ConnectionName = Annotated[
    str, Keyword("maxLength", 200), Keyword("examples", ("anl-5f0c9a31d2e47b68",)), "what `connect` answered with"
]
OneConnection = Annotated[
    str | None, Keyword("maxLength", 200), Keyword("examples", ("anl-5f0c9a31d2e47b68",)), "all where none is named"
]
Request = Annotated[str, Keyword("maxLength", 200_000), "`request_for_next` of the domain before"]
DomainName = Annotated[str, Keyword("maxLength", 320), "the domain before, whose link leads here"]
#: The domains agree within half a minute, or are waited for no longer; a volume is proposed to them three times at most.
AGREEING_S, ENDING_S = 120.0, 90.0
Ticket = Annotated[str, Keyword("maxLength", 100_000), "`ticket` of the next domain's answer"]


@dataclass(frozen=True)
class Connect(
    Verb[documents.Connection],
    to="POST /v1/connections",
    summary="Reserve over several domains",
    answer_s=AGREEING_S,
    repeatable=False,
    created=True,
    errors=(401, 403, 404, 409, 503, *BODY),
):
    """This domain is the first. It asks the next one, and so on (a chain): all of them commit, or none (409, which says
    which domain refused, in its numbers). With `agent` whoever asks leads: the answer says on condition of whose ticket the
    segment is held.
    """

    reservation: Annotated[Mapping[str, Any], Place.WHOLE]
    agent: Annotated[bool, Place.QUERY, "the client asks the other domains itself"] = False


@dataclass(frozen=True)
class ConnectTogether(
    Verb[documents.Connections],
    to="POST /v1/connections/together",
    summary="Reserve several flows over several domains together",
    answer_s=AGREEING_S,
    created=True,
    repeatable=False,
    errors=(401, 403, 404, 409, 503, *BODY),
):
    """A group as a reservation file says it, whose members are flows that begin or end in this domain. All of them are
    committed in all domains, or none is (409), and the refusal names the member and the domain.
    """

    group: Annotated[Mapping[str, Any], Place.WHOLE]


@dataclass(frozen=True)
class ConnectFurther(
    Verb[documents.Connection],
    to="POST /v1/connections/{connection}/segments",
    summary="As an agent, ask a further domain",
    created=True,
    errors=(401, 403, 404, 409, 503, *BODY),
):
    """Held on condition of the next domain's ticket; the last domain's answer has a `ticket` at once."""

    connection: ConnectionName
    request: Request = ""
    previous: DomainName = ""


@dataclass(frozen=True)
class ShowTicket(
    Verb[documents.Connection],
    to="POST /v1/connections/{connection}/ticket",
    summary="As an agent, show the next domain's ticket",
    errors=(*CHANGE, *BODY),
):
    """The answer has this domain's own `ticket` then, for the domain before."""

    connection: ConnectionName
    ticket: Ticket = ""


@dataclass(frozen=True)
class CommitConnection(
    Verb[documents.Connection],
    to="POST /v1/connections/{connection}/commit",
    summary="As an agent, commit in all domains",
    errors=CHANGE,
):
    """Said to the first domain once it was shown the next one's ticket. The others follow."""

    connection: ConnectionName


@dataclass(frozen=True)
class ModifyConnection(
    Verb[documents.Connection],
    to="POST /v1/connections/{connection}/modify",
    summary="Change a reservation over several domains",
    answer_s=AGREEING_S,
    errors=(*CHANGE, *BODY),
):
    """The whole reservation in its other form: all domains take it, or all stay as they were."""

    connection: ConnectionName
    reservation: Annotated[Mapping[str, Any], Place.WHOLE]


@dataclass(frozen=True)
class ReportConnection(
    Verb[documents.Connection],
    to="POST /v1/connections/{connection}/progress",
    summary="Report progress of a volume over several domains",
    answer_s=AGREEING_S,
    errors=(*CHANGE, *BODY),
):
    """What remains of its volume by a deadline, said to its first domain. Its slots are found again, and change in all
    domains or in none; `volume` says what they do not move in time.
    """

    connection: ConnectionName
    remaining: Annotated[
        str,
        LONGEST_QUANTITY,
        Keyword("pattern", QUANTITY_PATTERN),
        Keyword("examples", ("1.2 TB",)),
        "what of the volume remains to be moved; `0 B` ends the connection",
    ]


@dataclass(frozen=True)
class EndConnection(
    Verb[documents.Connection],
    to="POST /v1/connections/{connection}/end",
    summary="End a reservation over several domains",
    answer_s=ENDING_S,
    errors=(*CHANGE, *BODY),
):
    """In all domains, of which none can refuse. One that is not reached learns of it as soon as it is. The answer says
    in `segments` what each has come to."""

    connection: ConnectionName
    reason: Reason = ""


@dataclass(frozen=True)
class SettleConnections(
    Verb[documents.Connections],
    to="POST /v1/domains/settle",
    summary="Ask the neighbours about what is open",
    errors=(401, 403, 404, 409, 503, *BODY),
):
    """Of a connection, or of all that are under way or in force: an end that this domain missed is followed, and one that
    a neighbour missed it learns. A controller does so itself when it begins, and every hour.
    """

    connection: OneConnection = None


@dataclass(frozen=True)
class ConnectionStatus(
    Verb[documents.Connection],
    to="GET /v1/connections/{connection}",
    summary="Status of a reservation over several domains",
    errors=CHANGE,
):
    """As this domain knows it."""

    connection: ConnectionName


@dataclass(frozen=True)
class Connections(
    Verb[documents.Connections],
    to="GET /v1/connections",
    summary="Reservations over several domains",
    errors=(401, 403, 503),
):
    """Those that changed last, the latest first; a requester's own."""


@dataclass(frozen=True)
class Domains(
    Verb[documents.Domains], to="GET /v1/domains", summary="This domain and its neighbours", errors=(401, 403, 503)
):
    """With what was last heard of each. None where this controller has all domains of its inventory."""
