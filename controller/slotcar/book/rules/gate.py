"""The operator's gate: which reservations, and which changes of them, wait for an operator's approval."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from slotcar.base.timebase import MICROSECOND
from slotcar.book.rules.amounts import Amount
from slotcar.policy.owning import GO_AHEAD, on_amounts
from slotcar.policy.policies import Policies, shipped_policies


@dataclass(frozen=True, slots=True)
class Gate:
    """Reservations above either limit wait for approval; None for no limit.

    Attributes:
        rate_bps: payload rate of one direction; a background reservation's is its `at_most`.
        duration: all slots of the reservation together.
        policies: decide by these what waits.
    """

    rate_bps: int | None = None
    duration: timedelta | None = None
    policies: Policies = field(default_factory=shipped_policies, repr=False)

    @property
    def limits_something(self) -> bool:
        """Whether anything may wait."""
        limits = (self.rate_bps, self.duration)
        return any(limit is not None for limit in limits) or self.policies.has_own(GO_AHEAD)


def needs_approval(gate: Gate, amount: Amount, approved: Amount | None, owner: str = "") -> bool:
    """Whether `amount` waits for an operator: it is above the gate, and more than `approved`, which is in force without it.

    However small the step is, a raise above the gate waits: what is in force above the gate was approved as it is.
    """
    verdict = on_amounts(
        gate.policies,
        GO_AHEAD,
        owner,
        rate_bps=amount.rate_bps,
        duration_us=amount.open_time // MICROSECOND,
        is_more=approved is None or amount.exceeds(approved),
        gate={
            "rate_bps": gate.rate_bps,
            "duration_us": None if gate.duration is None else gate.duration // MICROSECOND,
        },
    )
    return not verdict.allowed
