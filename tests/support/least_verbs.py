"""A verb with as little as it needs, whichever it is: a verb that is added is sent by tests that know nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_args, get_origin

from slotcar_client.wire.verbs import Verb

_LEAST: dict[Any, Any] = {str: "none", int: 1, list: [], Sequence: []}


def least_of(verb: type[Verb[Any]], **known: str) -> Verb[Any]:
    """`known`: values of fields that are no matter of form, such as a handle."""
    needed = {one.name for one in fields(verb) if one.default is MISSING and one.default_factory is MISSING}
    values = {field.name: _least(field.kind) for field in verb.fields if field.name in needed}
    return verb(**values | {name: value for name, value in known.items() if name in needed})


def _least(kind: Any) -> Any:
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return _LEAST.get(get_origin(plain) or plain, {})
