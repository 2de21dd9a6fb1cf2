"""Collects everything wrong with an inventory, places it, and says a thing once when many hosts inherit it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from slotcar.base import model_errors
from slotcar.base.model_errors import KEY_ITSELF, Words, listed
from slotcar.base.problems import InvalidInput, Problem, shortened
from slotcar.base.registry import FOLDERS
from slotcar.base.vocabulary import RESERVED_SERVICES, InterfaceRole, Scheduler, Service
from slotcar.network.reading import InventoryNode, Key, SourceLocation, vault_hint

M = TypeVar("M", bound=BaseModel)


class Findings:
    """The problems found so far. A problem that several hosts inherit from one line is kept once, with their names."""

    def __init__(self) -> None:
        self.nodes_of: dict[tuple[SourceLocation, Key, str, str, str], list[str]] = {}
        self._unread: set[tuple[str, Key]] = set()

    def unread(self, node: InventoryNode, key: Key, message: str) -> None:
        """Notes that a template or a secret could not be read; what follows from its absence is not noted again."""
        self.add(node, key, f"cannot be read: {message}", "", vault_hint(message))
        self._unread.add((node.name, key))

    def is_unread(self, node: InventoryNode, key: Key) -> bool:
        """Whether this value, or something around it, was noted as unread."""
        return any((node.name, key[:length]) in self._unread for length in range(1, len(key) + 1))

    def add(self, node: InventoryNode, key: Key, message: str, value: object = "", hint: str = "") -> None:
        """Notes that `key` of `node` is wrong; the place is where the variable was written."""
        if self.is_unread(node, key):
            return
        problem = (node.place(key), node.as_written(key), message, _value_text(value), hint)
        self.nodes_of.setdefault(problem, []).append(node.name)

    def parse(self, model: type[M], node: InventoryNode, above: Key, data: object) -> M | None:
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
        self, model: type[M], node: InventoryNode, above: Key, data: object, stand_in: Mapping[str, Any]
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
    return model_errors.explained(error, model, data, _WORDS)


def _value_text(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a mapping of {', '.join(str(key) for key in value) or 'nothing'}"
    text = " ".join(str(value).split())
    return shortened(text, 60)


def _fields_hint(model: type[BaseModel]) -> str:
    return (
        f"say a mapping with {', '.join(model.model_fields)}"
        if model.model_fields
        else "leave it out: there is no key"
    )


_WORDS = Words(
    missing={
        "slotcar_platform": f"say one of {', '.join(FOLDERS)}",
        "slotcar_address": "every end system in slotcar_hosts needs its IPv4 address",
        "slotcar_attached_to": "say the edge interface that it is behind, such as `anl-edge:eth2`",
        "ingress": "say the interface of this domain where the traffic comes in, such as `esnet-hub:eth1`",
        "burst": "say a size, such as `500 kB`",
        "rate": "say a layer-3 rate, such as `45 Mbit/s`",
        "upstream": "say the domain that the traffic comes from",
        "service": f"say one of {', '.join(RESERVED_SERVICES)}",
    },
    choices={
        "role": InterfaceRole,
        "service": Service,
        "slotcar_scheduler": Scheduler,
        "scheduler": Scheduler,
        KEY_ITSELF: Service,
    },
    nouns={InterfaceRole: "role of an interface", Service: "service", Scheduler: "scheduler"},
)
