"""What a verb is: a type whose fields are those of a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
#: Statuses that a verb with a body, and one that changes what is there, may answer with.
BODY = (400, 413, 415, 422)
CHANGE = (401, 403, 404, 409, 503)


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
