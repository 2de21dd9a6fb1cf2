"""`Desk`: sends a verb to what answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from slotcar.base.problems import SlotcarError
from slotcar.base.stopping import Stopping
from slotcar.base.timebase import SYSTEM
from slotcar.base.units import UnitError
from slotcar.broker import Broker
from slotcar.desk.overview import Overview
from slotcar.desk.problems import wire_problem
from slotcar.domains.agreement import Agreement
from slotcar.policy.caller import Caller
from slotcar.rollout.status import LoopStatus
from slotcar.watching.model import WatchStatus
from slotcar_client.wire.verbs import Verb

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
            document: T = ANSWERS[type(verb)](verb, self, caller, self.broker.clocks.now())
        except Stopping:
            raise
        except (SlotcarError, UnitError) as error:
            raise wire_problem(error) from error
        return document


Answer = Callable[[V, Desk, Caller, datetime], Any]
#: By the verb's type, what answers it.
ANSWERS: dict[type[Verb[Any]], Answer[Any]] = {}


def answers(verb: type[V]) -> Callable[[Answer[V]], Answer[V]]:
    """Has a function answer a verb: for a caller, at an instant."""

    def registered(answer: Answer[V]) -> Answer[V]:
        ANSWERS[verb] = answer
        return answer

    return registered
