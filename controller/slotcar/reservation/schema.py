"""JSON Schema (2020-12) of reservation files, out of the model: what editors complete, and what the API's requests are."""

from __future__ import annotations

from typing import Any

from slotcar.base import lengths
from slotcar.base.lengths import with_lengths
from slotcar.base.texts import lines_of
from slotcar.base.vocabulary import OnFailure
from slotcar.managers.hosts import CpuRequest, HostRequest, StorageRequest
from slotcar.reservation.groups import FLOW_KEYS, MOST_MEMBERS, NETWORK, SHARED
from slotcar.reservation.model import Reservation
from slotcar.reservation.written import FIELDS, Written

ID = "urn:slotcar:schema:reservation-file:1"


def json_schema() -> dict[str, Any]:
    """The schema of a whole file."""
    entry = reservation_schema()
    defaults = {key: _default_schema(value) for key, value in entry["properties"].items() if key != "name"}
    needed = [{"required": [key]} for key in entry["required"] if key != "name"]
    times, a_service = {"anyOf": entry.pop("anyOf")}, {"allOf": entry.pop("allOf")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Slotcar reservation file",
        "description": "Reservations that an operator wants to be there: applying it creates, changes and cancels.",
        "type": "object",
        "additionalProperties": False,
        "required": ["version"],
        "anyOf": [{"required": ["reservations"]}, {"required": ["together"]}],
        "properties": {
            "version": {"const": 1, "description": "The version of this format."},
            "defaults": {
                "type": ["object", "null"],
                "description": "Keys that every reservation of the file has unless it says otherwise.",
                "additionalProperties": False,
                "properties": defaults,
                "not": _BOTH_ENDS,
            },
            "reservations": {
                "type": "array",
                "description": "The reservations.",
                "items": entry | {"required": ["name"], "not": _BOTH_ENDS},
            },
            "together": {
                "type": "array",
                "description": "Groups: members of any kind over one window, all of them or none.",
                "items": group_schema(),
            },
        },
        "allOf": [_in_defaults_or_each(one) for one in (*needed, times, a_service, _AN_END)],
    }


_ENDS = tuple(
    with_lengths({"type": "object", "required": [key], "properties": {key: {"type": "string"}}})
    for key in ("end", "duration")
)
_BOTH_ENDS = {"allOf": list(_ENDS)}
_A_VOLUME = {
    "required": ["volume", "by"],
    "properties": {key: with_lengths({"type": "string"}, key) for key in ("volume", "by")},
}
_AN_END = {"anyOf": [*_ENDS, {"required": ["schedule"], "properties": {"schedule": {"type": "array"}}}, _A_VOLUME]}
#: Of one reservation that has no defaults beside it: its one window ends in one way, or a schedule says them all.
ONE_END = {
    "oneOf": [
        *_ENDS,
        {
            "required": ["schedule"],
            "properties": {"schedule": {"type": "array"}, "end": {"type": "null"}, "duration": {"type": "null"}},
        },
        _A_VOLUME,
    ]
}


