"""Verbs of the API, each as one program says it to the other: where it goes, its fields, what is answered, and what may go
wrong. Values are texts as people write them; the controller reads them.

A field that the address names goes there, one of a verb that reads into the query, and others into the body; a note beside
its type says otherwise. The docstring is the operation's description.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args, get_origin, get_type_hints

from slotcar_client.wire import LINE_PATTERN, documents
from slotcar_client.wire.documents import Keyword, Time

T = TypeVar("T")


class Place(Enum):
    """Where a field goes in a request. `VERSION`: an ETag in If-Match. `BODY`: a key of the body; `WHOLE`: all of it."""

    ADDRESS = "address"
    QUERY = "query"
    KEY = "Idempotency-Key"
    VERSION = "If-Match"
    BODY = "body"
    WHOLE = "whole body"


@dataclass(frozen=True, slots=True)
class VerbField:
    """`kind`: its type, with what is noted beside it but the place."""

    name: str
    place: Place
    kind: Any


class Verb(Generic[T]):
    """Attributes:
    name: of the operation. errors: the statuses that it may answer with beside those of every operation.
    created: it is answered with 201. answer: the document's type.
    """

    name: ClassVar[str]
    method: ClassVar[str]
    address: ClassVar[str]
    summary: ClassVar[str]
    errors: ClassVar[tuple[int, ...]]
    created: ClassVar[bool]
    answer: ClassVar[Any]
    fields: ClassVar[tuple[VerbField, ...]]

    def __init_subclass__(
        cls, *, to: str, summary: str, errors: tuple[int, ...] = (), created: bool = False, **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.method, _, cls.address = to.partition(" ")
        cls.summary, cls.errors, cls.created = summary, errors, created
        (cls.answer,) = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        hints = get_type_hints(cls, include_extras=True).items()
        cls.fields = tuple(cls._field(name, hint) for name, hint in hints if get_origin(hint) is not ClassVar)

    @classmethod
    def _field(cls, name: str, hint: Any) -> VerbField:
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        usual = Place.ADDRESS if f"{{{name}}}" in cls.address else Place.QUERY if cls.method == "GET" else Place.BODY
        place = next((one for one in notes if isinstance(one, Place)), usual)
        rest = tuple(one for one in notes if not isinstance(one, Place))
        return VerbField(name, place, Annotated[(kind, *rest)] if rest else kind)


Handle = Annotated[
    str, Keyword("maxLength", 200), Keyword("examples", ("r-7q2m5k3c9d4e8f1a",)), "what `create` answered with"
]
Device = Annotated[str, Keyword("maxLength", 320), Keyword("examples", ("anl-7507-1",)), "a device of the inventory"]
Reason = Annotated[str, Keyword("maxLength", 500), Keyword("pattern", LINE_PATTERN), "one line, for the audit log"]
Owner = Annotated[str | None, Keyword("maxLength", 128), Keyword("pattern", LINE_PATTERN), "only this owner's"]
_BODY = (400, 413, 415, 422)
_CHANGE = (401, 403, 404, 409, 503)


@dataclass(frozen=True)
class Create(
    Verb[documents.Entry],
    to="POST /v1/reservations",
    summary="Reserve",
    created=True,
    errors=(401, 403, 409, 503, *_BODY),
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
    Verb[documents.Entry], to="POST /v1/reservations/{handle}/commit", summary="Commit a hold", errors=(*_CHANGE, 412)
):
    """Makes a hold firm, or leaves it to approval above the operator's gate. Refused (409) once it has run out."""

    handle: Handle
    version: Annotated[int | None, Place.VERSION] = None


@dataclass(frozen=True)
class Hold(
    Verb[documents.Hold],
    to="POST /v1/devices/{device}/hold",
    summary="Hold a device as it is",
    errors=(401, 403, 404, 503, *_BODY),
):
    """The controller that leads leaves it alone from its next turn on; a push that is under way ends.

    With `until`, the hold ends by itself then, and the controller makes the device as the ledger wants it.
    """

    device: Device
    reason: Reason = ""
    until: Annotated[Time | None, "when the controller manages it again; left out: once it is released"] = None


@dataclass(frozen=True)
class Release(
    Verb[documents.Hold], to="POST /v1/devices/{device}/release", summary="End the hold of a device", errors=_CHANGE
):
    """The controller that leads reads it then, and pushes what the ledger wants. The answer is the hold that was ended."""

    device: Device


@dataclass(frozen=True)
class Holds(Verb[documents.Holds], to="GET /v1/holds", summary="The devices that are held", errors=(401, 403, 503)):
    """By name, each with why, by whom, and until when."""


@dataclass(frozen=True)
class Difference(
    Verb[documents.DifferenceOfDevice],
    to="GET /v1/devices/{device}/difference",
    summary="Where a device differs from what is wanted now",
    errors=_CHANGE,
):
    """Reads the device through Ansible, which takes seconds, and changes nothing.

    `state` is `equal`, `different` with a unified diff of the part that is Slotcar's, or `failed` with the reason why
    the device could not be read.
    """

    device: Device


@dataclass(frozen=True)
class Whoami(Verb[documents.Caller], to="GET /v1/whoami", summary="Who asks", errors=(401, 503)):
    """Whom the token stands for, and until when."""


@dataclass(frozen=True)
class Endpoints(
    Verb[documents.Endpoints],
    to="GET /v1/endpoints",
    summary="What may be a source or a destination",
    errors=(401, 503),
):
    """End systems by name, and networks whose addresses may be said. A requester sees those that it may use."""


@dataclass(frozen=True)
class Services(Verb[documents.Services], to="GET /v1/services", summary="What may be reserved", errors=(401, 503)):
    """Each service with its PHB and code points. Those that are not `reserved` promise no rate."""


@dataclass(frozen=True)
class Limits(Verb[documents.Limits], to="GET /v1/limits", summary="The operator's limits", errors=(401, 403, 503)):
    """How far ahead, how long and how much may be reserved, from which rate on it is approved, and what the owner has of
    its quotas. The caller's own owner where none is named."""

    owner: Owner = None


VERBS: dict[str, type[Verb[Any]]] = {
    one.name: one
    for one in (
        *(Create, Status, Commit),
        *(Difference, Hold, Holds, Release),
        *(Whoami, Endpoints, Services, Limits),
    )
}
