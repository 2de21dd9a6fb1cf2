"""What is offered to a caller: its rights, end systems, services and limits."""

from __future__ import annotations

from dataclasses import dataclass

from slotcar_client.wire import documents
from slotcar_client.wire.verbs.texts import Owner
from slotcar_client.wire.verbs.verb import Verb


@dataclass(frozen=True)
class Whoami(Verb[documents.Caller], to="GET /v1/whoami", summary="Who asks", errors=(401, 503)):
    """Whom the token stands for, and until when."""


@dataclass(frozen=True)
class Endpoints(
    Verb[documents.Endpoints],
    to="GET /v1/endpoints",
    summary="What may be a source or a destination",
    errors=(401, 403, 503),
):
    """End systems by name, and networks whose addresses may be said. A requester sees those that it may use."""


@dataclass(frozen=True)
class Services(
    Verb[documents.Services], to="GET /v1/services", summary="What may be reserved", errors=(401, 403, 503)
):
    """Each service with its PHB and code points. Those that are not `reserved` promise no rate."""


@dataclass(frozen=True)
class Limits(Verb[documents.Limits], to="GET /v1/limits", summary="The operator's limits", errors=(401, 403, 503)):
    """How far ahead, how long and how much may be reserved, from which rate on it is approved, and what the owner has of
    its quotas. The caller's own owner where none is named."""

    owner: Owner = None
