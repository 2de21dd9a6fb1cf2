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


VERBS: dict[str, type[Verb[Any]]] = {one.name: one for one in (Create, Status, Commit, Hold)}
