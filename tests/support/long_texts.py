"""Values of JSON Schemas whose texts are all too long, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
#: What somebody sends, so that an answer shows how much of it is told.
PATTERN = "Qz7"
#: Of what was sent an answer tells no more.
MOST_TOLD = 100


def text_of(length: int, beginning: str = "", pattern: str = PATTERN) -> str:
    return (beginning + pattern * (length // len(pattern) + 1))[:length]


def tells_too_much(answer: str) -> bool:
    return text_of(MOST_TOLD + 1) in answer


def texts(schema: Schema, whole: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Each text that a document of this schema may have: where, and its own schema. `whole` has what references name."""
    schema = resolved(schema, whole)
    kinds = schema.get("type")
    if "string" in (kinds if isinstance(kinds, list) else [kinds]) and not {"enum", "const"} & schema.keys():
        yield path, schema
    for word in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(word, ()):
            yield from texts(one, whole, path)
    for key, one in schema.get("properties", {}).items():
        yield from texts(one, whole, f"{path}.{key}" if path else key)
    if isinstance(schema.get("items"), Mapping):
        yield from texts(schema["items"], whole, f"{path}[0]")
    if isinstance(rest := schema.get("additionalProperties"), Mapping):
        yield f"{path}.*", schema.get("propertyNames", {})
        yield from texts(rest, whole, f"{path}.*")


def resolved(schema: Schema, whole: Schema) -> Schema:
    """The schema, or the one that it refers to."""
    while "$ref" in schema:
        target: Any = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def too_long_value(schema: Schema, whole: Schema, arm: int, beyond: int) -> Any:
    """A value with every key, whose texts, also those that are one of a few words, have `beyond` characters more than
    they may; of what may be of several kinds it is the one of the number `arm`, counted from 0, or the last.
    """
    schema = resolved(schema, whole)
    arms = [one for one in schema.get("anyOf", ()) if one.get("type") != "null" and "required" not in one]
    if arms and "properties" not in schema:
        return too_long_value(arms[min(arm, len(arms) - 1)], whole, arm, beyond)
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "properties" in schema or "additionalProperties" in schema:
        value = {key: too_long_value(one, whole, arm, beyond) for key, one in schema.get("properties", {}).items()}
        if isinstance(rest := schema.get("additionalProperties"), Mapping) and rest:
            value[PATTERN] = too_long_value(rest, whole, arm, beyond)
        return value
    if "array" in kinds:
        return [too_long_value(schema.get("items", {}), whole, arm, beyond)]
    if "string" in kinds or "enum" in schema or "maxLength" in schema:
        return text_of(schema.get("maxLength", 100) + beyond)
    return 1
