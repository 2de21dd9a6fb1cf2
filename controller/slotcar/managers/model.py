"""What a resource manager is: its unit, its capacities, what a request may say, and its call-outs (GARA §4).

GARA's one slot table manager and its timer serve every kind of resource; only the call-outs differ. So it is here: slot
tables, ledger, timeline, rollback, drift and audit know kinds of resources by these classes alone.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from slotcar.base import lengths
from slotcar.base.problems import SlotcarError


class ManagerError(SlotcarError):
    """A call-out could not be done, or the place does not have what it should; the message says what and where."""


class WrongVariable(ValueError):
    """A place's variable in the inventory is wrong: which key of it, what is wrong, and what would be right."""

    def __init__(
        self, variable: str, message: str, value: object = "", hint: str = "", key: tuple[str, ...] = ()
    ) -> None:
        self.path, self.message, self.value, self.hint = (variable, *key), message, value, hint
        super().__init__(f"{'.'.join(self.path)} {message}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manager's resources are: a host of the inventory. `variables` are its own, as Ansible gives them."""

    name: str
    variables: Mapping[str, Any] = field(default_factory=dict)


class Request(BaseModel):
    """What a member of a group may say of a manager's resource. Each manager derives its own from it.

    Its fields are the keys below the manager's kind in a reservation file; their errors name the key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def place(self) -> str:
        """The inventory name of the place that is asked for."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """In words, for plans and lists: `4 cores of lbnl-data`."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, order=True)
class Allocation:
    """What one reservation has of a place while its slot is open.

    Attributes:
        handle: the reservation's; the place's objects are named by it.
        kind: the manager's.
        amounts: in the manager's unit, by part of the place; the empty part where a place has no parts. Ascending.
        options: the manager's own words out of the request, by key: what else the place is to be told; `group` is the
            handle that the members of one group have in common. Ascending.
    """

    handle: str
    kind: str
    amounts: tuple[tuple[str, int], ...]
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, handle: str, kind: str, amounts: Mapping[str, int], options: Mapping[str, str]) -> Allocation:
        return cls(handle, kind, tuple(sorted(amounts.items())), tuple(sorted(options.items())))

    def amount(self, part: str = "") -> int:
        """0 of a part that it has nothing of."""
        return dict(self.amounts).get(part, 0)


class ResourceManager(ABC):
    """One kind of resource. An entry point of the group `slotcar.resources` names an instance.

    Attributes:
        kind: the first word of its resources' names, and the key of its members in a reservation file.
        unit: of its amounts, as documents name it: `millicores`.
        request: what a request may say.
        variables: the inventory variables that `capacities` reads. A host that has one of them is a place.
        platform: where the places are devices that a platform of Slotcar configures, its name; else None, and the manager
            has the call-outs of `CallOuts` itself.
    """

    kind: ClassVar[str]
    unit: ClassVar[str]
    request: ClassVar[type[Request]]
    variables: ClassVar[tuple[str, ...]] = ()
    platform: ClassVar[str | None] = None

    @abstractmethod
    def capacities(self, place: Place) -> Mapping[str, int]:
        """What the place has, by part; empty where it has nothing of this kind.

        Raises:
            WrongVariable: the inventory says something else.
        """

    @abstractmethod
    def amounts(self, request: Any, capacities: Mapping[str, int]) -> Mapping[str, int]:
        """What a request takes of each part, rounded up.

        Raises:
            ManagerError: the place has no such part.
        """

    def options(self, request: Any) -> Mapping[str, str]:
        """Options for the place beside the amounts, each of one word: see `option_words`."""
        return {}

    def bound(self, request: Any) -> str:
        """Which of the place's processes belong to it: `unit:NAME`, `user:NAME`, `process:NUMBER`; empty for none.

        Whose they may be is asked where it is admitted, and told the place as the option `accounts` (ADR 48).
        """
        return ""

    def format_amount(self, amount: int) -> str:
        """An amount with its unit, for people."""
        return f"{amount} {self.unit}"

    def describe(self, place: str, part: str) -> str:
        """A resource in words, for a refusal."""
        return f"{self.kind} {part} of {place}" if part else f"{self.kind} of {place}"


#: A key of an option, and what no value of one holds.
_OPTION = re.compile(r"[a-z][a-z0-9_-]{0,62}")


def option_words(manager: ResourceManager, request: Request) -> Mapping[str, str]:
    """A request's options, checked: a place is told them as words, which a blank or a newline would take apart.

    Raises:
        ManagerError: a key is none, or a value is no word: empty, too long, or with white space or a control character.
    """
    options = manager.options(request)
    for key, value in options.items():
        if not isinstance(key, str) or not _OPTION.fullmatch(key):
            raise ManagerError(f"{manager.kind} has the option {key!r}; a key is of small letters, numbers, - and _")
        if not isinstance(value, str) or not value or len(value) > lengths.OPTION or not _is_word(value):
            shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:77]}..."
            raise ManagerError(
                f"{key} is {shown} and has to be one word: no white space, no control characters,"
                f" {lengths.OPTION} characters at most"
            )
    return options


def _is_word(text: str) -> bool:
    return text.isprintable() and not any(map(str.isspace, text))


@runtime_checkable
class CallOuts(Protocol):
    """What a manager without a platform does at its places (GARA §4: enable and cancel; verify and read are new).

    Each may block. Each raises `ManagerError` where it cannot be done; what was half done is for it to take back.
    """

    def enable(self, place: Place, allocation: Allocation) -> None:
        """Gives the place's resource to the reservation. Called again for one that has it, changes it."""
        ...

    def disable(self, place: Place, allocation: Allocation) -> None:
        """Takes it back. Nothing happens where the reservation does not have it."""
        ...

    def verify(self, place: Place, allocation: Allocation) -> None:
        """Called after `enable`.

        Raises:
            ManagerError: the reservation does not have it.
        """
        ...

    def read(self, place: Place) -> Iterable[Allocation]:
        """What Slotcar's reservations have of this kind at the place now."""
        ...
