"""What controllers of domains say to each other. No client says it: it is signed, and taken from neighbours alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs.verb import BODY, Verb


@dataclass(frozen=True)
class PeerSay(
    Verb[documents.PeerAnswers],
    to="POST /v1/domains/messages",
    summary="Say something to a neighbour",
    errors=(403, *BODY),
):
    """One message about a connection over several domains, as a JWS with Ed25519. What can be answered at once is."""

    message: Annotated[str, Keyword("maxLength", 500_000), "the JWS"]
