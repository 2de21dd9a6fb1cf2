"""JSON Schema (2020-12) of reservation files: what editors complete, and what the API's requests are."""

from __future__ import annotations

from typing import Any

from controller.problems import LINE_PATTERN
from controller.reservation.checks import (
    HOST,
    LONGEST_LABEL,
    LONGEST_LABEL_KEY,
    LONGEST_RULE,
    MOST_LABELS,
    MOST_VIA,
    NAME,
    OWNER,
)
from controller.reservation.recurrence import MOST_OCCURRENCES
from controller.reservation.slots import HOURS_KEYS, RATE_KEYS
from controller.vocabulary import Direction, IfUnready, Protocol, Service

#: What these texts begin with at least; a sentence says the rest.
TIME_PATTERN = r"^\s*([Nn][Oo][Ww]\s*(\+[\s\S]*)?|[0-9][^\n]*)\s*$"
DURATION_PATTERN = r"^\s*(P[0-9WDTHMS.]+|[0-9][0-9.\sA-Za-zµμ]*)\s*$"
QUANTITY_PATTERN = r"[0-9]"
ID = "urn:slotcar:schema:reservation-file:1"


def json_schema() -> dict[str, Any]:
    """The schema of a whole file."""
    entry = reservation_schema()
    defaults = {key: _given(value) for key, value in entry["properties"].items() if key != "name"}
    needed = [{"required": [key]} for key in entry["required"] if key != "name"]
    times = {"anyOf": entry.pop("anyOf")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Slotcar reservation file",
        "description": "Reservations that an operator wants to be there: applying it creates, changes and cancels.",
        "type": "object",
        "additionalProperties": False,
        "required": ["version", "reservations"],
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
        },
        "allOf": [_in_defaults_or_each(one) for one in (*needed, times, _AN_END)],
    }


_ENDS = tuple(
    {"type": "object", "required": [key], "properties": {key: {"type": "string"}}} for key in ("end", "duration")
)
_BOTH_ENDS = {"allOf": list(_ENDS)}
_AN_END = {"anyOf": [*_ENDS, {"required": ["schedule"], "properties": {"schedule": {"type": "array"}}}]}
#: Of one reservation that has no defaults beside it: its one window ends in one way, or a schedule says them all.
ONE_END = {
    "oneOf": [
        *_ENDS,
        {
            "required": ["schedule"],
            "properties": {"schedule": {"type": "array"}, "end": {"type": "null"}, "duration": {"type": "null"}},
        },
    ]
}
#: When one slot is.
_SLOT: dict[str, Any] = {
    "start": {
        "type": "string",
        "pattern": TIME_PATTERN,
        "description": "`now`, `now + 20 min`, or a time with its zone.",
        "examples": ["now", "now + 20 min", "2027-03-01T22:00:00+01:00"],
    },
    "end": {
        "type": ["string", "null"],
        "pattern": TIME_PATTERN,
        "description": "A time with its zone; the slot is open before it. Either this or a duration.",
        "examples": ["2027-03-02T06:00:00+01:00"],
    },
    "duration": {
        "type": ["string", "null"],
        "pattern": DURATION_PATTERN,
        "description": "Length of the slot: ISO 8601 or `2 h`. Either this or an end.",
        "examples": ["PT2H", "90 min"],
    },
}


def _given(value: dict[str, Any]) -> dict[str, Any]:
    """Without null: a reservation may take a default back by it, and a default of nothing is a slip."""
    found = dict(value)
    if isinstance(value.get("type"), list):
        found["type"] = next(kind for kind in value["type"] if kind != "null")
    if "enum" in value:
        found["enum"] = [one for one in value["enum"] if one is not None]
    if "anyOf" in value:
        found["anyOf"] = [_given(one) for one in value["anyOf"] if one.get("type") != "null"]
    return found


def _in_defaults_or_each(needed: dict[str, Any]) -> dict[str, Any]:
    """What the defaults have, the reservations need not."""
    return {
        "if": {"required": ["defaults"], "properties": {"defaults": {"type": "object", **needed}}},
        "else": {"properties": {"reservations": {"items": needed}}},
    }


