"""The greatest length of every text that comes in, in characters: in files, requests, forms, addresses and headers.

Whoever reads a text refuses a longer one before anything else looks at it, and the schemas say how long it may be. What an
answer tells of a text that came in is shorter still: `problems.shortened`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NAME, OWNER, HOST = 63, 128, 253
#: A host with a port.
ENDPOINT = 300
#: Hosts with commas between them, in a form.
RECEIVERS = 2000
#: A handle, or OWNER/NAME.
HANDLE = 200
#: A rate, a size, a latency, a duration, a number with its unit.
QUANTITY = 100
#: An instant, also as `now + 20 min`, and a time of day.
TIME = 100
#: One of a few words.
CHOICE = 100
#: Rates each way, or a share, in one text.
QUANTITIES = 300
ZONE, RECURRENCE = 64, 1000
LABEL_KEY, LABEL = 63, 255
#: `KEY=VALUE`, and all of a form's with commas between them.
LABEL_PAIR, LABEL_PAIRS = 320, 20_000
#: A device, an interface, another resource or its place, as a request names it.
PLACE = 320
#: A systemd unit or an account.
PROCESSES = 200
SET_NAME, SEARCH, CURSOR = 100, 200, 300
#: What measured something.
TOOL = 63
#: Of a plan of many files, whose names it has.
SET_NAMES = 30_000
REASON = 500
URL, SECRET_PLACE, EVENT_KIND = 2000, 1000, 64
IDEMPOTENCY_KEY, ETAG, EVENT_NUMBER = 200, 100, 18
TOKEN = 500
#: What an issuer has a browser bring back.
CODE = 8000
#: An issuer's, with the groups of whoever it stands for.
JWT = 12_000
#: A reservation file, or a plan, in a form.
PASTED = 1_000_000
#: What a place is told, in one word.
OPTION = 500
#: What a third party's resource manager is told, and every text that nothing else is said of.
OTHERWISE = 1000
#: The key of a mapping.
KEY = 100

#: What a mapping of labels holds, whatever its keys are.
_OF_LABELS = "labels.*"
#: By the key that a text is the value of, or the parameter; a list's texts are its key's.
#: Between controllers of domains: what is asked of the next one, what is shown of it, and what carries both.
PEER_REQUEST, TICKET, PEER_MESSAGE = 200_000, 100_000, 500_000
OF_KEY: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("name", "group"), NAME),
        **dict.fromkeys(("owner", "owners", "community", "members"), OWNER),
        **dict.fromkeys(("host", "via"), HOST), "receivers": RECEIVERS,
        **dict.fromkeys(("source", "destination"), ENDPOINT),
        **dict.fromkeys(("handle", "moves", "webhook"), HANDLE),
        **dict.fromkeys(
            ("forward", "reverse", "at_least", "at_most", "volume", "remaining", "packet_size", "rtt", "hold", "duration",
             "cores", "percent", "read", "write", "tolerance", "alpha", "throughput", "loss"),
            QUANTITY,
        ),
        **dict.fromkeys(("rate", "share", "hours"), QUANTITIES),
        **dict.fromkeys(("start", "end", "by", "from", "to", "until", "at", "made_at", "instant"), TIME),
        **dict.fromkeys(
            ("protocol", "profile", "service", "assured_class", "direction",
             "services", "shape", "if_unready", "on_failure", "action", "format", "seen", "network",
             "state", "decision", "how", "version"),
            CHOICE,
        ),
        "timezone": ZONE, "zone": ZONE, "recurrence": RECURRENCE,
        "labels": LABEL_PAIRS, _OF_LABELS: LABEL, "label": LABEL_PAIR,
        **dict.fromkeys(
            ("device", "interface", "ingress", "egress", "domain", "resource", "reservation", "place", "sls", "typed"),
            PLACE,
        ),
        **dict.fromkeys(("unit", "user", "accounts"), PROCESSES),
        "may": EVENT_KIND,
        **dict.fromkeys(("files", "ces", "sizes", "in_use", "fragments"), HOST),
        "tool": TOOL,
        "set": SET_NAME, "set_name": SET_NAMES,
        "search": SEARCH, "before": CURSOR, "after": CURSOR,
        "reason": REASON,
        "connection": HANDLE, "previous": PLACE, "request": PEER_REQUEST, "ticket": TICKET, "message": PEER_MESSAGE,
        "url": URL, "next": URL, "secret": SECRET_PLACE, "kind": EVENT_KIND, "kinds": EVENT_KIND,
        "code": CODE, "token": TOKEN, "text": PASTED, "plan": PASTED,
    }
)  # fmt: skip


class TooLong(NamedTuple):
    """A text that is longer than it may be, or such a key of a mapping: where it is, and what it may have."""

    path: str
    text: str
    most: int

    @property
    def hint(self) -> str:
        return f"at most {self.most} characters"


def too_long(document: Mapping[str, Any], prefix: str = "") -> Iterator[TooLong]:
    """All texts of a document in the keys of files and requests that are too long."""
    for key, value in document.items():
        yield from _below(value, f"{prefix}{key}", key)


def _below(value: object, path: str, key: str) -> Iterator[TooLong]:
    """`key`: the nearest one above."""
    if isinstance(value, str):
        if len(value) > (most := OF_KEY.get(key, OTHERWISE)):
            yield TooLong(path, value, most)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if len(str(name)) > KEY:
                yield TooLong(path, str(name), KEY)
            else:
                yield from _below(inner, f"{path}.{name}", _key_below(key, str(name)))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _below(inner, f"{path}[{number}]", key)


def _key_below(key: str, name: str) -> str:
    return _OF_LABELS if key == "labels" else name


def with_lengths(schema: Any, key: str = "") -> Any:
    """The JSON Schema of a document with the greatest length of each text; a smaller one that it has stays."""
    if isinstance(schema, list):
        return [with_lengths(one, key) for one in schema]
    if not isinstance(schema, dict):
        return schema
    stated = {name: _inner(name, value, key) for name, value in schema.items()}
    kinds = schema.get("type")
    is_text = "string" in (kinds if isinstance(kinds, list) else [kinds]) and not {"enum", "const"} & schema.keys()
    if is_text and "maxLength" not in stated:
        stated["maxLength"] = OF_KEY.get(key, OTHERWISE)
    if isinstance(schema.get("additionalProperties"), dict):
        stated.setdefault("propertyNames", {"maxLength": LABEL_KEY if key == "labels" else KEY})
    return stated


def _inner(name: str, value: Any, key: str) -> Any:
    if name in ("properties", "$defs"):
        return {inner: with_lengths(one, inner) for inner, one in value.items()}
    if name == "additionalProperties":
        return with_lengths(value, _key_below(key, ""))
    return with_lengths(value, key) if name in _SCHEMAS else value


#: Keywords whose values are schemas of the same text, or of what is below the same key.
_SCHEMAS = (
    "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "items", "prefixItems",
)  # fmt: skip
