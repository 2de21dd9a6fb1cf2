"""Who may what: why a reservation was permitted or refused."""

from __future__ import annotations

from dataclasses import dataclass

from slotcar_client.wire import documents
from slotcar_client.wire.verbs.texts import Handle
from slotcar_client.wire.verbs.verb import Verb


@dataclass(frozen=True)
class PolicyWhy(
    Verb[documents.PolicyWhy],
    to="GET /v1/reservations/{handle}/policies",
    summary="Why a reservation was permitted",
    errors=(401, 403, 404, 422, 503),
):
    """Which policies permit or forbid what was asked for last: the reservation, or a change of it.

    `then` is with what was live when it was decided, `now` with what is; both are by the policies in force now, and
    `recorded` has the names of those that decided. A refused request has a handle too, which its event names. A requester
    is shown its owner's totals alone.
    """

    handle: Handle
