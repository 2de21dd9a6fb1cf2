"""Plans of reservation files, applied. To make one streams, and has no type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from slotcar_client.wire import documents
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Place, Verb


@dataclass(frozen=True)
class Apply(Verb[documents.Applied], to="POST /v1/applies", summary="Apply a plan", errors=(*CHANGE, *BODY, 412)):
    """Exactly the plan, whole or not at all; refused (409) when the ledger or the inventory has changed since."""

    plan: Annotated[Mapping[str, Any], Place.WHOLE]
