"""Routes of verbs: their parameters, bodies and answers follow from the verb's type (`slotcar_client.wire.verbs`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as AbstractSequence
from dataclasses import MISSING, fields
from datetime import datetime
from enum import EnumMeta
from functools import cache, reduce
from inspect import Parameter, Signature
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, create_model

from slotcar.api.answers import model_of, written
from slotcar.api.context import Context, IfMatch, MaybeIfMatch, OneVersion, TheCaller, TheContext, Time
from slotcar.api.limits import json_only
from slotcar.base.timebase import iso
from slotcar.policy.caller import Caller
from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs import VERBS, Place, Verb, VerbField

V = TypeVar("V", bound=Verb[Any])
Run = Callable[[V, Context, Caller], Any]
#: Keywords of JSON Schema, as FastAPI's and pydantic's arguments.
_ARGUMENTS = {
    "maxLength": "max_length", "minLength": "min_length", "maxItems": "max_length", "minItems": "min_length",
    "pattern": "pattern", "examples": "examples", "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt",
}  # fmt: skip
_PARAMETERS: Mapping[Place, Callable[..., Any]] = {Place.ADDRESS: Path, Place.QUERY: Query, Place.HEADER: Header}
#: How a time is noted.
_TIME = Keyword("format", "date-time")
#: Documents in whose checking most of a page's time would go: they are written as they are.
_UNCHECKED = (documents.Entry, documents.Entries, documents.Group, documents.Groups, documents.Applied)


class VerbBody(BaseModel):
    model_config = ConfigDict(extra="forbid")


@cache
def router_of(family: str) -> APIRouter:
    """The routes of a family of verbs, in their order; its name is their tag. All applications of a process share them."""
    router = APIRouter(tags=[family])
    for verb in VERBS.values():
        if verb.family == family and not verb.by_hand:
            serves(router, verb)(lambda verb, context, caller: context.desk.send(verb, caller))
    return router


def serves(router: APIRouter, verb: type[V]) -> Callable[[Run[V]], Run[V]]:
    """Has a function answer a verb with its document."""

    def registered(run: Run[V]) -> Run[V]:
        def endpoint(context: Context, caller: Caller, response: Response, body: Any = None, **given: Any) -> Any:
            keys = body.model_dump(exclude_unset=True) if isinstance(body, VerbBody) else {}
            texts = {name: _as_text(value) for name, value in (given | keys).items()}
            document = run(verb(**texts), context, caller)
            headers = _headers(verb, document)
            if verb.answer in _UNCHECKED:
                return written(document, 201 if verb.created else 200, headers)
            response.headers.update(headers)
            return document

        parameters = [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
            for name, kind in (("context", TheContext), ("caller", TheCaller), ("response", Response))
        ]
        endpoint.__signature__ = Signature([*_parameters(verb), *parameters])  # type: ignore[attr-defined]
        endpoint.__doc__ = verb.__doc__
        has_body = any(field.place in (Place.BODY, Place.WHOLE) for field in verb.fields)
        router.add_api_route(
            verb.address.removeprefix(router.prefix),
            endpoint,
            methods=[verb.method],
            response_model=model_of(verb.answer),
            status_code=201 if verb.created else 200,
            summary=verb.summary,
            name=verb.operation,
            dependencies=[Depends(json_only)] if has_body else [],
        )
        return run

    return registered


def has_version(verb: type[Verb[Any]]) -> bool:
    """Whether what answers it has a version, which is its ETag."""
    return verb.answer in (documents.Entry, documents.Group)


def _headers(verb: type[Verb[Any]], document: Any) -> dict[str, str]:
    headers = {"ETag": f'"{document["version"]}"'} if has_version(verb) else {}
    return headers | ({"Location": verb.location.format_map(document)} if verb.location else {})


def _as_text(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else value


def _parameters(verb: type[Verb[Any]]) -> list[Parameter]:
    defaults = {field.name: _default(field.default) for field in fields(verb)}  # type: ignore[arg-type]
    listed: list[Parameter] = []
    keys: dict[str, Any] = {}
    for field in verb.fields:
        default = defaults[field.name]
        if field.place is Place.BODY:
            kind, about = _request_kind(field.kind)
            keys[field.name] = (kind, Field(default=... if default is Parameter.empty else default, **about))
            continue
        if field.place is Place.VERSION:
            kind, default = _version(field, default), Parameter.empty
        else:
            kind = _annotation(field)
        listed.append(Parameter(field.name, Parameter.KEYWORD_ONLY, annotation=kind, default=default))
    if keys:
        form = verb.body
        body: Any = create_model(form.name, __base__=VerbBody, __doc__=form.words or None, **keys)
        wanted, absent = (body | None, None) if form.optional else (body, Parameter.empty)
        listed.append(Parameter("body", Parameter.KEYWORD_ONLY, annotation=wanted, default=absent))
    return listed


def _default(value: Any) -> Any:
    return Parameter.empty if value is MISSING else list(value) if isinstance(value, tuple) else value


def _version(field: VerbField, default: Any) -> Any:
    if default is None:
        return MaybeIfMatch
    return OneVersion if field.kind is int else IfMatch


def _annotation(field: VerbField) -> Any:
    if field.place is Place.WHOLE:
        return Annotated[dict[str, Any], Body()]
    kind, about = _request_kind(field.kind)
    if field.sent_as != field.name:
        about["alias"] = field.sent_as
    return Annotated[kind, _PARAMETERS[field.place](**about)]


def _request_kind(kind: Any) -> tuple[Any, dict[str, Any]]:
    """A field's type in a request, and what is said of it."""
    parts, notes = (get_args(kind)[:1], get_args(kind)[1:]) if get_origin(kind) is Annotated else ((kind,), ())
    about: dict[str, Any] = {
        _ARGUMENTS[note.name]: _argument(note) for note in notes if isinstance(note, Keyword) and note != _TIME
    }
    words = next((note for note in notes if isinstance(note, str)), None)
    if words is not None:
        about["description"] = words
    enumeration = next((note for note in notes if isinstance(note, EnumMeta)), None)
    return Time if _TIME in notes else enumeration or _plain(parts[0]), about


def _argument(note: Keyword) -> Any:
    return (
        [list(one) if isinstance(one, tuple) else one for one in note.value] if note.name == "examples" else note.value
    )


def _plain(kind: Any) -> Any:
    """A type, with the notes of what is in it as pydantic has them."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner, about = _request_kind(kind)
        return Annotated[inner, Field(**about)] if about else inner
    if origin in (Union, UnionType):
        return reduce(or_, map(_plain, parts))
    if origin is AbstractSequence:
        return list[_plain(parts[0])]  # type: ignore[misc]
    if is_typeddict(kind):
        return _body_of(kind)
    if origin is Mapping and parts[1] is not Any:
        return dict[_plain(parts[0]), _plain(parts[1])]  # type: ignore[misc]
    return dict[str, Any] if origin not in (None, Literal) else kind


def _body_of(kind: Any) -> type[VerbBody]:
    """A part of a body, of which anything may be left out."""
    keys: dict[str, Any] = {}
    for key, hint in get_type_hints(kind, include_extras=True).items():
        inner, about = _request_kind(hint)
        keys[key] = (inner, Field(default=None, **about))
    model: type[VerbBody] = create_model(f"{kind.__name__}In", __base__=VerbBody, __doc__=kind.__doc__, **keys)
    return model
