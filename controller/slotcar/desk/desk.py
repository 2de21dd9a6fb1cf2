"""`Desk`: sends a verb to what answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from slotcar.base.problems import SlotcarError
from slotcar.base.stopping import Stopping
from slotcar.base.timebase import SYSTEM
from slotcar.base.units import UnitError
from slotcar.broker import Broker
from slotcar.desk.overview import Overview
from slotcar.desk.problems import wire_problem
from slotcar.policy.caller import Caller
from slotcar.rollout.status import LoopStatus
from slotcar.watching.model import WatchStatus
from slotcar_client.wire.verbs import Verb

if TYPE_CHECKING:  # most verbs ask no other domain, and need not what checks signatures
    from slotcar.domains.agreement import Agreement

T = TypeVar("T")
V = TypeVar("V", bound=Verb[Any])


@dataclass(frozen=True, slots=True)
class Desk:
    """
    Attributes:
        loop, watch: what the controller of this process does; None where it does not.
        started_at: when this process began.
        agreement: with other domains; None where the controller has all of its inventory.
    """

    broker: Broker
    loop: LoopStatus | None = None
    watch: WatchStatus | None = None
    started_at: datetime = field(default_factory=SYSTEM.now)
    agreement: Agreement | None = None

    @property
    def overview(self) -> Overview:
        return Overview(self.broker)

    def send(self, verb: Verb[T], caller: Caller) -> T:
        """The document that answers a verb, as `slotcar_client.Slotcar.send` has it over HTTP.

        Raises:
            Problem: of `slotcar_client.wire.errors`, as `slotcar_client.Slotcar.send` raises it. Stopping.
        """
        try:
            document: T = answer_of(type(verb))(verb, self, caller, self.broker.clocks.now())
        except Stopping:
            raise
        except (SlotcarError, UnitError) as error:
            raise wire_problem(error) from error
        return document


Answer = Callable[[V, Desk, Caller, datetime], Any]
#: By the verb's type, what answers it, of the families that were imported.
_ANSWERS: dict[type[Verb[Any]], Answer[Any]] = {}


def answer_of(verb: type[Verb[Any]]) -> Answer[Any]:
    """What answers a verb. Its family is imported only here: a command sends one verb, and needs not what others need."""
    if verb not in _ANSWERS:
        import_module(f"slotcar.desk.{verb.family}")
    return _ANSWERS[verb]


def answers(verb: type[V]) -> Callable[[Answer[V]], Answer[V]]:
    """Has a function answer a verb: for a caller, at an instant."""

    def registered(answer: Answer[V]) -> Answer[V]:
        _ANSWERS[verb] = answer
        return answer

    return registered
