"""What a verb is: a type whose fields are those of a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
#: Statuses that a verb with a body, and one that changes what is there, may answer with.
BODY = (400, 413, 415, 422)
CHANGE = (401, 403, 404, 409, 503)


class Place(Enum):
    """Where a field goes in a request. `VERSION`: an ETag in If-Match. `BODY`: a key of the body; `WHOLE`: all of it."""

    ADDRESS = "address"
    QUERY = "query"
    HEADER = "header"
    VERSION = "If-Match"
    BODY = "body"
    WHOLE = "whole body"


class Named(NamedTuple):
    """What a request calls a field, where Python has the word for itself."""

    name: str


class Form(NamedTuple):
    """The body of a request as a schema: what it is called, and what it is in words. `optional`: it may be left out."""

    name: str
    words: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class VerbField:
    """`kind`: its type, with what is noted beside it but the place and the name. `sent_as`: what a request calls it."""

    name: str
    place: Place
    kind: Any
    sent_as: str


class _Fields:
    """The fields of a verb, read once, when somebody asks: most of what imports verbs does not."""

    def __get__(self, verb: Verb[Any] | None, kind: type[Verb[Any]]) -> tuple[VerbField, ...]:
        if "_read_fields" not in vars(kind):
            hints = get_type_hints(kind, include_extras=True).items()
            kind._read_fields = tuple(
                _field(kind, name, hint) for name, hint in hints if get_origin(hint) is not ClassVar
            )
        return kind._read_fields


def _field(verb: type[Verb[Any]], name: str, hint: Any) -> VerbField:
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    usual = Place.ADDRESS if f"{{{name}}}" in verb.address else Place.QUERY if verb.method == "GET" else Place.BODY
    place = next((note for note in notes if isinstance(note, Place)), usual)
    sent_as = next((note.name for note in notes if isinstance(note, Named)), name)
    rest = tuple(note for note in notes if not isinstance(note, Place | Named))
    return VerbField(name, place, Annotated[(kind, *rest)] if rest else kind, sent_as)


class Verb(Generic[T]):
    """Attributes:
    operation: its name. family: the module that it stands in.
    errors: the statuses that it may answer with beside those of every operation.
    created: it is answered with 201. location: where to find what was created, by the keys of the answer.
    repeatable: whether it may be sent again where nobody knows whether it arrived.
    answer_s: how long its answer may take, in seconds, where that is longer than of others; None for as long as of others.
    settles: the states in one of which a reservation is where an attempt of this verb has arrived that was lost.
    by_hand: its route is, for it can also stream.
    body: what its body is called, where it is not called as the verb is. answer: the document's type.
    """

    operation: ClassVar[str]
    family: ClassVar[str]
    method: ClassVar[str]
    address: ClassVar[str]
    summary: ClassVar[str]
    errors: ClassVar[tuple[int, ...]]
    created: ClassVar[bool]
    location: ClassVar[str]
    repeatable: ClassVar[bool]
    answer_s: ClassVar[float | None]
    settles: ClassVar[tuple[str, ...]]
    by_hand: ClassVar[bool]
    body: ClassVar[Form]
    answer: ClassVar[Any]
    fields: ClassVar[_Fields] = _Fields()
    _read_fields: ClassVar[tuple[VerbField, ...]]

    def __init_subclass__(
        cls, *, to: str, summary: str, errors: tuple[int, ...] = (), created: bool = False, location: str = "",
        repeatable: bool = True, settles: tuple[str, ...] = (), by_hand: bool = False, body: Form | None = None,
        answer_s: float | None = None, **more: Any,
    ) -> None:  # fmt: skip
        super().__init_subclass__(**more)
        cls.operation = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.family = cls.__module__.rpartition(".")[2]
        cls.method, _, cls.address = to.partition(" ")
        cls.summary, cls.errors, cls.created, cls.location = summary, errors, created, location
        cls.repeatable, cls.settles, cls.by_hand, cls.answer_s = repeatable, settles, by_hand, answer_s
        cls.body = body or Form(f"{cls.__name__}In")
        (cls.answer,) = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
