"""`Desk`: what verbs are answered with, and sends a verb to what answers it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from slotcar.admission.highs import HighsSolver
from slotcar.admission.resources import capacities
from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.base.stopping import Stopping
from slotcar.base.timebase import SYSTEM, Clocks
from slotcar.base.units import UnitError
from slotcar.book.agreed_slss import for_admission
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Condition, Entry, Terms
from slotcar.network.model import Network
from slotcar.planning.terms import policy_of
from slotcar.policy.asking import require_sending
from slotcar.policy.caller import Caller
from slotcar.policy.site import Site
from slotcar.store.ledger import Ledger
from slotcar_client.wire.verbs import Verb

if TYPE_CHECKING:  # a command sends one verb, and imports what that one needs
    from slotcar.domains.agreement import Agreement
    from slotcar.planning.delay_bounds import DelayBounds
    from slotcar.planning.platform_limits import PlatformLimits
    from slotcar.recovery.held_routers import HeldRouters
    from slotcar.rollout.status import LoopStatus
    from slotcar.watching.model import WatchStatus

T = TypeVar("T")
V = TypeVar("V", bound=Verb[Any])
#: Of joint moves.
SOLVER = HighsSolver()


@dataclass(frozen=True)
class Desk:
    """What verbs are answered with. It keeps nothing, so that any number of desks may share one ledger, which decides by
    the network and the rules of the latest.

    Attributes:
        loop, watch: what the controller of this process does; None where it does not.
        started_at: when this process began.
        agreement: with other domains; None where the controller has all of its inventory.
    """

    ledger: Ledger
    network: Network
    settings: Settings
    clocks: Clocks = SYSTEM
    loop: LoopStatus | None = None
    watch: WatchStatus | None = None
    started_at: datetime = field(default_factory=SYSTEM.now)
    agreement: Agreement | None = None

    def __post_init__(self) -> None:
        policy = policy_of(self.settings, self.network)
        self.ledger.set_terms(
            Terms(
                capacities(self.network), self.network.sls, policy, SOLVER, self._condition_of,
                lambda entry, others: self.delay_bounds.check(entry, others),
            ),
            lambda agreed: self.network.agree(for_admission(agreed)),
        )  # fmt: skip
        if self.settings.domain is not None:
            with suppress(LedgerUnavailable):  # it follows as soon as it is there
                self.ledger.follow_slss()

    @property
    def site(self) -> Site:
        """What the inventory says of rights."""
        return self.ledger.terms.policy.reserving.site

    @cached_property
    def delay_bounds(self) -> DelayBounds:
        from slotcar.planning.delay_bounds import DelayBounds

        return DelayBounds(self.network)

    @cached_property
    def platform_limits(self) -> PlatformLimits:
        from slotcar.planning.platform_limits import PlatformLimits

        return PlatformLimits(self.network)

    @property
    def held_routers(self) -> HeldRouters:
        """Holds, releases, and rollbacks that hold."""
        from slotcar.wiring import held_routers_for

        return held_routers_for(self.network, self.settings, self.ledger, self.clocks)

    def send(self, verb: Verb[T], caller: Caller) -> T:
        """The document that answers a verb, as `slotcar_client.Slotcar.send` has it over HTTP.

        Raises:
            Problem: of `slotcar_client.wire.errors`, as `slotcar_client.Slotcar.send` raises it. Stopping.
        """
        try:
            require_sending(caller, verb.operation)
            document: T = answer_of(type(verb))(verb, self, caller, self.clocks.now())
        except Stopping:
            raise
        except (SlotcarError, UnitError) as error:
            from slotcar.desk.problems import wire_problem

            raise wire_problem(error) from error
        return document

    def _condition_of(self, entry: Entry) -> Condition | None:
        """The condition that a moved reservation must meet beside room in the tables."""
        from slotcar.planning.routing import RoutedReservation

        return self.platform_limits.condition(RoutedReservation(entry.reservation, entry.paths, entry.demands))


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
