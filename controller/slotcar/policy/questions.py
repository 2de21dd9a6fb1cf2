"""What policies are asked: who, which verb, on what. Pure forms of Cedar's entities and requests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Cedar's integers have 64 bits. What is larger is beyond every limit that a policy may say.
MOST = 2**63 - 1
Uid = tuple[str, str]


def uid(kind: str, name: str) -> Mapping[str, str]:
    return {"type": kind, "id": name}


def named(kind: str, name: str) -> Mapping[str, Any]:
    """An attribute that is an entity."""
    return {"__entity": uid(kind, name)}


def entity(of: Uid, parents: Sequence[Uid] = (), **attributes: Any) -> dict[str, Any]:
    """An entity as Cedar reads it. An attribute that is None is left out."""
    given = {key: value for key, value in attributes.items() if value is not None}
    return {"uid": uid(*of), "attrs": given, "parents": [uid(*one) for one in parents]}


def integer(number: int) -> int:
    """The number as Cedar can hold it."""
    return min(number, MOST)


@dataclass(frozen=True, slots=True)
class Question:
    """Whether `principal` may do `action` on `resource`.

    Attributes:
        entities: those of the two, and what is known of others.
        context: of this action, as the schema has it.
    """

    principal: Uid
    action: str
    resource: Uid
    entities: Sequence[Mapping[str, Any]] = ()
    context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def request(self) -> dict[str, Any]:
        return {
            "principal": uid(*self.principal),
            "action": uid("Action", self.action),
            "resource": uid(*self.resource),
            "context": json.dumps(self.context),
        }

    def with_context(self, **changed: Any) -> Question:
        """The same in another context."""
        return Question(self.principal, self.action, self.resource, self.entities, {**self.context, **changed})
