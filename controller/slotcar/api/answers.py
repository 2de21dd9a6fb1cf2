"""Answers: their models, which are made from the wire's documents, and bytes.

FastAPI checks what it answers by its model, and writes the OpenAPI's schema from that. Of reservations, where most of a
page's time went into it, the document is written as it is (`written`), and tests hold it to its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import EnumMeta
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_json

from slotcar.reservation.model import ReservationFields
from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword

#: Documents whose schemas are not called as they are, with `Out` behind.
NAMES = {
    documents.SlotAtBoundary: "SlotAtBoundary", documents.Mistake: "ErrorOut", documents.QuotaOfOwner: "QuotaOut",
}  # fmt: skip


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


@cache
def model_of(document: Any) -> type[BaseModel]:
    """The model of a typed dictionary. Its key's type has beside it what it is in words, an enumeration, or keywords."""
    if document is documents.Reservation:
        return _reservation()
    fields: dict[str, Any] = {}
    for key, kind in get_type_hints(document, include_extras=True).items():
        if get_origin(kind) is NotRequired:
            fields[key] = (_type_of(get_args(kind)[0]), Field(default=None, exclude_if=lambda value: value is None))
        else:
            fields[key] = (_type_of(kind), ...)
    name = NAMES.get(document, f"{document.__name__}Out")
    return create_model(name, __base__=Answer, __doc__=document.__doc__, **fields)


def _reservation() -> type[BaseModel]:
    """What the controller says in words once, for files and requests, too."""
    base: Any = ReservationFields[model_of(documents.Slot)]  # type: ignore[misc]
    rate = Field(description="payload rate, bits per second; null where `slots` have several")
    windows: Any = list[model_of(documents.Window)]  # type: ignore[misc]
    fields: Any = {"rate_bps": (int | None, rate), "windows": (windows, ...)}
    return create_model("ReservationOut", __base__=(base, Answer), __doc__=documents.Reservation.__doc__, **fields)


def _type_of(kind: Any) -> Any:
    if is_typeddict(kind):
        return model_of(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _noted(*parts)
    if origin in (Union, UnionType):
        return reduce(or_, map(_type_of, parts))
    return origin[tuple(map(_type_of, parts))] if origin in (list, dict) else kind


def _noted(kind: Any, *notes: Any) -> Any:
    kind = _type_of(kind)
    about: dict[str, Any] = {}
    for note in notes:
        if isinstance(note, EnumMeta):
            kind = note
        elif note == Keyword("format", "date-time"):
            kind = datetime
        elif isinstance(note, Keyword):
            about[note.name] = list(note.value)
        else:
            about["description"] = note
    return Annotated[kind, Field(**about)] if about else kind


def written(document: Mapping[str, Any], status_code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer of an operation whose `response_model` the document has the form of."""
    return Response(to_json(document), status_code, headers, "application/json")
