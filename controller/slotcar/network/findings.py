"""Collects everything wrong with an inventory, places it, and says a thing once when many hosts inherit it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from slotcar.network.reading import Key, Node, Place, vault_hint
from slotcar.problems import InvalidInput, Problem
from slotcar.registry import FOLDERS
from slotcar.units import UnitError
from slotcar.vocabulary import RESERVED_SERVICES, InterfaceRole, Scheduler, Service

M = TypeVar("M", bound=BaseModel)
#: More names than this in one sentence hide what it says.
NAMES_SHOWN = 3


class Findings:
    """The problems found so far. A problem that several hosts inherit from one line is kept once, with their names."""

    def __init__(self) -> None:
        self.nodes_of: dict[tuple[Place, Key, str, str, str], list[str]] = {}
        self._unread: set[tuple[str, Key]] = set()

    def unread(self, node: Node, key: Key, message: str) -> None:
        """Notes that a template or a secret could not be read; what follows from its absence is not noted again."""
        self.add(node, key, f"cannot be read: {message}", "", vault_hint(message))
        self._unread.add((node.name, key))

    def is_unread(self, node: Node, key: Key) -> bool:
        """Whether this value, or something around it, was noted as unread."""
        return any((node.name, key[:length]) in self._unread for length in range(1, len(key) + 1))

    def add(self, node: Node, key: Key, message: str, value: object = "", hint: str = "") -> None:
        """Notes that `key` of `node` is wrong; the place is where the variable was written."""
        if self.is_unread(node, key):
            return
        self.nodes_of.setdefault((node.place(key), key, message, _value_text(value), hint), []).append(node.name)

    def parse(self, model: type[M], node: Node, above: Key, data: object) -> M | None:
        """The data as the model; None, with every error noted, where it is none."""
        if not isinstance(data, Mapping):
            self.add(node, above, "is no mapping", data if data is not None else "nothing", _fields_hint(model))
            return None
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for key, message, value, hint in explained(error, model, data):
                self.add(node, (*above, *key), message, value, hint)
            return None

    def parse_for_checks(
        self, model: type[M], node: Node, above: Key, data: object, stand_in: Mapping[str, Any]
    ) -> M | None:
        """As `parse`; what is wrong only in keys of `stand_in`, or in keys that are not known, is given with these values
        in their place. The inventory is refused all the same, and what does not fit the rest is told in the same pass."""
        parsed = self.parse(model, node, above, data)
        if parsed is not None or not isinstance(data, Mapping):
            return parsed
        try:
            model.model_validate(data)
        except ValidationError as error:
            wrong = {str(detail["loc"][0]) for detail in error.errors(include_url=False) if detail["loc"]}
            if wrong & model.model_fields.keys() <= stand_in.keys():
                rest = {key: value for key, value in data.items() if key not in wrong}
                return model.model_validate(rest | {key: stand_in[key] for key in wrong & stand_in.keys()})
        return None

    def problems(self) -> tuple[Problem, ...]:
        return tuple(
            Problem(place.file, place.line, f"{listed(hosts)}: {'.'.join(key)}" if key else listed(hosts), *words)
            for (place, key, *words), hosts in self.nodes_of.items()
        )

    def refuse(self) -> None:
        """Raises InvalidInput with all of them, if there are any."""
        if self.nodes_of:
            raise InvalidInput(self.problems())


def explained(
    error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]
) -> Iterator[tuple[Key, str, object, str]]:
    """What is wrong with `data`, in the words of this room: key, message, value and hint of each error."""
    by_key: dict[Key, list[dict[str, Any]]] = {}
    for detail in error.errors(include_url=False):
        by_key.setdefault(_loc(detail["loc"]), []).append(dict(detail))
    for key, details in by_key.items():
        yield key, *_words(details, model, data)


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint: the nearest known name, or what there is."""
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"there is {listed(names, 2 * NAMES_SHOWN)}" if names else "there is none"


def listed(names: Sequence[str], most: int = NAMES_SHOWN) -> str:
    unique = sorted(set(names))
    rest = len(unique) - most
    return ", ".join(unique) if rest <= 0 else f"{', '.join(unique[:most])} and {rest} more"