def _default_schema(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of a default, which may not be null: null in a reservation takes a default back."""
    schema = dict(value)
    if isinstance(value.get("type"), list):
        schema["type"] = next(kind for kind in value["type"] if kind != "null")
    if "enum" in value:
        schema["enum"] = [one for one in value["enum"] if one is not None]
    if "anyOf" in value:
        schema["anyOf"] = [_default_schema(one) for one in value["anyOf"] if one.get("type") != "null"]
    return schema


def _in_defaults_or_each(needed: dict[str, Any]) -> dict[str, Any]:
    """Required keys may stand in the defaults instead of in each reservation."""
    return {
        "if": {"required": ["defaults"], "properties": {"defaults": {"type": "object", **needed}}},
        "else": {"properties": {"reservations": {"items": needed}}},
    }


def reservation_schema() -> dict[str, Any]:
    """The schema of one reservation, complete in itself."""
    schemas: dict[str, Any] = {}
    for model in (Reservation, Written):  # what is written in a form of its own goes over the model's
        schema = model.model_json_schema()
        for key, value in schema["properties"].items():
            schemas[key] = with_lengths(_plain(value, schema.get("$defs", {})), key)
    properties = {key: schemas[key] for key in FIELDS}
    optional = [key for key, field in FIELDS.items() if not field.is_required()]
    for key in optional:
        properties[key] = _or_null(properties[key])
    properties["schedule"]["items"]["not"] = _BOTH_ENDS
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in FIELDS if key not in (*optional, "start", "service")],
        "allOf": [{"anyOf": [_stated("service"), _stated("profile")]}],
        "anyOf": [{"required": ["start"]}, {"required": ["schedule"]}, {"required": ["volume"]}],
        "properties": properties,
    }


def _stated(key: str) -> dict[str, Any]:
    """A service follows from a profile, so one of the two is needed."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


def group_schema() -> dict[str, Any]:
    """The schema of one group. Kinds of members that third parties manage are mappings, whose keys only they know."""
    properties = reservation_schema()["properties"]
    on_failure = {
        "enum": [one.value for one in OnFailure],
        "description": "What becomes of the group when a member cannot be given at its slot's start: end all, go on"
        " without it, or only report it and keep trying.",
    }
    flow = {
        "type": "object",
        "additionalProperties": False,
        "description": "A flow.",
        "properties": {key: properties[key] for key in FLOW_KEYS},
    }
    member = {
        "type": "object",
        "required": ["name"],
        "minProperties": 2,
        "description": "A member: its name, and one kind of resource.",
        "properties": {
            "name": {"type": "string", "description": "Unique in the group."},
            "on_failure": on_failure,
            NETWORK: flow,
            **{kind: _request_schema(one) for kind, one in (("cpu", CpuRequest), ("storage", StorageRequest))},
        },
        "additionalProperties": {"type": "object", "additionalProperties": {"maxLength": lengths.OTHERWISE}},
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "members"],
        "properties": {
            "name": properties["name"],
            **{key: properties[key] for key in SHARED},
            "on_failure": on_failure,
            "members": {"type": "array", "minItems": 1, "maxItems": MOST_MEMBERS, "items": with_lengths(member)},
        },
    }


def _request_schema(model: type[HostRequest]) -> dict[str, Any]:
    """What a host's member may say: quantities are texts there, and a number of cores may be a number."""
    schema = model.model_json_schema()
    properties = {key: _plain(one, schema.get("$defs", {})) for key, one in schema["properties"].items()}
    for key in ("percent", "read", "write"):
        if key in properties:
            properties[key] = {"type": "string", "description": properties[key]["description"]}
    if "cores" in properties:
        properties["cores"] = {"type": ["number", "string"], "description": "How many cores, such as 4 or 2.5."}
    return {
        "type": "object", "additionalProperties": False, "required": schema["required"], "properties": properties,
        "description": lines_of(model.__doc__ or "")[0],
    }  # fmt: skip


def _plain(value: Any, definitions: dict[str, Any]) -> Any:
    """The schema without references, titles and defaults of null; nullable values say so in their type."""
    if isinstance(value, list):
        return [_plain(one, definitions) for one in value]
    if not isinstance(value, dict):
        return value
    if reference := value.get("$ref"):
        value = definitions[reference.removeprefix("#/$defs/")] | {k: v for k, v in value.items() if k != "$ref"}
    if "enum" in value:
        value = {key: one for key, one in value.items() if key != "type"}
    dropped = {"title"} | ({"default"} if value.get("default", ...) in (None, [], {}) else set())
    schema = {
        key: {name: _plain(each, definitions) for name, each in one.items()}
        if key == "properties"
        else _plain(one, definitions)
        for key, one in value.items()
        if key not in dropped
    }
    kinds = schema.get("anyOf", ())
    if {"type": "null"} in kinds:
        own, *others = (kind for kind in kinds if kind != {"type": "null"})
        rest = {key: one for key, one in schema.items() if key != "anyOf"}
        schema = _or_null(own | rest) if not others else schema | {"anyOf": [own, *others]}
    return {"additionalProperties": False} | schema if "properties" in schema else schema


def _or_null(value: dict[str, Any]) -> dict[str, Any]:
    """The same, or null: a reservation takes a default of its file back by it."""
    if "enum" in value:
        return value | {"enum": [*(one for one in value["enum"] if one is not None), None]}
    if (
        "anyOf" in value
        and {"type": "null"} not in value["anyOf"]
        and not any("null" in one["type"] for one in value["anyOf"])
    ):
        return value | {"anyOf": [*value["anyOf"], {"type": "null"}]}
    kind = value.get("type")
    return value | {"type": [kind, "null"]} if isinstance(kind, str) else value