def reservation_schema() -> dict[str, Any]:
    """The schema of one reservation, complete in itself."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "owner", "source", "destination", "protocol", "service"],
        "anyOf": [{"required": ["start"]}, {"required": ["schedule"]}],
        "properties": {
            "name": _text(NAME.pattern, "Unique for its owner; what a later apply matches.", "tonight-cms"),
            "owner": _text(OWNER.pattern, "Whose reservation it is.", "hep"),
            "source": _endpoint("Where the traffic comes from."),
            "destination": _endpoint("Where it goes."),
            "protocol": _enum(Protocol, "Transport protocol."),
            "direction": _enum(Direction, "Which way is reserved; forward is from source to destination.", "forward"),
            "service": _enum(Service, "Which service it gets. best-effort and qbss need no rate."),
            "rate": _rate("Payload rate of each reserved direction, or one each; headers are added by admission."),
            "packet_size": _quantity("Size of the whole IP packet, headers included.", ["1500 B"], "1500 B"),
            "rtt": _quantity(
                "Longest round-trip time; the policer's burst follows from it. 400 ms for tcp and 100 ms otherwise, where"
                " it is not stated.",
                ["50 ms"],
            ),
            **_SLOT,
            "schedule": {
                "type": ["array", "null"],
                "minItems": 1,
                "description": "Slots written one by one, each with its times and its rate, instead of `start`.",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["start"],
                    "properties": {**_SLOT, "rate": _rate("Payload rate in this slot; the reservation's by default.")},
                    "not": _BOTH_ENDS,
                },
            },
            "hours": {
                "type": ["array", "null"],
                "minItems": 1,
                "description": "Other rates at some hours of the day, on the wall clock of `timezone`.",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": list(HOURS_KEYS),
                    "properties": {
                        "from": _time_of_day("20:00"),
                        "to": _time_of_day("06:00"),
                        "rate": _rate("Payload rate at these hours."),
                    },
                },
            },
            "recurrence": {
                "type": ["string", "null"],
                "pattern": "=",
                "maxLength": LONGEST_RULE,
                "description": f"An RRULE (RFC 5545) that ends, of at most {MOST_OCCURRENCES} occurrences.",
                "examples": ["FREQ=DAILY;COUNT=14"],
            },
            "timezone": {
                "type": ["string", "null"],
                "description": "Whose wall clock recurrence and hours follow; the start's own zone by default.",
                "examples": ["Europe/Zurich", "+01:00"],
            },
            "via": {
                "type": ["array", "null"],
                "maxItems": MOST_VIA,
                "items": {"type": "string", "pattern": f"^{HOST.pattern}$"},
                "description": "Routers that the path must cross, in order; the shortest path otherwise.",
            },
            "if_unready": _enum(
                IfUnready,
                "What becomes of the slot when a router of its path cannot be made ready: begin late, begin on the others, "
                "be cancelled before it begins, or begin late with operators called.",
                IfUnready.DELAY.value,
            ),
            "labels": {
                "type": ["object", "null"],
                "propertyNames": {"maxLength": LONGEST_LABEL_KEY, "pattern": LINE_PATTERN},
                "additionalProperties": {
                    "type": ["string", "number"],
                    "maxLength": LONGEST_LABEL,
                    "pattern": LINE_PATTERN,
                },
                "maxProperties": MOST_LABELS,
                "description": "Texts of your own, to find it by.",
            },
        },
    }


def _rate(description: str) -> dict[str, Any]:
    one = _quantity(description, ["36 Mbit/s", "1.5 Gbit/s"])
    ways = {way: _quantity(f"Payload rate {way}.", ["20 Mbit/s"]) for way in RATE_KEYS}
    each_way = {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": ways}
    return {"description": description, "examples": one["examples"], "anyOf": [one, each_way]}


def _time_of_day(example: str) -> dict[str, Any]:
    return {
        "type": "string",
        "pattern": "^[0-9]{1,2}:[0-9]{2}$",
        "description": "Hours and minutes.",
        "examples": [example],
    }


def _text(pattern: str, description: str, example: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{pattern}$", "description": description, "examples": [example]}


def _enum(kind: Any, description: str, default: str | None = None) -> dict[str, Any]:
    choices: list[str | None] = [str(one) for one in kind]
    if default is None:
        return {"enum": choices, "description": description}
    return {"enum": [*choices, None], "description": description, "default": default}


def _quantity(description: str, examples: list[str], default: str | None = None) -> dict[str, Any]:
    kind = ["string", "null"]
    found: dict[str, Any] = {
        "type": kind,
        "pattern": QUANTITY_PATTERN,
        "description": description,
        "examples": examples,
    }
    return found | ({"default": default} if default else {})


def _endpoint(description: str) -> dict[str, Any]:
    return {
        "description": f"{description} A host of the inventory or an address; the port may be bound later.",
        "anyOf": [
            {"type": "string", "minLength": 1, "maxLength": 300, "pattern": LINE_PATTERN},
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["host"],
                "properties": {
                    "host": {"type": "string", "minLength": 1, "maxLength": 253, "pattern": LINE_PATTERN},
                    "port": {"type": ["integer", "null"], "minimum": 1, "maximum": 65535},
                },
            },
        ],
        "examples": ["lbnl-premium:5001", "10.10.21.2"],
    }