def _value_text(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a mapping of {', '.join(str(key) for key in value) or 'nothing'}"
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _loc(loc: Sequence[Any]) -> Key:
    # pydantic adds `[key]` for a bad key, and names the arm of a union.
    return tuple(str(part) for part in loc if part not in ("[key]", "bool", "int", "str"))


def _words(
    details: Sequence[Mapping[str, Any]], model: type[BaseModel], data: Mapping[str, Any]
) -> tuple[str, object, str]:
    """Message, value and hint, in the words of this room, of what pydantic says of one key.

    It says more than one thing where a value may be of several kinds and is of none.
    """
    detail = details[0]
    kind, value, last = detail["type"], detail["input"], str(detail["loc"][-1]) if detail["loc"] else ""
    kinds = [noun for one in details for begin, noun in _KINDS.items() if one["type"].startswith(begin)]
    if kind == "missing":
        return "is missing", "", _MISSING.get(last, "")
    if kind == "extra_forbidden":
        below, values = _at(detail["loc"][:-1], model, data)
        candidates = [name for name in below.model_fields if name not in values] or list(below.model_fields)
        return "is no key that is known here", "", nearest(last, candidates)
    if kind == "enum":
        choices = Service if last == "[key]" else _CHOICES.get(last)
        if choices is None:
            return _own_words(detail)
        return f"is no {_NOUNS[choices]}", value, f"say one of {', '.join(str(choice) for choice in choices)}"
    if kinds:
        return f"is no {' or '.join(kinds)}", value, ""
    return _own_words(detail)


def _at(
    loc: Sequence[Any], model: type[BaseModel], data: Mapping[str, Any]
) -> tuple[type[BaseModel], Mapping[str, Any]]:
    """The model of a value within a value, and what was given for it; the outer one where it is no model's."""
    for part in loc:
        field = model.model_fields.get(str(part))
        kinds = (field.annotation, *get_args(field.annotation)) if field else ()
        inner = next((one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel)), None)
        value = data.get(str(part))
        if inner is None or not isinstance(value, Mapping):
            break
        model, data = inner, value
    return model, data


def _own_words(detail: Mapping[str, Any]) -> tuple[str, object, str]:
    """Of an error that one of our validators raised, or that needs no words but pydantic's."""
    value, context = detail["input"], detail.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, UnitError):
        return cause.message, cause.value, cause.hint
    if cause is not None:
        return str(cause), value, ""
    if "expected" in context:
        return "is not known here", value, f"say {context['expected']}"
    message = str(detail["msg"])
    return message[0].lower() + message[1:], value, ""


#: How the types of pydantic's errors about a value's kind begin.
_KINDS = {
    "bool_": "truth value",
    "int_": "whole number",
    "string_type": "text",
    "dict_type": "mapping",
    "tuple_type": "list",
    "datetime_": "time",
}
_MISSING = {
    "slotcar_platform": f"say one of {', '.join(FOLDERS)}",
    "slotcar_address": "every end system in slotcar_hosts needs its IPv4 address",
    "slotcar_attached_to": "say the edge interface that it is behind, such as `anl-edge:eth2`",
    "ingress": "say the interface of this domain where the traffic comes in, such as `esnet-hub:eth1`",
    "burst": "say a size, such as `500 kB`",
    "rate": "say a layer-3 rate, such as `45 Mbit/s`",
    "upstream": "say the domain that the traffic comes from",
    "service": f"say one of {', '.join(RESERVED_SERVICES)}",
}
_CHOICES: dict[str, type[Enum]] = {
    "role": InterfaceRole,
    "service": Service,
    "slotcar_scheduler": Scheduler,
    "scheduler": Scheduler,
}
_NOUNS: dict[type[Enum], str] = {
    InterfaceRole: "role of an interface",
    Service: "service",
    Scheduler: "scheduler",
}


def _fields_hint(model: type[BaseModel]) -> str:
    return f"say a mapping with {', '.join(model.model_fields)}"
