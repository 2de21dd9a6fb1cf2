"""SLSs between domains that have a controller each: opened, changed and ended while they run (ADR 93)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs.texts import TIME_PATTERN, Reason
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Place, Verb

SlsName = Annotated[str, Keyword("maxLength", 320), Keyword("examples", ("summer-anl-esnet",)), "an agreed SLS's"]
When = Annotated[
    str | None,
    Keyword("maxLength", 100),
    Keyword("pattern", TIME_PATTERN),
    "when; now where nothing is said",
]


@dataclass(frozen=True)
class OpenSls(
    Verb[documents.NeighbourSls],
    to="POST /v1/slss",
    summary="Open an SLS with a neighbour",
    created=True,
    errors=(401, 403, 404, 409, 503, *BODY),
):
    """In the words of an inventory (`slotcar_sls`), with its `name`. `validity` is needed: it holds in that window,
    half-open. Both domains have it from now on, or none (409, which says which domain refused).
    """

    sls: Annotated[Mapping[str, Any], Place.WHOLE]


@dataclass(frozen=True)
class ChangeSls(
    Verb[documents.NeighbourSls],
    to="POST /v1/slss/{sls}/change",
    summary="Change an SLS with a neighbour",
    errors=(*CHANGE, *BODY),
):
    """What is said changes, the rest stays; service and ingress stay always. It cannot have less than is promised of it in
    one of the two domains: the refusal says what is promised when."""

    sls: SlsName
    change: Annotated[Mapping[str, Any], Place.WHOLE]


@dataclass(frozen=True)
class EndSls(
    Verb[documents.NeighbourSls],
    to="POST /v1/slss/{sls}/end",
    summary="End an SLS with a neighbour before its time",
    errors=(*CHANGE, *BODY),
):
    """Refused while something is promised of it from then on, in one of the two domains."""

    sls: SlsName
    at: When = None
    reason: Reason = ""


@dataclass(frozen=True)
class Slss(Verb[documents.NeighbourSlss], to="GET /v1/slss", summary="SLSs with neighbours", errors=(401, 403, 503)):
    """Of the inventory, and agreed on while controllers run, with what is promised of each from now on."""
