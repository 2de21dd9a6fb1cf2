"""Reservations: asked for, looked at, changed and given back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs.texts import Handle
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Place, Verb


@dataclass(frozen=True)
class Create(
    Verb[documents.Entry],
    to="POST /v1/reservations",
    summary="Reserve",
    created=True,
    errors=(401, 403, 409, 503, *BODY),
):
    """Admitted whole, or refused with numbers (409) and nothing held. `owner` may be left out: it is the caller's."""

    reservation: Annotated[Mapping[str, Any], Place.WHOLE]
    hold: Annotated[
        str | None,
        Place.QUERY,
        Keyword("maxLength", 100),
        "only hold it, for so long (`PT15M`); commit it or lose it",
    ] = None
    idempotency_key: Annotated[
        str | None,
        Place.KEY,
        Keyword("minLength", 1),
        Keyword("maxLength", 200),
        Keyword("pattern", r"^[\x21-\x7e]+$"),
    ] = None


@dataclass(frozen=True)
class Status(Verb[documents.Entry], to="GET /v1/reservations/{handle}", summary="Status", errors=(401, 403, 404, 503)):
    """One reservation; its version is the ETag. A requester sees its own only: another's is as good as absent (404)."""

    handle: Handle


@dataclass(frozen=True)
class Commit(
    Verb[documents.Entry], to="POST /v1/reservations/{handle}/commit", summary="Commit a hold", errors=(*CHANGE, 412)
):
    """Makes a hold firm, or leaves it to approval above the operator's gate. Refused (409) once it has run out."""

    handle: Handle
    version: Annotated[int | None, Place.VERSION] = None
