"""Routes of verbs: their parameters, bodies and answers follow from the verb's type (`slotcar_client.wire.verbs`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_args, get_origin

from fastapi import APIRouter, Body, Depends, Header, Path, Query
from pydantic import Field, create_model

from slotcar.api import bodies
from slotcar.api.answers import model_of
from slotcar.api.context import Context, MaybeIfMatch, TheCaller, TheContext, Time
from slotcar.api.limits import json_only
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller
from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs import Place, Verb, VerbField

V = TypeVar("V", bound=Verb[Any])
Run = Callable[[V, Context, Caller], Any]
#: Keywords of JSON Schema, as FastAPI's and pydantic's arguments.
_ARGUMENTS = {"maxLength": "max_length", "minLength": "min_length", "pattern": "pattern", "examples": "examples"}
_PARAMETERS: Mapping[Place, Callable[..., Any]] = {Place.ADDRESS: Path, Place.QUERY: Query, Place.KEY: Header}


def serves(router: APIRouter, verb: type[V]) -> Callable[[Run[V]], Run[V]]:
    """Has a function answer a verb: with its document, or a response that has that."""

    def registered(run: Run[V]) -> Run[V]:
        def endpoint(context: Context, caller: Caller, body: Any = None, **given: Any) -> Any:
            keys = body.model_dump() if isinstance(body, bodies.Body) else {}
            texts = {name: iso(one) if isinstance(one, datetime) else one for name, one in keys.items()}
            return run(verb(**given, **texts), context, caller)

        parameters = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
                      for name, kind in (("context", TheContext), ("caller", TheCaller))]  # fmt: skip
        endpoint.__signature__ = Signature([*_parameters(verb), *parameters])  # type: ignore[attr-defined]
        endpoint.__doc__ = verb.__doc__
        has_body = any(one.place in (Place.BODY, Place.WHOLE) for one in verb.fields)
        router.add_api_route(
            verb.address.removeprefix(router.prefix),
            endpoint,
            methods=[verb.method],
            response_model=model_of(verb.answer),
            status_code=201 if verb.created else 200,
            summary=verb.summary,
            name=verb.name,
            dependencies=[Depends(json_only)] if has_body else [],
        )
        return run

    return registered


def _parameters(verb: type[Verb[Any]]) -> list[Parameter]:
    defaults = {one.name: one.default for one in fields(verb)}  # type: ignore[arg-type]
    listed: list[Parameter] = []
    keys: dict[str, Any] = {}
    for one in verb.fields:
        if one.place is Place.BODY:
            kind, about = _request_kind(one)
            keys[one.name] = (kind, Field(default=defaults[one.name], **about))
            continue
        default = defaults[one.name] if one.place in (Place.QUERY, Place.KEY) else Parameter.empty
        listed.append(Parameter(one.name, Parameter.KEYWORD_ONLY, annotation=_annotation(one), default=default))
    if keys:
        name = f"{verb.__name__}In"
        body: Any = create_model(name, __base__=bodies.Body, **keys)
        listed.append(Parameter("body", Parameter.KEYWORD_ONLY, annotation=body))
    return listed


def _annotation(one: VerbField) -> Any:
    if one.place is Place.VERSION:
        return MaybeIfMatch
    if one.place is Place.WHOLE:
        return Annotated[dict[str, Any], Body()]
    kind, about = _request_kind(one)
    if one.place is Place.KEY:
        about["alias"] = one.place.value
    return Annotated[kind, _PARAMETERS[one.place](**about)]


def _request_kind(one: VerbField) -> tuple[Any, dict[str, Any]]:
    """Its type in a request, and what is said of it."""
    kind, *notes = get_args(one.kind) if get_origin(one.kind) is Annotated else (one.kind,)
    about: dict[str, Any] = {_ARGUMENTS[note.name]: note.value for note in notes if isinstance(note, Keyword)}
    about["description"] = next((note for note in notes if isinstance(note, str)), None)
    return (Time | None if kind == documents.Time | None else kind), about
