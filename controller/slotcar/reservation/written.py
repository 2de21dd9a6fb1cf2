"""How people write a reservation: the model's fields in the model's order, some in another form (texts with units, times).

A field of the model that is not named in `INSTEAD` is written as it is, and needs nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic.fields import FieldInfo

from slotcar.base import lengths
from slotcar.base.problems import LINE_PATTERN
from slotcar.base.units import (
    MAX_RATE_BPS,
    UnitError,
    parse_any_bps,
    parse_latency_us,
    parse_rate_bps,
    parse_size_bytes,
)
from slotcar.base.vocabulary import Shape
from slotcar.reservation.checks import (
    HOST,
    MOST_LABELS,
    MOST_RECEIVERS,
    MOST_VIA,
    NUMBERS,
    is_address,
    is_host,
    is_label,
    own_labels_in,
)
from slotcar.reservation.keys import Mistakes, with_unit
from slotcar.reservation.model import (
    DEFAULT_PACKET_SIZE_BYTES,
    MOST_WEIGHT,
    BackgroundShare,
    Endpoint,
    Hint,
    ReservationFields,
    TimeBound,
)
from slotcar.reservation.recurrence import MOST_OCCURRENCES

_MODEL = ReservationFields.model_fields
RATE_EXAMPLES = ["36 Mbit/s", "1.5 Gbit/s"]
RATE_KEYS = ("forward", "reverse")
WAYS_EXAMPLE = "forward=20 Mbit/s, reverse=1 Mbit/s"
WAYS_HINT = f"say `{WAYS_EXAMPLE}`"
#: What these texts begin with at least; a sentence says the rest.
TIME_PATTERN = r"^\s*([Nn][Oo][Ww]\s*(\+[\s\S]*)?|[0-9][^\n]*)\s*$"
DURATION_PATTERN = r"^\s*(P[0-9WDTHMS.]+|[0-9][0-9.\sA-Za-zµμ]*)\s*$"
QUANTITY_PATTERN = r"[0-9]"
ENDPOINT_HINT = "say a host of the inventory or an address, with a port if it is known: `lbnl-premium:5001`"
RECEIVERS_HINT = "say for example `[lbnl-premium, anl-data]`"
VIA_HINT = "say for example `[anl-border, esnet-hub]`"
LABELS_HINT = (
    f"say at most {MOST_LABELS} `KEY: VALUE` pairs of one line each, "
    f"{lengths.LABEL_KEY} and {lengths.LABEL} characters at most"
)
SHARE_KEYS = ("weight", "at_least", "at_most")
SHARE_HINT = "say `{weight: 2, at_least: 1 Mbit/s, at_most: 40 Mbit/s}`; each key may be left out"
BOUND_HINT = "say `{at_most: 20 ms}`"
_PORT = re.compile(r"[0-9]{1,5}")


# -- values ----------------------------------------------------------------------------------------------------------


def read_endpoint(value: object) -> Endpoint:
    """An endpoint of `host`, `host:port`, `[v6]:port`, a bare IPv6 address, or a mapping of `host` and `port`.

    Raises:
        Mistakes: it is none.
    """
    wrong: list[tuple[str, str, object, str]] = []
    if isinstance(value, Mapping):
        host, port = value.get("host"), value.get("port")
        hint = "the keys are host, port"
        extra = sorted(set(value) - {"host", "port"})
        wrong += [(f".{one}", "is no key that is known here", "", hint) for one in extra]
    else:
        host, port = _split(value) if isinstance(value, str) else (None, None)
    if not isinstance(host, str) or not (HOST.fullmatch(host) or is_address(host)):
        wrong.append(("", "is no endpoint", value, ENDPOINT_HINT))
    elif NUMBERS.fullmatch(host) and not is_address(host):
        wrong.append(("", "is no address", value, "an address has four numbers from 0 to 255: `10.10.21.2`"))
    elif port is not None and not (isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65535):
        bare = isinstance(value, Mapping) and isinstance(port, str) and _PORT.fullmatch(port)
        hint = "write the number without quotes" if bare else "leave the port out to bind it later"
        wrong.append(("", "has no port from 1 to 65535", value if port == "" else port, hint))
    if wrong:
        raise Mistakes(*wrong)
    return Endpoint(host=str(host), port=port)


def _split(text: str) -> tuple[str | None, int | str | None]:
    """Host and port; the port stays a text where it is no number."""
    stripped = text.strip()
    if is_address(stripped):
        return stripped, None
    if stripped.startswith("["):
        host, bracket, rest = stripped[1:].partition("]")
        colon, port = rest[:1], rest[1:]
        if not bracket or not is_address(host):
            return None, None
        if colon not in ("", ":"):
            return host, ""
    else:
        host, colon, port = stripped.rpartition(":") if ":" in stripped else (stripped, "", "")
    if not colon:
        return host, None
    return host, int(port) if _PORT.fullmatch(port) else port


def _read_via(value: object) -> tuple[str, ...]:
    good = isinstance(value, list | tuple) and len(value) <= MOST_VIA
    if not good or not all(isinstance(one, str) and HOST.fullmatch(one) for one in value):  # type: ignore[attr-defined]
        raise Mistakes(("", "is no list of routers", value, VIA_HINT))
    return tuple(value)  # type: ignore[arg-type]


def _read_receivers(value: object) -> tuple[str, ...]:
    """A list, or a text with commas between them."""
    if isinstance(value, str):
        value = [one.strip() for one in value.split(",")]
    good = isinstance(value, list | tuple) and 1 <= len(value) <= MOST_RECEIVERS
    if not good or not all(isinstance(one, str) and is_host(one) for one in value):  # type: ignore[attr-defined]
        raise Mistakes(("", "is no list of receivers", value, RECEIVERS_HINT))
    return tuple(value)  # type: ignore[arg-type]


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Keys and values of a mapping in one text, such as `weight=2, at_most=40 Mbit/s`; empty where one is not there."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return [(key.strip(), value.strip()) for key, _, value in pairs]


def read_ways(text: str) -> dict[str, str]:
    """The mapping of rates that a text such as `forward=20 Mbit/s, reverse=1 Mbit/s` stands for; other keys stay in it.

    Raises:
        Mistakes: a direction has no rate, a rate no direction, or a direction is there twice.
    """
    pairs = pairs_of(text)
    keys = [key for key, _ in pairs]
    if not all(key and rate for key, rate in pairs):
        raise Mistakes(("", "is no rate each way", text, WAYS_HINT))
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise Mistakes(("", f"says {twice} twice", text, WAYS_HINT))
    return dict(pairs)


def read_share(value: object) -> BackgroundShare:
    """A share of `{weight: 2, at_least: 1 Mbit/s, at_most: 40 Mbit/s}`, or of a text such as `weight=2, at_most=40 Mbit/s`.

    Raises:
        Mistakes: it is none.
    """
    if isinstance(value, str):
        value = {key: int(text) if text.isdecimal() else text for key, text in pairs_of(value)}
    if not isinstance(value, Mapping):
        raise Mistakes(("", "is no share", value, SHARE_HINT))
    wrong: list[tuple[str, str, object, str]] = [
        (f".{key}", "is no key that is known here", "", f"the keys are {', '.join(SHARE_KEYS)}")
        for key in value
        if key not in SHARE_KEYS
    ]
    weight = value.get("weight")
    if weight is not None and not (
        isinstance(weight, int) and not isinstance(weight, bool) and 1 <= weight <= MOST_WEIGHT
    ):
        wrong.append((".weight", "is no weight", weight, f"say a whole number from 1 to {MOST_WEIGHT}"))
    rates: dict[str, int] = {}
    for key, parse in (("at_least", parse_any_bps), ("at_most", parse_rate_bps)):
        try:
            if value.get(key) is not None:
                rates[f"{key}_bps"] = with_unit(parse, "Mbit/s")(value[key])
        except UnitError as error:
            wrong.append((f".{key}", error.message, value[key], error.hint))
    if rates.get("at_least_bps", 0) > rates.get("at_most_bps", MAX_RATE_BPS):
        wrong.append((".at_least", "is above at_most", value["at_least"], f"say at most {value['at_most']}"))
    if wrong:
        raise Mistakes(*wrong)
    return BackgroundShare(weight=1 if weight is None else weight, **rates)


def read_bound(value: object) -> TimeBound:
    """A bound of `{at_most: 20 ms}`, or of a text such as `at_most=20 ms`, or `20 ms` alone.

    Raises:
        Mistakes: it is none.
    """
    if isinstance(value, str):
        value = dict(pairs_of(value)) if "=" in value else {"at_most": value}
    if not isinstance(value, Mapping) or value.get("at_most") is None:
        raise Mistakes(("", "is no bound", value, BOUND_HINT))
    if extra := [key for key in value if key != "at_most"]:
        raise Mistakes(*((f".{key}", "is no key that is known here", "", "the key is at_most") for key in extra))
    try:
        return TimeBound(at_most_us=with_unit(parse_latency_us, "ms")(value["at_most"]))
    except UnitError as error:
        raise Mistakes((".at_most", error.message, value["at_most"], error.hint)) from error


def _read_labels(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > MOST_LABELS:
        raise Mistakes(("", "is no mapping of labels", value, LABELS_HINT))
    wrong = [
        (f".{key}", "is no label", one, LABELS_HINT)
        for key, one in value.items()
        if not isinstance(one, str | int | float) or isinstance(one, bool) or not is_label(str(key), str(one))
    ]
    labels = {str(key): str(one) for key, one in value.items()}
    wrong += [(one.key.removeprefix("labels"), *one[1:]) for one in own_labels_in(labels)]
    if wrong:
        raise Mistakes(*wrong)
    return labels


# -- their JSON Schema -----------------------------------------------------------------------------------------------


_ONE_RATE = "[^=,]*[0-9][^=,]*"
#: One rate, or one each way, each way once.
_RATE_PATTERN = "|".join(
    [
        "^[^=]*[0-9][^=]*$",
        *(
            rf"^[\s,]*{one}\s*={_ONE_RATE}(,[\s,]*{other}\s*={_ONE_RATE})?[\s,]*$"
            for one, other in (RATE_KEYS, RATE_KEYS[::-1])
        ),
    ]
)


def _text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


def _rate() -> Any:
    one = {"type": ["string", "null"], "pattern": QUANTITY_PATTERN, "examples": ["20 Mbit/s"]}
    ways = {way: one | {"description": f"Payload rate {way}."} for way in RATE_KEYS}
    each_way = {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": ways}
    text = one | {
        "pattern": _RATE_PATTERN,
        "description": f"One rate, or one each way: `{WAYS_EXAMPLE}`.",
        "examples": [*RATE_EXAMPLES, WAYS_EXAMPLE],
    }
    return WithJsonSchema({"anyOf": [text, each_way], "examples": text["examples"]})


_QUANTITY_OR_NULL = {"type": ["string", "null"], "pattern": QUANTITY_PATTERN}
_SHARE_OBJECT = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "weight": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": MOST_WEIGHT,
            "default": 1,
            "description": "Its part, against the weights of other background reservations.",
        },
        "at_least": _QUANTITY_OR_NULL | {"description": "Payload rate each way that it always has; none by default."},
        "at_most": _QUANTITY_OR_NULL | {"description": "Payload rate each way that it can use; any by default."},
    },
}
_BOUND_OBJECT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["at_most"],
    "properties": {
        "at_most": {"type": "string", "pattern": QUANTITY_PATTERN, "description": "The worst that may be."}
    },
}
_BOUND = {"anyOf": [_text(QUANTITY_PATTERN), _BOUND_OBJECT]}
_SHARE = {"anyOf": [_text("="), _SHARE_OBJECT]}
_ENDPOINT = {
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": lengths.ENDPOINT, "pattern": LINE_PATTERN},
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["host"],
            "properties": {
                "host": {"type": "string", "minLength": 1, "maxLength": lengths.HOST, "pattern": LINE_PATTERN},
                "port": {"type": ["integer", "null"], "minimum": 1, "maximum": 65535},
            },
        },
    ],
}
_LABELS = {
    "type": "object",
    "propertyNames": {"maxLength": lengths.LABEL_KEY, "pattern": LINE_PATTERN},
    "additionalProperties": {"type": ["string", "number"], "maxLength": lengths.LABEL, "pattern": LINE_PATTERN},
    "maxProperties": MOST_LABELS,
}
_VIA = {"type": "array", "maxItems": MOST_VIA, "items": _text(f"^{HOST.pattern}$")}
_RECEIVERS = {
    "anyOf": [
        _text(r"^\s*\S"),
        {"type": "array", "minItems": 1, "maxItems": MOST_RECEIVERS, "items": _text(r"^\S+$")},
    ],
}
_RULE = {"type": "string", "pattern": "="}


Rate = Annotated[str, _rate()]
Time = Annotated[str, WithJsonSchema(_text(TIME_PATTERN))]
Duration = Annotated[str, WithJsonSchema(_text(DURATION_PATTERN))]
Host = Annotated[Endpoint, BeforeValidator(read_endpoint), WithJsonSchema(_ENDPOINT), Hint(ENDPOINT_HINT)]
Bound = Annotated[TimeBound | None, BeforeValidator(read_bound), WithJsonSchema(_BOUND), Hint(BOUND_HINT)]
_EXAMPLES = ["lbnl-premium:5001", "10.10.21.2"]
_WHERE = "A host of the inventory or an address; the port may be bound later."
_TIME_OF_DAY = Annotated[str, WithJsonSchema(_text("^[0-9]{1,2}:[0-9]{2}$"))]


# -- the keys that are not written as the model has them -------------------------------------------------------------


class WrittenTimes(BaseModel):
    """The keys that say when one slot is."""

    start: Time = Field(
        description="`now`, `now + 20 min`, or a time with its zone.",
        examples=["now", "now + 20 min", "2027-03-01T22:00:00+01:00"],
    )
    end: Time | None = Field(
        default=None,
        description="A time with its zone; the slot is open before it. Either this or a duration.",
        examples=["2027-03-02T06:00:00+01:00"],
    )
    duration: Duration | None = Field(
        default=None,
        description="Length of the slot: ISO 8601 or `2 h`. Either this or an end.",
        examples=["PT2H", "90 min"],
    )


class WrittenSlot(WrittenTimes):
    """One slot of a schedule."""

    rate: Rate | None = Field(default=None, description="Payload rate in this slot; the reservation's by default.")


class WrittenHours(BaseModel):
    """Some hours of the day."""

    begin: _TIME_OF_DAY = Field(alias="from", description="Hours and minutes.", examples=["20:00"])
    end: _TIME_OF_DAY = Field(alias="to", description="Hours and minutes.", examples=["06:00"])
    rate: Rate = Field(description="Payload rate at these hours.")


class Written(WrittenTimes):
    """Keys of a file that are no field of the model, or are written in another form. `SlotReader` reads rates and times."""

    source: Host = Field(description=f"{_MODEL['source'].description} {_WHERE}", examples=_EXAMPLES)
    destination: Host = Field(description=f"{_MODEL['destination'].description} {_WHERE}", examples=_EXAMPLES)
    rate: Rate | None = Field(
        default=None,
        description=f"Payload rate of each reserved direction, such as `{RATE_EXAMPLES[0]}`, or one each, such as"
        f" `{WAYS_EXAMPLE}`; headers are added by admission.",
        examples=[*RATE_EXAMPLES, WAYS_EXAMPLE],
    )
    packet_size: Annotated[
        int, BeforeValidator(with_unit(parse_size_bytes, "B")), WithJsonSchema(_text(QUANTITY_PATTERN))
    ] = Field(
        default=DEFAULT_PACKET_SIZE_BYTES,
        description=_MODEL["packet_size_bytes"].description,
        examples=["1500 B"],
        json_schema_extra={"default": f"{DEFAULT_PACKET_SIZE_BYTES} B"},
    )
    rtt: Annotated[
        int | None, BeforeValidator(with_unit(parse_latency_us, "ms")), WithJsonSchema(_text(QUANTITY_PATTERN))
    ] = Field(
        default=None,
        description=_MODEL["rtt_us"].description,
        examples=["50 ms"],
    )
    delay: Bound = Field(default=None, description=_MODEL["delay"].description, examples=["20 ms"])
    jitter: Bound = Field(default=None, description=_MODEL["jitter"].description, examples=["5 ms"])
    schedule: list[WrittenSlot] | None = Field(
        default=None,
        min_length=1,
        description="Slots written one by one, each with its times and its rate, instead of `start`.",
    )
    hours: list[WrittenHours] | None = Field(
        default=None,
        min_length=1,
        description="Other rates at some hours of the day, on the wall clock of `timezone`.",
    )
    share: Annotated[BackgroundShare | None, BeforeValidator(read_share), WithJsonSchema(_SHARE)] = Field(
        default=None, description=_MODEL["share"].description, examples=["weight=2, at_most=40 Mbit/s"]
    )
    volume: Annotated[str, WithJsonSchema(_text(QUANTITY_PATTERN))] | None = Field(
        default=None,
        description="Payload to be moved by a deadline, instead of a rate and an end: admission finds the rates.",
        examples=["2 TB"],
    )
    by: Time | None = Field(
        default=None,
        description="The deadline of a volume, a time with its zone.",
        examples=["2027-03-02T06:00:00+01:00"],
    )
    at_most: Annotated[str, WithJsonSchema(_text(QUANTITY_PATTERN))] | None = Field(
        default=None, description="No payload rate of a volume's profile is above this one.", examples=["400 Mbit/s"]
    )
    at_least: Annotated[str, WithJsonSchema(_text(QUANTITY_PATTERN))] | None = Field(
        default=None,
        description="No payload rate of a volume's profile is below this one; it pauses instead.",
        examples=["10 Mbit/s"],
    )
    shape: Shape = Field(
        default=Shape.STEADY,
        description="Of a volume's profile where there is a choice: few and low steps, or all that is free from the"
        " beginning, or nine tenths of it from the end.",
    )
    recurrence: Annotated[str, WithJsonSchema(_RULE)] | None = Field(
        default=None,
        description=f"An RRULE (RFC 5545) that ends, of at most {MOST_OCCURRENCES} occurrences.",
        examples=_MODEL["recurrence"].examples,
    )
    receivers: Annotated[tuple[str, ...], BeforeValidator(_read_receivers), WithJsonSchema(_RECEIVERS)] = Field(
        default=(), description=_MODEL["receivers"].description, examples=[["lbnl-premium", "anl-data"]]
    )
    via: Annotated[tuple[str, ...], BeforeValidator(_read_via), WithJsonSchema(_VIA)] = Field(
        default=(), description=_MODEL["via"].description
    )
    labels: Annotated[dict[str, str], BeforeValidator(_read_labels), WithJsonSchema(_LABELS)] = Field(
        default_factory=dict, description=_MODEL["labels"].description
    )


#: What stands for a model's `need`, beside `start`.
NEED_KEYS = ("volume", "by", "at_most", "at_least", "shape")
SCHEDULE_KEYS = tuple(WrittenSlot.model_fields)
HOURS_KEYS = tuple(field.alias or key for key, field in WrittenHours.model_fields.items())
#: Which keys stand in a file in the place of a field of the model, where not that field itself.
INSTEAD: dict[str, tuple[str, ...]] = {
    "packet_size_bytes": ("rate", "packet_size"),
    "rtt_us": ("rtt",),
    "slots": ("start", "end", "duration", "schedule", "hours"),
    "need": NEED_KEYS,
}
#: What `SlotReader` reads, all together.
SLOT_KEYS = frozenset({"direction", "rate", *INSTEAD["slots"], "recurrence", "timezone"})
#: What `NeedReader` reads instead, `start` and `direction` beside it.
VOLUME_KEYS = frozenset(NEED_KEYS)
#: What follows from the group of the file that a member is written in (`groups.py`).
OF_GROUPS = ("claim", "together")
#: Every key of a file, in order, with what it reads and what is said of it.
FIELDS: dict[str, FieldInfo] = {
    key: Written.model_fields.get(key) or _MODEL[key]
    for name in _MODEL
    for key in INSTEAD.get(name, (name,))
    if name not in OF_GROUPS
}
